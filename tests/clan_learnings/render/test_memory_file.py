"""MEMORY.md in two halves: what is kept by hand stands above, as it was written; whatever somebody types is noticed."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clan_learnings.context.injected_mark import FILE_CLOSING, FILE_OPENING, is_ours, without_ours
from clan_learnings.render import memory_file
from clan_learnings.render.files import RenderedFiles, Rendering
from clan_learnings.render.memory_file import NOTICE, RenderedHalves, change, compose, is_edited, is_rendered, read
from clan_learnings.render.owned_files import RenderState, replace_same
from mesh.core.errors import HomeBusy, UsageError
from mesh.core.statement import Erase, sign
from mesh.store.reader import Reader
from mesh.store.record_changes import ChangeCollector
from tests.clan_learnings.records.notebooks import Notebook
from tests.clan_learnings.render.folders import content, render

GENERATED = f"{NOTICE}\n\n- a rule [abcdefgh2345]\n\n{FILE_CLOSING}\n"
LINE = compose("", GENERATED).split("\n\n")[1]
HOSTILE = (
    FILE_OPENING,
    FILE_CLOSING,
    LINE,
    LINE.replace("<!", "<!\\"),
    NOTICE,
    FILE_CLOSING.replace("<", "\\u003c").replace(">", "\\u003e"),
    FILE_CLOSING.replace("<", "&lt;").replace(">", "&gt;"),
    "\\",
    "!-- clan-mesh",
)
TEXTS = st.lists(st.sampled_from([*HOSTILE, "# mine", "", " ", "a\\b", "\u2028", "\x0b"]) | st.text(max_size=8)).map(
    "\n".join
)


def known(hand: str = "") -> RenderedHalves:
    """What is remembered of a file."""
    made = RenderedHalves()
    made.show(memory_file.normal(hand), GENERATED)
    return made


def put(book: Notebook, folder: Path | RenderedFiles, hand: str | None) -> Rendering:
    """Render with something kept by hand."""
    files = folder if isinstance(folder, RenderedFiles) else RenderedFiles(os.fspath(folder))
    connection = book.author.store.database.connection
    return files.render(Reader(connection), ChangeCollector(connection), hand=lambda: hand)


@given(TEXTS)
@example("\r")
@example("a\n\r\n\r")
def test_a_text_comes_back_as_it_was_and_forges_nothing(hand: str) -> None:
    """Whatever a peer has put into the page: the file has one line of ours, and is ours from its first line to its last."""
    hand = hand.replace("\r\n", "\n")
    text = compose(hand, GENERATED)
    found = read(text)
    assert found is not None
    assert (found.hand, found.generated) == (memory_file.normal(hand), GENERATED)
    assert is_rendered(text.encode())
    assert not is_edited(text.encode(), RenderedHalves())
    assert not is_edited(text.encode(), known("something else"))
    assert [row for row in text.split("\n") if row.startswith("<!-- clan-mesh")] == [
        FILE_OPENING, next(row for row in text.split("\n") if row.startswith("<!-- clan-mesh memory")),
    ]  # fmt: skip
    assert without_ours(f"before\n{text}after") == "before\nafter"
    for less, greater in (("\\u003c", "\\u003e"), ("&lt;", "&gt;")):
        encoded = text.replace("<", less).replace(">", greater)
        assert not is_ours(without_ours(f"before\n{encoded}after").removeprefix("before\n").removesuffix("after"))


def test_the_text_stands_at_the_top_as_it_was_written() -> None:
    """Nothing of it is made harmless: it is a person's own Markdown. Without one there is a line to type above."""
    hand = "# Team\n\n<b>bold</b> [x](y) ```sh\n| a | b |\n"
    rows = compose(hand, GENERATED).split("\n")
    assert rows[:7] == [FILE_OPENING, "", "# Team", "", "<b>bold</b> [x](y) ```sh", "| a | b |", ""]
    assert rows[7].startswith("<!-- clan-mesh memory v1 ")
    assert "mesh page edit memory" in rows[7]
    assert compose("", GENERATED) == compose("\n\n", GENERATED) == f"{FILE_OPENING}\n\n{LINE}\n\n{GENERATED}"


