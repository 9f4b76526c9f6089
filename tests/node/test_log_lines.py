"""The sidecar's log: one event a line, and no secret in it."""

import logging
from pathlib import Path

import pytest

from mesh.node.log_lines import start_logs


def test_what_others_wrote_begins_no_line_and_keeps_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error may carry a text of theirs, or a traceback of ours with one in it."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    file = tmp_path / "sidecar.log"
    start_logs(str(file))
    log = logging.getLogger("mesh.test")
    log.warning("refused: %s", "first\nroot INFO forged AKIAIOSFODNN7EXAMPLE")
    try:
        int("the password=hunter2hunter2 of bob@example.org")
    except ValueError:
        log.exception("failed")
    text = file.read_text(encoding="utf-8")
    assert "    root INFO forged [redacted: aws key]" in text
    assert "ValueError" in text
    assert not any(secret in text for secret in ("AKIAIOSFODNN7EXAMPLE", "hunter2", "bob@example.org"))
    for handler in logging.getLogger().handlers:
        handler.close()
