"""Quick counts are exactly the adapters' counts: on every transcript there is, and on made ones of every sort."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.capture_sessions import make
from clan_learnings.sessions.quick_counts.counting import count, quickly, thoroughly
from clan_learnings.sessions.quick_counts.session_counts import Facts

TRANSCRIPTS = Path(__file__).parents[3].parent / "shared" / "transcripts"


def counts(facts: list[Facts]) -> list[tuple[Any, ...]]:
    return [
        (each.flavour, each.id, each.messages, each.calls, each.parent, each.is_subagent, each.folder, each.remote)
        for each in facts
    ]


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="there is no folder of shared transcripts beside the checkout")
def test_every_shared_transcript_is_counted_as_its_adapter_does() -> None:
    """Session by session: messages, calls, whose it is."""
    wrong = []
    for path in sorted(TRANSCRIPTS.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if counts(count(data, str(path))) != counts(thoroughly(data, str(path))):
                wrong.append(path.name)
    assert wrong == []


def test_made_transcripts_are_counted_quickly_and_right(tmp_path: Path) -> None:
    """None of them needs its adapter, and all counts agree."""
    make(str(tmp_path), 80, 0.1)
    for path in sorted(tmp_path.iterdir()):
        data = path.read_bytes()
        quick = quickly(data, str(path))
        assert quick is not None
        assert counts([quick]) == counts(thoroughly(data, str(path)))
        assert quick.outcome in {"failure", "success"}


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def claude(kind: str, number: int, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s",
        "cwd": "/w",
        "isSidechain": False,
        "message": message,
    } | more


PROMPT = claude("user", 1, {"role": "user", "content": "please do it"})
ANSWER = claude(
    "assistant",
    2,
    {
        "id": "m1",
        "model": "x",
        "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
    },
)
RESULT = claude("user", 3, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]})


@pytest.mark.parametrize(
    "more",
    [
        [PROMPT],
        [claude("user", 4, {"content": [{"type": "text", "text": "and [that]"}]})],
        [claude("user", 4, {"content": "<command-name>/x</command-name>"})],
        [claude("user", 4, {"content": "[Request interrupted by user]"})],
        [claude("user", 4, {"content": "hidden"}, isMeta=True)],
        [claude("user", 4, {"content": "a summary"}, isCompactSummary=True)],
        [claude("user", 4, {"content": "aside"}, isSidechain=True)],
        [claude("user", 4, {"content": "robot"}, origin={"kind": "hook"})],
        [claude("assistant", 4, {"id": "m1", "model": "x", "content": [{"type": "text", "text": "same answer"}]})],
        [claude("assistant", 4, {"id": "m2", "model": "<synthetic>", "content": [{"type": "text", "text": "no"}]})],
        [
            claude(
                "assistant",
                4,
                {"id": "m2", "model": "x", "content": [{"type": "tool_use", "id": "t1", "name": "Bash"}]},
            )
        ],
        [claude("assistant", 4, {"model": "x", "content": "just text"})],
        [{"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "later please"}],
        [
            {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "later please"},
            claude("user", 5, {"content": "later please"}),
        ],
        [{"type": "tool_use", "id": "t9", "name": "Bash", "sessionId": "s", "uuid": "u9"}],
        [claude("user", 4, {"content": "other"}, sessionId="s2")],
        [
            {
                "type": "attachment",
                "uuid": "u8",
                "sessionId": "s",
                "attachment": {"type": "queued_command", "prompt": "go on"},
            }
        ],
        [
            {
                "type": "progress",
                "uuid": "u7",
                "sessionId": "s",
                "data": {"message": {"type": "assistant", "role": "user"}},
            }
        ],
    ],
)
def test_whatever_else_stands_in_a_transcript_counts_alike(more: list[dict[str, Any]]) -> None:
    """A counter either knows it, or leaves it to the adapter."""
    data = lines(PROMPT, ANSWER, RESULT, *more)
    assert counts(count(data, "/t/s.jsonl")) == counts(thoroughly(data, "/t/s.jsonl"))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{}\n", b"[1]\n", b'{"role":"user","content":5}\n{"role":"x"}\n', b'{"type":[]}\n']
)
def test_nothing_in_a_transcript_makes_counting_fail(data: bytes) -> None:
    """Bytes of strangers give counts, or none."""
    assert counts(count(data, "")) == counts(thoroughly(data, ""))
