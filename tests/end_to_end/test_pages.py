"""Pages between real sidecars: three folders that editors save to, kept in step whatever happens to files, processes and peers.

All tests share three sidecars; each has pages of its own.
"""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mesh.core.draft import Assignment, NewRecord, PageEdit, Republished
from mesh.core.operation import PAGE
from mesh.pages.edit_codec import Id, InsertedText, Update, client_of, encode
from mesh.pages.open_pages import open_pages
from tests.clan_learnings.redaction.redaction_examples import fake
from tests.end_to_end.commands import anywhere, asked, done, mesh, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, wait_until_in_step, wait_until_linked
from tests.end_to_end.page_folders import (
    change,
    file_of,
    is_running,
    spread,
    text_of,
    wait_until_all_are,
    wait_until_all_say,
    wait_until_gone,
    workers_of,
    write,
    write_beside,
    write_in_pieces,
    write_like_vim,
)
from tests.pages.test_hostile_updates import HOSTILE, SAMPLES

Fleet = list[Sidecar]
FAILURE = re.compile("Traceback|(?:Type|Value|Key|Index|Attribute|Assertion|Recursion)Error")
GATE = "# Gate\n\nThe gateway host is g1.\n\nAsk before you restart it.\n\nIt is in the east room.\n"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What all processes of this module are told: a home's markers are where its sidecar wrote them."""
    folder = tmp_path_factory.mktemp("machine")
    return {"MESH_STATE": f"{folder}/state", "HOME": f"{folder}/user", "MESH_SPOOL": f"{folder}/queue"}


