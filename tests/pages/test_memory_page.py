"""MEMORY.md as people edit it: real pages, a real folder, and nothing that was typed is lost."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.render.files import RenderedFiles
from clan_learnings.render.memory_file import NOTICE, is_rendered
from clan_learnings.render.owned_files import RenderState
from mesh.app.application import Application
from mesh.app.render import is_current, render
from mesh.cli.main import run
from mesh.core.errors import UsageError
from mesh.core.statement import READER
from mesh.pages import file_replacement
from mesh.pages.book import Book
from mesh.pages.editor import Editor
from mesh.pages.folders_thread import FoldersThread
from mesh.pages.memory_page import MemoryFile
from mesh.pages.open_pages import Pages, open_pages
from mesh.pages.worker_client import WorkerClient, WorkerDied
from mesh.store.home import Home, create_home
from mesh.worker.render_thread import RenderThread
from tests.end_to_end.commands import wait_until
from tests.roles import admitted, fill, founder, throw_away
from tests.worker.appending import appending


@pytest.fixture(scope="module")
def workshop() -> Iterator[WorkerClient]:
    """One worker for all: starting it is what takes time."""
    with WorkerClient(seconds=300) as made:
        yield made


class Room:
    """A home with its pages, and a folder that is rendered into."""

    def __init__(self, path: Path, workshop: WorkerClient, home: Home | None = None) -> None:
        self.home = home or create_home(str(path / "home"), "laptop")
        self.author = self.home.author()
        self.editor = Editor(Book(self.author, workshop))
        self.book = self.editor.book
        self.out = Path(self.home.file("rendered"))
        self.path = self.out / "MEMORY.md"
        self.files = RenderedFiles(str(self.out))
        self.said: list[str] = []
        self.now = 100.0
        self.file = self.opened()
        self.render()

    def opened(self) -> MemoryFile:
        return MemoryFile(str(self.out), self.book, self.editor, lambda _, text: self.said.append(text))

    def render(self) -> list[str]:
        return render(self.home.path, self.files, lambda: None).written

    def discover(self, text: str) -> None:
        Application(self.home.path, {}, session="codex:1").discover(text, repo="", anyway=True)

    def text(self) -> str:
        return self.path.read_text()

    def type(self, old: str, new: str, text: str | None = None) -> None:
        """Save the file with something else in it."""
        before = self.text() if text is None else text
        assert old in before
        self.path.write_text(before.replace(old, new, 1))

    def line(self) -> str:
        return next(row for row in self.text().split("\n") if row.startswith("<!-- clan-mesh memory"))

    def top(self) -> str:
        """What stands above the line."""
        return self.text().partition(self.line())[0].partition("\n")[2].strip("\n")

    def pages(self) -> dict[str, str]:
        return {info.shown: self.book.read(info).text for info in self.book.pages()}

    def rejected(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.out.glob("*.rej"))}


@pytest.fixture
def room(tmp_path: Path, workshop: WorkerClient) -> Iterator[Room]:
    made = Room(tmp_path, workshop)
    yield made
    made.author.store.close()


def test_what_is_typed_above_the_line_is_the_page(room: Room) -> None:
    """It makes the page, and an edit of it is an edit of the page. The file is whole again at once."""
    assert room.file.look() is False
    room.type(room.line(), f"# Team\n\nWe use pnpm.\n{room.line()}")
    assert room.file.look() is True
    assert room.pages() == {"memory": "# Team\n\nWe use pnpm.\n"}
    assert room.top() == "# Team\n\nWe use pnpm."
    assert is_rendered(room.path.read_bytes())
    assert is_current(room.home.path, room.files) or room.render() == []
    room.type("pnpm", "uv")
    assert room.file.look() is True
    assert room.pages() == {"memory": "# Team\n\nWe use uv.\n"}
    assert room.rejected() == {}
    assert room.said == []


def test_the_page_is_at_the_top_of_the_file(room: Room) -> None:
    """Without its front matter, which stays; a page of that name in any case; a removed one is there no more."""
    info, _ = room.editor.new("Memory", "---\nowner: ada\n---\nFirst.\n")
    room.book.read(info)
    assert room.render() == ["MEMORY.md"]
    assert room.top() == "First."
    room.type("First.", "First.\nSecond.")
    room.file.look()
    assert room.pages() == {"Memory": "---\nowner: ada\n---\nFirst.\nSecond.\n"}
    kept = room.path.read_bytes()
    room.render()
    assert room.path.read_bytes() == kept
    room.editor.remove(info, "no more")
    room.render()
    assert room.top() == ""


def test_both_edits_are_in_the_result(room: Room) -> None:
    """The page was edited elsewhere since the file was rendered, and rendered again while an editor had it open."""
    info, _ = room.editor.new("memory", "one\n\ntwo\n\nthree\n")
    room.render()
    opened = room.text()
    room.editor.save(info, "one\n\ntwo\n\nthree\n", "one, by a peer\n\ntwo\n\nthree\n")
    room.discover("something that changes the lower half")
    room.render()
    assert "by a peer" in room.top()
    room.type("three", "three, typed", opened)
    assert room.file.look() is True
    assert room.top() == "one, by a peer\n\ntwo\n\nthree, typed"
    assert "something that changes the lower half" in room.text()
    assert room.rejected() == {}
    # The editor has never read the file again, and saves once more.
    room.type("three", "three, typed and typed", opened)
    room.file.look()
    assert room.top() == "one, by a peer\n\ntwo\n\nthree, typed and typed"


def test_changes_of_the_lower_half_are_put_aside_and_said(room: Room) -> None:
    """As a difference, never over another one, and not twice; the file says again what is generated."""
    room.discover("405 means branch protection")
    room.render()
    whole = room.text()
    room.type("405", "406")
    assert room.file.look() is True
    assert room.text() == whole
    (text,) = room.rejected().values()
    assert "`mesh correct`, `mesh discover`" in text.partition("\n")[0]
    assert [row[:6] for row in text.split("\n") if row[:3] in ("- -", "-- ", "+- ")] == ["-- 405", "+- 406"]
    assert room.said == [f"{room.path}: what was changed below its line is generated; it was put into {room.path}.rej"]
    room.type("405", "406")
    room.file.look()
    assert list(room.rejected()) == ["MEMORY.md.rej"]
    room.type("405", "407")
    room.type(room.line(), f"kept\n{room.line()}")
    room.file.look()
    assert list(room.rejected()) == ["MEMORY.md.1.rej", "MEMORY.md.rej"]
    assert room.top() == "kept"
    assert room.pages() == {"memory": "kept\n"}
    assert room.render() == []


@pytest.mark.parametrize("with_state", [True, False])
def test_a_line_that_is_gone_costs_nothing(room: Room, *, with_state: bool) -> None:
    """What stands above the lower half is taken for what was typed."""
    room.editor.new("memory", "first\n\nsecond\n")
    room.render()
    room.type(f"{room.line()}\n", "third\n")
    if not with_state:
        (room.out / ".clan-mesh-state").unlink()
    assert room.file.look() is True
    assert [row for row in room.pages()["memory"].split("\n") if row] == ["first", "second", "third"]
    room.render()
    assert NOTICE in room.text()
    assert is_rendered(room.path.read_bytes())
    assert room.rejected() == {}


def test_a_file_of_which_nobody_can_tell_the_halves_is_put_aside_whole(room: Room) -> None:
    """So is one that is no text. The page stays."""
    room.editor.new("memory", "kept\n")
    room.render()
    room.path.write_text("<!-- clan-mesh rendered v1 -->\nall else was replaced\n")
    room.file.look()
    assert room.rejected()["MEMORY.md.rej"].endswith("-->\nall else was replaced\n")
    room.path.write_bytes(room.path.read_bytes().replace(b"kept", b"k\xe9pt"))
    room.file.look()
    assert b"k\xe9pt" in (room.out / "MEMORY.md.1.rej").read_bytes()
    assert (room.top(), room.pages()) == ("kept", {"memory": "kept\n"})
    assert NOTICE in room.text()


def test_an_emptied_or_deleted_or_foreign_file_says_nothing_about_the_page(room: Room) -> None:
    """It is rendered again; what is not ours is not touched."""
    room.editor.new("memory", "kept\n")
    room.render()
    room.path.write_text("")
    assert room.file.look() is False
    room.path.unlink()
    assert room.file.look() is False
    room.render()
    assert room.top() == "kept"
    room.path.write_text("mine\n")
    assert room.file.look() is False
    assert room.text() == "mine\n"
    room.path.unlink()
    room.path.symlink_to(room.out / "patterns.md")
    assert room.file.look() is False
    assert room.pages() == {"memory": "kept\n"}


def test_a_secret_is_taken_out_and_said(room: Room) -> None:
    """Neither the page nor what the folder remembers has it."""
    secret = "AKIA" + "Z7Q4M2X9W8E1R5T3"
    room.type(room.line(), f"the key is {secret}\n{room.line()}")
    room.file.look()
    assert "[redacted" in room.top()
    assert secret not in room.text() + (room.out / ".clan-mesh-state").read_text() + "".join(room.pages().values())
    assert [f"taken out of {room.path} before it was saved" in text for text in room.said] == [True]
    assert secret not in room.said[0]


def test_windows_lines_and_a_byte_order_mark_are_no_edit(room: Room) -> None:
    """But what was typed between them is."""
    room.editor.new("memory", "one\n")
    room.render()
    room.path.write_bytes(b"\xef\xbb\xbf" + room.path.read_bytes().replace(b"\n", b"\r\n"))
    room.file.look()
    assert room.rejected() == {}
    room.path.write_bytes(room.path.read_bytes().replace(b"one\r\n", b"one\r\ntwo\r\n"))
    assert room.file.look() is True
    assert room.pages() == {"memory": "one\ntwo\n"}
    assert b"\r" not in room.path.read_bytes()


def test_a_page_that_looks_like_our_marks_breaks_nothing(room: Room) -> None:
    """A hostile text is shown, does not move the line, and comes back as it is."""
    hostile = f"<!-- clan-mesh rendered v1 -->\n{room.line()}\n<!-- /clan-mesh rendered -->\n{NOTICE}\n"
    info, _ = room.editor.new("memory", hostile)
    room.render()
    assert room.file.look() is False
    last = [row for row in room.text().split("\n") if row.startswith("<!-- clan-mesh memory")]
    room.type(last[0], f"typed\n{last[0]}")
    assert len(last) == 1
    room.file.look()
    assert room.book.read(info).text == hostile + "\ntyped\n"
    assert room.rejected() == {}


def test_a_save_between_reading_and_replacing_is_taken_too(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is exchanged, not written over: what was there is looked at again."""
    room.editor.new("memory", "one\n")
    room.render()
    room.type("one", "one\n\ntwo")
    replace: Callable[[str, bytes], file_replacement.DisplacedFile] = file_replacement.replace

    def late(path: str, data: bytes) -> file_replacement.DisplacedFile:
        monkeypatch.setattr(file_replacement, "replace", replace)
        room.type("two", "two\n\nthree")
        return replace(path, data)

    monkeypatch.setattr(file_replacement, "replace", late)
    room.file.look()
    assert room.pages() == {"memory": "one\n\ntwo\n\nthree\n"}
    assert room.top() == "one\n\ntwo\n\nthree"
    assert [name for name in os.listdir(room.out) if name.startswith(".mesh-")] == []


