"""Agents that are bound to one repository: no tool, resource, prompt or hook tells them anything of another one's records.

Whatever a record of another repository says has the mark in one of its words; so no answer may have it, whichever way it is asked.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent, TextResourceContents

from clan_learnings.agents.session_notes import bind, bound_sessions
from clan_learnings.records.spool import queue
from mesh.app.application import Application
from mesh.app.client import ask, is_older_node
from mesh.core.errors import UsageError
from tests.end_to_end.claude_sessions import clone_of
from tests.end_to_end.claude_sessions import corrected as refused_in
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, asked, done, quickly, sidecar, wait_until
from tests.end_to_end.test_mcp import served

OURS, RED, BLUE = "github.com/acme/ours", "github.com/acme/z9red", "github.com/acme/z9blue"
MARK = "z9"  # no id and no hash can have it
PROBLEM = (
    "The z9narwhal importer fails with 401 Unauthorized at every start, whoever asks, because the token that it was given when "
    "it was built is valid for an hour only, and nobody fetches another one before it is called again the next morning."
)


class Known:
    """What others' records are called, to ask for them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ids: list[str] = []
        self.ours: list[str] = []
        self.everywhere = ""


def recorded(home: Path, *words: str) -> str:
    return str(json.loads(quickly(home, *words, "--json").splitlines()[-1])["id"])


def corrected(home: Path, repo: str, session: str, wrong: str, right: str, *words: str) -> str:
    given = ("--wrong", wrong, "--right", right, "--repo", repo, "--session", f"codex:{session}")
    return recorded(home, "correct", *given, *words)


