"""The commands for what the clan knows, as a person or an agent types them: what they print, where, and their exit codes."""

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mesh.app.application import Application
from mesh.core.errors import HomePermissions
from tests.cli.test_commands import Shell, alpha, beta, carry

__all__ = ["alpha", "beta"]

REPO = "github.com/acme/api"
SECRET = "AKIAIOSFODNN7EXAMPLE"
NPM = ("correct", "--wrong", "npm install", "--right", "pnpm install")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which the commands are typed."""
    folder = tmp_path / "api"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(
        ["git", "-C", str(folder), "remote", "add", "origin", f"git@{REPO.replace('/', ':', 1)}"], check=True
    )
    monkeypatch.chdir(folder)
    return folder


def hot(shell: Shell, *options: str) -> list[str]:
    return [item["pattern"] for item in shell.json("hot", *options)["hot"]]


def promoted(shell: Shell) -> list[str]:
    """Three sessions make a pattern HOT; the ids of their corrections."""
    return [shell.json(*NPM, "--session", f"s{number}")["id"] for number in (1, 2, 3)]


# discover


def test_a_discovery_says_where_and_by_whom_it_was_made(alpha: Shell) -> None:
    """What is not given is found from the surroundings."""
    answer = alpha.json("discover", "HTTP 405 on push means branch protection", "--topic", "git", "--tags", "a,b")
    assert (answer["state"], answer["covered_by"], answer["redacted"], answer["counts"]) == ("recorded", None, "", True)
    record = alpha.json("show", answer["id"])["record"]
    session = record.pop("session")
    assert session.startswith("shell:day-")
    assert record == {
        "text": "HTTP 405 on push means branch protection",
        "topic": "git",
        "tags": ["a", "b"],
        "repo": REPO,
        "agent": "shell",
        "category": "api-patterns",
        "severity": "medium",
        "confidence": 0.9,
    }


def test_every_option_of_a_discovery_reaches_the_record(alpha: Shell) -> None:
    """As it was given."""
    words = "discover x --global --category build-errors --severity high --agent codex --session s1 --confidence 0.6"
    identity = alpha.json(*words.split(), "--evidence", "log.txt", "--minutes-lost", "30")["id"]
    record = alpha.json("show", identity)["record"]
    assert record == {
        "text": "x",
        "repo": "",
        "category": "build-errors",
        "severity": "high",
        "agent": "codex",
        "session": "codex:s1",
        "confidence": 0.6,
        "evidence": "log.txt",
        "minutes_lost": 30,
    }


def test_a_discovery_that_is_known_is_not_added_unless_anyway(alpha: Shell) -> None:
    """The record that covers it is named, and the answer is no failure."""
    identity = alpha("discover", "HTTP 405 on push means branch protection").split()[0]
    shown = alpha("discover", "http 405 on push means branch protection!")
    assert shown.startswith(f"{identity}  already known: HTTP 405 on push")
    assert "--anyway" in shown
    assert alpha.json("discover", "HTTP 405 on push means branch protection")["state"] == "known"
    assert len(alpha("tail").splitlines()) == 1
    alpha("discover", "HTTP 405 on push means branch protection", "--anyway")
    assert len(alpha("tail").splitlines()) == 2


def test_a_text_from_stdin(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hyphen stands for it, once."""
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    alpha("discover", "-")
    assert "from a pipe" in alpha("tail")
    monkeypatch.setattr("sys.stdin", io.StringIO("use pnpm\n"))
    assert alpha.json("correct", "--wrong", "npm", "--right", "-")["state"] == "recorded"
    assert "use pnpm (not: npm)" in alpha("tail")
    alpha("correct", "--wrong", "-", "--right", "-", code=2)
    assert "only one text can be -" in alpha.err


def test_a_script_that_retries_records_once(alpha: Shell) -> None:
    """Under one request id the same command is answered alike, however often it is run."""
    words = "discover", "HTTP 405 on push means branch protection", "--anyway", "--request-id", "deploy-17"
    first, again = alpha(*words), alpha(*words)
    assert first.endswith("  recorded")
    assert again == first
    assert alpha.json(*words)["repeated"] is True
    assert len(alpha("tail").splitlines()) == 1
    alpha("discover", "something else", "--request-id", "deploy-17", code=1)
    assert alpha.err.splitlines() == [
        "mesh: the request id 'deploy-17' was used before, for something else; nothing was written",
        f"  next: take another id for this; what the other one wrote: mesh show {first.split()[0]}",
    ]


@pytest.mark.parametrize("given", ["x", "two words", "a" * 65])
def test_a_request_id_that_cannot_be_one_is_refused(alpha: Shell, given: str) -> None:
    """Before anything is written."""
    alpha("discover", "HTTP 405 on push", "--request-id", given, code=1)
    assert "cannot be a request id" in alpha.err
    alpha(*NPM, "--request-id", given, code=1)
    assert "next: 8 to 64" in alpha.err
    assert alpha("tail") == ""


# correct


