"""Secrets: a transcript with every sort of key in every place leaves none on disk, whatever is made of it."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import zstandard

from clan_learnings.redaction import redact
from clan_learnings.sessions.analysis import real_analysts
from clan_learnings.sessions.capture import Capture
from clan_learnings.sessions.catalogue_table import Catalogue
from tests.clan_learnings.redaction.redaction_examples import Secret, secrets
from tests.clan_learnings.sessions.stand_ins import found

PRIVATE = "what-only-the-doctor-knows"


def transcript(planted: list[Secret]) -> str:
    """A session of Claude Code: each secret in a prompt, an argument, a result, a name, JSON in a string, and escaped."""
    lines: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any], **more: Any) -> None:
        number = len(lines)
        about = {"uuid": f"u{number}", "sessionId": "s-1", "cwd": "/home/ada/work", "isSidechain": False}
        lines.append({"type": kind, "timestamp": "2026-11-01T10:00:00Z", "message": message, **about, **more})

    add("user", {"role": "user", "content": f"hello <private>{PRIVATE}</private>"})
    for number, example in enumerate(planted):
        call = f"t{number}"
        arguments = {
            "command": example.text,
            example.text: 1,
            "nested": json.dumps({"deep": json.dumps({"x": example.text})}),
        }
        add("user", {"role": "user", "content": f"no, use this instead: {example.text}"})
        blocks = [{"type": "text", "text": f"I will use {example.text}"}]
        blocks += [{"type": "tool_use", "id": call, "name": "Bash", "input": arguments}]  # type: ignore[dict-item]
        add("assistant", {"id": f"m{number}", "model": "x", "role": "assistant", "content": blocks})
        result = {"type": "tool_result", "tool_use_id": call, "content": f"error: {example.text}", "is_error": True}
        add("user", {"role": "user", "content": [result]}, toolUseResult={"stderr": example.text})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return text + "".join(f"broken line {example.text!r}\n" for example in planted if "\n" not in example.text)


def everything_in(folder: Path) -> bytes:
    """All bytes of all files, packed ones unpacked."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            parts.append(data)
            if path.suffix == ".zst":
                parts.append(zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 28))
    return b"\n".join(parts)


def test_no_planted_secret_is_in_bodies_catalogue_or_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every byte of the home is searched, plain and decoded; private text and the home folder's name are not there either."""
    caplog.set_level(logging.DEBUG)
    planted = [example for example in secrets() if example.secret not in redact(example.text).text]
    path = tmp_path / "s.jsonl"
    path.write_text(transcript(planted))
    with Catalogue(str(tmp_path / "home")) as catalogue:
        report = Capture(catalogue, real_analysts()).run(found(path))
        assert (report.ingested, report.failed) == (1, {})
        (kept,) = catalogue.digests()
        assert kept.digest["messages"] > len(planted)
        body = catalogue.body(str(path))
        assert body is not None
        assert body.count(b"\n") == path.read_bytes().count(b"\n")
    printed = capsys.readouterr()
    left = everything_in(tmp_path / "home").decode("utf-8", "replace")
    left += json.dumps(kept.digest) + json.dumps(kept.items) + caplog.text + printed.out + printed.err
    left += left.replace("\\\\", "\\").replace("\\n", "\n").replace('\\"', '"')
    assert [example.group for example in planted if example.secret in left] == []
    assert PRIVATE not in left
    assert "/home/ada" not in left


def test_a_session_that_lies_in_many_files_is_cleaned_before_it_is_read(tmp_path: Path) -> None:
    """OpenCode keeps a file a message and a file a part: the secret is in none of what is kept, the rest is there."""
    example = next(each for each in secrets() if each.secret not in redact(each.text).text)
    storage = tmp_path / "storage"

    def put(name: str, value: dict[str, Any]) -> Path:
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        return path

    head = put("session/p1/ses_1.json", {"id": "ses_1", "projectID": "p1", "directory": "/home/ada/w", "title": "t"})
    put(
        "message/ses_1/msg_1.json",
        {"id": "msg_1", "role": "user", "sessionID": "ses_1", "time": {"created": 1790000000000}},
    )
    put(
        "part/msg_1/prt_1.json",
        {"id": "prt_1", "type": "text", "text": f"please look at {example.text}", "messageID": "msg_1"},
    )
    with Catalogue(str(tmp_path / "home")) as catalogue:
        report = Capture(catalogue, real_analysts()).run(found(head))
        assert report.flavours == {"opencode": 1}
        (kept,) = catalogue.digests()
    assert kept.digest["task"].startswith("please look at")
    left = everything_in(tmp_path / "home").decode("utf-8", "replace")
    assert example.secret not in left
    assert "/home/ada" not in left
