"""A second look at patterns that this node founded: while nodes were apart, another may have founded the same one under other words.

The founder of the younger name joins it to the older one, as it would have done at once had it known. Only the founder does:
so every pair is joined by one node. What was ever joined or parted by anybody is left as it is.
"""

from __future__ import annotations

from clan_learnings.matching import best_match
from clan_learnings.notebook import candidates
from clan_learnings.patterns import KEY
from clan_learnings.records import CORRECTIONS
from mesh.core.draft import Assignment

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from clan_learnings.memory import Memory
    from mesh.core.draft import Draft

OWN_DAYS = 30
_LOOK = 2000  # newest corrections gone through for our own
_OWN = 100  # names of ours looked at in one go


def second_look(memory: Memory, own: bytes) -> list[Draft]:
    """The aliases that the founder of the younger names should write now."""
    said = memory.reader.assigned("alias_of")
    after = (memory.now_ms - OWN_DAYS * 86_400_000) << 16
    ours: dict[str, tuple[str, str]] = {}
    for entry in memory.reader.since(CORRECTIONS, after, None, _LOOK):
        slug = entry.record.get("pattern")
        if entry.node == own and type(slug) is str and KEY + slug not in said and slug not in ours:
            first = memory.reader.of_pattern(slug)[:1]
            if first and first[0].node == own and first[0].log == CORRECTIONS:
                ours[slug] = (str(first[0].record.get("wrong")), str(first[0].record.get("right")))
        if len(ours) == _OWN:
            break
    drafts: list[Draft] = []
    for slug, (wrong, right) in ours.items():
        mine = memory.reader.of_pattern(slug)[0]
        repo = mine.record.get("repo")
        others = [
            other
            for other in candidates(memory, f"{wrong} {right}", repo if type(repo) is str else "")
            if other.slug not in memory.patterns.names(slug) and _is_older(memory, other.slug, (mine.at, mine.tag))
        ]
        match = best_match(wrong, right, others)
        if match is not None:
            drafts.append(Assignment(KEY + slug, "alias_of", match.slug))
    return drafts


def _is_older(memory: Memory, slug: str, than: tuple[int, bytes]) -> bool:
    first = memory.reader.of_pattern(slug)[:1]
    return bool(first) and (first[0].at, first[0].tag) < than