def filled(home: Path) -> Known:
    """Three repositories and what holds everywhere: every sort of record, some edited, moved, joined, retracted, erased, private."""
    known = Known(home)
    quickly(home, "init", "--name", "alpha")

    def say(repo: str, text: str, *words: str) -> str:
        return recorded(home, "discover", text, "--repo", repo, "--anyway", *words)

    known.everywhere = recorded(home, "discover", "the vpn drops every deploy at midnight", "--global")
    known.ours = [
        say(OURS, "the deploy of the shop needs the vpn", "--tags", "vpn"),
        corrected(home, OURS, "o1", "deploy with rsync", "deploy with the pipeline", "--pattern", "deploy-rule"),
    ]
    known.ids = [
        say(RED, "the z9quagga deploy needs the vpn and a z9badge", "--tags", "vpn,z9tag", "--topic", "z9topic"),
        say(BLUE, "the deploy of z9okapi needs the vpn at night", "--tags", "VPN"),
        recorded(home, "learnings", "add", "--problem", PROBLEM, "--solution", "fetch a z9token first", "--repo", RED),
        recorded(home, "pattern", "add", "never deploy z9lynx by hand", "--name", "z9lynx-rule", "--repo", RED),
        say(RED, "the private z9moth deploy needs the vpn", "--private"),
    ]
    for number in range(3):  # HOT: in one other repository, in two, and in ours as well, where others spoke last
        known.ids.append(
            corrected(
                home, RED, f"r{number}", f"deploy z9ibis {number}", "deploy with z9crane", "--pattern", "z9ibis-rule"
            )
        )
        repo = (RED, BLUE)[number % 2]
        known.ids.append(corrected(home, repo, f"m{number}", "call z9emu", "call z9rhea", "--pattern", "z9emu-rule"))
        known.ids.append(
            corrected(home, RED, f"d{number}", "deploy with z9scp", "deploy with z9jet", "--pattern", "deploy-rule")
        )
    known.ids.append(corrected(home, RED, "a1", "eat z9fig", "eat z9date"))
    quickly(home, "pattern", "edit", "z9emu-rule", "--rule", "always call z9rhea for a deploy", "--global")
    quickly(home, "pattern", "alias", "deploy-rule", "z9ibis-rule")
    quickly(home, "pattern", "edit", "z9ibis-rule", "--topic", "z9bird")
    edited = say(RED, "the deploy of gnu needs the vpn on sundays")
    quickly(home, "edit", edited, "--text", "the deploy of z9gnu needs the vpn on sundays")
    moved = say(OURS, "the deploy of z9elk needs the vpn on mondays")
    quickly(home, "edit", moved, "--repo", RED)
    retracted = say(RED, "the deploy of z9asp needs the vpn on tuesdays")
    quickly(home, "retract", retracted, "--reason", "it was z9cobra")
    erased = say(RED, "the deploy of z9boa needs the vpn on fridays")
    quickly(home, "erase", erased, "--reason", "it was z9python")
    known.ids += [edited, moved, retracted, erased]
    done(home, "page", "new", "z9page", "--text", "# z9page\n\nthe deploy of z9wolf needs the vpn\n")
    return known


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Only read: one for all tests."""
    folder = tmp_path_factory.mktemp("bound")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return filled(folder / "home")
    finally:
        os.chdir(before)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Known:
    """To write to."""
    monkeypatch.chdir(tmp_path)
    return filled(tmp_path / "home")


def reading_calls(known: Known) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool that reads, asked in every way for what is not its business."""
    texts = (
        "deploy vpn",
        "z9quagga",
        "z9quaga",
        "z9emu",
        "vpn at night",
        "z9page deploy",
        "z9asp tuesdays",
        "z9lynx-rule",
    )
    for text in texts:
        yield "search_memory", {"query": text}
        yield "search_memory", {"query": text, "everywhere": True, "archived": True, "limit": 20}
    yield "search_memory", {"query": "deploy", "tags": ["vpN"]}
    yield "search_memory", {"query": "deploy", "tags": ["Z9TAG"]}
    yield "search_memory", {"query": "deploy", "agent": "codex", "everywhere": True}
    yield "search_memory", {"query": "deploy", "tier": "HOT", "everywhere": True}
    yield "search_memory", {"query": "deploy", "since": "30d", "repo": OURS}
    for name in (*known.ids, *known.ours, known.everywhere, "a", "zz", "[aaaaaaaa]"):
        yield "read_record", {"id": name}
        yield "read_record", {"id": name, "history": True}
        yield "read_record", {"id": name[:3]}
        yield "read_record", {"id": name[:3], "history": True}
    for more in ({}, {"everywhere": True}, {"repo": OURS}, {"everywhere": True, "topic": "z9topic"}):
        yield "list_recent", {"count": 20} | more
    for more in ({}, {"everywhere": True}, {"repo": f"https://{OURS}.git"}):
        yield "list_hot", more


