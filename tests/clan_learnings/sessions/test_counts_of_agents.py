"""Messages and calls of real sessions, against counts made by hand from the files: never with the code under test."""

import pytest

from clan_learnings.sessions.recognition import read_transcript
from tests.clan_learnings.sessions.small_transcripts import SHARED

# file -> (flavour, messages, calls) of each session in it. Counted on the raw text: records of the person and of the model
# that hold anything, and the places where a call begins; then read through. What subagents are told is no message.
COUNTED: dict[str, list[tuple[str, int, int]]] = {
    "grok/23blocks-OS__ai-maestro/updates.jsonl": [("grok", 3, 1)],
    "grok/jazzyalex__agent-sessions/chat_history.jsonl": [("grok", 4, 3)],
    "grok/jazzyalex__agent-sessions/subagent/chat_history.jsonl": [("grok", 2, 1)],
    "hermes/jazzyalex__agent-sessions/large.json": [("hermes", 3, 1)],
    "hermes/jazzyalex__agent-sessions/schema_drift.json": [("hermes", 2, 1)],
    "hermes/jazzyalex__agent-sessions/small.json": [("hermes", 2, 0)],
    "hermes/Sinity__polylogue/example-session.json": [("hermes", 4, 1)],
    "hermes/Sinity__polylogue/hermes-session.jsonl": [("hermes", 2, 0)],
    "hermes/Sinity__polylogue/nemo_relay_atof_v0.1_real_redacted.jsonl": [("hermes", 2, 1)],
    "edge/hermes_gateway_synthetic.jsonl": [("hermes", 5, 2)],
    "openclaw/jazzyalex__agent-sessions/large.jsonl": [("openclaw", 4, 2)],
    "openclaw/jazzyalex__agent-sessions/schema_drift.jsonl": [("openclaw", 2, 1)],
    "openclaw/jazzyalex__agent-sessions/small.jsonl": [("openclaw", 2, 1)],
    "pi/MandavkarPranjal__prsui/019f7526-e56b-7b5f-a63c-68bff34eb1f1.jsonl": [("pi", 6, 2)],
    "pi/MandavkarPranjal__prsui/019f8412-6b41-7e5a-987f-261ed11eb751.jsonl": [("pi", 38, 38)],
    "pi/MandavkarPranjal__prsui/019f8537-07f5-70d8-927b-ccadf6d231fe.jsonl": [("pi", 24, 45)],
    "pi/badlogic__pi-mono/large-session.jsonl": [("pi", 527, 391)],
    "opencode/MandavkarPranjal__prsui/ses_033e82ec1ffe3sFKSsyEVsK7Up.json": [("opencode", 2, 0)],
    "opencode/MandavkarPranjal__prsui/ses_07019d074ffeMyzGm7rcVykSxB.json": [("opencode", 5, 17)],
    "sweagent/SWE-agent__SWE-agent/ctf__crypto__BabyTimeCapsule.traj": [("swe-agent", 10, 9)],
    "sweagent/SWE-agent__SWE-agent/ctf__crypto__katy.traj": [("swe-agent", 19, 18)],
    "sweagent/SWE-agent__SWE-agent/ctf__pwn__warmup.traj": [("swe-agent", 8, 7)],
    "sweagent/SWE-agent__SWE-agent/ctf__web__i_got_id_demo.traj": [("swe-agent", 22, 21)],
    "sweagent/SWE-agent__SWE-agent/function_calling_simple.traj": [("swe-agent", 6, 5)],
    "sweagent/SWE-agent__mini-swe-agent/github_issue.traj.json": [("swe-agent", 11, 10)],
    "sweagent/SWE-agent__mini-swe-agent/local.traj.json": [("swe-agent", 3, 2)],
    "openhands/All-Hands-AI__OpenHands/multi_swe_bench-output.jsonl": [
        ("openhands", 24, 23),
        ("openhands", 34, 33),
        ("openhands", 50, 49),
    ],
    "openhands/All-Hands-AI__OpenHands/resolver-output.jsonl": [("openhands", 5, 3), ("openhands", 23, 21)],
}


@pytest.mark.skipif(not SHARED.exists(), reason="the shared transcripts are not there")
@pytest.mark.parametrize("name", COUNTED)
def test_messages_and_calls_are_as_counted_by_hand(name: str) -> None:
    """Real counts, not estimates."""
    path = SHARED / name
    found = read_transcript(path.read_bytes(), str(path)).sessions
    assert [(session.flavour, session.messages, session.calls) for session in found] == COUNTED[name]