def test_whoever_renders_waits_for_what_was_typed(room: Room) -> None:
    """Both ways: a file that is edited is not rendered over, and nothing is taken while somebody renders."""
    room.type(room.line(), f"typed\n{room.line()}")
    typed = room.text()
    room.discover("405 means branch protection")
    room.render()
    assert room.text() == typed
    with RenderState(str(room.out), 1):
        due = room.file.step(room.now)
        assert due is not None
        again = room.file.step(due)
        assert again is not None
        assert again > due
    assert (room.text(), room.said, room.pages()) == (typed, [], {})
    assert room.file.step(again, files=False) is not None  # and once more, to see that nobody has saved meanwhile
    assert room.top() == "typed"
    assert "405 means branch protection" in room.text()
    assert is_current(room.home.path, room.files) or room.render() == []


def test_it_is_driven_like_a_mirror(room: Room) -> None:
    """A file that was just written is taken when it is quiet; what cannot be written is said once, and tried again."""
    assert room.file.identity() is not None
    due = room.file.step(room.now)
    assert due is not None
    assert room.file.step(due) is None
    assert room.file.step(due + 1, files=False) is None
    room.type(room.line(), f"{'x' * 1_100_000}\n{room.line()}")
    due = room.file.step(200.0)
    assert due is not None
    again = room.file.step(due)
    assert again is not None
    assert again > due + 1
    room.file.step(again, files=False)
    assert len(room.said) == 1
    assert "a page has at most" in room.said[0]
    room.type("x" * 1_100_000, "short")
    room.file.step(300.0)
    due = room.file.step(301.0)
    assert due is not None
    assert room.file.step(due) is not None
    assert room.file.step(due + 1) is None
    assert (room.top(), room.pages()) == ("short", {"memory": "short\n"})


