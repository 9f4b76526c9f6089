"""Histories of one page: updates that three people could have written, the same in every run. No store and no pycrdt here.

Through pycrdt 100,000 scattered edits would take minutes to make: it looks for each place from the beginning of the text. Here
the neighbours of a place are at hand, so the update is written down directly, and the text is known without applying any.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice

from bench.notes import vocabulary, zipf
from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.pages.edit_codec import DeletedRange, Id, InsertedText, Update, client_of, encode

KINDS = TYPED, SCATTERED = "typed", "scattered"
AUTHORS = tuple(Identity(digest(f"bench page author {number}".encode())) for number in range(3))
EPOCH = 1
_CLIENTS = tuple(client_of(author.public, EPOCH) for author in AUTHORS)
_TITLE = "# A page\n\nand all that was written to it.\n"
_CHUNK = 512  # units of a part of the text, at least
_SITTING = (2, 12)  # runs of one author before another goes on
_APART = 0.1  # of all sittings: two write at once and see nothing of each other
_TYPED_RUN, _SCATTERED_RUN = (8, 80), (4, 40)  # edits
_TAKEN_BACK = 0.08  # of the keystrokes
_CUT, _CUT_CHARS = 0.25, 8  # of the scattered edits, and how much one takes away at most
_LINE = 0.08  # of the words end a line


@dataclass(frozen=True, slots=True)
class Edit:
    """An update, who wrote it, and the newest edits its author had seen, by their places in the history."""

    author: int
    update: bytes
    heads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class History:
    """All edits in the order they were written, and the text they make."""

    edits: list[Edit]
    text: str


def history(kind: str, count: int, seed: int = 1) -> History:
    """So many edits: `typed` letter by letter, or short words `scattered` over the whole text."""
    chance, text = random.Random(f"{kind} {seed}"), _Text()
    writer = _Writer(chance, text)
    edits = [Edit(0, text.insert(_Place(0, 0), 0, _TITLE), ())]
    tips: tuple[int, ...] = (0,)
    while len(edits) < count:
        here = chance.sample(range(len(AUTHORS)), 2 if chance.random() < _APART else 1)
        text.part(here)
        seen = dict.fromkeys(here, tips)
        for author in here * chance.randint(*_SITTING):
            run = writer.typed(author) if kind == TYPED else writer.scattered(author)
            for update in islice(run, count - len(edits)):
                edits.append(Edit(author, update, seen[author]))
                seen[author] = (len(edits) - 1,)
        tips = tuple(sorted(set(chain(*seen.values()))))
    return History(edits, text.read())


@dataclass(slots=True)
class _Place:
    """Before one unit of a part of the text."""

    chunk: int
    index: int


class _Text:
    """The units of a page in their order, deleted ones too. A unit is its author's number and its clock, as one integer."""

    def __init__(self) -> None:
        self._chunks: list[list[int]] = [[]]
        self._letters: list[list[str]] = [[] for _ in AUTHORS]
        self._gone: set[int] = set()
        self._unseen: dict[int, tuple[int, int]] = {}  # author -> of what it sees nothing: from a unit to an end

    def part(self, authors: list[int]) -> None:
        """From now on these see nothing of what the others of them write; with one, everybody sees everything."""
        self._unseen = {}
        for one, other in zip(authors, authors[1:] + authors[:1], strict=True):
            if one != other:
                self._unseen[one] = _unit(other, len(self._letters[other])), _unit(other + 1, 0)

    def anywhere(self, chance: random.Random, author: int) -> _Place:
        """Somewhere between two units that an author sees."""
        while True:
            chunk = chance.randrange(len(self._chunks))
            place = _Place(chunk, chance.randrange(len(self._chunks[chunk])))
            if all(unit is None or self._sees(author, unit) for unit in self._around(place)):
                return place

    def insert(self, place: _Place, author: int, text: str) -> bytes:
        """The update of an insertion. The place is then behind what was inserted."""
        left, right = self._around(place)
        letters, chunk = self._letters[author], self._chunks[place.chunk]
        clock = len(letters)
        letters += text
        chunk[place.index : place.index] = range(_unit(author, clock), _unit(author, len(letters)))
        place.index += len(text)
        if len(chunk) > 2 * _CHUNK:
            self._chunks.insert(place.chunk + 1, chunk[_CHUNK:])
            del chunk[_CHUNK:]
            if place.index > _CHUNK:
                place.chunk, place.index = place.chunk + 1, place.index - _CHUNK
        item = InsertedText(clock, None if left is None else _id(left), None if right is None else _id(right), text)
        return encode(Update(_CLIENTS[author], (item,), ()))

    def delete(self, place: _Place, author: int, count: int) -> bytes | None:
        """The update of a deletion of units behind a place, of one part of the text; None if there is nothing to delete there."""
        chunk = self._chunks[place.chunk]
        last = 1 if place.chunk == len(self._chunks) - 1 else 0  # the line end that ends the text stays
        found = [
            unit
            for unit in chunk[place.index : min(place.index + count, len(chunk) - last)]
            if unit not in self._gone and self._sees(author, unit)
        ]
        self._gone.update(found)
        gaps: list[DeletedRange] = []
        for client, clock in sorted(map(_id, found)):
            if gaps and (gaps[-1].client, gaps[-1].clock + gaps[-1].length) == (client, clock):
                gaps[-1] = gaps[-1]._replace(length=gaps[-1].length + 1)
            else:
                gaps.append(DeletedRange(client, clock, 1))
        return encode(Update(None, (), tuple(gaps))) if gaps else None

    def read(self) -> str:
        """All that is not deleted."""
        return "".join(
            self._letters[unit >> 32][unit & 0xFFFFFFFF] for unit in chain(*self._chunks) if unit not in self._gone
        )

    def _around(self, place: _Place) -> tuple[int | None, int | None]:
        """The units before and behind a place."""
        chunk, index = self._chunks[place.chunk], place.index
        before = [] if index or not place.chunk else self._chunks[place.chunk - 1]
        behind = [] if index < len(chunk) else next(iter(self._chunks[place.chunk + 1 :]), [])
        left, right = [*before[-1:], *chunk[:index][-1:]], [*chunk[index : index + 1], *behind[:1]]
        return left[0] if left else None, right[0] if right else None

    def _sees(self, author: int, unit: int) -> bool:
        first, end = self._unseen.get(author, (0, 0))
        return not first <= unit < end


