"""A file as the text of a page, and back."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.pages.file_text import MOST_BYTES, Content, LeftAlone, decoded, encoded, read, same, stamp_of


@pytest.mark.parametrize(
    ("data", "text", "style"),
    [
        (b"", "", ""),
        (b"one\ntwo\n", "one\ntwo\n", ""),
        (b"one\ntwo", "one\ntwo\n", "bare"),
        (b"one\r\ntwo\r\n", "one\ntwo\n", "crlf"),
        (b"one\r\ntwo", "one\ntwo\n", "crlf bare"),
        (b"\xef\xbb\xbfone\r\n", "one\n", "bom crlf"),
        (b"\xef\xbb\xbf", "", "bom"),
        ("# Größe\n\n\n".encode(), "# Größe\n\n\n", ""),
    ],
)
def test_a_file_is_read_as_a_page_and_written_as_it_was(data: bytes, text: str, style: str) -> None:
    assert decoded(data) == Content(text, style)
    assert encoded(text, style) == data


def test_most_lines_decide_about_mixed_line_ends() -> None:
    assert decoded(b"a\r\nb\r\nc\n") == Content("a\nb\nc\n", "crlf")
    assert decoded(b"a\r\nb\nc\n") == Content("a\nb\nc\n", "")


def test_a_style_is_kept_when_the_text_changes() -> None:
    assert encoded("one\nmore\n", "bom crlf bare") == b"\xef\xbb\xbfone\r\nmore"


@given(st.binary(max_size=60))
def test_whatever_is_read_says_the_same_when_it_is_written(data: bytes) -> None:
    content = decoded(data)
    if isinstance(content, Content):
        again = decoded(encoded(content.text, content.style))
        assert isinstance(again, Content)
        assert same(again.text.replace("\r\n", "\n"), content.text.replace("\r\n", "\n"))


def test_how_many_newlines_end_a_text_is_no_difference() -> None:
    assert same("a\n\n\n", "a\n")
    assert same("", "\n")
    assert not same("a\n", "a \n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"caf\xe9\n", "it is not UTF-8 (byte 3)"),
        (b"a\0b", "it is not a text: it holds zero bytes"),
        (b"x" * (MOST_BYTES + 1), "it is larger than 4 MiB"),
    ],
)
def test_what_is_no_text_of_a_page_is_left_alone(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(data)
    assert read(str(path)) == (stamp_of(os.stat(path)), LeftAlone(reason))


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * (MOST_BYTES - 1) + b"\n")
    _, content = read(str(tmp_path / "a.md"))
    assert isinstance(content, Content)
    assert len(content.text) == MOST_BYTES


def test_links_folders_and_pipes_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("text\n")
    (tmp_path / "link.md").symlink_to("real.md")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    assert read(str(tmp_path / "link.md"))[1] == LeftAlone("it is a link")
    assert read(str(tmp_path / "folder.md"))[1] == LeftAlone("it is not a file")
    assert read(str(tmp_path / "pipe.md"))[1] == LeftAlone("it is not a file")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / "none.md"))