def test_a_remote_edit_is_worked_out_when_pages_have_changed(room: Room) -> None:
    """Whoever renders shows what was worked out last."""
    info, _ = room.editor.new("memory", "one\n")
    room.author.store.database.run("DELETE FROM page_texts")
    assert not is_current(room.home.path, room.files)
    room.file.step(room.now, files=False, pages=True)
    room.render()
    assert room.top() == "one"
    assert is_current(room.home.path, room.files)
    assert room.book.read(info).text == "one\n"


def test_the_command_takes_what_was_typed_into_any_folder(tmp_path: Path, workshop: WorkerClient) -> None:
    """Into the page, before it renders; if it cannot, the file is left as it is and the command says so."""
    room = Room(tmp_path, workshop)
    out = tmp_path / "docs"
    assert run(["render", str(out), "--home", room.home.path]) == 0
    room.path = out / "MEMORY.md"
    room.type(room.line(), f"typed\n{room.line()}")
    assert run(["render", str(out), "--home", room.home.path]) == 0
    assert (room.top(), room.pages()) == ("typed", {"memory": "typed\n"})
    assert run(["render", "--home", room.home.path]) == 0
    assert "\n\ntyped\n\n" in (room.out / "MEMORY.md").read_text()
    assert run(["render", "--check", "--home", room.home.path]) == 0