def test_a_correction_answers_with_its_pattern_and_what_that_makes_of_it(alpha: Shell) -> None:
    """How sure, how often, the tier now, and how to move it."""
    first = alpha(*NPM, "--session", "s1").splitlines()
    identity, pattern = first[0].split()[0], first[0].split()[-1]
    assert first == [
        f"{identity}  new pattern {pattern}",
        "  certain (1.00): the first of its kind",
        "  1st session: 2 more make it HOT",
        f"  so far: 1 session, 1 node, in {REPO}; tier WARM",
        f"  belongs elsewhere? mesh correct --move {identity} --pattern NAME",
    ]
    assert "this session was counted already, 1 so far" in alpha(*NPM, "--session", "s1")
    second = alpha(*NPM, "--session", "s2")
    assert f"counted under {pattern}\n  certain (1.00): the same words\n  2nd session: 1 more makes it HOT" in second
    third = alpha.json(*NPM, "--session", "s3")
    assert third["says"] == "3rd session: HOT from now on, on every node"
    assert (third["pattern"], third["sessions"], third["nodes"], third["repos"]) == (pattern, 3, 1, [REPO])
    assert (third["tier"], third["founded"], third["sureness"]) == ("HOT", False, 1.0)
    assert "4th session: HOT as before" in alpha(*NPM, "--session", "s4")


def test_a_correction_under_an_archived_pattern_says_how_many_further_sessions_it_takes(alpha: Shell) -> None:
    """A session that was counted before the archive is said to be counted already, and brings nothing closer."""
    promoted(alpha)
    (slug,) = hot(alpha)
    alpha("pattern", "archive", slug)
    again = alpha.json(*NPM, "--session", "s1")
    assert (again["says"], again["tier"]) == (
        "this session was counted already, 3 so far, 0 since it was archived: 3 more make it HOT",
        "ARCHIVE",
    )
    told = [alpha.json(*NPM, "--session", f"s{number}")["says"] for number in (4, 2, 5, 6)]
    assert told == [
        "4th session, 1 since it was archived: 2 more make it HOT",
        "this session was counted already, 4 so far, 1 since it was archived: 2 more make it HOT",
        "5th session, 2 since it was archived: 1 more makes it HOT",
        "6th session: HOT from now on, on every node",
    ]
    assert "sessions since then: 3" in alpha("pattern", "show", slug)


def test_a_correction_under_a_superseded_pattern_says_that_another_took_its_place(alpha: Shell) -> None:
    """However many sessions it has, it is not HOT."""
    promoted(alpha)
    (slug,) = hot(alpha)
    alpha("correct", "--wrong", "npm", "--right", "bun", "--pattern", "bun", "--session", "s9")
    alpha("pattern", "supersede", slug, "bun")
    answer = alpha.json(*NPM, "--session", "s4")
    assert (answer["says"], answer["tier"]) == ("4th session, but another pattern took its place", "ARCHIVE")
    again = alpha.json(*NPM, "--session", "s4")
    assert again["says"] == "this session was counted already, 4 so far, but another pattern took its place"


def test_ten_calls_of_one_shell_count_once(alpha: Shell) -> None:
    """Without a session they are the day's work of one agent in one repository."""
    for _ in range(10):
        answer = alpha.json(*NPM)
    assert (answer["sessions"], answer["tier"]) == (1, "WARM")


def test_the_session_comes_from_the_option_before_the_environment(
    alpha: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And from the agent's own variable if nothing else says it."""
    monkeypatch.setenv("CODEX_THREAD_ID", "thread")
    ids = [alpha.json("discover", "one")["id"]]
    monkeypatch.setenv("MESH_SESSION", "claude-code:env")
    ids.append(alpha.json("discover", "two")["id"])
    ids.append(alpha.json("discover", "three", "--session", "mine")["id"])
    sessions = [alpha.json("show", identity)["record"]["session"] for identity in ids]
    assert sessions == ["codex:thread", "claude-code:env", "codex:mine"]


def test_a_correction_that_is_retried_is_counted_once(alpha: Shell) -> None:
    """The answer says how its pattern stands, also once it is erased."""
    retried = *NPM, "--request-id", "deploy-17"
    first, again = alpha.json(*retried), alpha.json(*retried)
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert (again["id"], again["pattern"], again["sessions"]) == (first["id"], first["pattern"], 1)
    assert alpha.json("pattern", "show", first["pattern"])["logged"] == 1
    assert alpha(*retried).splitlines()[0] == f"{first['id']}  counted under {first['pattern']}"
    alpha("erase", first["id"], "--reason", "test")
    assert alpha(*retried) == f"{first['id']}  was recorded before, and is erased"
    alpha("correct", "--move", first["id"], "--pattern", "x", "--request-id", "deploy-18", code=2)
    assert "to move one twice is to move it once" in alpha.err


def test_a_correction_is_moved(alpha: Shell) -> None:
    """The answer is about the pattern it went to."""
    ids = promoted(alpha)
    moved = alpha("correct", "--move", ids[0], "--pattern", "elsewhere")
    assert moved.startswith(f"{ids[0]}  moved from ")
    assert "to the new pattern elsewhere" in moved
    assert "1st session" in moved
    assert hot(alpha) == []


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--wrong", "a"], 2, "--right is missing"),
        (["--right", "a"], 2, "--wrong is missing"),
        (["--wrong", "a", "--right", "a"], 1, "are the same"),
        (["--wrong", "a", "--right", "b", "--source", "boss"], 1, "human, agent, build, self"),
        (["--wrong", "a", "--right", "b", "--severity", "bad"], 1, "low, medium, high, critical"),
        (["--wrong", "a", "--right", "b", "--category", "bad"], 1, "build-errors, test-failures"),
        (["--wrong", "a", "--right", "b", "--confidence", "2"], 2, "from 0 to 1"),
        (["--wrong", "a", "--right", "b", "--repo", "x", "--global"], 2, "exclude each other"),
        (["--wrong", "a", "--right", "b", "--repo", "nonsense"], 1, "host/owner/name"),
        (["--wrong", "a", "--right", "b", "--pattern", "No Good"], 1, "small letters"),
        (["--move", "aaaa", "--pattern", "b"], 1, "no record has the id"),
        (["--move", "aaaa"], 2, "--move needs --pattern"),
        (["--move", "aaaa", "--pattern", "b", "--wrong", "x"], 2, "leave --wrong and --right out"),
        (["npm", "pnpm"], 2, "mesh correct --help"),
    ],
)
def test_a_correction_that_cannot_be(alpha: Shell, words: list[str], code: int, sentence: str) -> None:
    """What is wrong with it, and what is right."""
    alpha("correct", *words, code=code)
    assert sentence in alpha.err
    assert alpha("tail") == ""


