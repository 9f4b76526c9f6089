"""Witnesses: which members count, and which words have enough of them to be told to a whole mesh in every session. Reads nothing.

One member may invent any number of sessions, change any register, and date its records freely. So in a mesh of three or more, what is
HOT, and in which words, takes several members, or an admin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from clan_learnings.records.matching import ComparableCorrection, comparable, says_the_same
from mesh.core.ids import named_digest
from mesh.store.reader import Assigned, Entry, MemberRow

FULL_MEMBERS = 3  # from so many on witnesses are asked for: two machines are mostly one person's
_THROW_AWAYS = b""  # all of them are one witness: one pipeline makes as many as it likes
_SEAL, _SEAL_CHARS = b"clan-mesh words1", 32
EACH = 3  # records of one node in one log that are looked at for their words: the oldest
_COMPARED = 24  # sayings under a pattern that are compared by what they mean: of each witness one, then of each another


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

    __slots__ = ("at", "by_admin", "node", "said", "text")

    def __init__(self, text: str, at: int, node: bytes, *, by_admin: bool, said: tuple[str, str]) -> None:
        self.text = text
        self.at = at
        self.node = node
        self.by_admin = by_admin  # as an edit of others' words or as the pattern's rule, not in a record of its own
        self.said = said  # what was wrong and what is right, as far as the node itself says it in the same place


class Ballot:
    """Everything that was said in the name of one pattern, by whom. Of a node's own records the text is as the node edited it."""

    __slots__ = ("_admins", "rules", "wrongs")

    def __init__(
        self,
        entries: Iterable[Entry],
        edits: Mapping[tuple[bytes, str], list[Assigned]],
        rules: Iterable[Assigned],
        admins: frozenset[bytes],
    ) -> None:
        """`edits`: what every node says of the entries' fields. `rules`: what every node says the rule is."""
        self.rules: list[Vote] = []
        self.wrongs: list[Vote] = []
        self._admins = admins
        for said in rules:
            self._cast(said.node, {"rule": (said.value, said.at)}, is_own=False)
        for entry in entries:
            fields = [
                field for field in ("right", "rule", "wrong") if field in entry.record
            ]  # fields cannot be added later
            each: dict[bytes, dict[str, tuple[Any, int]]] = {
                entry.node: {field: (entry.record[field], entry.at) for field in fields}
            }
            for field in fields:
                for said in edits.get((entry.tag, field), ()):
                    each.setdefault(said.node, {})[field] = (said.value, said.at)
            for node, words in each.items():
                self._cast(node, words, is_own=node == entry.node)

    def _cast(self, node: bytes, words: dict[str, tuple[Any, int]], *, is_own: bool) -> None:
        texts = {field: value for field, (value, _) in words.items() if type(value) is str and value.strip()}
        wrong, right = texts.get("wrong", ""), texts.get("right") or texts.get("rule", "")
        by_admin = not is_own and node in self._admins
        for field, text in texts.items():
            said = (wrong, right if field == "wrong" else text)
            votes = self.wrongs if field == "wrong" else self.rules
            votes.append(Vote(text, words[field][1], node, by_admin=by_admin, said=said))

    def approved(self, seal: str) -> tuple[str, str] | None:
        """The words that were approved, if somebody still says them; without what was wrong, if nobody says that any more."""
        first, _, second = seal.partition(":")
        rules = [vote.text for vote in self.rules if _seal(vote.text) == first]
        wrongs = [vote.text for vote in self.wrongs if _seal(vote.text) == second]
        return (min(rules), min(wrongs, default="")) if rules else None


