"""The mark on what came from us, found and taken out wherever a transcript puts it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.context import injected_mark
from clan_learnings.context.composition import ContextRecord, HotRule, Limits, compose, short_lines

HOT = [HotRule("7k3qmzpa", 'Use "pnpm" in C:\\new', "npm install", 4, 2, "2026-11-14")]
BLOCK = compose(
    HOT, [ContextRecord("abcdefgh", "discovery", "é", "2026-11-14")], (), (), limits=Limits(), repo="", call="mesh"
).text
LINES = short_lines([*HOT, ContextRecord("abcdefgh", "discovery", "prints a\\n", "2026-11-14")]).text
FILE = f"{injected_mark.FILE_OPENING}\n# patterns\n- x [7k3qmzpa]\n{injected_mark.FILE_CLOSING}\n"
ROW = json.dumps({"text": "x", "mark": injected_mark.RENDERED}) + "\n"


@pytest.mark.parametrize("ours", [BLOCK + "\n", LINES + "\n", FILE, ROW])
def test_ours_goes_and_the_rest_stays(ours: str) -> None:
    """A block, lines, a rendered file, a rendered JSON line, between other lines."""
    assert injected_mark.is_ours(ours)
    assert injected_mark.without_ours(f"before\n{ours}after\n") == "before\nafter\n"


@pytest.mark.parametrize("ours", [BLOCK, LINES])
def test_ours_is_found_inside_json(ours: str) -> None:
    """Line ends and quotation marks are escaped; what is left is the same JSON without our words."""
    row = json.dumps({"context": f"{ours}\nafter", "more": "kept"})
    assert injected_mark.is_ours(row)
    assert json.loads(injected_mark.without_ours(row)) == {"context": "after", "more": "kept"}
    assert json.loads(injected_mark.without_ours(json.dumps({"context": ours}))) == {"context": ""}


def test_ours_is_found_inside_json_made_for_html() -> None:
    """Some encoders write angles as escapes."""
    row = json.dumps({"context": BLOCK, "more": 1}).replace("<", "\\u003c").replace(">", "\\u003e")
    assert json.loads(injected_mark.without_ours(row)) == {"context": "", "more": 1}


def test_a_rendered_json_line_is_found_inside_json() -> None:
    """An agent read the file, and the transcript is JSON itself: the other lines stay."""
    row = json.dumps({"before": "kept", "output": f"first\n{ROW}last", "after": "kept"})
    assert json.loads(injected_mark.without_ours(row)) == {"before": "kept", "output": "first\nlast", "after": "kept"}


@given(st.integers(16, len(BLOCK) - 1))
def test_a_block_that_is_cut_off_goes_to_the_end(length: int) -> None:
    """Wherever an agent cut it."""
    assert injected_mark.without_ours("before\n" + BLOCK[:length]) == "before\n"


@pytest.mark.parametrize("before", ["    ", "> ", "  12→", "\t", "| "])
def test_quoted_lines_are_found(before: str) -> None:
    """Indented, numbered or quoted by a tool."""
    text = "".join(before + line + "\n" for line in LINES.split("\n"))
    assert injected_mark.without_ours(f"a\n{text}b") == "a\nb"


def test_an_indented_block_is_found() -> None:
    """The first and the last line may stand anywhere in theirs."""
    text = "".join("    " + line + "\n" for line in BLOCK.split("\n"))
    assert injected_mark.without_ours(f"a\n{text}b").split() == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "clan-mesh is a tool",
        "we use <clan-mesh> and </clan-mesh> tags",
        "the mark is `<clan-mesh context v1 ...>` here\nand more",
        "in clan-mesh: something",
        "pip install clan-mesh",
        "",
    ],
)
def test_talk_about_us_is_not_ours(text: str) -> None:
    """A name alone is no mark."""
    assert not injected_mark.is_ours(text)
    assert injected_mark.without_ours(text) == text


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Nothing of ours is left, and a text without us stays as it is."""
    rest = injected_mark.without_ours(text)
    assert rest == text or injected_mark.is_ours(text)


@given(
    st.lists(
        st.sampled_from([BLOCK, LINES + "\n", FILE, ROW, "other\n", BLOCK[:80], "clan-mesh", '"', "\n", "\\n", "<"]),
        max_size=8,
    )
)
def test_taking_out_ends(pieces: list[str]) -> None:
    """Any mixture is read once, and what is found is told of both ways."""
    text = "".join(pieces)
    assert (injected_mark.without_ours(text) != text) == injected_mark.is_ours(text)