def test_categories_of_the_repository_are_allowed_in_it(alpha: Shell, here: Path) -> None:
    """Its own file names them."""
    (here / ".clan-mesh.toml").write_text('categories = ["data-quality"]\n')
    alpha("discover", "x", "--category", "data-quality")
    alpha("discover", "y", "--category", "nope", code=1)
    assert "data-quality" in alpha.err


def test_what_is_redacted_is_said_and_never_shown(alpha: Shell) -> None:
    """Sorts and numbers on stderr, the rest on stdout, the secret nowhere."""
    shown = alpha("discover", f"the key is {SECRET}, ask bob@example.org")
    assert alpha.err == "mesh: taken out before it was written: 1 aws key, 1 e-mail address\n"
    identity = shown.split()[0]
    alpha("correct", "--wrong", f"used {SECRET}", "--right", "use the vault", "--evidence", SECRET)
    assert "2 x aws key" in alpha.err
    alpha("edit", identity, "--text", f"again {SECRET}")
    assert "1 aws key" in alpha.err
    alpha("retract", identity, "--reason", f"had {SECRET}")
    assert "1 aws key" in alpha.err
    alpha("pattern", "add", f"never {SECRET}", "--name", "p")
    alpha("pattern", "edit", "p", "--rule", f"not {SECRET}")
    alpha("pattern", "archive", "p", "--reason", SECRET)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in alpha.home.iterdir() if path.is_file())


