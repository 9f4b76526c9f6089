"""What one session teaches, without any model: every rule's items, each once, none of them ours. The rules are one module each.

No session raises here, whatever its events are: a rule that fails costs its own items only.
"""

from collections.abc import Callable

from clan_learnings.harvest.diagnoses import diagnoses
from clan_learnings.harvest.fixes import fixes
from clan_learnings.harvest.items import CORRECTION, FACT, Item
from clan_learnings.harvest.pitfalls import pitfalls
from clan_learnings.harvest.spoken_rules import corrections, questions, statements
from clan_learnings.harvest.tool_errors import quirks
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.events import Session

RULES: tuple[Callable[[Course], list[Item]], ...] = (
    corrections,
    fixes,
    quirks,
    pitfalls,
    diagnoses,
    statements,
    questions,
)
_MOST = 200  # items of one session
_NEAR = 3  # lines within which two items of one kind are one


def found_in(session: Session, course: Course | None = None) -> list[Item]:
    """The items of a session, in order of their lines. `course`: if it is known already."""
    course = course or Course.of(session)
    found: list[Item] = []
    for rule in RULES:
        try:
            found += rule(course)
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ):  # strangers' values: see the docstring
            continue
    theirs = [item for item in found if item.source == "human" or not course.ours.has(item.right or item.text)]
    return _each_once(sorted(theirs, key=lambda item: (item.line, item.kind)))


def _each_once(items: list[Item]) -> list[Item]:
    """Without what another item says already: the same error, the same line, a statement that is a correction."""
    kept: list[Item] = []
    signatures: set[tuple[str, str]] = set()
    corrected = {item.line for item in items if item.kind == CORRECTION}
    for item in items:
        if len(kept) == _MOST:
            break
        if item.kind == FACT and item.line in corrected:
            continue
        if item.signature and (item.kind, item.signature) in signatures:
            continue
        if any(
            other.kind == item.kind and abs(other.line - item.line) <= _NEAR and _is_less(item, other) for other in kept
        ):
            continue
        signatures.add((item.kind, item.signature))
        kept.append(item)
    return kept


def _is_less(item: Item, other: Item) -> bool:
    """Whether an item near another one of its kind says nothing of its own."""
    return item.text == other.text or (
        item.fix_line is not None and item.fix_line == other.fix_line and item.kind != CORRECTION
    )
