"""Errors of a digest as items: worth something only where another session has the same, which is for others to see. Pure."""

from typing import Any

from clan_learnings.harvest.items import PITFALL, Item

CONFIDENCE = 0.4  # it happened, more than once; why, nobody has said
_FAILURES = 20  # of one session
_SHOWN_CHARS = 90
_LEAST_WORDS = 2  # of a signature; \"error\" alone is no error


def recurring(failures: Any) -> list[Item]:
    """What failed and was told apart by its signature, as pitfalls. `failures`: of a digest as it is kept."""
    found: list[Item] = []
    for failure in failures[:_FAILURES] if isinstance(failures, list) else ():
        if not isinstance(failure, dict):
            continue
        line = failure.get("line")
        command, error, signature = (_text(failure.get(name)) for name in ("command", "error", "signature"))
        if type(line) is not int or not error or len(signature.split()) < _LEAST_WORDS:
            continue
        said = _cut(error)
        what = f"`{_cut(command)}`" if command else f"The tool {_cut(_text(failure.get('tool')) or 'in use')}"
        found.append(
            Item(
                PITFALL, f"{what} fails with \u201c{said}\u201d", line, CONFIDENCE, source="build", signature=signature
            )
        )
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str) -> str:
    """The first line that says something, short."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    first = next((line for line in lines if line), "")
    return first if len(first) <= _SHOWN_CHARS else first[: _SHOWN_CHARS - 1] + "\u2026"
