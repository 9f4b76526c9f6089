"""The labels of `bench hooks`: by reference alone, and a run that counts what it should."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from bench import hooks

PROMPTS = (
    "write the page",
    "no, the other page",
    "and now the next one",
    "from now on, run the linter",
    "wrong again?",
)
READINGS = (
    ("other", "other"),
    ("correction", "correction"),
    ("other", "other"),
    ("rule", "rule"),
    ("correction", "other"),
)


def test_the_labels_hold_no_word_of_a_prompt() -> None:
    """A file, a line, a hash, and what each reading said; each prompt once."""
    labels = json.loads(hooks.LABELS.read_text("utf-8"))
    assert len(labels) >= 400
    assert len({label["prompt"] for label in labels}) == len(labels)
    for label in labels:
        assert set(label) == {"file", "line", "prompt", "first", "second"}
        assert re.fullmatch(r"[0-9a-f]{16}", label["prompt"])
        assert {label["first"], label["second"]} <= {"correction", "rule", "other"}


def test_without_the_prompts_it_says_that_nothing_is_measured(tmp_path: Path) -> None:
    """They are not part of this repository."""
    report = hooks.run(tmp_path / "missing")
    assert len(report.notes) == 1
    assert report.notes[0].startswith("not measured")


def test_prompts_are_counted_by_what_both_readings_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is apart, and so is one on which they differ."""
    lines = []
    for number, prompt in enumerate(PROMPTS):
        said = {"sessionId": "s", "cwd": "/w", "version": "2", "timestamp": f"2026-01-01T00:00:{2 * number:02}Z"}
        user = said | {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": prompt}}
        content = [{"type": "text", "text": "Done."}]
        reply = said | {
            "type": "assistant",
            "uuid": f"a{number}",
            "message": {"id": f"m{number}", "role": "assistant", "content": content},
        }
        lines += [json.dumps(user), json.dumps(reply)]
    (tmp_path / "one.jsonl").write_text("\n".join(lines) + "\n")
    labels = [
        {
            "file": "one.jsonl",
            "line": 2 * at + 1,
            "prompt": sha256(prompt.encode()).hexdigest()[:16],
            "first": first,
            "second": second,
        }
        for at, (prompt, (first, second)) in enumerate(zip(PROMPTS, READINGS, strict=True))
    ]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    monkeypatch.setattr(hooks, "LABELS", tmp_path / "labels.json")
    report = hooks.run(tmp_path)
    text = report.render()
    assert "claude-code: corrections and rules located, of 2 " in text
    assert "claude-code: others disturbed, of 1 " in text
    assert "first prompts that are disturbed, of 1 " in text
    assert "prompts on which the readings differ, of 4" in text
    assert report.notes == ["5 of 5 labelled prompts are there; 1 of them count neither way"]
