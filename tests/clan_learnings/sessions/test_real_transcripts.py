"""Transcripts of real sessions, where they are at hand: all are read, by the right flavour, and counted as a person counts them."""

import json
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session

FOLDER = Path(__file__).parents[3].parent / "shared" / "transcripts"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the transcripts are not beside the checkout")

FLAVOURS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini"}
NO_TRANSCRIPTS = {  # logs of other programs: they quote sessions, but are none
    "claude/slopus__happy/duplicate-assistant-response-2.jsonl",
    "codex/openai__codex/tui-session-log-oss-story.jsonl",
}
EDGES = {  # of the damaged ones: flavour, messages, calls of what they were made from
    "edge/claude_blank_lines_and_garbage.jsonl": ("claude-code", 5, 3),
    "edge/claude_bom_crlf.jsonl": ("claude-code", 5, 3),
    "edge/claude_duplicated_by_resume.jsonl": ("claude-code", 5, 3),
    "edge/claude_huge_image_line.jsonl": ("claude-code", 6, 3),
    "edge/claude_invalid_utf8.jsonl": ("claude-code", 5, 3),
    "edge/claude_lone_surrogate.jsonl": ("claude-code", 5, 3),
    "edge/claude_nul_padded_tail.jsonl": ("claude-code", 5, 3),
    "edge/claude_two_objects_one_line.jsonl": ("claude-code", 5, 3),
    "edge/codex_meta_only.jsonl": ("codex", 0, 0),
    "edge/codex_truncated.jsonl": ("codex", 1, 4),
}

# Messages and calls, counted by hand: with grep and by reading, not with this program.
COUNTED = {
    "claude/entireio__cli/cf564e14-9b07-42ad-8d9a-4faa1b79a0ed.jsonl": (5, 3),
    "claude/chiphuyen__sniffly/fed8ce56-bc79-401f-a83e-af084253362f.jsonl": (6, 7),
    "claude/slopus__happy/1-continue-run-ls-tool.jsonl": (5, 1),
    "claude/d-kimuson__claude-code-viewer/5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl": (20, 21),
    "claude/entireio__git-sync/0708a5fa-06bd-4274-b1fe-513c7202217e.jsonl": (97, 77),
    "claude/gmeligio__flutter-docker-image/390ab778-0d42-4dd4-936d-f11014a7a76a.jsonl": (110, 102),
    "claude/entireio__cli/cde341db-b80a-44f5-b0f2-94db2ef7a164.jsonl": (68, 66),
    "claude/DRMacIver__claude-reliability/python-to-rust-port.jsonl": (40, 39),
    "codex/entireio__git-sync/rollout-2026-04-30T08-09-17-019ddd6f-3680-7fb3-8f93-e567af97d303.jsonl": (15, 20),
    "codex/jdx__hk/rollout-2026-07-01T21-37-09-019f1f9d-3f06-7550-bd6f-5592a5313d51.jsonl": (19, 38),
    "codex/jdx__hk/rollout-2026-07-13T21-08-30-019f5d4f-5d25-7c42-87d1-79de9e276e30.jsonl": (10, 31),
    "codex/jnarowski__agentcmd/full/rollout-2025-09-24T20-12-23-01997ea4-a70d-7da3-8c20-c736db82a7c5.jsonl": (4, 16),
    "codex/jnarowski__agentcmd/full/rollout-2025-09-25T15-12-14-019982b8-3422-79e0-8b3b-05abaf4f3c3e.jsonl": (2, 34),
    "codex/entireio__git-sync/rollout-2026-06-17T07-45-59-019ed48b-4b97-77f0-89c4-4398b4e93e73.jsonl": (1, 4),
    "gemini/jnarowski__agentcmd/session-2025-10-27T19-55-981c87cb.json": (18, 13),
    "gemini/jnarowski__agentcmd/session-2025-10-29T10-36-453aa339.json": (5, 3),
    "gemini/entireio__cli/faff42ab-6ea5-4f78-b8c4-f7dd6272af08.json": (6, 2),
    "gemini/entireio__cli/fa4593e0-f7e1-4dd1-b656-da95fb4d60fa.json": (4, 1),
    "gemini/jazzyalex__agent-sessions/jsonl_v040.jsonl": (3, 1),
}


def manifest() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text())
    return found


def session(file: str) -> Session:
    path = FOLDER / file
    (found,) = read_transcript(path.read_bytes(), str(path)).sessions
    return found


def test_every_file_is_read_without_an_exception() -> None:
    """What was caught would be among what was skipped."""
    entries = manifest()
    assert len(entries) == 163
    for entry in entries:
        path = FOLDER / entry["file"]
        transcript = read_transcript(path.read_bytes(), str(path))
        assert not [why for why in transcript.skipped if "failed to look" in why or "could not read" in why], entry[
            "file"
        ]
        for found in transcript.sessions:
            assert all(1 <= event.line <= max(1, entry["lines"] + 1) for event in found.events), entry["file"]
            calls = {event.call for event in found.events if event.kind is Kind.CALL}
            assert found.calls == sum(event.kind is Kind.CALL for event in found.events), entry["file"]
            assert len(calls) <= found.calls


def test_flavour_is_recognised_from_content() -> None:
    """As whoever collected them says, without the name of the file."""
    for entry in manifest():
        if entry["flavor"] in FLAVOURS:
            expected = "" if entry["file"] in NO_TRANSCRIPTS else FLAVOURS[entry["flavor"]]
            assert read_transcript((FOLDER / entry["file"]).read_bytes()).flavour == expected, entry["file"]


@pytest.mark.parametrize("file", COUNTED)
def test_messages_and_calls_are_as_counted_by_hand(file: str) -> None:
    """Neither what is repeated nor what no person typed counts."""
    found = session(file)
    assert (found.messages, found.calls) == COUNTED[file]


@pytest.mark.parametrize("file", EDGES)
def test_damage_changes_no_count(file: str) -> None:
    """What is left of a session is all there."""
    found = session(file)
    assert (found.flavour, found.messages, found.calls) == EDGES[file]


def test_nothing_in_it_is_said() -> None:
    """Files of nothing, or of nothing but spaces."""
    for name in ("edge/empty.jsonl", "edge/whitespace_only.jsonl"):
        assert read_transcript((FOLDER / name).read_bytes()).skipped == {"nothing in it": 1}


def test_lines_are_those_that_a_person_cites() -> None:
    """Where somebody pointed at a call, an answer or words, there is an event, in printed documents too."""
    for label in json.loads((FOLDER / "labels.json").read_text()):
        if label["flavor"] not in FLAVOURS:
            continue
        lines = {event.line for event in session(label["file"]).events}
        for item in label["items"]:
            for name in ("evidence_line", "fix_line"):
                if name in item:
                    near = range(item[name] - 3, item[name] + 4)
                    assert lines.intersection(near), (label["file"], item)
