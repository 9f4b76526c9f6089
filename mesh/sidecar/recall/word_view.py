"""A state of the index of words: which records have some words, and how well that fits. Reads only; `word_index` writes.

Tantivy finds candidates; they are weighed elsewhere, by the formula of `mesh.store.weights` and with exact counts: its own
weights round lengths and count what was deleted, so they would tell how an index came about.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
_LOOKED_AT = 150  # at least, of which the candidates are chosen: that costs hardly more than to look at few
_EQUALS = 4096  # records of equal weight that are looked through for the newest
_CACHED = 4096
_AROUND_BYTES = 1 << 16  # as much of a file is mapped when a byte of it is looked at


class Paper(NamedTuple):
    """What is kept of a record. `is_aside`: not for people; its words are counted, and nobody finds it."""

    tag: bytes
    words: list[str]
    facets: list[str]
    at: int
    pattern: str = ""  # that it was written under
    is_aside: bool = False

    @property
    def pattern_number(self) -> int:
        """Only equality is asked of a pattern; 0: none."""
        return key_of(digest(self.pattern.encode("utf-8", "replace"))) if self.pattern else 0

    @property
    def field(self) -> str:
        """Where its words stand: leaving few records out of a question would cost as much as the question itself."""
        return ASIDE if self.is_aside else WORDS


class Scope(NamedTuple):
    """What may be found: of each group a record has at least one facet, and none of `without`; and stamps, the last excluded."""

    groups: Sequence[Sequence[str]] = ()
    without: Sequence[str] = ()
    since: int | None = None
    until: int | None = None

    def takes(self, paper: Paper) -> bool:
        """Whether a record may be found."""
        facets = set(paper.facets)
        return (
            not paper.is_aside
            and not any(facets.isdisjoint(group) for group in self.groups)
            and facets.isdisjoint(self.without)
            and (self.since is None or paper.at >= self.since)
            and (self.until is None or paper.at < self.until)
        )


class Broken(Exception):
    """Tantivy cannot read its files any more."""


@contextmanager
def reading() -> Iterator[None]:
    """Whatever tantivy raises, as one error."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":  # of Rust, and no `Exception`
            raise Broken(str(error)) from error
        raise


class View:
    """What was committed at one time: never changes. Whoever asks may be told that it is `Broken`."""

    def __init__(self, index: Any, same: "View | None" = None) -> None:
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

    def ranked(self, words: Mapping[str, float], scope: Scope) -> "Ranking":
        """The records that have some of the words, the best first."""
        there = {word: boost for word, boost in words.items() if self.documents(word)}
        return Ranking(self, self._searcher, self._query(there, scope) if there else None)

    def every(self, scope: Scope, most: int) -> list[bytes] | None:
        """All records in scope; None if there are more."""
        with reading():
            hits = self._searcher.search(self._within(scope), most + 1, count=False).hits
            return None if len(hits) > most else self._tags([address for _, address in hits])

    def among(self, tags: Collection[bytes], scope: Scope) -> set[bytes]:
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

    def _query(self, words: Mapping[str, float], scope: Scope) -> Any:
        wanted = [
            (Occur.Should, term if factor == 1.0 else Query.boost_query(term, factor))
            for term, factor in ((self._term(WORDS, word), factor) for word, factor in words.items())
        ]
        filters = self._filters(scope)
        if any(occur == Occur.Must for occur, _ in filters):
            wanted = [(Occur.Must, Query.boolean_query(wanted))]
        return Query.boolean_query([*wanted, *filters])

    def _within(self, scope: Scope) -> Any:
        """What may be found, as a query that weighs nothing."""
        every = (Occur.Must, Query.const_score_query(Query.all_query(), 0.0))
        return Query.boolean_query([every, *self._filters(scope)])

    def _filters(self, scope: Scope) -> list[tuple[Any, Any]]:
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

    def __init__(self, view: View, searcher: Any, query: Any) -> None:
        """`query`: None if nothing can be found."""
        self._view = view
        self._searcher = searcher
        self._query = query
        self._hits: list[tuple[float, Any]] = []
        self._looked_at = 0
        self._places: dict[int, Any] = {}  # of all that were given, by their keys

    def best(self, count: int, hidden: frozenset[bytes], known: Collection[int] = ()) -> dict[int, str]:
        """The records that fit best, a few more than asked for, in no order: by their keys, each with its words.

        `known`: need not be read again.
        """
        if self._query is None or count < 1:
            return {}
        with reading():
            addresses = self._first(count + len(hidden) + _MARGIN)
            places = dict(zip(self._searcher.fast_field_values("tag", addresses), addresses, strict=True))
            self._places |= places
            passed = {key_of(tag) for tag in hidden}
            text_at = self._view.text_at
            return {key: text_at(place) for key, place in places.items() if key not in passed and key not in known}

    def column(self, name: str, keys: Iterable[int]) -> dict[int, int]:
        """A number of each of some records, of those that were given."""
        known = [key for key in keys if key in self._places]
        with reading():
            values = self._searcher.fast_field_values(name, [self._places[key] for key in known])
        return dict(zip(known, values, strict=True))

    def _first(self, most: int) -> list[Any]:
        """The first so many. Of equals the newest: which of them tantivy gives first depends on where they lie."""
        for looked_at in (max(most, _LOOKED_AT), max(most, _EQUALS)):
            if self._looked_at < looked_at:
                self._hits = self._searcher.search(self._query, looked_at, count=False).hits
                self._looked_at = looked_at
            hits = self._hits
            if len(hits) <= most:
                return [address for _, address in hits]
            least = hits[most - 1][0]
            is_cut = len(hits) == self._looked_at and hits[-1][0] == least
            if not is_cut:
                break
        found = [address for score, address in hits if score > least]
        equal = [address for score, address in hits if score == least]
        if len(found) + len(equal) > most:
            stamps = self._searcher.fast_field_values(STAMP, equal)
            newest = sorted(range(len(equal)), key=stamps.__getitem__, reverse=True)
            equal = [equal[place] for place in newest[: most - len(found)]]
        if is_cut:  # more equals than anybody looks through: at least the newest of all are among them
            others = self._searcher.search(self._query, most, count=False, order_by_field=STAMP).hits
            equal += [address for _, address in others]
        return found + equal