class _Writer:
    """Writes into a text, in runs of edits by one author."""

    def __init__(self, chance: random.Random, text: _Text) -> None:
        self._chance, self._text = chance, text
        self._vocabulary, self._weights = _weighted()
        self._letters = chain.from_iterable(self._words())

    def typed(self, author: int) -> Iterator[bytes]:
        """Keystrokes at one place, some of them taken back."""
        place, typed = self._text.anywhere(self._chance, author), 0
        for _ in range(self._chance.randint(*_TYPED_RUN)):
            if typed and place.index and self._chance.random() < _TAKEN_BACK:
                taken = self._text.delete(_Place(place.chunk, place.index - 1), author, 1)
                typed = 0  # who goes on typing takes back no more than the last letter
                if taken is not None:
                    yield taken
                    continue
            yield self._text.insert(place, author, next(self._letters))
            typed += 1

    def scattered(self, author: int) -> Iterator[bytes]:
        """Words put in and pieces taken out, each anywhere."""
        words = self._words()
        for _ in range(self._chance.randint(*_SCATTERED_RUN)):
            place = self._text.anywhere(self._chance, author)
            cut = None
            if self._chance.random() < _CUT:
                cut = self._text.delete(place, author, self._chance.randint(1, _CUT_CHARS))
            yield cut or self._text.insert(place, author, next(words))

    def _words(self) -> Iterator[str]:
        while True:
            (word,) = self._chance.choices(self._vocabulary, cum_weights=self._weights)
            yield word + ("\n" if self._chance.random() < _LINE else " ")


@cache
def _weighted() -> tuple[list[str], list[float]]:
    words = vocabulary()
    return words, zipf(len(words))


def _unit(author: int, clock: int) -> int:
    return author << 32 | clock


def _id(unit: int) -> Id:
    return Id(_CLIENTS[unit >> 32], unit & 0xFFFFFFFF)