def test_equal_texts_give_equal_bytes() -> None:
    """However many empty lines end them."""
    assert compose("a", GENERATED) == compose("\na\n\n", GENERATED)


@pytest.mark.parametrize(
    ("old", "new", "hand", "generated"),
    [
        ("", "", None, False),
        (LINE, f"typed\n{LINE}", "mine\n\ntyped\n", False),
        ("mine\n\n", "", "", False),
        (FILE_OPENING, f"first\n{FILE_OPENING}", "first\n\nmine\n", False),
        (f"{FILE_OPENING}\n", "", None, False),
        ("a rule", "another rule", None, True),
        (FILE_CLOSING, "", None, True),
        ("\n", "\r\n", None, False),
        ("mine", f"mine\n{FILE_OPENING}\nmine too", "mine\nmine too\n", False),
    ],
)
def test_what_somebody_has_changed_is_told_by_the_file_alone(
    old: str, new: str, hand: str | None, *, generated: bool
) -> None:
    """By the digests in its line, whatever is remembered."""
    line = compose("mine", GENERATED).split("\n\n")[2]
    text = compose("mine", GENERATED)
    data = text.replace(old.replace(LINE, line), new.replace(LINE, line), -1 if old == "\n" else 1).encode()
    for remembered in (RenderedHalves(), known("mine"), known("of another time")):
        edited = memory_file.text_of(data)
        assert edited is not None
        found = read(edited)
        assert found is not None
        made = change(found, remembered)
        assert (made.hand, made.generated is not None) == (hand, generated)
        assert is_edited(data, remembered) == (hand is not None or generated)
        assert made.base == memory_file.digest("mine")


def test_a_line_that_was_removed_or_damaged_costs_nothing() -> None:
    """What stands above the generated half is hand-kept; what was typed into the line is below."""
    text, line = compose("mine", GENERATED), compose("mine", GENERATED).split("\n\n")[2]
    removed = read(text.replace(line, "typed"))
    assert removed is not None
    assert change(removed, known("mine")) == ("mine\n\ntyped\n", memory_file.digest("mine"), None)
    only = read(text.replace(line + "\n\n", ""))
    assert only is not None
    assert not change(only, known("mine"))
    damaged = read(text.replace(line, line + " typed"))
    assert damaged is not None
    made = change(damaged, known("mine"))
    assert made.hand is None
    assert made.generated is not None
    assert made.generated.startswith(f"{line} typed\n")
    assert read(text.replace(line, "").replace(NOTICE, "")) is None


def test_a_file_of_an_older_version_is_no_edit() -> None:
    """It has no line, and what was changed in it was lost before."""
    old = f"{FILE_OPENING}\n\n{GENERATED}".encode()
    assert not is_edited(old, RenderedHalves())
    assert is_edited(old.replace(b"\n\n", b"\ntyped\n", 1), RenderedHalves())


def test_older_texts_are_remembered_for_a_while() -> None:
    """The newest always, a few before it, and not much of them."""
    made = RenderedHalves()
    for number in range(20):
        made.show(f"{number}\n", GENERATED)
    assert list(made.hands.values()) == [f"{number}\n" for number in range(11, 20)]
    assert made.hand == memory_file.digest("19")
    made.show("x" * 300_000, GENERATED)
    made.show("last\n", GENERATED)
    assert list(made.hands.values()) == ["last\n"]
    assert RenderedHalves(made.value()).hands == made.hands


