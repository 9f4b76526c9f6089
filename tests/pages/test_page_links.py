"""Links between pages, found in text and not in code."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.pages.page_links import PageLink, links

pieces = [
    "[",
    "[[",
    "]]",
    "]",
    "|",
    "#",
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "a",
    "b c",
    "\\",
    "- ",
    "> ",
    " ",
    "[[x]]",
]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("see [[name]].", ["name"]),
        ("[[a]][[b]]", ["a", "b"]),
        ("[[a b/c d]]", ["a b/c d"]),
        ("[[ name ]]", ["name"]),
        ("[[name|a label]]", ["name"]),
        ("[[name#part]]", ["name"]),
        ("[[name#part|label]]", ["name"]),
        ("| [[name\\|label]] |", ["name"]),
        ("![[picture]]", ["picture"]),
        ("[[[name]]]", ["name"]),
        ("# [[a]]\n> [[b]]\n- [[c]]", ["a", "b", "c"]),
        ("[[a\nb]]", []),
        ("[[]] [[ ]] [[#part]] [[|x]]", []),
        ("[name] [name](url) [[name]", []),
        ("\\[[name]]", []),
        ("`[[a]]` [[b]]", ["b"]),
        ("``a ` [[b]]`` [[c]]", ["c"]),
        ("`[[a]] [[b]]``", ["a", "b"]),
        ("`over\nlines [[a]]` [[b]]", ["b"]),
        ("one ` alone [[a]]\n\nand ` more", ["a"]),
        ("- one ` alone [[a]]\n- and [[b]] ` more", ["a", "b"]),
        ("\\`[[a]]`", ["a"]),
        ("```\n[[a]]\n```\n[[b]]", ["b"]),
        ("```python\n[[a]]\n~~~\n``\n[[b]]\n````\n[[c]]", ["c"]),
        ("~~~\n[[a]]\n```\n[[b]]\n~~~~  \n[[c]]", ["c"]),
        ("  - item\n    ```\n    [[a]]\n    ```\n[[b]]", ["b"]),
        ("> ```\n> [[a]]\n> ```\n[[b]]", ["b"]),
        ("```\nnever closed\n[[a]]", []),
        ("```inline``` [[a]]", ["a"]),
    ],
)
def test_targets(text: str, targets: list[str]) -> None:
    """What is a link and what is not."""
    assert [link.target for link in links(text)] == targets


def test_links_know_their_line() -> None:
    """Counted from one, also behind code and inside a paragraph of several lines."""
    text = "[[a]]\nmore [[b]]\n\n```\n[[no]]\n```\n`[[no]]` x\ny `z\nz` [[c]]\n\n\n[[a]]\n"
    assert links(text) == [PageLink("a", 1), PageLink("b", 2), PageLink("c", 9), PageLink("a", 12)]


@given(st.lists(st.sampled_from(pieces)).map("".join))
def test_every_link_stands_in_its_line(text: str) -> None:
    """For any text: no error, and the target is there."""
    lines = text.split("\n")
    for target, line in links(text):
        assert f"[[{target}" in re.sub(r"\[\[ +", "[[", lines[line - 1])


@pytest.mark.parametrize(
    "piece", ["[", "[[", "[[a", "`", "` ``", "[[a|", "```\n", ">", "\\", "[[a]]", "` ", "-\n", "~", "[[" + 900 * "a"]
)
def test_texts_made_to_be_slow_are_read_in_bounded_time(piece: str) -> None:
    """A megabyte of each; the test's own time limit is the bound."""
    found = links(piece * (1_000_000 // len(piece)))
    assert {link.target for link in found} <= {"a"}
