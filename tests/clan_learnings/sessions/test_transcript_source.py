"""A transcript's bytes as values with lines: whatever is damaged costs only itself."""

import json
import os
from pathlib import Path

import pytest
import zstandard

from clan_learnings.sessions import transcript_source as source_module
from clan_learnings.sessions.transcript_source import BESIDE_BYTES, Record, TooLarge, TranscriptSource


def test_lines_are_records_with_their_numbers() -> None:
    """Blank ones, a BOM, carriage returns and bytes of padding are no records, and move no number."""
    source = TranscriptSource(b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"b":2}\n\0\0\0')
    assert list(source.records()) == [Record(1, {"a": 1}), Record(4, {"b": 2})]
    assert source.skipped == {}


def test_later_part_of_a_file_counts_on() -> None:
    """Whoever read the beginning before knows where it ends."""
    assert list(TranscriptSource(b'{"a":1}\n{"b":2}', first_line=10).records()) == [
        Record(10, {"a": 1}),
        Record(11, {"b": 2}),
    ]


def test_glued_records_are_both_read() -> None:
    """And what follows them is counted once."""
    source = TranscriptSource(b'{"a":1}{"b":2} {"c":3}, x\n[1]\n"s"\n{"d":')
    assert [record.value for record in source.records()] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert source.skipped == {"a line, or the rest of one, is no JSON": 2, "a value that is no object": 2}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":"x\ty"}', {"a": "x\ty"}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b'{"a":NaN}', None),
        (b'{"a":1e999}', {"a": float("inf")}),
        (b'{"a":"x\0y"}', {"a": "xy"}),
    ],
)
def test_what_is_almost_json_is_read_patiently(line: bytes, value: object) -> None:
    """Bad bytes, raw control characters, halves of characters, numbers out of bounds."""
    (record,) = TranscriptSource(line).records()
    assert value is None or record.value == value


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_bottomless_nesting_is_counted(line: bytes) -> None:
    """It is skipped, and the next line is read."""
    source = TranscriptSource(line + b'\n{"b":2}')
    assert [record.value for record in source.records()] == [{"b": 2}]
    assert sum(source.skipped.values()) == 1
    assert TranscriptSource(line).document() is None


def test_head_is_short_and_counts_nothing() -> None:
    """It serves to recognise, and records are told again from the first."""
    source = TranscriptSource(b"torn\n" + b'{"a":1}\n' * 1000)
    assert len(source.head) == source_module.HEAD
    assert source.skipped == {}
    assert len(list(source.records())) == 1000


def test_document_knows_the_lines_of_its_parts() -> None:
    """As they were printed."""
    value = {"a": [{"b": "x"}, {"b": "y"}], "c": {"d": 1}}
    document = TranscriptSource(json.dumps(value, indent=1).encode()).document()
    assert document is not None
    assert document.value == value
    listed, member = document.member("a"), document.member("c")
    assert listed is not None
    assert member is not None
    assert [part.line for part in listed.elements()] == [3, 6]
    assert member.line == 10
    assert document.member("z") is None
    assert listed.member("a") is None
    assert list(member.elements()) == []


def test_lines_are_no_document() -> None:
    """One value and nothing else is one; so is a single line."""
    assert TranscriptSource(b'{"a":1}\n{"b":2}').document() is None
    assert TranscriptSource(b'{"a":1} x').document() is None
    assert TranscriptSource(b'"a"').document() is None
    single = TranscriptSource(b'\n {"a":1}\n\n').document()
    assert single is not None
    assert single.line == 2


def test_packed_bytes_are_unpacked_as_far_as_they_go() -> None:
    """A file that was cut off tells what came before."""
    packed = zstandard.ZstdCompressor().compress(b'{"a":1}\n')
    assert list(TranscriptSource(packed + packed).records()) == [Record(1, {"a": 1}), Record(2, {"a": 1})]
    assert list(TranscriptSource(packed + packed[:12]).records()) == [Record(1, {"a": 1})]
    assert list(TranscriptSource(packed[:8]).records()) == []


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it fills the memory."""
    monkeypatch.setattr(source_module, "BYTES", 10_000)
    with pytest.raises(TooLarge):
        TranscriptSource(zstandard.ZstdCompressor().compress(b"a" * 10_000_000))
    with pytest.raises(TooLarge):
        TranscriptSource(b"a" * 10_001)


def test_file_beside_is_read(tmp_path: Path) -> None:
    """By its name, from the same folder."""
    (tmp_path / "summary.json").write_bytes(b"{}")
    source = TranscriptSource(b"", str(tmp_path / "chat.jsonl"))
    assert source.beside("summary.json") == b"{}"
    assert source.beside("other.json") is None
    assert TranscriptSource(b"").beside("summary.json") is None


def test_nothing_but_small_plain_files_beside_is_read(tmp_path: Path) -> None:
    """No way leads out of the folder, and nothing blocks or floods."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside").write_bytes(b"secret")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "inner").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "large").write_bytes(b"x" * (BESIDE_BYTES + 1))
    source = TranscriptSource(b"", str(folder / "chat.jsonl"))
    for name in ("link", "inner", "pipe", "large", "../outside", "..", ".", "", "a\0b", str(tmp_path / "outside")):
        assert source.beside(name) is None


def test_what_is_too_long_for_one_value_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value takes many times its length in memory; what is shorter around it is read."""
    monkeypatch.setattr(source_module, "LINE_BYTES", 20)
    monkeypatch.setattr(source_module, "DOCUMENT_BYTES", 20)
    source = TranscriptSource(b'{"a":1}\n{"b":"' + b"x" * 20 + b'"}\n{"c":3}')
    assert [record.value for record in source.records()] == [{"a": 1}, {"c": 3}]
    assert source.skipped == {"a line that is too long": 1}
    assert TranscriptSource(b'{\n"a": 1\n}').document() is not None
    assert TranscriptSource(b'{\n"a": 1\n}' + b" " * 20).document() is None


def test_unknown_sorts_are_counted_by_name_as_far_as_they_are_few_names() -> None:
    """What a stranger's file calls its records must not fill a report, or a terminal."""
    source = TranscriptSource(b"")
    for sort in ("api-request", "api-request", "a sentence, no name", "x" * 61, "", "\x1b[2J", None, {"a": 1}):
        source.skip_sort("a record", sort)
    unnamed = "a record of a sort that is not known"
    assert source.skipped == {f"{unnamed}: api-request": 2, unnamed: 6}
    for number in range(1000):
        source.skip_sort("a record", f"sort-{number}")
    assert len(source.skipped) == 21
    assert sum(source.skipped.values()) == 1008