async def said(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """Both forms of an answer, or of a refusal."""
    result = await client.call_tool(tool, arguments)
    parts = [part.text for part in result.content if isinstance(part, TextContent)]
    return "\n".join([*parts, json.dumps(result.structured_content)])


@pytest.mark.parametrize("is_up", [False, True], ids=["stopped", "running"])
async def test_no_tool_or_resource_tells_anything_of_another_repository(known: Known, *, is_up: bool) -> None:
    """Asked by words, tags, names, ids and their beginnings, in one repository and in all; by itself and by a sidecar."""
    if not is_up:
        await every_answer(known)
        return
    with sidecar(known.home):
        wait_until(lambda: ask(str(known.home), "GET", "/index")["sidecar"]["behind"] == 0)
        await every_answer(known)


async def every_answer(known: Known) -> None:
    async with served(known.home, "--read-only", "--repo", OURS, session="codex:reader") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        calls = list(reading_calls(known))
        assert {tool for tool, _ in calls} == set(tools)
        told = {(tool, json.dumps(arguments)): await said(client, tool, arguments) for tool, arguments in calls}
        resources = (await client.list_resources()).resources
        for resource in resources:
            for content in (await client.read_resource(str(resource.uri))).contents:
                assert isinstance(content, TextResourceContents)
                told["resource", str(resource.uri)] = content.text
        assert (await client.list_prompts()).prompts == []
    assert {call: text for call, text in told.items() if MARK in text.lower()} == {}
    found = told["search_memory", json.dumps({"query": "deploy vpn"})]
    assert ("deploy of the shop" in found, "drops every deploy" in found) == (True, True)
    assert '"alike": 0' in found
    assert "mesh page" not in found
    assert "deploy with the pipeline" in told["read_record", json.dumps({"id": known.ours[1]})]
    assert '"sessions": 1' in told["read_record", json.dumps({"id": known.ours[1], "history": True})]
    assert "Nothing is HOT" in told["list_hot", "{}"]  # what others have made HOT is theirs
    assert "pipeline" in told["resource", "mesh://context"]
    nobody = told["read_record", json.dumps({"id": "[aaaaaaaa]"})]
    for name in known.ids:
        for more in ({}, {"history": True}):
            refusal = told["read_record", json.dumps({"id": name} | more)]
            assert f"no record has the id {name}" in refusal
            assert refusal.replace(name, "aaaaaaaa").splitlines()[0] == nobody.splitlines()[0]


async def test_an_unbound_server_would_have_told_it(known: Known) -> None:
    """The same questions find the mark where nothing is bound: so they are questions that could."""
    async with served(known.home, session="codex:reader") as client:
        for tool in ("search_memory", "read_record", "list_recent", "list_hot"):
            calls = [arguments for name, arguments in reading_calls(known) if name == tool]
            assert any([MARK in await said(client, tool, arguments) for arguments in calls]), tool


async def test_a_server_that_only_reads_offers_nothing_that_writes(known: Known) -> None:
    """Neither announced nor callable, with a binding and without; and what is opened leaves no trace."""
    notes = known.home / "opened"
    before = notes.read_bytes() if notes.exists() else b""
    for options in ((), ("--repo", OURS)):
        async with served(known.home, "--read-only", *options) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["search_memory", "read_record", "list_hot", "list_recent"]
            assert "record_" not in (client.instructions or "")
            for tool, arguments in (
                ("record_discovery", {"text": "x"}),
                ("record_correction", {"wrong": "x", "right": "y"}),
            ):
                assert (await client.call_tool(tool, arguments)).is_error
            assert "shop" in await said(client, "read_record", {"id": known.ours[0]})
    assert (notes.read_bytes() if notes.exists() else b"") == before


async def test_a_bound_server_announces_no_choice_of_repositories(known: Known) -> None:
    """There is one."""
    async with served(known.home, "--repo", OURS) as client:
        for tool in (await client.list_tools()).tools:
            assert not {"repo", "everywhere", "is_global"} & set(tool.input_schema["properties"])


@pytest.mark.parametrize("tool", ["record_discovery", "record_correction"])
async def test_what_a_bound_server_records_goes_under_its_repository(own: Known, tool: str) -> None:
    """Whatever the call names: its own name is fine, another one or all of them are an error with the next step."""
    words = {
        "record_discovery": {"text": "the shelf is blue"},
        "record_correction": {"wrong": "go left", "right": "go on"},
    }
    async with served(own.home, "--repo", OURS, session="codex:w") as client:
        for others in ({"repo": RED}, {"repo": "github.com/acme/none"}, {"is_global": True}):
            refusal = await client.call_tool(tool, words[tool] | others)
            assert refusal.is_error
            (content,) = refusal.content
            assert isinstance(content, TextContent)
            assert f"bound to {OURS}" in content.text
            assert "next: " in content.text
        for fine in ({}, {"repo": f"git@{OURS.replace('/', ':', 1)}"}, {"repo": "."}):
            result = await client.call_tool(
                tool, words[tool] | fine | {"topic": f"t{len(fine)}{fine.get('repo', '')}"[:9]}
            )
            assert not result.is_error, result.content
        read = await client.call_tool("search_memory", {"query": "deploy", "repo": RED})
        assert read.is_error
    assert (
        quickly(own.home, "tail", "-n", "50", "--repo", OURS).count("shelf is blue" if "disc" in tool else "go on") >= 1
    )
    assert "shelf is blue" not in quickly(own.home, "search", "shelf blue", "--repo", RED)


async def test_what_is_known_elsewhere_is_not_known_here(own: Known) -> None:
    """Neither that a record says it already, nor a pattern, its count, its names or those that are like it."""
    async with served(own.home, "--repo", OURS, session="codex:w") as client:
        first = await client.call_tool("record_discovery", {"text": "the z9quagga deploy needs the vpn and a z9badge"})
        assert first.structured_content is not None
        assert (first.structured_content["state"], first.structured_content["covered_by"]) == ("recorded", None)
        again = await client.call_tool("record_discovery", {"text": "the deploy of the shop needs the vpn"})
        assert again.structured_content is not None
        assert (again.structured_content["state"], again.structured_content["id"]) == ("known", own.ours[0])
        counts = []
        for arguments in (
            {"wrong": "call z9emu", "right": "call z9rhea"},
            {"wrong": "eat z9fig", "right": "eat z9date"},
            {"wrong": "deploy with scp", "right": "deploy with jet", "pattern": "z9e"},
            {"wrong": "deploy z9lynx 1", "right": "deploy by machine", "pattern": "z9lynx-rule"},
        ):
            answer = (await client.call_tool("record_correction", arguments)).structured_content
            assert answer is not None
            counts.append((answer["founded"], answer["sessions"], answer["repos"], answer["tier"]))
            assert "z9emu-rule" not in json.dumps(answer)
    assert counts == [(True, 1, 1, "WARM")] * 4


def test_names_that_are_like_a_new_one_are_told_within_the_repository_only(own: Known) -> None:
    """What a command would offer in the place of a new name."""
    bound = Application(str(own.home), {}, "/", bound=OURS, session="codex:w")
    assert bound.correct("deploy by hand", "deploy by button", pattern="z9emu")["similar"] == []
    free = Application(str(own.home), {}, "/", session="codex:w")
    assert free.correct("deploy by foot", "deploy by button", pattern="z9em", repo=OURS)["similar"] == [
        "z9emu",
        "z9emu-rule",
    ]


def test_a_bound_application_counts_and_shows_patterns_of_its_own_records_alone(known: Known) -> None:
    """A pattern that others share has here the words, the names and the counts of this repository."""
    application = Application(str(known.home), {}, "/", bound=OURS)

    def patterns(memory: Any) -> dict[str, Any]:
        from clan_learnings.records.recent_records import recent_patterns
        from mesh.app.record_json import pattern

        return {"all": [pattern(memory, standing) for standing in recent_patterns(memory, None, 50)]}

    (only,) = application.ask(patterns)["all"]
    assert (only["pattern"], only["names"], only["sessions"], only["repos"]) == (
        "deploy-rule",
        ["deploy-rule"],
        1,
        [OURS],
    )
    assert (only["rule"], only["topic"], only["logged"], only["tier"]) == ("deploy with the pipeline", "", 1, "WARM")
    assert MARK in json.dumps(Application(str(known.home), {}, "/").ask(patterns))
    with pytest.raises(UsageError, match="no pattern 'z9emu'"):
        application.ask(lambda memory: {"found": memory.patterns.find("z9emu")})


@pytest.mark.parametrize(
    ("route", "given"),
    [
        ("GET /search", {"query": "deploy vpn", "everywhere": True}),
        ("GET /recent", {"everywhere": True, "count": 100}),
        ("GET /hot", {"everywhere": True}),
        ("GET /context", {}),
    ],
)
def test_the_sidecar_filters_for_who_is_bound(known: Known, route: str, given: dict[str, Any]) -> None:
    """The binding goes with the request, and holds where it is answered."""
    method, path = route.split(" ")
    with sidecar(known.home):
        told = json.dumps(ask(str(known.home), method, path, given | {"bound": OURS}))
        assert MARK not in told
        with pytest.raises(UsageError, match="bound to"):
            ask(
                str(known.home),
                method,
                path,
                {"repo": RED, "bound": OURS} | {k: v for k, v in given.items() if k == "query"},
            )
        for name in known.ids:
            for other in ("/show", "/why"):
                with pytest.raises(UsageError, match="no record has the id"):
                    ask(str(known.home), "GET", other, {"id": name, "bound": OURS})
        with pytest.raises(UsageError, match="bound is empty"):
            ask(str(known.home), method, path, given | {"bound": ""})


def test_a_write_that_the_sidecar_does_for_who_is_bound_tells_nothing_of_others(own: Known) -> None:
    """A server in a sandbox hands it over; one of an earlier version says that it does not know of bindings, and has done nothing."""
    said = {"text": "the z9quagga deploy needs the vpn and a z9badge", "bound": OURS, "session": "codex:w"}
    with sidecar(own.home):
        answer = ask(str(own.home), "POST", "/discover", said | {"repo": OURS})
        assert (answer["state"], answer["covered_by"]) == ("recorded", None)
        for other in ({"repo": RED}, {"is_global": True}):
            with pytest.raises(UsageError, match="bound to"):
                ask(str(own.home), "POST", "/discover", said | other)
        bare = ask(str(own.home), "POST", "/discover", {"text": "the lamp is green", "bound": OURS})
        assert ask(str(own.home), "GET", "/show", {"id": bare["id"]})["repo"] == OURS
    assert is_older_node("there is no field 'bound' here")


def test_what_this_repository_made_hot_itself_is_hot_for_who_is_bound(own: Known, tmp_path: Path) -> None:
    """With its own counts and words, though others have run into it later and more often."""
    for number in range(3):
        corrected(own.home, OURS, f"h{number}", "push to main", "open a pull request", "--pattern", "pr-rule")
    for number in range(5):
        corrected(own.home, RED, f"x{number}", "push z9force", "open a z9change", "--pattern", "pr-rule")
    (rule,) = Application(str(own.home), {}, "/", bound=OURS).hot()["hot"]
    assert (rule["rule"], rule["wrong"], rule["sessions"], rule["repos"]) == (
        "open a pull request",
        "push to main",
        3,
        [OURS],
    )
    clone = clone_of(RED, tmp_path / "clone")
    for event in ("SessionStart", "SubagentStart"):
        told = hook(own, clone, "claude-code", event, "--repo", OURS)
        assert "open a pull request; not push to main; 3 sessions, 1 node" in told
        assert MARK not in told


# Hooks


def hook(known: Known, folder: Path, agent: str, event: str, *options: str, **fields: Any) -> str:
    given = {
        "session_id": "h1",
        "cwd": str(folder),
        "hook_event_name": event,
        "source": "startup",
        "prompt": "why does the deploy of z9quagga need the vpn, and call z9emu?",
        "error": "deploy with z9scp failed: z9ibis",
        "tool_input": {"command": "deploy with z9scp"},
        "tool_response": {"exit_code": 1, "output": "the z9quagga deploy needs the vpn and a z9badge"},
    }
    finished = subprocess.run(
        [MESH, "hook", event, "--agent", agent, "--home", str(known.home), *options],
        input=json.dumps(given | fields).encode(),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
        env=os.environ | {"MESH_NO_AUTOSTART": "1", "MESH_SPOOL": str(folder / "spool"), "MESH_CONFIG": str(folder)},
        cwd=folder,
    )
    return finished.stdout.decode()


EVENTS = [
    ("claude-code", "SessionStart"),
    ("claude-code", "UserPromptSubmit"),
    ("claude-code", "PostToolUseFailure"),
    ("claude-code", "SubagentStart"),
    ("claude-code", "Stop"),
    ("claude-code", "PreCompact"),
    ("codex", "SessionStart"),
    ("codex", "UserPromptSubmit"),
    ("codex", "PostToolUse"),
    ("codex", "SubagentStart"),
    ("codex", "Stop"),
    ("gemini", "SessionStart"),
    ("gemini", "BeforeAgent"),
    ("gemini", "AfterTool"),
    ("gemini", "AfterAgent"),
]


@pytest.mark.parametrize(("agent", "event"), EVENTS, ids="-".join)
def test_no_hook_tells_anything_of_another_repository(known: Known, tmp_path: Path, agent: str, event: str) -> None:
    """Whatever folder the event names: a clone of the other repository, here."""
    clone = clone_of(RED, tmp_path / "clone")
    session = f"{agent}-{event}"
    told = hook(known, clone, agent, event, "--repo", OURS, session_id=session)
    assert MARK not in told
    if event == "SessionStart":
        context = json.loads(told)["hookSpecificOutput"]["additionalContext"]
        assert ("deploy of the shop" in context, f"on {OURS}" in context) == (True, True)
        for source in ("resume", "fork", "compact", "clear"):
            assert MARK not in hook(known, clone, agent, event, "--repo", OURS, session_id=session, source=source)
        assert MARK in hook(known, clone, agent, event, session_id=f"free-{session}")


def test_a_hook_that_cannot_be_bound_tells_nothing(known: Known, tmp_path: Path) -> None:
    """Rather than everything."""
    for wrong in ("nonsense", "", "."):
        assert hook(known, tmp_path, "claude-code", "SessionStart", "--repo", wrong) == "{}\n"


def test_a_server_that_cannot_be_bound_does_not_start(known: Known) -> None:
    """An empty variable in its settings must not set it free."""
    for wrong in ("nonsense", ""):
        finished = subprocess.run(
            [MESH, "mcp", "--home", str(known.home), "--repo", wrong],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert finished.returncode == (1 if wrong else 2)
        assert finished.stdout == ""
        assert ("names no repository" if wrong else "--repo is empty") in finished.stderr


def test_a_bound_hook_takes_in_what_was_queued_for_its_repository(own: Known, tmp_path: Path) -> None:
    """The rest waits for a hook that is not bound."""
    environ = {"MESH_SPOOL": str(tmp_path / "spool")}
    for repo in (OURS, RED):
        queue("discover", {"text": f"queued in {repo}", "repo": repo}, str(own.home), environ)
    hook(own, tmp_path, "claude-code", "Stop", "--repo", OURS)
    told = quickly(own.home, "tail", "-n", "50")
    assert (f"queued in {OURS}" in told, f"queued in {RED}" in told) == (True, False)
    hook(own, tmp_path, "claude-code", "Stop")
    assert f"queued in {RED}" in quickly(own.home, "tail", "-n", "50")


def test_what_is_harvested_from_a_bound_session_goes_under_its_repository(own: Known, tmp_path: Path) -> None:
    """Wherever it worked: its transcript and its folder name another one."""
    clone = clone_of(RED, tmp_path / "clone")
    file = refused_in("bound-1", clone).save(tmp_path / "sessions")
    hook(own, clone, "claude-code", "Stop", "--repo", OURS, session_id="bound-1", transcript_path=str(file))
    assert bound_sessions(str(own.home)) == {"claude-code:bound-1": OURS}
    done(own.home, "share", "github.com/acme/*")
    harvest = asked(own.home, "harvest", str(tmp_path / "sessions"))
    assert [record["repo"] for record in harvest["recorded"]] == [OURS]


def test_a_session_is_bound_once(tmp_path: Path) -> None:
    """A line more only if it is another; what a full disk has cut is none."""
    for repo in (RED, RED, OURS):
        bind(str(tmp_path), "codex:1", repo)
    bind(str(tmp_path), "codex:2", RED)
    file = tmp_path / "bound-sessions"
    assert file.read_text().count("\n") == 3
    file.write_text(file.read_text() + f"codex:3\t{RED[:9]}")
    assert bound_sessions(str(tmp_path)) == {"codex:1": OURS, "codex:2": RED}
    assert file.stat().st_mode & 0o777 == 0o600
