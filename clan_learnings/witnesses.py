"""Who bears witness to what a whole mesh is told in every session, and which of their words hold. Plain values; reads nothing.

One member may invent as many sessions as it likes, change any register, and date what it writes as it likes. So in a mesh of
three or more what is HOT, and in which words, takes several of them, or an admin.
"""

from __future__ import annotations

from mesh.core.ids import named_digest

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from mesh.store.reading import Assigned, Entry, MemberRow

FULL_MEMBERS = 3  # from so many on witnesses are asked for: two machines are mostly one person's
_THROW_AWAYS = b""  # all of them are one witness: one pipeline makes as many as it likes
_SEAL, _SEAL_CHARS = b"clan-mesh words1", 32
EACH = 3  # records of one node in one log that are looked at for their words: the oldest


class Witnesses:
    """The members of one mesh as witnesses. Those that were revoked are none, nor are those that only read."""

    __slots__ = ("_counts_as", "admins", "needed")

    def __init__(self, members: Sequence[MemberRow], hot_nodes: int) -> None:
        full = [member for member in members if not member.is_revoked and not member.is_throw_away]
        writing = [member for member in members if not member.is_revoked and not member.only_reads]
        # One that alone can write has no second: then its readers would never be told anything.
        has_second = sum(not member.only_reads for member in full) > 1
        self.needed = hot_nodes if len(full) >= FULL_MEMBERS and has_second else 1
        self.admins = frozenset([member.node for member in writing if member.is_admin])
        self._counts_as = {member.node: _THROW_AWAYS if member.is_throw_away else member.node for member in writing}

    @property
    def are_needed(self) -> bool:
        """Whether one node's word is not enough here."""
        return self.needed > 1

    def among(self, nodes: Iterable[bytes]) -> set[bytes]:
        """The witnesses that some nodes are."""
        return {self._counts_as[node] for node in nodes if node in self._counts_as}

    def source(self, node: bytes) -> bytes:
        """Whom a record comes from, where a share is given to each."""
        return self._counts_as.get(node, node)

    def nodes(self, sources: Iterable[bytes]) -> list[bytes]:
        """The nodes that records of these come from."""
        wanted = {*sources}
        return [*wanted, *(node for node, source in self._counts_as.items() if source in wanted and source != node)]

    def agreed(
        self, words: Iterable[Assigned], read: Callable[[Any], Any], owner: Callable[[Any], bytes | None]
    ) -> Any:
        """What a register holds: said by its owner, by an admin or by enough witnesses, and of several such values the one said last.

        `read`: a value as it is understood, None for nothing. `owner`: who alone may say this value. The answer is a pair of the
        value and its stamp, or None if nothing that was said holds.
        """
        sayings: dict[Any, list[Assigned]] = {}
        for said in words:
            sayings.setdefault(read(said.value), []).append(said)
        found = [
            (at, value is not None, value)
            for value, sayers in sayings.items()
            if (at := self._since(sayers, owner(value))) is not None
        ]
        if not found:
            return None
        at, _, value = max(found, key=lambda each: (*each[:2], each[2] or ""))
        return value, at

    def _since(self, sayers: list[Assigned], owner: bytes | None) -> int | None:
        """Since when a value holds. What others say after that makes it no younger."""
        alone = [said.at for said in sayers if said.node == owner or said.node in self.admins]
        each: dict[bytes, int] = {}
        for said in sayers:
            for witness in self.among((said.node,)):
                each[witness] = min(said.at, each.get(witness, said.at))
        together = sorted(each.values())[self.needed - 1 : self.needed]
        return max(alone + together, default=None)


class Vote:
    """What one node says in the place of a rule, or of what was wrong."""

    __slots__ = ("at", "by_admin", "node", "text")

    def __init__(self, text: str, at: int, node: bytes, *, by_admin: bool) -> None:
        self.text = text
        self.at = at
        self.node = node
        self.by_admin = by_admin  # as an edit of others' words or as the pattern's rule, not in a record of its own


class Ballot:
    """Everything that was said in the name of one pattern, by whom. Of a node's own records the text is as the node edited it."""

    __slots__ = ("rules", "wrongs")

    def __init__(
        self,
        entries: Iterable[Entry],
        edits: Mapping[tuple[bytes, str], list[Assigned]],
        rules: Iterable[Assigned],
        admins: frozenset[bytes],
    ) -> None:
        """`edits`: what every node says of the entries' fields. `rules`: what every node says the rule is."""
        self.rules: list[Vote] = [
            Vote(said.value, said.at, said.node, by_admin=said.node in admins)
            for said in rules
            if type(said.value) is str and said.value.strip()
        ]
        self.wrongs: list[Vote] = []
        for entry in entries:
            for field, votes in (("right", self.rules), ("rule", self.rules), ("wrong", self.wrongs)):
                if field not in entry.record:
                    continue  # nobody can add one
                own = (entry.record[field], entry.at)
                for said in edits.get((entry.tag, field), ()):
                    if said.node == entry.node:
                        own = (said.value, said.at)
                    elif type(said.value) is str and said.value.strip():
                        votes.append(Vote(said.value, said.at, said.node, by_admin=said.node in admins))
                if type(own[0]) is str and own[0].strip():
                    votes.append(Vote(*own, entry.node, by_admin=False))

    def approved(self, seal: str) -> tuple[str, str] | None:
        """The words that were approved, if somebody still says them; without what was wrong, if nobody says that any more."""
        first, _, second = seal.partition(":")
        rules = [vote.text for vote in self.rules if _seal(vote.text) == first]
        wrongs = [vote.text for vote in self.wrongs if _seal(vote.text) == second]
        return (min(rules), min(wrongs, default="")) if rules else None


def elected(votes: Iterable[Vote], witnesses: Witnesses) -> str:
    """The text that most witnesses say, of equally many the oldest; what an admin put in its place comes first. Empty if there is none."""
    kept = [*votes]
    decided = [vote for vote in kept if vote.by_admin]
    if decided:
        return max(decided, key=lambda vote: (vote.at, vote.text)).text
    said: dict[str, list[Vote]] = {}
    for vote in kept:
        said.setdefault(_alike(vote.text), []).append(vote)

    def rank(text: str) -> tuple[int, int, str]:
        believed = [vote for vote in said[text] if witnesses.among((vote.node,))]
        return -len(witnesses.among(vote.node for vote in said[text])), _oldest(believed or said[text]).at, text

    return _oldest(said[min(said, key=rank)]).text if said else ""


def are_alike(one: str, other: str) -> bool:
    """Whether two texts are one where words are put to the vote."""
    return _alike(one) == _alike(other)


def seal_of(rule: str, wrong: str) -> str:
    """What stands for words that an admin approves: nobody can write others that it fits."""
    return f"{_seal(rule)}:{_seal(wrong)}"


def is_seal(value: object) -> bool:
    """Whether a value approves words; anything else takes an approval back."""
    return type(value) is str and len(value) == 2 * _SEAL_CHARS + 1


def _seal(text: str) -> str:
    return named_digest(_SEAL, text.strip().encode("utf-8", "surrogatepass")).hex()[:_SEAL_CHARS]


def _alike(text: str) -> str:
    """Texts that differ by blanks, by the first letter's case or by a full stop are one. More may matter: `-d` is not `-D`."""
    words = " ".join(text.split()).rstrip(".")
    return words[:1].lower() + words[1:]


def _oldest(votes: list[Vote]) -> Vote:
    return min(votes, key=lambda vote: (vote.at, vote.text))
