"""Names of pages: one spelling, no two alike, and each a file that can be made."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.pages.page_names import Named, checked, folded, name_of, path_of, safe, shown

parts = [
    "x",
    "X",
    "ß",
    "SS",
    "é",
    "e\u0301",
    "/",
    "/",
    ".",
    "..",
    " ",
    "~",
    "~abcde",
    "~ABCD\u017f",
    "~aaaaa",
    ".md",
    ".MD",
    "\n",
    "\0",
    ":",
    "\\",
    "日",
]
hostile = st.one_of(st.text(), st.lists(st.sampled_from(parts)).map("".join), st.text(alphabet=".~/ md", max_size=300))
ids = st.one_of(
    st.binary(min_size=32, max_size=32),
    st.sampled_from([bytes(32), bytes(31) + b"\x10", b"\0\0\0\1" + bytes(28), bytes(3) + bytes([8]) * 29]),
)


@given(hostile)
def test_any_text_becomes_a_name(text: str) -> None:
    """What is made safe passes the check, and stays as it is when it is made safe again."""
    name = safe(text)
    assert checked(name) == name
    assert safe(name) == name


@given(hostile)
def test_a_good_name_stays(text: str) -> None:
    """Making safe changes nothing in a name that passes the check but its spelling."""
    with contextlib.suppress(UsageError):
        assert checked(text) == safe(text)


@given(st.lists(st.builds(Named, ids, hostile, st.integers(1, 3)), max_size=12))
def test_shown_names_are_all_different_and_the_same_on_every_node(pages: list[Named]) -> None:
    """After folding too, in any order of the pages; and each leads to a path and back."""
    names = shown(pages)
    assert names.keys() == {page.id for page in pages}
    assert len({folded(name) for name in names.values()}) == len(names)
    assert shown(sorted(pages)) == shown(reversed(pages)) == names
    for name in names.values():
        assert name_of(path_of(name)) == name
        assert all(0 < len(part.encode()) <= 255 and part[0] != "." for part in path_of(name).split("/"))


@pytest.mark.parametrize(
    "name", ["a", "a/b c", "Größe", "日本語", "a.b", "a~b", "v1.2/notes", "👩‍🚀", "C#", "x~abcd", "-", "a" * 197]
)
def test_names_that_can_be(name: str) -> None:
    """Folders, blanks, any script."""
    assert checked(name) == name
    assert name_of(path_of(name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "", "/a", "a/", "a//b", "..", "a/../b", ".hidden", "a/.git/b", "a\nb", "a\0", "a:b", "a\\b", "a.md", "a.MD", "a.md/b",
        "a.", "a ", " a", "a /b", "x~abcde", "x~ABCDE", "x~abcd\u017f", "x~" + 52 * "a", 201 * "a", 198 * "a", 100 * "日", "a\u202eb", "\ud800",
    ],
)  # fmt: skip
def test_names_that_cannot_be(name: str) -> None:
    """Each is said to be one, with something to do."""
    with pytest.raises(UsageError) as caught:
        checked(name)
    assert caught.value.next_step
    assert len(str(caught.value)) < 250


def test_a_name_has_one_spelling() -> None:
    """Composed, as it is on most systems."""
    assert checked("Cafe\u0301") == "Caf\u00e9"
    assert name_of("Cafe\u0301.md") == "Caf\u00e9"
    assert name_of("Notes.MD") == "Notes"


@pytest.mark.parametrize(
    ("text", "name"),
    [("", "page"), ("..", "page"), ("../../etc/passwd", "etc/passwd"), ("a\nb", "a-b"), ("C:\\x", "C--x"), ("x.md", "x"),
     ("x~abcde", "x-abcde"), ("/a//b/", "a/b"), ("a" * 300, "a" * 197)],
)  # fmt: skip
def test_bad_names_of_others_are_shown_without_what_is_bad(text: str, name: str) -> None:
    """The same on every node."""
    assert safe(text) == name


def test_the_oldest_page_keeps_a_name() -> None:
    """Names that differ in case or spelling are one; the id decides between pages of one moment."""
    old, young, twin = (bytes([number]) * 32 for number in (9, 1, 2))
    pages = [Named(young, "CAFE\u0301", 8), Named(old, "Café", 7), Named(twin, "café", 8)]
    assert shown(pages) == {old: "Café", young: f"CAFÉ~{text_id(young)[:5]}", twin: f"café~{text_id(twin)[:5]}"}


def test_ids_that_begin_alike_are_shown_longer() -> None:
    """Until they differ."""
    first, one, other = b"\xff" * 32, bytes(16) + b"\x01" * 16, bytes(16) + b"\x02" * 16
    names = shown([Named(first, "x", 1), Named(one, "x", 2), Named(other, "x", 3)])
    same = next(place for place in range(52) if text_id(one)[place] != text_id(other)[place])
    assert names == {first: "x", one: "x~" + text_id(one)[: same + 1], other: "x~" + text_id(other)[: same + 1]}


def test_a_name_made_to_look_like_another_pages_is_not_shown_so() -> None:
    """Somebody calls a page what a third one would be shown as."""
    one, other, fake = (bytes([number]) * 32 for number in (1, 2, 3))
    end = text_id(other)[:5]
    assert shown([Named(one, "x", 1), Named(other, "x", 2), Named(fake, f"x~{end}", 0)]) == {
        one: "x",
        other: f"x~{end}",
        fake: f"x-{end}",
    }


@pytest.mark.parametrize(
    "path", ["a.txt", "a", ".a.md", ".md", "a/.b.md", "a/.git/b.md", "x~ABCDE.md", "a.md.md", "a:b.md", "4913", "a.md~"]
)
def test_files_that_are_no_page(path: str) -> None:
    """What editors leave beside a file, and what no page can be called."""
    with pytest.raises(UsageError):
        name_of(path)


def test_a_page_beside_a_folder_of_its_name() -> None:
    """`a.md` beside `a/`: no clash."""
    assert [path_of("a"), path_of("a/b")] == ["a.md", "a/b.md"]