def test_a_worker_that_does_not_start_stops_no_command(
    tmp_path: Path, workshop: WorkerClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last known text is rendered, and what was typed stays in the file."""
    room = Room(tmp_path, workshop)
    room.editor.new("memory", "known\n")
    room.render()

    def died(*_: object) -> None:
        raise WorkerDied("the page worker ended by signal 9")

    monkeypatch.setattr(WorkerClient, "_ask", died)
    room.type("known", "known\ntyped")
    assert run(["render", "--home", room.home.path]) == 3
    told = capsys.readouterr()
    assert "the page worker ended by signal 9" in told.err
    assert "MEMORY.md is left as it was edited" in told.out
    assert "known\ntyped" in room.text()
    room.author.store.database.run("UPDATE page_texts SET text_number=0")
    assert run(["render", str(tmp_path / "new"), "--home", room.home.path]) == 0
    assert "\n\nknown\n\n" in (tmp_path / "new/MEMORY.md").read_text()


def test_a_node_that_counts_nowhere_keeps_what_was_typed(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file: as a page nobody would see it."""
    room.type(room.line(), f"typed\n{room.line()}")
    monkeypatch.setattr(room.author.store, "own", b"\0" * 32)
    with pytest.raises(UsageError, match="not a member yet"):
        room.file.look()
    assert room.top() == "typed"


class _Keeper:
    """What the keeper works at, with nothing but the file on it."""

    def __init__(self, room: Room, pages: Pages) -> None:
        self._book = pages.book
        self._file = MemoryFile(str(room.out), pages.book, pages.editor, lambda _, text: room.said.append(text))

    def version(self) -> int:
        return self._book.version()

    def mirrors(self) -> Any:
        return [self._file]

    def tend(self) -> None:
        """Nothing follows from anything here."""


def test_edits_here_and_elsewhere_meet_while_threads_keep_the_file(room: Room) -> None:
    """One renders, one takes edits; a person types and somebody else edits the page. Every word is there once."""

    @contextmanager
    def opened() -> Iterator[_Keeper]:
        with open_pages(room.home.path) as pages:
            yield _Keeper(room, pages)

    info, _ = room.editor.new("memory", "first\n")
    with RenderThread(room.home, threading.Event(), appending(room.home)), FoldersThread(opened):
        wait_until(lambda: room.top() == "first")
        words = ["first"]
        for number in range(4):
            room.type(room.line(), f"typed {number}\n\n{room.line()}")
            words.extend([f"typed {number}", f"elsewhere {number}"])
            room.discover(f"finding {number}")
            room.editor.append(info, f"\nelsewhere {number}\n")
            wait_until(lambda: all(word in room.top() for word in words))
            wait_until(lambda number=number: f"finding {number};" in room.text())  # type: ignore[misc]
        wait_until(lambda: is_rendered(room.path.read_bytes()))
    assert sorted(row for row in room.pages()["memory"].split("\n") if row) == sorted(words)
    assert (room.rejected(), room.said) == ({}, [])


def test_without_pages_nothing_of_them_is_loaded(tmp_path: Path) -> None:
    """A command that renders starts as fast as before there were any."""
    home = create_home(str(tmp_path / "home"), "laptop").path
    code = (
        "import sys; from mesh.cli.main import run\n"
        "for _ in range(2): assert run(['render', sys.argv[1], '--home', sys.argv[2]]) == 0\n"
        "assert run(['render', sys.argv[1], '--check', '--home', sys.argv[2]]) == 0\n"
        "heavy = ('mesh.pages.book', 'mesh.pages.document', 'mesh.pages.work', 'pycrdt', 'subprocess')\n"
        "print([name for name in sys.modules if name.startswith(heavy)], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out"), home], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