@pytest.fixture(autouse=True)
def same_machine(state_folder: Path, machine: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of a test run where the shared sidecars do, not in a folder of the test's own."""
    assert state_folder
    for name, value in machine.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def three(machine: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three sidecars of one mesh."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in machine.items():
            patch.setenv(name, value)
        with mesh_of(3, tmp_path_factory.mktemp("mesh")) as made:
            wait_until_linked(made)
            wait_until_in_step(made)
            yield made


@pytest.fixture
def fleet(three: Fleet) -> Iterator[Fleet]:
    """The three, all up. Whatever a test does to them, none says of itself that it has failed."""
    for node in three:
        if not node.is_up:  # a test has failed half-way
            node.up()
    yield three
    for node in three:
        lines = node.log.read_text().splitlines()
        assert [line for line in lines if FAILURE.search(line)] == []


# At once


@pytest.mark.parametrize(
    "added",
    [
        {"g1": " (or g2)", "Ask": " Ann, and then", "the east": " and blue"},
        {"host is": " (says Ann)", "is g1": " (says Bob)", "The gateway": " (says Cay)"},
        {"is g1": ", says Ann", "host is g1": ", says Bob", "gateway host is g1": ", says Cay"},
    ],
    ids=["lines", "words", "spot"],
)
def test_three_saves_at_once_become_one_text(
    fleet: Fleet, request: pytest.FixtureRequest, added: dict[str, str]
) -> None:
    """In three lines, in one sentence, at the very same spot: what each has put in behind some words is there, once."""
    name = f"at once {request.node.callspec.id}"
    spread(fleet, name, GATE)
    for node, (words, more) in zip(fleet, added.items(), strict=True):
        write(file_of(node, name), GATE.replace(words, words + more, 1))
    text = rest = wait_until_all_say(fleet, name, *added.values())
    for more in added.values():
        rest = rest.replace(more, "", 1)
    assert rest == GATE
    assert done(fleet[2].home, "page", "show", name) == text


def test_a_burst_of_saves_on_every_node_loses_nothing(fleet: Fleet) -> None:
    """Each adds lines to what its own file says at the moment, as fast as it can."""
    name = "burst"
    spread(fleet, name, "# Burst\n\n## node0\n\n## node1\n\n## node2\n")
    words = []
    for number in range(8):
        for index, node in enumerate(fleet):
            words.append(f"- {number} of {index}")
            change(node, name, f"## node{index}\n", f"## node{index}\n{words[-1]}\n")
    text = wait_until_all_say(fleet, name, *words)
    assert sorted(line for line in text.splitlines() if line.startswith("- ")) == sorted(words)


# Editors


def slowly(path: Path, text: str) -> None:
    """Saved in two pieces, the second when everybody has seen the first."""
    others = [path.parents[2] / f"node{index}" / "pages" / path.name for index in range(3)]

    def pause() -> None:
        half = path.read_text()
        wait_until(lambda: not half or all(other.read_text().rstrip("\n") == half.rstrip("\n") for other in others))

    write_in_pieces(path, text, pause)


@pytest.mark.parametrize("save", [write, write_like_vim, write_beside, slowly], ids=lambda save: str(save.__name__))
def test_whatever_way_an_editor_saves(fleet: Fleet, save: Callable[[Path, str], None]) -> None:
    """The page says what was saved, what others write then is in the file, and what else the editor leaves is no page."""
    name = f"saved by {save.__name__}"
    spread(fleet, name, GATE)
    mine = GATE.replace("g1", "g2").replace("room.", "room.\n\nIts twin is in the west.")
    save(file_of(fleet[1], name), mine)
    wait_until_all_are(fleet, name, mine)
    change(fleet[2], name, "Ask", "Ask Bob")
    wait_until_all_are(fleet, name, mine.replace("Ask", "Ask Bob"))
    save(file_of(fleet[1], name), mine.replace("Ask", "Ask Bob").replace("g2", "g3"))
    wait_until_all_say(fleet, name, "Ask Bob", "g3")
    listed = shown(fleet[0])
    assert listed.count(name) == 1
    assert not [page for page in listed if page.endswith(("4913", "~", "tmp"))]
    if save is write_like_vim:
        assert Path(f"{file_of(fleet[1], name)}~").read_text() == mine.replace("Ask", "Ask Bob")


def shown(node: Sidecar) -> list[str]:
    """The names under which a node shows its pages."""
    with open_pages(node.home) as pages:
        return [info.shown for info in pages.book.pages()]


@pytest.mark.parametrize(("style", "begins", "ends"), [("crlf", "", "\r\n"), ("bare", "", ""), ("bom", "\ufeff", "\n")])
def test_a_file_keeps_its_own_style(fleet: Fleet, style: str, begins: str, ends: str) -> None:
    """Line ends, a byte order mark and the lack of a final newline are the file's, not the page's: nobody else sees them."""
    name = f"style {style}"
    text = "one\ntwo\nthree\n"

    def in_style(plain: str) -> str:
        lines = plain.removesuffix("\n")
        return begins + (lines.replace("\n", "\r\n") if style == "crlf" else lines) + ends

    write(file_of(fleet[0], name), in_style(text))
    wait_until_all_are(fleet[1:], name, text)
    change(fleet[1], name, "two", "two and a half")
    text = text.replace("two", "two and a half")
    wait_until_all_are(fleet[:1], name, in_style(text))
    wait_until_all_are(fleet[1:], name, text)
    write(file_of(fleet[0], name), in_style(text.replace("three", "four")))
    wait_until_all_are(fleet[1:], name, text.replace("three", "four"))
    assert text_of(fleet[0], name) == in_style(text.replace("three", "four"))


def test_commands_and_editors_work_on_the_same_page(fleet: Fleet) -> None:
    """What a command writes is in every file, under its new name too."""
    done(fleet[1].home, "page", "new", "both/ways", "--text", GATE)
    wait_until_all_are(fleet, "both/ways", GATE)
    change(fleet[2], "both/ways", "g1", "g2")
    done(fleet[0].home, "page", "append", "both/ways", "- restart the proxy last")
    text = wait_until_all_say(fleet, "both/ways", "g2", "- restart the proxy last\n")
    done(fleet[2].home, "page", "rename", "both/ways", "one way")
    wait_until_all_are(fleet, "one way", text)
    wait_until_gone(fleet, "both/ways")
    wait_until(lambda: not any((Path(node.home) / "pages/both").exists() for node in fleet))  # goes after its last file


def test_a_folder_given_by_hand_has_the_pages_of_one_prefix(fleet: Fleet, tmp_path: Path) -> None:
    """Both ways, beside the home's own folder; afterwards its files are nobody's."""
    notes = tmp_path / "notes"
    write(notes / "plan.md", "# Plan\n")
    done(fleet[0].home, "page", "new", "notes/old", "--text", "# Old\n")
    done(fleet[0].home, "page", "watch", str(notes), "--under", "notes")
    wait_until_all_are(fleet, "notes/plan", "# Plan\n")
    wait_until((notes / "old.md").exists)
    change(fleet[1], "notes/plan", "Plan", "The plan")
    wait_until(lambda: (notes / "plan.md").read_text() == "# The plan\n")
    write_beside(notes / "deep/er.md", "# Deeper\n")
    wait_until_all_are(fleet, "notes/deep/er", "# Deeper\n")
    assert sorted(path.name for path in notes.rglob("*.md")) == ["er.md", "old.md", "plan.md"]
    done(fleet[0].home, "page", "unwatch", str(notes))
    change(fleet[1], "notes/plan", "The plan", "Another plan")
    wait_until_all_are(fleet, "notes/plan", "# Another plan\n")
    assert (notes / "plan.md").read_text() == "# The plan\n"


def memory_of(node: Sidecar) -> Path:
    """The file that agents read."""
    return Path(node.home) / "rendered" / "MEMORY.md"


def test_the_upper_half_of_memory_is_a_page_and_the_lower_is_put_aside(fleet: Fleet) -> None:
    """What is typed above the line is on every node, in the page and in the file; what is typed below is kept, and said."""
    first, second, third = fleet
    wait_until(lambda: all(memory_of(node).exists() for node in fleet))
    opening, line = "<!-- clan-mesh rendered v1 -->\n", "<!-- clan-mesh memory v1 "
    text = memory_of(first).read_text()
    write(memory_of(first), text.replace(opening, f"{opening}\nAsk Ann before you deploy.\n", 1))
    wait_until_all_say(fleet, "memory", "Ask Ann before you deploy.\n")
    for node in fleet:
        wait_until(lambda node=node: "\nAsk Ann before you deploy.\n" in memory_of(node).read_text())  # type: ignore[misc]
    change(second, "memory", "Ann", "Ann and Bob")
    for node in fleet:
        wait_until(lambda node=node: "Ask Ann and Bob before" in memory_of(node).read_text())  # type: ignore[misc]
    aside = Path(f"{memory_of(third)}.rej")
    text = memory_of(third).read_text()
    assert text.index("Ask Ann and Bob") < text.index(line) < text.index("## How to use this")
    write(memory_of(third), text.replace("## How to use this\n", "## How to use this\n- Never on a Friday.\n"))
    wait_until(lambda: aside.exists() and "+- Never on a Friday." in aside.read_text())
    wait_until(lambda: memory_of(third).read_text() == text)
    assert third.has_logged(str(aside))
    assert "Friday" not in (text_of(third, "memory") or "")


# Deleted, and away


def test_a_deleted_file_removes_the_page_and_restore_brings_it_back(fleet: Fleet) -> None:
    """Everywhere, with the text it had."""
    spread(fleet, "short-lived", GATE)
    file_of(fleet[1], "short-lived").unlink()
    wait_until_gone(fleet, "short-lived")
    assert "short-lived" not in shown(fleet[2])
    done(fleet[2].home, "page", "restore", "short-lived")
    wait_until_all_are(fleet, "short-lived", GATE)
    change(fleet[1], "short-lived", "g1", "g2")
    wait_until_all_are(fleet, "short-lived", GATE.replace("g1", "g2"))


def test_what_happens_to_files_while_their_sidecar_is_down(fleet: Fleet) -> None:
    """Deleted or emptied: restored. Edited: brought together with what others wrote. Removed elsewhere: gone."""
    away, *others = reversed(fleet)
    names = ["down deleted", "down emptied", "down edited", "down removed", "down renamed"]
    for name in names:
        write(file_of(fleet[0], name), GATE)
    for name in names:
        wait_until_all_are(fleet, name, GATE)
    assert away.stop() == 0
    file_of(away, "down deleted").unlink()
    write(file_of(away, "down emptied"), "")
    change(away, "down edited", "g1", "g2")
    write(file_of(away, "down new"), "# New\n")
    change(fleet[0], "down edited", "east", "west")
    change(fleet[0], "down deleted", "east", "west")
    file_of(fleet[1], "down removed").unlink()
    file_of(fleet[1], "down renamed").rename(file_of(fleet[1], "down called otherwise"))
    wait_until_all_say(others, "down edited", "west")
    wait_until_gone(others, "down removed")
    wait_until_all_are(others, "down called otherwise", GATE)
    away.up()
    wait_until_all_are(fleet, "down deleted", GATE.replace("east", "west"))
    wait_until_all_are(fleet, "down emptied", GATE)
    wait_until_all_are(fleet, "down edited", GATE.replace("east", "west").replace("g1", "g2"))
    wait_until_all_are(fleet, "down new", "# New\n")
    wait_until_all_are(fleet, "down called otherwise", GATE)
    wait_until_gone(fleet, "down removed")
    wait_until_gone(fleet, "down renamed")


def test_two_who_were_away_come_together(fleet: Fleet) -> None:
    """Twins are one page, others of one name are told apart alike on all nodes, and what both edited is marked until read over."""
    first, second, third = fleet
    spread(fleet, "away", GATE)
    wait_until_in_step(fleet)
    away = [first, second]
    for node in away:
        assert node.stop() == 0
    for node, name in zip(away, ("Ann", "Bob"), strict=True):
        write(file_of(node, "twin file"), "# Also a twin\n")
        write(file_of(node, "rival file"), f"# Also a rival, by {name}\n")
        with open_pages(node.home) as pages:
            pages.editor.new("twin", "# Twin\n\nBorn twice.\n")
            pages.editor.new("rival", f"# Rival\n\nBy {name}.\n")
            pages.editor.new("Case" if node is first else "case", f"Case of {name}.\n")
            for day in ("Monday", "Tuesday"):
                text = pages.book.read(pages.book.find("away")).text
                pages.editor.save(pages.book.find("away"), text, text.replace("g1", f"g1 (so {name} on {day})"))
    for node in away:
        node.up()
    words = [f"(so {name} on {day})" for name in ("Ann", "Bob") for day in ("Monday", "Tuesday")]
    text = wait_until_all_say(fleet, "away", *words)
    assert [text.count(word) for word in words] == [1, 1, 1, 1]
    wait_until_all_are(fleet, "twin", "# Twin\n\nBorn twice.\n")
    wait_until_all_are(fleet, "twin file", "# Also a twin\n")
    wait_until(lambda: all(_files(node, "twin*") == ["twin.md", "twin file.md"] for node in fleet))
    for name in ("rival", "rival file", "case"):
        told_apart(fleet, name)
    marked = asked(third.home, "page", "show", "away", "--conflicts")
    assert [place["line"] for place in marked["conflicts"]] == [3]
    assert {edit["author"].partition("·")[0] for edit in marked["conflicts"][0]["edits"]} == {"node0", "node1"}
    assert marked["text"] == text
    done(third.home, "page", "settle", "away")
    wait_until(lambda: asked(first.home, "page", "show", "away", "--conflicts")["conflicts"] == [])
    change(second, "away", "east", "west")
    wait_until_all_say(fleet, "away", "west")
    assert asked(third.home, "page", "show", "away", "--conflicts")["conflicts"] == []


def _files(node: Sidecar, pattern: str) -> list[str]:
    return sorted((path.name for path in (Path(node.home) / "pages").glob(pattern)), reverse=True)


def told_apart(fleet: Fleet, name: str) -> None:
    """Two pages of one name: on all nodes the same one keeps it, the other has a longer one, with the same bytes."""

    def files(node: Sidecar) -> dict[str, str | None]:
        names = [file.removesuffix(".md") for file in _files(node, "*.md")]
        return {found: text_of(node, found) for found in names if found.casefold().partition("~")[0] == name}

    wait_until(lambda: len(files(fleet[0])) == 2 and files(fleet[0]) == files(fleet[1]) == files(fleet[2]))
    younger, elder = sorted(files(fleet[0]), key=len, reverse=True)
    assert elder.casefold() == name
    assert re.fullmatch(f"{name}~[a-z0-9]{{5}}", younger, re.IGNORECASE)
    assert files(fleet[0])[elder] != files(fleet[0])[younger]


# Processes that end


def test_a_sidecar_killed_in_the_middle_of_saves_loses_nothing(fleet: Fleet) -> None:
    """What was in a file when it died is in the page when it is back, and its worker does not outlive it."""
    _, killed, other = fleet
    names = [f"killed {number}" for number in range(4)]
    for name in names:
        write(file_of(killed, name), "# Killed\n\n- first\n\n## Others\n")
    for name in names:
        wait_until_all_are(fleet, name, "# Killed\n\n- first\n\n## Others\n")
    (worker,) = workers_of(killed.process.pid)
    words: dict[str, list[str]] = {name: [] for name in names}

    def save(rounds: range) -> None:
        for number in rounds:
            for name in names:
                words[name] += [f"- mine {number}", f"- theirs {number}"]
                change(killed, name, "- first\n", f"- first\n- mine {number}\n")
                change(other, name, "## Others\n", f"## Others\n- theirs {number}\n")

    save(range(4))
    wait_until(lambda: "mine" in (text_of(other, names[0]) or ""))  # some of it has gone out
    save(range(4, 8))
    killed.kill()
    wait_until(lambda: not is_running(worker))
    save(range(8, 10))
    killed.up()
    for name in names:
        text = wait_until_all_say(fleet, name, *words[name])
        assert sorted(line for line in text.splitlines() if line[:2] == "- ") == sorted(["- first", *words[name]])
    assert len(workers_of(killed.process.pid)) == 1
    assert not [path for path in (Path(killed.home) / "pages").rglob("*") if path.suffix == ".rej"]


def test_a_page_worker_that_is_killed_is_replaced(fleet: Fleet) -> None:
    """The next save works, on the node that lost its worker and elsewhere."""
    spread(fleet, "worker", GATE)
    (worker,) = workers_of(fleet[1].process.pid)
    os.kill(worker, signal.SIGKILL)
    change(fleet[1], "worker", "g1", "g2")
    change(fleet[2], "worker", "east", "west")
    wait_until_all_are(fleet, "worker", GATE.replace("g1", "g2").replace("east", "west"))
    wait_until(lambda: not is_running(worker))
    (another,) = workers_of(fleet[1].process.pid)
    assert another != worker


# Secrets


def test_a_secret_stays_in_the_file_it_was_typed_into(fleet: Fleet) -> None:
    """Nobody else gets it, the log says so without it, and what others write still comes into that file."""
    secret = "ghp_" + fake("a page", 36)
    spread(fleet, "secret", GATE)
    mine = GATE.replace("g1.", f"g1, its token is {secret}.")
    write(file_of(fleet[0], "secret"), mine)
    wait_until_all_say(fleet[1:], "secret", "its token is [redacted")
    assert text_of(fleet[0], "secret") == mine
    wait_until(lambda: fleet[0].has_logged("left out of the page; the file itself is left alone"))
    assert secret not in fleet[0].log.read_text()
    change(fleet[1], "secret", "east", "west")
    wait_until_all_are(fleet[:1], "secret", mine.replace("east", "west"))
    change(fleet[0], "secret", "Ask", "Ask Ann")
    text = wait_until_all_say(fleet[1:], "secret", "Ask Ann", "[redacted", "west")
    assert secret not in text
    assert [anywhere(node.home, secret) for node in fleet[1:]] == [[], []]
    change(fleet[0], "secret", f", its token is {secret}", "")
    wait_until_all_are(fleet, "secret", GATE.replace("Ask", "Ask Ann").replace("east", "west"))


@pytest.mark.parametrize("name", ["leak", "memory"])
def test_a_text_that_is_erased_is_in_no_file_of_any_home(fleet: Fleet, name: str) -> None:
    """Typed in pieces, shown everywhere, gone everywhere: from the pages, the databases and all that lies beside them."""
    secret = "kp-" + fake(f"erased {name}", 20)
    if text_of(fleet[0], name) is None:
        spread(fleet, name, "# A page\n")
    before = wait_until_all_say(fleet, name)
    write(file_of(fleet[1], name), f"{before}\nThe gateway is g1, {secret[:9]}.\n")
    wait_until_all_say(fleet, name, secret[:9])
    change(fleet[2], name, secret[:9], secret)
    wait_until_all_say(fleet, name, secret)
    if name == "memory":
        wait_until(lambda: all(secret in memory_of(node).read_text() for node in fleet))
    mesh(fleet[0].home, "page", "erase", name, "-", "--reason", "a password got in", stdin=secret)
    text = f"{before}\nThe gateway is g1, [erased].\n"
    wait_until_all_are(fleet, name, text)
    for node in fleet:
        wait_until(lambda node=node: not anywhere(node.home, secret))  # type: ignore[misc]
    change(fleet[1], name, "[erased]", "in the safe")
    wait_until_all_are(fleet, name, text.replace("[erased]", "in the safe"))
    assert [anywhere(node.home, secret) for node in fleet] == [[], [], []]


# A member who means harm


def test_a_hostile_member_harms_no_page_and_is_named(fleet: Fleet, tmp_path: Path) -> None:
    """Whatever it signs, sidecars stay up, pages say what they said and can be edited, and `doctor` names it."""
    hostile = Sidecar(tmp_path / "hostile")
    hostile.join(fleet[0].invite(), "mallory")
    spread(fleet, "target", GATE)
    wait_until_in_step(fleet)
    before = {node.home: (node.process.pid, shown(node)) for node in fleet}
    done(fleet[0].home, "export", str(tmp_path / "all"))
    done(hostile.home, "import", str(tmp_path / "all"))
    attack(hostile, "target")
    done(hostile.home, "export", str(tmp_path / "attack"))
    done(fleet[0].home, "import", str(tmp_path / "attack"))
    wait_until_in_step(fleet)
    change(fleet[1], "target", "g1", "g2")
    change(fleet[2], "target", "east", "west")
    wait_until_all_are(fleet, "target", GATE.replace("g1", "g2").replace("east", "west"))
    for node in fleet:
        pid, names = before[node.home]
        assert node.is_up
        assert node.process.pid == pid
        assert set(names) <= set(shown(node))
        told = json.loads(mesh(node.home, "doctor", "--json").stdout)
        assert any(
            item["sort"] == "page update refused"
            and "mallory·" in item["sentence"]
            and "page target " in item["sentence"]
            for item in told
        )
    folder = Path(fleet[0].home).parent
    escaped = [path.relative_to(folder) for path in folder.rglob("*escape*") if path.is_file()]
    assert {path.parts[1] for path in escaped} == {"pages"}


def attack(hostile: Sidecar, name: str) -> None:
    """Everything a member can sign about a page of others: updates that hurt, updates that lie, registers of the wrong kind."""
    samples = [path.read_bytes() for path in sorted(SAMPLES.glob("*.bin"))] if SAMPLES.is_dir() else []
    updates = [update for update, _ in HOSTILE.values() if len(update) < 60_000]
    with open_pages(hostile.home) as pages:
        author, info = pages.book.author, pages.book.find(name)
        feed, last = author.place()
        own, others = client_of(feed.node, feed.epoch), client_of(info.node, 7)
        item = InsertedText(0, None, None, "never to be seen")
        lies = [
            encode(Update(others, (item,), ())),  # in somebody else's name
            encode(Update(own, (item._replace(clock=1000),), ())),  # behind what was never written
            encode(Update(own, (item._replace(left=Id(others, 2**30), right=None),), ())),  # beside what is not there
        ]
        heads = (os.urandom(8), info.id[:8])
        author.append([PageEdit(info.body, feed.epoch, last, heads, update) for update in [*samples, *updates, *lies]])
        author.append([Republished(PAGE, body, 0) for body in (b"\0" * 16, b"\xc0" * 40, os.urandom(200))])
        fields = ["name", "body", "into", "front", "front.title", "settled"]
        wrong: list[object] = [17, {"body": 1}, [[]]]
        author.append([Assignment(info.id, field, value) for field in fields for value in wrong])
        names = ["../escape", "/tmp/escape", "a/../../escape", ".escape", "escape\0", "x" * 300, "", 5]
        author.append([NewRecord("pages", {"name": name, "body": "?", "first": -1}) for name in names])
        author.append([NewRecord("pages", {"first": 10**9}), NewRecord("pages", {"name": name, "first": [1]})])