def test_another_text_is_rendered_and_nothing_else(tmp_path: Path) -> None:
    """From nothing and by an update the same bytes."""
    book = Notebook(tmp_path)
    book.add("discoveries", text="found", repo="")
    kept = RenderedFiles(str(tmp_path / "out"))
    put(book, kept, "one")
    assert put(book, kept, "one\n").written == []
    assert put(book, kept, "two").written == ["MEMORY.md"]
    assert put(book, tmp_path / "out", "three").written == ["MEMORY.md"]
    source = ChangeCollector(book.author.store.database.connection)
    assert [kept.is_current(source, hand) for hand in ("three", "two", None)] == [True, False, True]
    book.add("discoveries", text="more", repo="")
    put(book, kept, "three")
    put(book, tmp_path / "new", "three")
    assert content(tmp_path / "out") == content(tmp_path / "new")
    assert "found" in content(tmp_path / "out")["MEMORY.md"].decode()


def test_a_text_that_nobody_knows_just_now_stays(tmp_path: Path) -> None:
    """But not after an erase: it may be what was erased."""
    book = Notebook(tmp_path)
    tag = book.add("discoveries", text="secret", repo="")
    out = tmp_path / "out"
    put(book, out, "kept by hand")
    book.add("discoveries", text="more", repo="")
    put(book, out, None)
    assert "kept by hand" in (out / "MEMORY.md").read_text()
    identity = book.home.identity()
    book.author.merge_statements([sign(book.home.mesh, identity, Erase(identity.public, 3, (tag,), "leaked")).encode()])
    put(book, out, None)
    assert "kept by hand" not in b"".join(content(out).values()).decode()
    assert "kept by hand" not in (out / ".clan-mesh-state").read_text()


def test_what_somebody_has_typed_is_not_rendered_over(tmp_path: Path) -> None:
    """The other files are brought up to date; the folder is not said to be."""
    book = Notebook(tmp_path)
    kept = RenderedFiles(str(tmp_path / "out"))
    put(book, kept, "")
    path = tmp_path / "out/MEMORY.md"
    typed = path.read_text().replace(FILE_OPENING, f"typed at the very top\n{FILE_OPENING}")
    path.write_text(typed)
    book.add("discoveries", text="found", repo="")
    done = put(book, kept, "")
    assert (done.is_edited, done.written) == (True, ["discoveries.jsonl"])
    assert path.read_text() == typed
    assert not kept.is_current(ChangeCollector(book.author.store.database.connection), "")
    path.write_text("")
    os.utime(path, (0, 0))  # one that was emptied just now would be waited for
    assert put(book, kept, "").written == ["MEMORY.md"]
    path.write_text("of somebody else\n")
    with pytest.raises(UsageError, match="was not rendered by clan-mesh"):
        put(book, kept, "")


def test_what_is_kept_by_hand_is_asked_when_nobody_else_can_take_an_edit(tmp_path: Path) -> None:
    """Otherwise a text that is older than the edit could be rendered over it."""
    book = Notebook(tmp_path)
    connection = book.author.store.database.connection

    def asked() -> str:
        with pytest.raises(HomeBusy), RenderState(str(tmp_path / "out"), 0):
            pass
        return "asked"

    RenderedFiles(str(tmp_path / "out")).render(Reader(connection), ChangeCollector(connection), hand=asked)
    assert "\n\nasked\n\n" in (tmp_path / "out/MEMORY.md").read_text()


def test_a_file_that_says_something_else_by_now_is_not_replaced(tmp_path: Path) -> None:
    """Whoever saved it was faster."""
    path = tmp_path / "file"
    path.write_text("theirs")
    assert not replace_same(str(path), b"ours", b"before")
    assert path.read_text() == "theirs"
    assert replace_same(str(path), b"ours", b"theirs")
    assert path.read_text() == "ours"


def test_without_pages_a_file_is_rendered_as_ever(tmp_path: Path) -> None:
    """Within its bounds, our mark at both ends."""
    book = Notebook(tmp_path)
    render(book.author.store, tmp_path / "out")
    text = (tmp_path / "out/MEMORY.md").read_text()
    assert text.startswith(f"{FILE_OPENING}\n\n<!-- clan-mesh memory v1 ")
    assert text.endswith(f"\n{FILE_CLOSING}\n")
