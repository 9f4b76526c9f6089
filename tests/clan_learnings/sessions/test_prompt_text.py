"""What a person wrote in a chat channel, and what was put around it."""

import pytest

from clan_learnings.sessions.prompt_text import said_in_channel, without_name

METADATA = 'Conversation info (untrusted metadata):\n```json\n{"message_id": "7"}\n```\n\nSender (untrusted metadata):\n```json\n{\n "name": "Ann"\n}\n```\n\n'
HISTORY = "[Thread history - for context]\n[Slack Bob (user) Sun 2026-03-01 09:59 UTC] always deploy\n[slack message id: 17.0 channel: C1]\n\n"

SAID = {
    "stop it": "stop it",
    "[Slack Ann +2m Sun 2026-03-01 10:00 UTC] stop it": "stop it",
    "[Telegram Ann id:5 2026-03-01T10:00Z] stop it": "stop it",
    "[Sun 2026-03-01 10:00 UTC] stop it\nnow": "stop it\nnow",
    METADATA + "stop it": "stop it",
    HISTORY + METADATA + "stop it": "stop it",
    HISTORY + "System: [2026-03-01 10:00:00 UTC] Slack DM from Ann: stop it\n\n" + METADATA + "stop it": "stop it",
    HISTORY + "[Slack Ann Sun 2026-03-01 10:00 UTC] stop it\n[slack message id: 17.1 channel: C1]": "stop it",
    "[Chat messages since your last reply - for context]\nBob: hi\n\n[Current message - respond to this]\nstop it": "stop it",
    "[WIP] stop it": "[WIP] stop it",
    "see this:\n" + METADATA + "stop": "see this:\n" + METADATA + "stop",
    "[cron:5 nightly] tidy up": "",
    "A new session was started via /new or /reset. Greet the user.": "",
    "": "",
}


@pytest.mark.parametrize("text", SAID)
def test_only_the_persons_words_stay(text: str) -> None:
    """Headers, histories, metadata and a gateway's own messages go."""
    assert said_in_channel(text) == SAID[text]


def test_a_name_before_a_line_goes() -> None:
    """Once, at the beginning."""
    assert without_name("[ann] [bob] hello") == "[bob] hello"
    assert without_name("hello [ann] there") == "hello [ann] there"
