"""One committed state of the tantivy index: which records have some words, and how well they fit. Reads only; `word_index` writes.

Tantivy finds candidates; they are weighed elsewhere, by the formula of `clan_learnings.search.keywords.bm25` and with exact counts: its own
weights round lengths and count what was deleted, so they would tell how an index came about.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from struct import Struct
from typing import Any, NamedTuple

from mesh.core.ids import digest
from mesh.core.ids import signed_prefix as key_of

try:
    import tantivy
    from tantivy import Occur, Query
except ImportError:  # pragma: no cover (without it the database's own index serves, and nobody comes here)
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

WORDS, ASIDE = "words", "aside"
STAMP, PATTERN = "at", "pattern"  # numbers
EVERY = "*"  # a facet that each record has: says how many there are with those deleted
TAG = ("tag", "tag_1", "tag_2", "tag_3")  # the first, its key, alone names a record, as it does in the database
FOUR = Struct(">4q")  # with a sign: tantivy-py 0.27 deletes the wrong record by a number without
_MARGIN = 10  # candidates more than asked for: what is rounded may stand a little too low
_LOOKED_AT = 300  # at least, of which the candidates are chosen: hardly more work than few, and more than most patterns have corrections
_EQUALS = 4096  # records of equal weight that are looked through for the newest
_CACHED = 4096
_AROUND_BYTES = 1 << 16  # as much of a file is mapped when a byte of it is looked at


class WordDocument(NamedTuple):
    """What is kept of a record. `is_aside`: not for people; its words are counted, and nobody finds it."""

    tag: bytes
    words: list[str]
    facets: list[str]
    at: int
    pattern: str = ""  # that it was written under
    is_aside: bool = False

    @property
    def field(self) -> str:
        """Where its words stand: leaving few records out of a question would cost as much as the question itself."""
        return ASIDE if self.is_aside else WORDS


def pattern_number(pattern: str) -> int:
    """Only equality is asked of a pattern; 0: none."""
    return key_of(digest(pattern.encode("utf-8", "replace"))) if pattern else 0


class IndexScope(NamedTuple):
    """What may be found: of each group a record has at least one facet, and none of `without`; and stamps, the last excluded."""

    groups: Sequence[Sequence[str]] = ()
    without: Sequence[str] = ()
    since: int | None = None
    until: int | None = None

    def takes(self, paper: WordDocument) -> bool:
        """Whether a record may be found."""
        facets = set(paper.facets)
        return (
            not paper.is_aside
            and not any(facets.isdisjoint(group) for group in self.groups)
            and facets.isdisjoint(self.without)
            and (self.since is None or paper.at >= self.since)
            and (self.until is None or paper.at < self.until)
        )


class WordIndexBroken(Exception):
    """Tantivy cannot read its files any more."""


@contextmanager
def reading() -> Iterator[None]:
    """Whatever tantivy raises, as one error."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":  # of Rust, and no `Exception`
            raise WordIndexBroken(str(error)) from error
        raise


def open_index(folder: str) -> Any:
    """The index in a folder, to be read as it is now."""
    index = tantivy.Index.open(folder)
    index.config_reader("manual")
    return index


class WordView:
    """What was committed at one time: never changes. Every method may raise `WordIndexBroken`."""

    def __init__(self, index: Any, same: "WordView | None" = None) -> None:
        """`same`: another view of the same state."""
        index.reload()
        self._schema = index.schema
        self._searcher = index.searcher()
        self.records: int = self._searcher.num_docs
        self.has_deleted = bool(self._searcher.doc_freq("facet", EVERY) != self.records)
        self.words: int = same.words if same is not None else self._all_words()
        self.mapped_bytes = 0  # about
        self._counts: dict[str, int] = {} if same is None else same._counts  # noqa: SLF001 (one of us)

    def _all_words(self) -> int:
        total = self._searcher.aggregate(Query.all_query(), {"words": {"sum": {"field": "length"}}})
        return round(total["words"]["value"] or 0)

    def documents(self, word: str) -> int:
        """How many records have a word."""
        found = self._counts.get(word)
        if found is None:
            if len(self._counts) > _CACHED:
                self._counts.clear()
            found = self._counts[word] = self._documents(word)
        return found

    def _documents(self, word: str) -> int:
        """Tantivy's own count has those deleted in it, for as long as it likes."""
        with reading():
            if not self.has_deleted:
                return sum(int(self._searcher.doc_freq(field, word)) for field in (WORDS, ASIDE))
            either = Query.boolean_query([(Occur.Should, self._term(field, word)) for field in (WORDS, ASIDE)])
            return int(self._searcher.search(either, 1, count=True).count)

    def texts(self, tags: Collection[bytes]) -> list[str]:
        """The words of some records, as they were put; of those that are here."""
        if not tags:
            return []
        with reading():
            found = self._searcher.search(self._among(tags), len(tags), count=False)
            return [self.text_at(address) for _, address in found.hits]

    def ranked(self, words: Mapping[str, float], scope: IndexScope) -> "Ranking":
        """The records that have some of the words, the best first."""
        return Ranking(self._searcher, partial(self.query, words, scope))

    def every(self, scope: IndexScope, most: int) -> list[bytes] | None:
        """All records in scope; None if there are more."""
        with reading():
            hits = self._searcher.search(self._within(scope), most + 1, count=False).hits
            return None if len(hits) > most else self._tags([address for _, address in hits])

    def among(self, tags: Collection[bytes], scope: IndexScope) -> set[bytes]:
        """Those of some records that are in scope."""
        if not tags:
            return set()
        query = Query.boolean_query([(Occur.Must, self._among(tags)), (Occur.Must, self._within(scope))])
        with reading():
            hits = self._searcher.search(query, len(tags), count=False).hits
            return set(self._tags([address for _, address in hits])).intersection(tags)

    def _tags(self, addresses: list[Any]) -> list[bytes]:
        columns = [self._searcher.fast_field_values(name, addresses) for name in TAG]
        return [FOUR.pack(*parts) for parts in zip(*columns, strict=True)]

    def _among(self, tags: Collection[bytes]) -> Any:
        return Query.term_set_query(self._schema, "tag", [key_of(tag) for tag in tags])

    def text_at(self, address: Any) -> str:
        """The words of a record."""
        self.mapped_bytes += _AROUND_BYTES
        document = self._searcher.doc(address)
        text: str = (document[WORDS] or document[ASIDE])[0]
        return text

    def query(self, words: Mapping[str, float], scope: IndexScope) -> Any:
        """Finds what has some of the words, in tantivy's form."""
        wanted = [
            (Occur.Should, term if factor == 1.0 else Query.boost_query(term, factor))
            for term, factor in (
                (self._term(WORDS, word), factor) for word, factor in words.items() if self.documents(word)
            )
        ]
        filters = self._filters(scope)
        if any(occur == Occur.Must for occur, _ in filters):
            wanted = [(Occur.Must, Query.boolean_query(wanted))]
        return Query.boolean_query([*wanted, *filters])

    def _within(self, scope: IndexScope) -> Any:
        """What may be found, as a query that weighs nothing."""
        every = (Occur.Must, Query.const_score_query(Query.all_query(), 0.0))
        return Query.boolean_query([every, *self._filters(scope)])

    def _filters(self, scope: IndexScope) -> list[tuple[Any, Any]]:
        """Leaving out few is cheaper than asking for many."""
        parts = [
            Query.boolean_query([(Occur.Should, self._term("facet", facet)) for facet in group])
            for group in scope.groups
        ]
        if scope.since is not None or scope.until is not None:
            least, most = scope.since or 0, (1 << 63) if scope.until is None else scope.until
            kind = tantivy.FieldType.Unsigned
            parts.append(Query.range_query(self._schema, STAMP, kind, least, most, include_upper=False))
        musts = [(Occur.Must, Query.const_score_query(part, 0.0)) for part in parts]
        return musts + [(Occur.MustNot, self._term("facet", facet)) for facet in scope.without]

    def _term(self, field: str, value: str) -> Any:
        return Query.term_query(self._schema, field, value, "freq" if field == WORDS else "basic")


