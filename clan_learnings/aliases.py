"""A second look at patterns that this node founded: while nodes were apart, another may have founded the same one under other words.

The founder of the younger name joins it to the older one, as it would have done at once had it known. Only the founder does:
so every pair is joined by one node. What was ever joined or parted by anybody is left as it is.

Where one node's word is not enough for HOT, a name that several have written under is joined by each of them, as far as its own
corrections say the same: they are each other's witnesses.
"""

from __future__ import annotations

from clan_learnings.matching import best_match
from clan_learnings.names import is_slug
from clan_learnings.notebook import all_candidates
from clan_learnings.patterns import KEY
from clan_learnings.recall.likeness import judge
from clan_learnings.records import CORRECTIONS, PATTERNS
from mesh.core.draft import Assignment

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from clan_learnings.memory import Memory
    from clan_learnings.records import Note
    from mesh.core.draft import Draft
    from mesh.store.reading import Assigned

OWN_DAYS = 30
_LOOK = 2000  # newest corrections gone through for our own
_OWN = 100  # names of ours looked at in one go


def second_look(
    memory: Memory, own: bytes, only: Collection[str] | None = None, breathe: Callable[[], None] = lambda: None
) -> list[Draft]:
    """The aliases that the founder of the younger names should write now.

    `only`: of these names alone. `breathe` is called before whatever takes long; what it raises ends the look.
    """
    said = memory.reader.assigned("alias_of")
    words = memory.reader.said("alias_of") if memory.witnesses.are_needed else {}
    # Which of two names is the older may change when a record is taken back: what we have joined once we do not join again.
    joined = {
        frozenset((key, f"{KEY}{one.value}")) for key, said_of in words.items() for one in said_of if one.node == own
    }
    after = (memory.now_ms - OWN_DAYS * 86_400_000) << 16
    ours: dict[str, Note] = {}
    seen: set[str] = set()
    for entry in memory.reader.since(CORRECTIONS, after, None, _LOOK):
        slug = entry.record.get("pattern")
        if entry.node != own or type(slug) is not str or slug in seen or (only is not None and slug not in only):
            continue
        seen.add(slug)
        breathe()
        is_free = not _was_parted(memory, said, slug)
        if memory.witnesses.are_needed and len(memory.reader.writers(slug, (CORRECTIONS, PATTERNS))) > 1:
            is_free = is_free and all(one.node != own for one in words.get(KEY + slug, ()))
            mine = _own_eldest(memory, slug, own) if is_free else None
        else:
            mine = memory.patterns.eldest(slug) if is_free and KEY + slug not in said else None
        if mine is not None and mine.node == own and mine.log == CORRECTIONS:
            ours[slug] = mine
            if len(ours) == _OWN:
                break
    drafts: list[Draft] = []
    for slug, mine in ours.items():
        breathe()
        mine = _as_agreed(memory, mine.tag) or mine  # noqa: PLW2901 (the same record, in words that are its author's)
        wrong, right = mine.word("wrong"), mine.word("right")
        wanted = {one.value for one in words.get(KEY + slug, ()) if type(one.value) is str}
        others = [
            other
            for other in all_candidates(memory, wrong, right, mine.repo)
            if other.slug not in memory.patterns.agreed.names(slug)
            and (not wanted or other.slug in wanted)  # to agree is to say the same
            and frozenset((KEY + slug, KEY + other.slug)) not in joined
            and _is_older(memory, other.slug, memory.patterns.eldest(slug) or mine)
            and not _was_parted(memory, said, other.slug)
        ]
        match = best_match(wrong, right, others, judge)
        if match is not None:
            drafts.append(Assignment(KEY + slug, "alias_of", match.slug))
    return drafts


def _own_eldest(memory: Memory, slug: str, own: bytes) -> Note | None:
    """The first correction that we wrote under a name, if it is still counted there."""
    entries = memory.reader.of_pattern(slug)
    notes = (_as_agreed(memory, entry.tag) for entry in entries if entry.node == own and entry.log == CORRECTIONS)
    return next((note for note in notes if note is not None and note.pattern == slug), None)


def _as_agreed(memory: Memory, tag: bytes) -> Note | None:
    """A record without what one other node alone has edited: else a node would agree to words that it never wrote."""
    from clan_learnings.records import Note

    entry = memory.reader.entry(tag)
    return None if entry is None else Note(entry, memory.patterns.agreed.edits(tag))


def _was_parted(memory: Memory, said: dict[bytes | str, Assigned], slug: str) -> bool:
    """Whether somebody has said of a name, or of one it is joined with, that it stands for itself again.

    From which other it was parted is not known any more, and a person had a reason. So it is left to people.
    """
    names = memory.patterns.names(slug)
    registers = ((name, said.get(KEY + name)) for name in names)
    return any(one is not None and (not is_slug(one.value) or one.value == name) for name, one in registers)


def _is_older(memory: Memory, slug: str, than: Note) -> bool:
    first = memory.patterns.eldest(slug)
    return first is not None and (first.stamp, first.tag) < (than.stamp, than.tag)
