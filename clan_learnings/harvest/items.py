"""An item: one thing that a session taught, in one sentence, with the line that shows it. Plain values and their JSON."""

from typing import Any, NamedTuple

CORRECTION, FIX, FACT, PITFALL, PATTERN, TOOL_QUIRK, QUESTION = KINDS = (
    "correction",
    "fix",
    "fact",
    "pitfall",
    "pattern",
    "tool-quirk",
    "question",
)


class Item(NamedTuple):
    """What was learned, and why we think so."""

    kind: str
    text: str  # one sentence that a stranger understands
    line: int  # of the transcript: what shows it
    confidence: float  # by the rubric
    fix_line: int | None = None  # where it was put right
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


def item_from(value: Any) -> Item | None:
    """An item that was kept as JSON; None if it is none."""
    if not isinstance(value, dict) or value.get("kind") not in KINDS:
        return None
    types = {"text": str, "line": int, "confidence": float | int}
    if any(not isinstance(value.get(name), kind) for name, kind in types.items()):
        return None
    return Item(**{name: value[name] for name in Item._fields if name in value})