class Ranking:
    """Records in the order of tantivy's own weights. Who asks for a few more than before is not made to wait for another search."""

    def __init__(self, searcher: Any, query: Callable[[], Any]) -> None:
        """`query`: made when it is needed."""
        self._searcher = searcher
        self._query = query
        self._hits: list[tuple[float, Any]] = []
        self._looked_at = 0  # the hits are the first so many; all, if they are fewer
        self.places: dict[int, Any] = {}  # where all that were given are, by their keys

    def passing(self, patterns: Collection[int], query: Callable[[], Any]) -> "Ranking":
        """The same without what was written under some patterns, by their numbers. `query`: finds that; asked if too few are left here."""
        ranking = Ranking(self._searcher, query)
        with reading():
            numbers = self._searcher.fast_field_values(PATTERN, [address for _, address in self._hits])
        ranking._hits = [hit for hit, number in zip(self._hits, numbers, strict=True) if number not in patterns]
        is_all = len(self._hits) < self._looked_at
        ranking._looked_at = self._looked_at if is_all else len(ranking._hits)
        return ranking

    def give(self, count: int, hidden: frozenset[bytes]) -> None:
        """Have places for the records that fit best: so many that are not hidden, and a few more."""
        with reading():
            addresses = self._first(count + len(hidden) + _MARGIN)
            self.places |= zip(self._searcher.fast_field_values("tag", addresses), addresses, strict=True)
        for tag in hidden:
            self.places.pop(key_of(tag), None)

    def column(self, name: str, keys: Iterable[int]) -> dict[int, int]:
        """A number of each of some records, of those that were given."""
        known = [key for key in keys if key in self.places]
        with reading():
            values = self._searcher.fast_field_values(name, [self.places[key] for key in known])
        return dict(zip(known, values, strict=True))

    def _first(self, most: int) -> list[Any]:
        """The first so many. Of equals the newest: which of them tantivy gives first depends on where they lie."""
        hits = self._look(most + 1)
        if len(hits) <= most:
            return [address for _, address in hits]
        if self._ends_with(hits[most - 1][0]):
            hits = self._look(_EQUALS)
        least = hits[most - 1][0]
        found = [address for score, address in hits if score > least]
        equal = [address for score, address in hits if score == least]
        if len(found) + len(equal) > most:
            stamps = self._searcher.fast_field_values(STAMP, equal)
            newest = sorted(range(len(equal)), key=stamps.__getitem__, reverse=True)
            equal = [equal[place] for place in newest[: most - len(found)]]
        if self._ends_with(least):  # more equals than anybody looks through: at least the newest of all are among them
            others = self._search(most, order_by_field=STAMP)
            equal += [address for _, address in others]
        return found + equal

    def _look(self, most: int) -> list[tuple[float, Any]]:
        """At least the first so many."""
        if self._looked_at < most:
            self._looked_at = max(most, _LOOKED_AT)
            self._hits = self._search(self._looked_at)
        return self._hits

    def _search(self, most: int, **order: Any) -> list[tuple[Any, Any]]:
        hits: list[tuple[Any, Any]] = self._searcher.search(self._query(), most, count=False, **order).hits
        return hits

    def _ends_with(self, score: float) -> bool:
        """Whether more that are worth this may come behind those that were looked at."""
        return len(self._hits) == self._looked_at and self._hits[-1][0] == score