class Support:
    """How many witnesses each wording has, among votes for one thing: a rule, or what was wrong.

    A witness to a wording is who wrote it, or wrote what says the same (`says_the_same`): honest machines use words of their own.
    """

    __slots__ = ("_among", "_compared", "_needed", "_votes", "_wrote")

    def __init__(self, votes: Iterable[Vote], witnesses: Witnesses) -> None:
        self._votes = [*votes]
        self._among = witnesses.among
        self._needed = witnesses.needed
        self._wrote: dict[str, set[bytes]] = {}  # by their wordings, word for word
        self._compared: dict[str, set[bytes]] | None = None
        for vote in self._votes:
            witness = witnesses.among((vote.node,))
            if witness:
                self._wrote.setdefault(_alike(vote.text), set()).update(witness)

    def has_enough(self) -> bool:
        """Whether some wording has as many witnesses as it takes, or an admin's word."""
        if any(vote.by_admin for vote in self._votes):
            return True
        found = (found for each in (self._wrote.values(), self._found()) for found in each)
        return any(len(witnesses) >= self._needed for witnesses in found)

    def elected(self, votes: Iterable[Vote], least: int) -> str:
        """The text that most machines wrote word for word, of equally many the oldest. Empty if none has so many witnesses.

        Who wrote what says the same is asked only where no text was written by enough. What an admin put in the place of others'
        words comes before all. `votes`: those of these that may be shown.
        """
        votes = [*votes]
        decided = [vote for vote in votes if vote.by_admin]
        if decided:
            return max(decided, key=lambda vote: (vote.at, vote.text)).text
        return self._most(votes, self._wrote, least) or self._most(votes, self._all_found(), least)

    def _most(self, votes: list[Vote], found: dict[str, set[bytes]], least: int) -> str:
        said: dict[str, list[Vote]] = {}
        for vote in votes:
            wording = _alike(vote.text)
            if len(found.get(wording, ())) >= least:
                said.setdefault(wording, []).append(vote)
        if not said:
            return ""
        return _oldest(said[min(said, key=lambda each: (-len(found[each]), _oldest(said[each]).at, each))]).text

    def _all_found(self) -> dict[str, set[bytes]]:
        for _ in self._found():
            pass
        return self._compared or {}

    def _found(self) -> Iterator[set[bytes]]:
        """The witnesses of each wording in turn, with who wrote what says the same; all of them are kept at the end.

        Of many sayings some are left out, in such an order that one member fills only its share.
        """
        if self._compared is not None:
            yield from self._compared.values()
            return
        if len(self._wrote) < 2:
            self._compared = self._wrote
            return

        found = {wording: {*witnesses} for wording, witnesses in self._wrote.items()}
        every = self._sayings()
        for one in every:
            for other in every:
                if other.witnesses <= found[one.wording]:
                    continue
                for saying in (one, other):
                    saying.reading = saying.reading or comparable(*saying.said)
                if one.reading and other.reading and says_the_same(one.text, one.reading, other.reading):
                    found[one.wording] |= other.witnesses
                    yield found[one.wording]
        self._compared = found

    def _sayings(self) -> list[_Saying]:
        sayings: dict[tuple[str, str, str], _Saying] = {}
        counts: dict[bytes, int] = {}
        for vote in sorted(self._votes, key=lambda vote: (vote.at, vote.text, vote.said)):
            wording = _alike(vote.text)
            key = wording, _alike(vote.said[0]), _alike(vote.said[1])
            for witness in self._among((vote.node,)):
                place = counts.get(witness, 0)
                saying = sayings.setdefault(key, _Saying(wording, vote, place))
                if witness not in saying.witnesses:
                    saying.witnesses.add(witness)
                    saying.place = min(saying.place, place)
                    counts[witness] = place + 1
        order = sorted(sayings.values(), key=lambda each: (-len(each.witnesses), each.place, each.at, each.said))
        return order[:_COMPARED]


class _Saying:
    """A wording, with what was said beside it, and the witnesses that said just this."""

    __slots__ = ("at", "place", "reading", "said", "text", "witnesses", "wording")

    def __init__(self, wording: str, vote: Vote, place: int) -> None:
        self.wording = wording
        self.text = vote.text
        self.said = vote.said
        self.at = vote.at
        self.place = place  # among what its witness says, oldest first
        self.witnesses: set[bytes] = set()
        self.reading: ComparableCorrection | None = None  # made when it is compared


def are_alike(one: str, other: str) -> bool:
    """Whether two texts are one where words are put to the vote."""
    return _alike(one) == _alike(other)


def seal_of(rule: str, wrong: str) -> str:
    """A digest of the words that an admin approves: it fits no others."""
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
