"""An item: one thing that a session taught, in one sentence, with the line of the transcript that shows it. Plain values and their JSON."""

import re
from typing import Any, NamedTuple

from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_lines import plain
from clan_learnings.sessions.edits import FileChange, changes_of, files_of, is_edit
from clan_learnings.sessions.transcript_events import Kind, SessionEvent

CORRECTION, FIX, FACT, PITFALL, PATTERN, TOOL_QUIRK, QUESTION = KINDS = (
    "correction",
    "fix",
    "fact",
    "pitfall",
    "pattern",
    "tool-quirk",
    "question",
)


class HarvestItem(NamedTuple):
    """What was learned, and why we think so."""

    kind: str
    text: str  # one sentence that a stranger understands
    line: int  # of the transcript: what shows it
    confidence: float  # by the rubric
    fix_line: int | None = None  # where it was corrected
    wrong: str = ""  # of a correction or a fix: what was done
    right: str = ""  # and what is right
    source: str = "agent"  # who says so: human, agent, build, self
    is_stated: bool = False  # a person said it in so many words
    signature: str = ""  # of the error it is about: equal for equal errors of any session
    quote: str = ""  # the words that show it, cut
    at_ms: int | None = None
    done: str = ""  # of a correction: the command at its fix_line, or what that changed, if it worked

    def as_json(self) -> dict[str, Any]:
        """For a digest, and for `--json`."""
        return self._asdict()


def item_from(value: Any) -> HarvestItem | None:
    """An item from its JSON; None if it is not an item."""
    if not isinstance(value, dict) or value.get("kind") not in KINDS:
        return None
    types = {"text": str, "line": int, "confidence": float | int}
    if any(not isinstance(value.get(name), kind) for name, kind in types.items()):
        return None
    return HarvestItem(**{name: value[name] for name in HarvestItem._fields if name in value})


_COMMAND, _TOOL, _SAID, _PIECE = 110, 60, 80, 60
_PLANS = ("plan",)
_ELSEWHERE = re.compile(r"^cd [^&;|\n]{1,300}(?:&&|;|\n)\s*")


def deed(event: SessionEvent | None) -> str:
    """What a call did, in a few words: `git push`, an edit of a file, a plan, an answer."""
    if event is None:
        return "what the agent did"
    if event.kind is not Kind.CALL:
        return f"the answer “{first_sentence(event.text)}”"
    if event.text:
        return command(event)
    if any(word in event.tool.lower() for word in _PLANS):
        return "a plan"
    names = ", ".join(map(base, files_of(event)[:2]))
    if is_edit(event):
        return f"a change of {excerpt(names, _TOOL)}"
    return f"{excerpt(event.tool, _TOOL)}{f' of {excerpt(names, _TOOL)}' if names else ''}"


def command(event: SessionEvent, chars: int = _COMMAND) -> str:
    """A shell command as it is shown, without the folder it runs in."""
    line = event.text.strip()
    if "<<" in line:  # without the text that is given to it
        line = plain(line)
    return f"`{excerpt(_ELSEWHERE.sub('', line) or line, chars)}`"


def swap(call: SessionEvent) -> str:
    """What an edit replaced by what, if that is short enough to say."""
    for change in changes_of(call):
        piece = difference(change)
        if piece is not None:
            old, new = (excerpt(text.strip(), _PIECE) for text in piece)
            if old and new:
                return f"“{old}” became “{new}”"
            if new:
                return f"“{new}” was added"
            if old:
                return f"“{old}” was removed"
    return ""


def difference(change: FileChange) -> tuple[str, str] | None:
    """The first lines in which the old and the new text differ."""
    old, new = change.old.splitlines(), change.new.splitlines()
    if not old:
        return None
    gone = [line for line in old if line.strip() and line not in new]
    came = [line for line in new if line.strip() and line not in old]
    return (gone[0] if gone else "", came[0] if came else "") if gone or came else None


def base(path: str) -> str:
    """The last part of a path."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def first_sentence(text: str) -> str:
    """The beginning of what was said."""
    line = next((line for line in text.strip().splitlines() if line.strip(" #*-")), "")
    return excerpt(line.strip(" #*-").partition(". ")[0], _SAID)