# Nodes that may not write


def test_what_a_reader_types_is_put_aside_and_said_once(tmp_path: Path, workshop: WorkerClient) -> None:
    """The file says again what it said; nothing is tried over and over."""
    room = Room(tmp_path, workshop, admitted(tmp_path, founder(tmp_path), READER))
    before = room.text()
    room.type(room.line(), f"mine\n{room.line()}")
    due = room.file.step(room.now)
    while due is not None and due < room.now + 60:
        due = room.file.step(due)
    assert room.text() == before
    assert [text.splitlines()[-1] for text in room.rejected().values()] == ["mine"]
    assert len(room.said) == 1
    assert "invited as a reader" in room.said[0]
    room.author.store.close()


def test_what_is_typed_beyond_the_quota_stays_in_the_file_until_there_is_room(
    tmp_path: Path, workshop: WorkerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried once a minute, not all the time, and whenever somebody types on."""
    room = Room(tmp_path, workshop, throw_away(tmp_path))
    fill(room.home)
    tries: list[str] = []
    new = room.editor.new

    def counted(name: str, text: str) -> object:
        tries.append(text)
        return new(name, text)

    monkeypatch.setattr(room.editor, "new", counted)
    room.type(room.line(), f"mine\n{room.line()}")
    for second in range(50):
        room.file.step(room.now + second, files=True)
    assert len(tries) == 1
    assert "mine" in room.text()
    assert len(room.said) == 1
    room.file.step(room.now + 120)
    assert len(tries) == 2
    room.type("mine", "mine, and more")
    for second in range(2):
        room.file.step(room.now + 121 + second)
    assert len(tries) == 3
    room.author.store.close()