def test_a_private_passage_is_left_out_and_that_is_said(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a record as in a write that has to wait."""
    assert alpha.json("discover", "retry the upload <private>HIDDEN</private>")["redacted"] == "1 private passage"
    assert "HIDDEN" not in alpha("tail")

    def closed(*_: object, **__: object) -> NoReturn:
        raise HomePermissions("the home cannot be written", "")

    monkeypatch.setattr(Application, "record_store", closed)
    answer = alpha.json("discover", "and the download <private>HIDDEN</private>", code=3)
    assert (answer["state"], answer["redacted"]) == ("queued", "1 private passage")
    assert "HIDDEN" not in Path(answer["queued_in"]).read_text()
    alpha("discover", "<private>HIDDEN", code=1)
    assert "all of the discovery is private" in alpha.err


def test_the_reason_of_an_erase_keeps_no_private_passage(alpha: Shell) -> None:
    """It stays for good, on every node."""
    name = alpha.json("discover", "retry the upload")["id"]
    alpha("erase", name, "--reason", "it had a name in it <private>HIDDEN")
    assert "taken out of the reason: 1 private passage" in alpha.err
    assert "it had a name in it" in alpha("why", name)
    assert "HIDDEN" not in alpha("why", name)


def test_what_cannot_be_written_is_queued_and_never_called_done(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent in a sandbox reads the word, the reason, and an exit code that says that something waits."""

    def closed(*_: object, **__: object) -> NoReturn:
        raise HomePermissions("the home is not ours to write")

    monkeypatch.setattr(Application, "record_store", closed)
    for words in (NPM, ("discover", "a thing")):
        assert alpha(*words, code=3) == "queued"
        assert "not recorded yet, because the home is not ours to write" in alpha.err
        assert "sandbox" not in alpha.err
        assert "next: mend that; the next session of an agent takes it in, or now: echo '{}' | mesh hook" in alpha.err
        answer = alpha.json(*words, code=3)
        assert (answer["state"], answer["id"]) == ("queued", None)
    alpha("discover", "a thing", "--private", code=1)
    assert "not ours to write" in alpha.err
    assert "sandbox" not in alpha.err


@pytest.mark.parametrize("variable", ["CODEX_SANDBOX", "SANDBOX", "SANDBOX_RUNTIME"])
def test_a_sandbox_is_spoken_of_where_an_agent_says_there_is_one(
    alpha: Shell, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """There is nothing to mend then: somebody outside can write."""

    def closed(*_: object, **__: object) -> NoReturn:
        raise HomePermissions("the home is not ours to write")

    monkeypatch.setattr(Application, "record_store", closed)
    monkeypatch.setenv(variable, "1")
    alpha("discover", "a thing", code=3)
    assert "next: nothing; the next hook of an agent outside the sandbox takes it in" in alpha.err
    Path(os.environ["MESH_SPOOL"]).rename(alpha.home / "away")
    Path(os.environ["MESH_SPOOL"]).write_text("no folder")
    alpha("discover", "a thing", code=1)
    assert "next: repeat the command outside the sandbox; or let it write" in alpha.err


def test_a_node_that_is_not_admitted_is_told_so(beta: Shell) -> None:
    """The record is kept, and counts later."""
    shown = beta(*NPM)
    assert "new pattern" in shown
    assert "HOT" not in shown
    assert "counts only once this node is admitted" in beta.err
    assert "mesh admit" in beta.err
    assert beta.json("discover", "thing")["counts"] is False
    assert hot(beta) == []


def test_two_nodes_count_together(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """And both see the same afterwards; a retraction ends it on both."""
    alpha("admit", beta.json("status")["node"], "--name", "beta")
    carry(alpha, beta, tmp_path)
    ids = [alpha.json(*NPM, "--session", f"s{number}")["id"] for number in (1, 2)]
    beta(*NPM, "--session", "s3")
    carry(alpha, beta, tmp_path)
    carry(beta, alpha, tmp_path)
    (item,) = alpha.json("hot")["hot"]
    assert (item["sessions"], item["nodes"]) == (3, 2)
    assert beta.json("hot") == alpha.json("hot")
    assert beta.json("context")["digest"] == alpha.json("context")["digest"]
    alpha("retract", ids[0], "--reason", "no")
    carry(alpha, beta, tmp_path)
    assert hot(alpha) == hot(beta) == []


def test_private_records_are_found_by_their_owner_and_count_for_nothing(alpha: Shell) -> None:
    """They can be shown, edited and retracted like others."""
    for number in (1, 2, 3):
        identity = alpha.json(*NPM, "--session", f"s{number}", "--private")["id"]
    assert hot(alpha) == []
    assert alpha("tail") == ""
    assert "pnpm install (not: npm install)" in alpha("tail", "--private")
    alpha("edit", identity, "--severity", "high")
    assert alpha.json("show", identity)["record"]["severity"] == "high"
    assert alpha.json("why", identity)["state"] == "live"
    assert "PRIVATE" in alpha("context")
    alpha("retract", identity, "--reason", "no")
    assert identity not in alpha("tail", "--private")


# edit, retract, show, why


def test_an_edit_shows_the_record_as_it_is_now(alpha: Shell) -> None:
    """And the history has what it was."""
    identity = alpha.json("discover", "teh thing")["id"]
    shown = alpha("edit", identity, "--text", "the thing", "--tags", "a,b", "--global", "--minutes-lost", "5")
    assert "text: the thing" in shown
    assert "tags: a, b" in shown
    assert "repo: every repo" in shown
    assert "the thing" in alpha("tail")
    assert any(event["what"] == "set" or "text" in event["detail"] for event in alpha.json("why", identity)["events"])
    alpha("edit", identity, code=1)
    assert "nothing to change" in alpha.err
    alpha("edit", identity, "--severity", "bad", code=1)
    assert "low, medium, high, critical" in alpha.err
    alpha("edit", identity, "--right", "x", code=1)
    assert "no right" in alpha.err
    alpha("edit", identity, "--repo", "github.com/acme/web")
    assert alpha.json("show", identity)["repo"] == "github.com/acme/web"


def test_a_retraction_says_what_it_changes(alpha: Shell) -> None:
    """HOT ends with it."""
    ids = promoted(alpha)
    shown = alpha("retract", ids[1], "--reason", "it was the proxy")
    assert "2 sessions left; not HOT any more" in shown
    assert hot(alpha) == []
    alpha("retract", ids[1], "--reason", "again", code=1)
    assert "mesh why" in alpha.err
    alpha("retract", ids[0], code=2)
    assert "--reason is missing" in alpha.err
    assert "it was the proxy" in alpha("why", ids[1])


@pytest.mark.parametrize("command", [["show"], ["why"], ["edit"], ["retract", "--reason", "x"]])
def test_an_id_that_fits_nothing_or_several_is_said(alpha: Shell, command: list[str]) -> None:
    """Unknown ones get a next step, ambiguous ones their matches."""
    ids = [alpha.json("op", "add", "notes", "x")["ids"][0] for _ in range(40)]
    options = ["--severity", "high"] if command[0] == "edit" else []
    letter = max("abcdefghijklmnopqrstuvwxyz234567", key=lambda char: sum(item.startswith(char) for item in ids))
    alpha(command[0], letter, *command[1:], *options, code=1)
    assert sum(item in alpha.err for item in ids) >= 2
    alpha(command[0], "a" * 20, *command[1:], *options, code=1)
    assert "mesh tail" in alpha.err


def test_why_says_what_a_correction_counts_for(alpha: Shell) -> None:
    """Tier, pattern, sessions, sureness, beside what every record has."""
    ids = promoted(alpha)
    story = alpha.json("why", ids[0])
    counted = story["counts_for"]
    assert (story["tier"], counted["sessions"], counted["sureness"], story["session"]) == ("HOT", 3, 1.0, "shell:s1")
    assert {"id", "kind", "author", "written", "feed", "seq", "hash", "signed_at", "record", "events"} <= set(story)
    shown = alpha("why", ids[0])
    assert "tier      HOT" in shown
    assert f"so far    3 sessions, 1 node, in {REPO}; logged 3 times" in shown
    alpha("retract", ids[0], "--reason", "no")
    assert alpha.json("why", ids[0])["tier"] is None


# hot, tiers, tail, search, context


def test_hot_reads_as_one_line_a_pattern(alpha: Shell) -> None:
    """Rule; not wrong; how often; the name. Elsewhere it is not HOT."""
    ids = promoted(alpha)
    (line,) = alpha("hot").splitlines()
    assert line.startswith(f"{ids[2]}  pnpm install; not npm install; 3 sessions, 1 node, last ")
    assert alpha("hot", "--repo", "github.com/acme/web") == ""
    assert "nothing is HOT in github.com/acme/web" in alpha.err
    assert hot(alpha, "--all") == hot(alpha, "--repo", ".") == hot(alpha)


def test_tiers_count_and_list(alpha: Shell) -> None:
    """HOT and WARM with their lines."""
    promoted(alpha)
    alpha("discover", "a thing")
    shown = alpha("tiers")
    assert shown.splitlines()[:4] == [
        "HOT      3 records",
        "WARM     1 record",
        "BANK     0 records",
        "ARCHIVE  0 records",
    ]
    assert "pnpm install; not npm install" in shown
    assert "a thing" in shown
    answer = alpha.json("tiers", "--all")
    assert answer["counts"] == {"HOT": 3, "WARM": 1, "BANK": 0, "ARCHIVE": 0}
    assert answer["whole"] is True


def test_tiers_stay_short_however_much_there_is(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is counted, and the command named that has it."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"note {number}\n" for number in range(60))))
    alpha("op", "add", "discoveries", "--lines")
    shown = alpha("tiers", "--all").splitlines()
    assert len(shown) < 30
    assert shown[-1].strip() == "and 30 more: mesh tail"


def test_tail_reads_as_sentences_and_filters(alpha: Shell) -> None:
    """Of all repositories unless one is named; global ones belong to each."""
    alpha(*NPM)
    alpha("discover", "of git", "--topic", "git")
    alpha("discover", "elsewhere", "--repo", "github.com/acme/web", "--tags", "git")
    alpha("discover", "everywhere", "--global")
    alpha("pattern", "add", "retry uploads", "--name", "retry")
    alpha("op", "add", "notes", "by hand")

    def texts(*options: str) -> list[str]:
        return [line.split("  ")[4] for line in alpha("tail", *options).splitlines()]

    everything = ["pnpm install (not: npm install)", "of git", "elsewhere", "everywhere", "retry uploads", "by hand"]
    assert texts() == everything
    assert texts("--repo", ".") == ["pnpm install (not: npm install)", "of git", "everywhere", "retry uploads"]
    assert texts("--repo", "github.com/acme/web") == ["elsewhere", "everywhere"]
    assert texts("--topic", "git") == ["of git", "elsewhere"]
    assert texts("--topic", "git", "--repo", ".", "-n", "1") == ["of git"]
    assert texts("--log", "patterns") == ["retry uploads"]
    assert texts("-n", "2") == ["retry uploads", "by hand"]


def test_search_finds_by_words_within_the_repository(alpha: Shell) -> None:
    """Elsewhere only if asked."""
    identity = alpha.json("discover", "HTTP 405 on push means branch protection")["id"]
    assert alpha("search", "405", "push").startswith(identity)
    assert alpha.json("search", "405")["results"][0]["id"] == identity
    assert alpha("search", "405", "--repo", "github.com/acme/web") == ""
    assert "in every repository: --all" in alpha.err
    assert identity in alpha("search", "405", "--repo", "github.com/acme/web", "--all")
    alpha("search", " ", code=1)
    assert "nothing to search for" in alpha.err
    alpha("search", code=2)
    alpha("search", "x", "-n", "101", code=2)


@pytest.mark.parametrize("query", ['"', "AND", "NEAR(", "a*", "-x OR", "(", "'; DROP TABLE", "\x00", "\U0001d518", "*"])
def test_search_takes_any_words(alpha: Shell, query: str) -> None:
    """Nothing typed is an expression of the index."""
    alpha("discover", "a thing")
    alpha("search", f" {query} thing")


def test_context_has_a_digest_and_fits(alpha: Shell) -> None:
    """The text on stdout as it is; with --json its size and what was left out."""
    promoted(alpha)
    shown = alpha("context")
    answer = alpha.json("context", "--task", "install a package")
    assert "pnpm install; not npm install; 3 sessions, 1 node, last " in shown
    assert {"text", "digest", "tokens", "left_out"} <= set(answer)
    assert alpha.json("context")["text"] == shown
    assert len(alpha("context", "--max-chars", "700")) <= 700
    alpha("context", "--max-chars", "10", code=1)
    assert "no room" in alpha.err
    assert "pnpm" not in alpha("context", "--repo", "github.com/acme/web")


def test_context_believes_what_it_is_told_to(alpha: Shell) -> None:
    """Records of less confidence are left out."""
    alpha("discover", "a doubtful thing", "--confidence", "0.5")
    assert "doubtful" not in alpha("context")
    assert "doubtful" in alpha("context", "--min-confidence", "0.4")
    alpha("context", "--min-confidence", "7", code=2)


# mute


def test_muting_hides_here_and_changes_nothing_else(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """A record, a node by any of its names, a pattern; and back."""
    alpha("admit", beta.json("status")["node"], "--name", "beta")
    carry(alpha, beta, tmp_path)
    beta("discover", "of beta")
    mine = alpha.json("discover", "of alpha")["id"]
    carry(beta, alpha, tmp_path)
    root, node = alpha.json("status")["root"], beta.json("status")["node"]
    for name in ("beta", f"beta·{node[:5]}", node, node[:8]):
        assert alpha.json("mute", name) == {
            "kind": "node",
            "id": node,
            "text": f"beta·{node[:5]}",
            "muted": True,
            "changed": True,
        }
        assert "of beta" not in alpha("tail") + alpha("context") + alpha("search", "of")
        assert "was hidden already" in alpha("mute", name)
        alpha("mute", name, "--undo")
        assert "of beta" in alpha("tail")
    alpha("mute", mine)
    assert alpha("tail").count("\n") == 0
    assert "of alpha" in alpha("mute", "--list")
    alpha("mute", mine, "--undo")
    assert alpha.json("mute", "--list") == {"muted": []}
    assert alpha.json("status")["root"] == root


def test_a_muted_pattern_is_not_hot_here(alpha: Shell) -> None:
    """It goes by its name."""
    promoted(alpha)
    (slug,) = hot(alpha)
    alpha("mute", slug)
    assert "mesh mute" in alpha.err
    assert hot(alpha) == []
    assert alpha.json("mute", "--list")["muted"][0]["kind"] == "pattern"
    alpha("mute", slug, "--undo")
    assert hot(alpha) == [slug]


def test_what_cannot_be_muted_is_said(alpha: Shell) -> None:
    """Nothing of that name, several, or no word at all."""
    for words, code, sentence in (
        (["nothing-of-the-kind"], 1, "nothing here goes by"),
        (["x", "--undo"], 1, "is not hidden here"),
        ([], 2, "give one of"),
        (["x", "--list"], 2, "give one of"),
    ):
        alpha("mute", *words, code=code)
        assert sentence in alpha.err
    alpha("pattern", "add", "r", "--name", "alpha")
    alpha("mute", "alpha", code=1)
    assert "node" in alpha.err
    assert "pattern" in alpha.err


# settings


def test_settings_are_listed_and_changed(alpha: Shell) -> None:
    """For the whole mesh; wrong values get the right ones."""
    promoted(alpha)
    assert "hot-at            3 sessions" in alpha("settings")
    alpha("settings", "hot-at", "4")
    assert hot(alpha) == []
    alpha("settings", "category", "data-quality")
    assert alpha.json("settings")["categories"][-1] == "data-quality"
    alpha("discover", "x", "--category", "data-quality")
    alpha("settings", "category", "data-quality", "--remove")
    alpha("discover", "y", "--category", "data-quality", code=1)
    for words, code, sentence in (
        (["hot-at", "1"], 1, "from 2 to 100"),
        (["category", "No Good"], 1, "small letters"),
        (["category", "build-errors"], 1, "already"),
        (["category", "build-errors", "--remove"], 1, "always there"),
        (["frob", "1"], 2, "hot-at, hot-nodes, recall-weight, category, moderation, quiet, keep-signals"),
        (["hot-at"], 2, "needs a value"),
        (["share-confidence", "2"], 1, "from 0 to 1"),
        (["hot-at", "3", "--remove"], 2, "--remove goes with"),
    ):
        alpha("settings", *words, code=code)
        assert sentence in alpha.err


# pattern


def test_patterns_by_hand(alpha: Shell) -> None:
    """Add, list, show, edit."""
    identity = alpha(
        "pattern", "add", "retry uploads with a fresh token", "--name", "retry", "--wrong", "give up"
    ).split()[0]
    promoted(alpha)
    (slug,) = hot(alpha)
    assert [line.split()[0] for line in alpha("pattern", "list").splitlines()] == [slug, "retry"]
    shown = alpha("pattern", "show", "ret")
    assert "rule      retry uploads with a fresh token" in shown
    assert "not       give up" in shown
    assert identity in shown
    alpha("pattern", "edit", "retry", "--rule", "retry twice", "--topic", "uploads", "--global")
    answer = alpha.json("pattern", "show", "retry")
    assert (answer["rule"], answer["topic"], answer["scope"]) == ("retry twice", "uploads", "")
    alpha("pattern", "edit", "retry", "--local")
    assert alpha.json("pattern", "show", "retry")["scope"] == REPO
    assert len(alpha.json("pattern", "show", slug)["corrections"]) == 3
    assert alpha("pattern", "list", "--repo", "github.com/acme/web") == ""
    assert "retry" in alpha("pattern", "list", "--all", "-n", "2")


def test_patterns_are_joined_parted_ended_and_revived(alpha: Shell) -> None:
    """Each answer says how the pattern stands then."""
    promoted(alpha)
    (slug,) = hot(alpha)
    alpha("correct", "--wrong", "yarn", "--right", "pnpm", "--pattern", "no-yarn", "--session", "s9")
    joined = alpha.json("pattern", "alias", "no-yarn", slug)
    assert (joined["pattern"], joined["names"], joined["sessions"]) == (slug, sorted(["no-yarn", slug]), 4)
    alpha("pattern", "unalias", "no-yarn")
    assert alpha.json("pattern", "show", slug)["sessions"] == 3
    assert alpha.json("pattern", "archive", slug, "--reason", "moved on")["tier"] == "ARCHIVE"
    assert "moved on; sessions since then: 0" in alpha("pattern", "show", slug)
    assert alpha.json("pattern", "archive", slug, "--undo")["tier"] == "HOT"
    ended = alpha.json("pattern", "supersede", slug, "no-yarn", "--reason", "better")
    assert (ended["tier"], ended["superseded_by"]) == ("ARCHIVE", ["no-yarn"])
    assert "ended by  no-yarn: pnpm" in alpha("pattern", "show", slug)
    alpha("retract", ended["id"], "--reason", "no")
    assert hot(alpha) == [slug]


def test_patterns_that_contradict_each_other_are_shown_side_by_side(alpha: Shell) -> None:
    """Neither is dropped."""
    alpha("correct", "--wrong", "npm install", "--right", "pnpm install", "--pattern", "to-pnpm")
    alpha("correct", "--wrong", "pnpm install", "--right", "npm install", "--pattern", "to-npm")
    assert [other["pattern"] for other in alpha.json("pattern", "show", "to-pnpm")["contradicts"]] == ["to-npm"]
    assert "against   to-npm: npm install" in alpha("pattern", "show", "to-pnpm")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["frob"], 2, "the first word is one of add, list"),
        (["show"], 2, "mesh pattern show NAME"),
        (["show", "nope"], 1, "mesh pattern list"),
        (["alias", "one"], 2, "NAME OTHER"),
        (["edit", "p"], 1, "nothing to change"),
        (["edit", "p", "--global", "--local"], 2, "exclude each other"),
        (["add", "r", "--name", "p"], 1, "already"),
        (["supersede", "p", "p"], 1, "its own place"),
        (["archive", "p", "--undo"], 1, "not archived"),
        (["unalias", "p"], 1, "no other names"),
    ],
)
def test_what_cannot_be_done_to_patterns(alpha: Shell, words: list[str], code: int, sentence: str) -> None:
    """In a sentence, with the next step."""
    alpha("pattern", "add", "a rule", "--name", "p")
    alpha("pattern", *words, code=code)
    assert sentence in alpha.err


# op and terminals


@pytest.mark.parametrize(
    "words",
    [
        ["add", "notes", f"the key {SECRET}"],
        ["add", "notes", "--record", f'{{"{SECRET}": ["x", {{"y": "{SECRET}"}}]}}'],
        ["set", "--key", "k", "field", f"a {SECRET}"],
        ["set", "--key", SECRET, "field", "x"],
        ["set", "--key", "k", SECRET, "x"],
        ["set", "--key", "k", "password", "hunter2hunter2"],
        ["count", f"c {SECRET}"],
    ],
)
def test_nothing_by_hand_keeps_a_secret(alpha: Shell, words: list[str]) -> None:
    """Text, value, field, key: said on stderr by its sort."""
    alpha("op", *words)
    assert "taken out before it was written: " in alpha.err
    stored = b"".join(path.read_bytes() for path in alpha.home.iterdir() if path.is_file())
    assert SECRET.encode() not in stored
    assert b"hunter2hunter2" not in stored
    assert SECRET not in alpha.err


def test_a_reason_and_the_lines_of_stdin_keep_no_secret(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a name that is refused."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"one {SECRET}\ntwo {SECRET}\n"))
    ids = alpha.json("op", "add", "notes", "--lines")["ids"]
    assert "2 x aws key" in alpha.err
    alpha("op", "remove", ids[0], "--reason", f"had {SECRET}")
    alpha("erase", ids[1], "--reason", f"had {SECRET}")
    assert "1 aws key" in alpha.err
    alpha("op", "add", SECRET, "x", code=1)
    assert SECRET not in alpha.err
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in alpha.home.iterdir() if path.is_file())


def test_what_is_erased_is_gone_from_the_rendered_files_too(alpha: Shell) -> None:
    """Also if no sidecar runs to render them anew."""
    identity = alpha.json("discover", "the xylophone is in the cellar")["id"]
    alpha("discover", "the cellar is locked")
    alpha("render")
    files = list((alpha.home / "rendered").rglob("*"))
    assert any(b"xylophone" in path.read_bytes() for path in files if path.is_file())
    alpha("erase", identity, "--reason", "not for everybody")
    left = [path for path in alpha.home.rglob("*") if path.is_file() and b"xylophone" in path.read_bytes()]
    assert left == []
    assert any(b"cellar is locked" in path.read_bytes() for path in files if path.is_file())


def test_no_command_lets_a_record_drive_the_terminal(alpha: Shell) -> None:
    """Whatever a peer wrote into whichever field."""
    bad = "x \x1b[31m \u202e \u200b end"
    fields: dict[str, Any] = dict.fromkeys(
        ("wrong", "right", "rule", "text", "topic", "session", "agent", "evidence"), bad
    )
    for log in ("discoveries", "corrections", "patterns"):
        record = json.dumps(fields | {"pattern": "p\x1b[31m", "repo": REPO, "tags": [bad]})
        identity = alpha.json("op", "add", log, "--record", record)["ids"][0]
    for words in (
        ["tail"],
        ["hot"],
        ["tiers"],
        ["search", "end"],
        ["context"],
        ["show", identity],
        ["why", identity],
        ["pattern", "list"],
        ["pattern", "show", "p"],
        ["mute", identity],
        ["mute", "--list"],
    ):
        assert not set("\x1b\u202e\u200b") & set(alpha(*words)), words
    for words in (["mute", "node", "--undo"], ["pattern", "show", "q\x1b"], ["pattern", "alias", "p", "p"]):
        alpha(*words, code=1)
        assert not set("\x1b\u202e\u200b") & set(alpha.err), words


def test_the_name_of_a_pattern_that_a_peer_chose_is_harmless(alpha: Shell) -> None:
    """Also where our own correction is counted under it."""
    record = {"wrong": "npm install", "right": "use pnpm", "pattern": "p\x1b[31m\u202e", "repo": REPO, "session": "s"}
    alpha("op", "add", "corrections", "--record", json.dumps(record))
    shown = alpha("correct", "--wrong", "ran npm install", "--right", "use pnpm instead")
    assert "counted under p\n" in shown
    assert not set("\x1b\u202e") & set(shown)


# What people mistype, and what must not get through


def test_a_name_that_only_begins_like_a_pattern_founds_one_and_says_which_was_perhaps_meant(alpha: Shell) -> None:
    """A name given by hand is taken as it is, on every node; but a slip of the pen is not kept quiet."""
    whole = alpha.json(*NPM, "--session", "s1")["pattern"]
    answer = alpha.json(*NPM, "--session", "s2", "--pattern", "pnpm-install")
    assert (answer["founded"], answer["similar"]) == (True, [whole])
    assert f"did you mean pnpm-install, {whole}?" in alpha("correct", "--move", answer["id"], "--pattern", "pnpm-inst")


def test_stdin_that_is_no_text_is_called_that(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are not UTF-8, and a stdin that has nothing."""
    broken = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00"), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr("sys.stdin", broken)
    alpha("discover", "-", code=1)
    assert "stdin is not UTF-8 text" in alpha.err
    monkeypatch.setattr("sys.stdin", io.StringIO())
    alpha("discover", "-", code=1)
    assert "is empty" in alpha.err


def test_a_value_that_is_refused_is_not_repeated_if_it_is_a_secret(alpha: Shell) -> None:
    """What is said on stderr becomes part of an agent's transcript."""
    alpha("discover", "some text", "--confidence", SECRET, code=2)
    assert SECRET not in alpha.err
    alpha("discover", "some text", SECRET, code=2)
    assert SECRET not in alpha.err


def test_the_name_of_an_agent_is_a_short_line(alpha: Shell) -> None:
    """Nothing of a record is without a limit."""
    for name in ("a" * 5000, "two\nlines"):
        alpha("discover", "some text", "--agent", name, code=1)
        assert "agent's name" in alpha.err


def test_a_rule_that_a_pattern_has_already_is_not_added_again(alpha: Shell) -> None:
    """As with discoveries: it says which one has it; a name of its own makes it another."""
    alpha("pattern", "add", "retry uploads with a fresh token", "--name", "uploads")
    alpha("pattern", "add", "retry uploads with a fresh token", code=1)
    assert "uploads says this already" in alpha.err
    alpha("pattern", "add", "retry uploads with a fresh token", "--name", "another")


def test_a_pattern_is_muted_by_the_beginning_of_its_name(alpha: Shell) -> None:
    """As everywhere else."""
    promoted(alpha)
    alpha("mute", "pnpm-install")
    assert hot(alpha) == []


@pytest.mark.parametrize("name", ["ada.lovelace@corp-mail.io", f"box {SECRET}"])
def test_a_node_is_not_named_by_what_others_should_not_see(alpha: Shell, tmp_path: Path, name: str) -> None:
    """A name goes to every member, for ever."""
    alpha("init", "--name", name, code=1)
    assert "choose another" in alpha.err
    assert SECRET not in alpha.err
