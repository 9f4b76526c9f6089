"""What a running sidecar finds candidates with: its own indexes where they are up to date, the database's where not."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, cached_property
from typing import Any, Protocol

from clan_learnings.recall.finder import Finder, Keywords
from clan_learnings.recall.within import Within
from clan_learnings.records import Note
from mesh.core.ids import signed_prefix as key_of
from mesh.sidecar.recall.fresh import Fresh
from mesh.sidecar.recall.meaning import repo_number, text_of, version_of
from mesh.sidecar.recall.space import Space
from mesh.sidecar.recall.weights import Weighing, joined
from mesh.sidecar.recall.word_view import Broken, Scope
from mesh.sidecar.recall.wording import scope_of
from mesh.store.reading import Entry, Reader

_FEW = 4_000  # records in scope: all of them are compared
_SPARE = 20  # more than asked for are looked at: some may have changed since their vectors were made
_CACHED = 20_000  # versions of records
_FAINT = 0.22  # a cosine that a question has with anything, also one that means nothing
_WIDER = 4  # times as many are looked at, as long as too few of them are in scope


class Indexes(Protocol):
    """What a finder asks."""

    def fresh(self, reader: Reader) -> Fresh | None:
        """The index of words as this snapshot has it, if it can be used."""
        ...

    def distrust(self, error: Exception) -> None:
        """That index is broken."""
        ...

    @property
    def meaning(self) -> Space | None:
        """Vectors, if there are any."""
        ...


class Indexed(Finder):
    """Finds in one snapshot."""

    def __init__(self, indexes: Indexes, reader: Reader) -> None:
        self._reader = reader
        self._indexes = indexes
        self._keywords = Keywords(reader)
        self._versions: dict[bytes, bytes] = {}  # of vectors, as this snapshot wants them
        self._given: dict[bytes, Entry] = {}  # found by words a moment ago
        self._sought: tuple[dict[str, float], Scope] | None = None  # by which words, and in what
        self._begun: tuple[str, Future[Any]] | None = None  # a question, and its vector that is being made
        self._texts: dict[int, str] = {}  # and the words of each, by its key
        self.look_again()

    def look_again(self) -> None:
        """The same snapshot, another question: meanwhile the indexes may have got on."""
        self.let_go()
        self._meaning = self._indexes.meaning
        self.has_meaning = self._meaning is not None
        self.embedder = "" if self._meaning is None else self._meaning.embedder.name

    def let_go(self) -> None:
        """Between two questions: an index that is not kept any more must not be held by one who waits."""
        self.__dict__.pop("_fresh", None)
        self._sought, self._given, self._texts, self._begun = None, {}, {}, None

    @cached_property
    def _fresh(self) -> Fresh | None:
        """Looked for when it is needed: most who read do not search."""
        return self._indexes.fresh(self._reader)

    def by_words(
        self,
        words: Mapping[str, float],
        within: Within,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As in the seam."""
        fresh = self._fresh
        if fresh is None:
            return self._keywords.by_words(words, within, count, also, without)
        try:
            return self._weighed(fresh, words, scope_of(within, without), count) if count > 0 else []
        except Broken as error:
            self._distrust(error)
            return self._keywords.by_words(words, within, count, also, without)

    def _distrust(self, error: Broken) -> None:
        self._indexes.distrust(error)
        self.__dict__["_fresh"] = None

    def _weighed(self, fresh: Fresh, words: Mapping[str, float], scope: Scope, count: int) -> list[tuple[Entry, float]]:
        stems: dict[str, float] = {}
        for word, factor in words.items():
            for stem in self._reader.stems(word)[:1]:
                stems[stem] = max(factor, stems.get(stem, 0.0))
        if self._sought != (stems, scope):
            self._sought, self._texts = (stems, scope), {}
        texts = self._texts
        texts |= fresh.view.best(stems, scope, count, fresh.hidden, texts)
        weigh = cache(Weighing(stems, fresh.corpus).weigh)  # corrections of one pattern are often the same to the word
        texts |= {key_of(item.tag): joined(item.words) for item in fresh.papers if scope.takes(item)}
        weights = {key: weight for key, text in texts.items() if (weight := weigh(text)) > 0}
        if len(weights) > count:
            least = sorted(weights.values(), reverse=True)[count - 1]
            weights = {key: weight for key, weight in weights.items() if weight >= least}
        given = self._given
        read = weights.keys() - map(key_of, given)
        given |= {entry.tag: entry for entry in self._reader.keyed(read)}
        entries = [(entry, weights[key]) for tag, entry in given.items() if (key := key_of(tag)) in weights]
        entries.sort(key=lambda item: (-item[1], -item[0].at, item[0].tag))
        return entries[:count]

    def stems_of(self, tag: bytes) -> Sequence[str] | None:
        """As in the seam."""
        text = self._texts.get(key_of(tag))
        return None if text is None else text.split()

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """As in the seam."""
        if self._fresh is None:
            return self._keywords.counts(words)
        corpus = self._fresh.corpus
        stems = {word: self._reader.stems(word)[:1] for word in words}
        try:
            return corpus.records, {word: corpus.documents(found[0]) if found else 0 for word, found in stems.items()}
        except Broken as error:
            self._distrust(error)
            return self._keywords.counts(stems)

    def by_meaning(
        self, text: str, within: Within, count: int, without: Collection[str] = ()
    ) -> list[tuple[Entry, float]]:
        """As in the seam."""
        meaning, question = self._meaning, self._asked(text)
        if meaning is None or question is None or count < 1:
            return []
        scope = scope_of(within, without)
        try:
            return self._near(meaning, question, within, scope, count)
        except Broken as error:
            self._distrust(error)
            return self._near(meaning, question, within, scope, count)

    def expect(self, text: str) -> None:
        """As in the seam."""
        self._begun = None if self._meaning is None else (text, self._meaning.begin(text))

    def _asked(self, text: str) -> Any:
        """The vector of a question. Without one, this question is answered by words alone, and that is said."""
        if len(self._versions) > _CACHED:
            self._versions.clear()
        question = None
        if self._begun is not None and self._begun[0] == text:
            question = self._begun[1].result()
        elif self._meaning is not None:
            question = self._meaning.question(text)
        if question is None:
            self.has_meaning = False
        return question

    def _near(
        self, meaning: Space, question: Any, within: Within, scope: Scope, count: int
    ) -> list[tuple[Entry, float]]:
        is_plain = scope == scope_of(Within(within.repo))  # vectors know repositories, and nothing else
        few = None if is_plain else self._few(scope)
        if few is not None:
            cosines = _clear(meaning.vectors.cosines(question, few).items())
            return self._first(sorted(cosines, key=lambda item: (-item[1], item[0])), count)
        scopes = None if within.repo is None else {repo_number(""), repo_number(within.repo)}
        fresh = None if is_plain else self._fresh
        wanted = count + _SPARE if is_plain else _WIDER * count
        while True:
            near = _clear(meaning.vectors.nearest(question, wanted, scopes))
            found = self._read(near, within) if fresh is None else self._looked_up(near, scope, count, fresh)
            if len(found) >= count or len(near) < wanted:
                return found[:count]
            wanted *= _WIDER

    def _few(self, scope: Scope) -> list[bytes] | None:
        """All records in scope, if they are few; also those that have only just come into it."""
        if self._fresh is None:
            return None
        every = self._fresh.view.every(scope, _FEW)
        return None if every is None else [*every, *(item.tag for item in self._fresh.papers if scope.takes(item))]

    def _looked_up(
        self, near: list[tuple[bytes, float]], scope: Scope, count: int, fresh: Fresh
    ) -> list[tuple[Entry, float]]:
        """The first of those in scope, by what the index of words knows of them."""
        scoped = fresh.view.among([tag for tag, _ in near], scope) - fresh.hidden
        scoped |= {item.tag for item in fresh.papers if scope.takes(item)}
        return self._first([(tag, cosine) for tag, cosine in near if tag in scoped], count)

    def _first(self, near: list[tuple[bytes, float]], count: int) -> list[tuple[Entry, float]]:
        """So many of those whose vectors are of what they say."""
        found: list[tuple[Entry, float]] = []
        for start in range(0, len(near), count + _SPARE):
            found += [(entry, cosine) for entry, _, cosine in self._current(near[start : start + count + _SPARE])]
            if len(found) >= count:
                break
        return found[:count]

    def _read(self, near: list[tuple[bytes, float]], within: Within) -> list[tuple[Entry, float]]:
        """Those in scope, by the records themselves, as far as log and repository go."""
        return [
            (entry, cosine)
            for entry, note, cosine in self._current(near)
            if note.log in within.logs and (within.repo is None or note.repo in ("", within.repo))
        ]

    def _current(self, near: list[tuple[bytes, float]]) -> list[tuple[Entry, Note, float]]:
        """Those that are live, without those whose vectors are of what they said before an edit."""
        tags = [tag for tag, _ in near]
        read = self._read_all(tags)
        current = self._are_current(tags)
        return [(*read[tag], cosine) for tag, cosine in near if tag in current]

    def _read_all(self, tags: list[bytes]) -> dict[bytes, tuple[Entry, Note]]:
        entries = {tag: self._given[tag] for tag in tags if tag in self._given}
        entries |= self._reader.live(tag for tag in tags if tag not in entries)
        edits = self._reader.edits(tags)
        read = {tag: (entry, Note(entry, edits.get(tag, {}))) for tag, entry in entries.items()}
        self._versions |= {
            tag: version_of(text_of(note), note.repo) for tag, (_, note) in read.items() if tag not in self._versions
        }
        return read

    def _are_current(self, tags: list[bytes]) -> set[bytes]:
        """Those whose vectors are of what they say. All of them were read before."""
        if self._meaning is None:
            return set()
        wanted = [(tag, self._versions[tag]) for tag in tags if tag in self._versions]
        made = self._meaning.vectors.versions([tag for tag, _ in wanted])
        return {tag for (tag, version), other in zip(wanted, made, strict=True) if version == other}

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:
        """As in the seam."""
        question, asked = self._asked(text), [*tags]
        if self._meaning is None or question is None:
            return {}
        self._read_all([tag for tag in asked if tag not in self._versions])
        current = self._are_current(asked)
        return self._meaning.vectors.cosines(question, [tag for tag in asked if tag in current])


def _clear(near: Iterable[tuple[bytes, float]]) -> list[tuple[bytes, float]]:
    """Those that are more than faintly near. Whoever is left out need not be read."""
    return [(tag, cosine) for tag, cosine in near if cosine >= _FAINT]
