"""The finder of a running node: its own indexes where they are up to date, the database's where not."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import NamedTuple, Protocol

from clan_learnings.records.record import Note
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import Finder, KeywordFinder
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.keywords.word_index import scope_of
from clan_learnings.search.keywords.word_query import WordQuery, WordSnapshot
from clan_learnings.search.keywords.word_view import IndexScope, WordIndexBroken
from clan_learnings.search.meaning import Meaning, Near, NearRecord, repo_number, text_of, version_of
from mesh.core.ids import signed_prefix as key_of
from mesh.store.reader import Entry, Reader

_ANY = SearchFilters()
_NONE: frozenset[str] = frozenset()
_AT_ONCE = 10  # records that are read at least
_FEW = 4_000  # records in scope: all of them are compared
_SPARE = 20  # more than asked for are looked at: some may have changed since their vectors were made
_CACHED = 20_000  # versions of records
_FAINT = 0.22  # a cosine that a question has with anything, also one that means nothing
_WIDER = 4  # times as many are looked at, as long as too few of them are in scope


class Indexes(Protocol):
    """What a finder asks."""

    def fresh(self, reader: Reader) -> WordSnapshot | None:
        """The index of words as this snapshot has it, if it can be used."""
        ...

    def distrust(self, error: Exception) -> None:
        """That index is broken."""
        ...

    @property
    def meaning(self) -> Meaning | None:
        """Vectors, if there are any."""
        ...


class _PendingQuery(NamedTuple):
    """A question that was asked, and what is being found near to it: so many, in these scopes."""

    text: str
    scopes: frozenset[int] | None
    wanted: int
    found: Future[Near]


class NodeFinder(Finder):
    """Finds in one snapshot."""

    def __init__(self, indexes: Indexes, reader: Reader) -> None:
        self._reader = reader
        self._indexes = indexes
        self._keywords = KeywordFinder(reader)
        self._versions: dict[bytes, bytes] = {}  # of vectors, as this snapshot wants them
        self._given: dict[bytes, Entry] = {}  # found by words a moment ago
        self._asked: tuple[Mapping[str, float], IndexScope] | None = None  # by which words
        self._sought: dict[frozenset[str], WordQuery] = {}  # each without some patterns
        self._begun: _PendingQuery | None = None
        self._near_to: tuple[str, dict[bytes, float]] = ("", {})  # a question, and the cosines of what was found for it
        self.look_again()

    def look_again(self) -> None:
        """The same snapshot, another question: meanwhile the indexes may have got on."""
        self.let_go()
        self._meaning = self._indexes.meaning
        self.has_meaning = self._meaning is not None
        self.embedder = "" if self._meaning is None else self._meaning.name

    def let_go(self) -> None:
        """Between two questions: an index that is not kept any more must not be held by one who waits."""
        self.__dict__.pop("_fresh", None)
        self._asked, self._sought, self._given = None, {}, {}
        self._begun, self._near_to = None, ("", {})

    @cached_property
    def _fresh(self) -> WordSnapshot | None:
        """Looked for when it is needed: most who read do not search."""
        return self._indexes.fresh(self._reader)

    def by_words(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As in the seam."""
        fresh = self._fresh
        if fresh is None:
            return self._keywords.by_words(words, within, count, also, without)
        try:
            return self._weighed(self._seek(fresh, words, within, frozenset(without)), count) if count > 0 else []
        except WordIndexBroken as error:
            self._distrust(error)
            return self._keywords.by_words(words, within, count, also, without)

    def is_crowded(
        self, words: Mapping[str, float], within: SearchFilters, count: int, others: int, also: Iterable[bytes] = ()
    ) -> bool:
        """As in the seam, without reading a record."""
        if self._fresh is not None:
            try:
                return self._seek(self._fresh, words, within).is_crowded(count, others)
            except WordIndexBroken as error:
                self._distrust(error)
        return self._keywords.is_crowded(words, within, count, others, also)

    def _seek(
        self, fresh: WordSnapshot, words: Mapping[str, float], within: SearchFilters, without: frozenset[str] = _NONE
    ) -> WordQuery:
        """The question in the form of the index; the last one, if it is asked again, or asked to leave out some patterns."""
        asked = (words, scope_of(within))
        if self._asked != asked:
            stems: dict[str, float] = {}
            for word, factor in words.items():
                for stem in self._reader.part(WordSearch).stems(word)[:1]:
                    stems[stem] = max(factor, stems.get(stem, 0.0))
            self._asked, self._sought = asked, {_NONE: WordQuery(fresh, stems, asked[1])}
        if without not in self._sought:
            self._sought[without] = self._sought[_NONE].passing(without, scope_of(within, without))
        return self._sought[without]

    def _distrust(self, error: WordIndexBroken) -> None:
        self._indexes.distrust(error)
        self.__dict__["_fresh"] = None

    def _weighed(self, sought: WordQuery, count: int) -> list[tuple[Entry, float]]:
        weights = sought.best(count)
        given = self._given
        read = weights.keys() - map(key_of, given)
        given |= {entry.tag: entry for entry in self._reader.keyed(read)}
        entries = [(entry, weights[key]) for tag, entry in given.items() if (key := key_of(tag)) in weights]
        entries.sort(key=lambda item: (-item[1], -item[0].at, item[0].tag))
        if self._begun is not None:  # its vector is not made yet: now is the time for whatever needs none
            self._read_all([entry.tag for entry, _ in entries[:count] if entry.tag not in self._versions])
        return entries[:count]

    def stems_of(self, tag: bytes) -> Sequence[str] | None:
        """As in the seam."""
        text = self._sought[_NONE].text(key_of(tag)) if self._sought else None
        return None if text is None else text.split()

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """As in the seam."""
        if self._fresh is None:
            return self._keywords.counts(words)
        corpus = self._fresh.corpus
        stems = {word: self._reader.part(WordSearch).stems(word)[:1] for word in words}
        try:
            return corpus.records, {word: corpus.documents(found[0]) if found else 0 for word, found in stems.items()}
        except WordIndexBroken as error:
            self._distrust(error)
            return self._keywords.counts(stems)

    def by_meaning(
        self, text: str, within: SearchFilters, count: int, without: Collection[str] = ()
    ) -> list[tuple[Entry, float]]:
        """As in the seam."""
        meaning = self._meaning
        if meaning is None or count < 1:
            return []
        scope = scope_of(within, without)
        try:
            found = self._near(meaning, text, within, scope, count)
        except WordIndexBroken as error:
            self._distrust(error)
            found = self._near(meaning, text, within, scope, count)
        if found is None:
            self.has_meaning = False  # this question is answered by words alone, and that is said
            return []
        self._near_to = (text, {entry.tag: cosine for entry, cosine in found})
        return found

    def expect(self, text: str, within: SearchFilters, count: int) -> None:
        """As in the seam."""
        meaning, is_plain = self._meaning, _is_plain(within, scope_of(within))
        if meaning is None:
            return
        scopes, wanted = _scopes(within), count + _SPARE if is_plain else 0
        self._begun = _PendingQuery(text, scopes, wanted, meaning.begin(text, wanted, scopes))

    def _near(
        self, meaning: Meaning, text: str, within: SearchFilters, scope: IndexScope, count: int
    ) -> list[tuple[Entry, float]] | None:
        if len(self._versions) > _CACHED:
            self._versions.clear()
        is_plain = _is_plain(within, scope)
        few = None if is_plain else self._few(scope)
        if few is not None:
            cosines = meaning.cosines(text, few)
            if cosines is None:
                return None
            return self._first(sorted(_clear(cosines), key=lambda item: (-item.cosine, item.tag)), count)
        scopes = _scopes(within)
        fresh = None if is_plain else self._fresh
        wanted = count + _SPARE if is_plain else _WIDER * count
        while True:
            nearest = self._nearest(meaning, text, wanted, scopes)
            if nearest is None:
                return None
            near = _clear(nearest)
            found = self._first(near, count, within) if fresh is None else self._looked_up(near, scope, count, fresh)
            if len(found) >= count or len(near) < wanted:
                return found[:count]
            wanted *= _WIDER

    def _nearest(self, meaning: Meaning, text: str, wanted: int, scopes: frozenset[int] | None) -> Near:
        begun = self._begun
        if begun is not None and begun.text == text:
            found = begun.found.result()
            if found is None or (begun.wanted, begun.scopes) == (wanted, scopes):
                return found
        return meaning.nearest(text, wanted, scopes)

    def _few(self, scope: IndexScope) -> list[bytes] | None:
        """All records in scope, if they are few; also those that have only just come into it."""
        if self._fresh is None:
            return None
        every = self._fresh.view.every(scope, _FEW)
        return None if every is None else [*every, *(item.tag for item in self._fresh.papers if scope.takes(item))]

    def _looked_up(
        self, near: list[NearRecord], scope: IndexScope, count: int, fresh: WordSnapshot
    ) -> list[tuple[Entry, float]]:
        """The first of those in scope, by what the index of words knows of them."""
        scoped = fresh.view.among([record.tag for record in near], scope) - fresh.hidden
        scoped |= {item.tag for item in fresh.papers if scope.takes(item)}
        return self._first([record for record in near if record.tag in scoped], count)

    def _first(self, near: list[NearRecord], count: int, within: SearchFilters = _ANY) -> list[tuple[Entry, float]]:
        """So many of those whose vectors are of what they say, and that are in scope as far as log and repository go."""
        found: list[tuple[Entry, float]] = []
        start = 0
        while start < len(near) and len(found) < count:
            end = start + max(count - len(found), _AT_ONCE)  # hardly ever does one fail: none is read for nothing
            found += [
                (entry, cosine)
                for entry, note, cosine in self._current(near[start:end])
                if note.log in within.logs and (within.repo is None or note.repo in ("", within.repo))
            ]
            start = end
        return found[:count]

    def _current(self, near: list[NearRecord]) -> list[tuple[Entry, Note, float]]:
        """Those that are live, without those whose vectors are of what they said before an edit."""
        read = self._read_all([record.tag for record in near])
        return [(*read[record.tag], record.cosine) for record in near if self._is_current(record)]

    def _read_all(self, tags: list[bytes]) -> dict[bytes, tuple[Entry, Note]]:
        entries = {tag: self._given[tag] for tag in tags if tag in self._given}
        entries |= self._reader.live(tag for tag in tags if tag not in entries)
        edits = self._reader.edits(tags)
        read = {tag: (entry, Note(entry, edits.get(tag, {}))) for tag, entry in entries.items()}
        self._versions |= {
            tag: version_of(text_of(note), note.repo) for tag, (_, note) in read.items() if tag not in self._versions
        }
        return read

    def _is_current(self, record: NearRecord) -> bool:
        """Whether its vector is of what it says. It was read before."""
        return self._versions.get(record.tag) == record.version

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:
        """As in the seam."""
        asked = [*tags]
        near = self._near_to[1] if self._near_to[0] == text else {}
        known = {tag: near[tag] for tag in asked if tag in near}
        others = [tag for tag in asked if tag not in known]
        if self._meaning is None or not others:
            return known
        found = self._meaning.cosines(text, others)
        if found is None:
            self.has_meaning = False
            return {}
        self._read_all([tag for tag in others if tag not in self._versions])
        return known | {record.tag: record.cosine for record in found if self._is_current(record)}


def _is_plain(within: SearchFilters, scope: IndexScope) -> bool:
    """Whether nothing but a repository is asked for: vectors know these, and nothing else."""
    return scope == scope_of(SearchFilters(within.repo))


def _scopes(within: SearchFilters) -> frozenset[int] | None:
    """What vectors may be found."""
    return None if within.repo is None else frozenset((repo_number(""), repo_number(within.repo)))


def _clear(near: Iterable[NearRecord]) -> list[NearRecord]:
    """Those that are more than faintly near; the others need not be read."""
    return [record for record in near if record.cosine >= _FAINT]
