"""A transcript is known by one flavour only, the generic one aside."""

import pytest

from clan_learnings.sessions.recognition import all_flavours, read_transcript
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import SHARED, TRANSCRIPTS

FOLDERS = {
    "grok": "grok",
    "hermes": "hermes",
    "openclaw": "openclaw",
    "pi": "pi",
    "opencode": "opencode",
    "sweagent": "swe-agent",
    "openhands": "openhands",
}


def _knowing(data: bytes) -> list[str]:
    return [
        flavour.__name__.rpartition(".")[2] for flavour in all_flavours() if flavour.recognises(TranscriptSource(data))
    ]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_transcript_is_known_by_its_own_flavour_and_by_no_other(name: str) -> None:
    """Only the generic flavour may know it too, and it is asked last."""
    module, data = TRANSCRIPTS[name]
    assert [found for found in _knowing(data) if found != "chat" or module == "chat"] == [module]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_what_is_recognised_is_read_with_events_in_every_session(name: str) -> None:
    """Recognised and then empty would be a loss that nobody sees."""
    sessions = read_transcript(TRANSCRIPTS[name][1]).sessions
    assert sessions
    assert all(session.events and session.id for session in sessions)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"42\n",
        b'{"a": 1}\n{"b": 2}\n',
        b"plain words\n",
        b'[{"role": 5}]',
        b'{"messages": []}',
    ],
)
def test_what_is_no_transcript_is_nobodys(data: bytes) -> None:
    """Other JSON, and no JSON at all."""
    assert _knowing(data) == []


@pytest.mark.skipif(not SHARED.exists(), reason="the shared transcripts are not there")
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_shared_transcript_of_a_flavour_is_read_as_that_one(folder: str) -> None:
    """Real files: whoever is asked first and knows them is the right one."""
    files = [path for path in (SHARED / folder).rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert read_transcript(path.read_bytes(), str(path)).flavour == FOLDERS[folder], path.name
