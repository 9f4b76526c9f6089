"""The picture in the README: made again it is the same, and nothing in it is of the machine that made it."""

import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts.recording import recorded
from scripts.terminal_picture import Line, picture

PICTURE = Path(__file__).parents[2] / "docs" / "recording.svg"


@pytest.mark.skipif(shutil.which("git") is None, reason="the recording begins with git init")
def test_the_recording_is_what_the_commands_print_today(tmp_path: Path) -> None:
    """Byte for byte, with other ids, another day and another folder."""
    made = recorded(tmp_path / "machine")
    assert made == PICTURE.read_text(encoding="utf-8"), "docs/recording.svg is not true any more; next: make recording"
    assert str(tmp_path) not in made


def test_a_picture_shows_every_line_and_breaks_long_ones_between_words() -> None:
    """Also what would be markup."""
    lines = [Line("command", "echo '<b>' & wait", "laptop $ "), Line("output", "word " * 30), Line("output", "")]
    drawn = ET.fromstring(picture(lines, "a & b"))  # our own
    texts = ["".join(text.itertext()) for text in drawn.findall(".//{*}text")]
    assert texts[0] == "laptop $ echo '<b>' & wait"
    assert "".join(texts[1:]) == ("word " * 30)
    assert max(map(len, texts)) <= 100


def test_the_last_screen_is_what_is_seen_where_nothing_moves() -> None:
    """More lines than a screen has: the first are gone at the end, and the last is there."""
    made = picture([Line("output", str(number)) for number in range(40)], "forty")
    (screen,) = ET.fromstring(made).findall(".//{*}g[@id='screen']")
    rows = screen.findall("{*}text")
    up = int(screen.attrib["transform"].removeprefix("translate(0 -").removesuffix(")"))
    (window,) = ET.fromstring(made).findall(".//{*}clipPath/{*}rect")
    top, bottom = int(window.attrib["y"]), int(window.attrib["y"]) + int(window.attrib["height"])
    seen = [row.text for row in rows if top < int(row.attrib["y"]) - up < bottom]
    assert seen == [str(number) for number in range(40 - len(seen), 40)]
