"""What a person wrote in a chat channel, without what a gateway put around it for the model. Judges no content."""

import re

_CURRENT = "[Current message - respond to this]"
_HISTORY = (
    "[Thread history - for context]",
    "[Thread starter - for context]",
    "[Chat messages since your last reply - for context]",
)
_NOBODY = (  # text that a gateway sends itself, in the person's place
    "[cron:",
    "[Internal task completion event]",
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "OpenClaw runtime context (internal)",
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md",
    "Pre-compaction memory flush",
    "Continue the previous task.",
)
_METADATA = re.compile(r"^[A-Z][^\n:]{0,80}\(untrusted(?: metadata|, for context|)\):$")
_EVENT = re.compile(r"^System: \[[^\]\n]{1,80}\] ")
_HEADER = re.compile(
    r"^\[(?:(?:Slack|Telegram|WhatsApp|Discord|Signal|iMessage|BlueBubbles|Matrix|Teams|MSTeams|Microsoft Teams|Google Chat|WebChat"
    r"|Zalo|Feishu|Lark|LINE|Mattermost|Nostr|Twitch|IRC|SMS|Email)\b[^\[\]\n]{0,300}"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d[^\[\]\n]{0,40})\] ?"
)
_NUMBER = re.compile(r"^\[(?:[A-Za-z]{1,20} )?message[ _]id: [^\]\n]{0,200}\]$")
_NAME = re.compile(r"^\[[^\[\]\n]{1,64}\] (?=\S)")
_FENCE = "```"


def said_in_channel(text: str) -> str:
    """The person's words; empty if the gateway itself sent the text."""
    if _CURRENT in text:
        text = text.rpartition(_CURRENT)[2]
    lines = [line for line in text.strip().split("\n") if not _NUMBER.match(line.strip())]
    start = _after_blocks(lines)
    if start == 0 and lines[0].strip() in _HISTORY:
        start = _last_header(lines)
    said = _HEADER.sub("", "\n".join(lines[start:]).strip(), count=1).strip()
    return "" if said.startswith(_NOBODY) else said


def without_name(text: str) -> str:
    """Without the `[name] ` that group chats put before a line."""
    return _NAME.sub("", text, count=1)


def _after_blocks(lines: list[str]) -> int:
    """The line after the last block that a gateway wrote: events, and fenced metadata. 0 if there is none."""
    after, at = 0, 0
    in_history = lines[0].strip() in _HISTORY
    while at < len(lines):
        line = lines[at].strip()
        if _METADATA.match(line) and at + 1 < len(lines) and lines[at + 1].strip().startswith(_FENCE):
            at = next((i for i in range(at + 2, len(lines)) if lines[i].strip() == _FENCE), len(lines) - 1)
            after = at + 1
        elif _EVENT.match(line):
            after = at + 1
        elif line and not in_history:
            break  # the person's words have begun: what looks alike in them is theirs
        at += 1
    return after


def _last_header(lines: list[str]) -> int:
    """The last message of a history that has no other end: the one to be answered."""
    return max((i for i, line in enumerate(lines) if _HEADER.match(line.strip())), default=len(lines))
