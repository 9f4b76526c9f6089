"""The ways a question can be answered: our search on each of its indexes, and two peers that know only the texts. Ranks ids.

Every way gets the same question with the same scope. What is measured is the product: a home, its snapshot, `search`.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from bench.recall_home import Item
from bench.recall_judged import Question
from bench.recall_metrics import DEPTH
from bench.table import say
from clan_learnings.records.matching_tokens import split_words
from clan_learnings.records.memory import Memory
from clan_learnings.search.embedders.embedder import available
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import Finder
from clan_learnings.search.index_building import IndexBuilding
from clan_learnings.search.index_files import EMBEDDER
from clan_learnings.search.indexes import SearchIndexes
from clan_learnings.search.record_search import search
from mesh.app.snapshot import memory_of
from mesh.store.reader import Entry

Way = Callable[[Question], list[str]]

COMMAND, SIDECAR, VECTORS, HYBRID = "keyword, command", "keyword, sidecar", "vector", "hybrid"
PLAIN, TANTIVY = "plain FTS5", "plain tantivy"

_CANDIDATES = 100
_PEER_DEPTH = 1000
_WAIT_SECONDS, _LOOK_SECONDS, _SAY_SECONDS = 3600.0, 0.05, 10.0


class _WordsOnly(Finder):
    """The words of a sidecar's indexes, without what it knows of meaning."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def by_words(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As it is."""
        return self._finder.by_words(words, within, count, also, without)

    def stems_of(self, tag: bytes) -> Sequence[str] | None:
        """As it is."""
        return self._finder.stems_of(tag)

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """As it is."""
        return self._finder.counts(words)


@contextmanager
def ways_of(home: str, ids: Mapping[bytes, str], recall: SearchIndexes, *, archived: bool) -> Iterator[dict[str, Way]]:
    """Our own ways into one snapshot of a home. `archived`: whether what is in the archive may be found, too."""
    with memory_of(home) as plain, memory_of(home, recall=recall) as full:
        words = Memory(full.reader, finder=_WordsOnly(full.finder))
        ways = {COMMAND: _searching(plain, ids, archived=archived), SIDECAR: _searching(words, ids, archived=archived)}
        if full.finder.has_meaning:
            ways[VECTORS] = _by_meaning(full, ids, archived=archived)
            ways[HYBRID] = _searching(full, ids, archived=archived)
        yield ways


def _searching(memory: Memory, ids: Mapping[bytes, str], *, archived: bool) -> Way:
    """`search`, with what it collapsed right behind what stands for it: every record takes a place of its own."""

    def answer(question: Question) -> list[str]:
        hits = search(memory, question.text, SearchFilters(question.repo, archived=archived), DEPTH)
        return [ids[note.tag] for hit in hits for note in (hit.note, *hit.also) if note.tag in ids]

    return answer


def _by_meaning(memory: Memory, ids: Mapping[bytes, str], *, archived: bool) -> Way:
    """Cosines and nothing else."""

    def answer(question: Question) -> list[str]:
        within = SearchFilters(question.repo, archived=archived)
        found = memory.finder.by_meaning(question.text, within, _CANDIDATES)
        taken = (entry.tag for entry, _ in found if within.takes(memory, memory.read(entry)))
        return [ids[tag] for tag in taken if tag in ids][:DEPTH]

    return answer


def choose(home: str, choice: str) -> None:
    """What the vectors of a home are made with."""
    with open(os.path.join(home, EMBEDDER), "w", encoding="utf-8") as file:
        file.write(f"{choice}\n")


@contextmanager
def ready(home: str, choice: str) -> Iterator[SearchIndexes]:
    """The sidecar's indexes of a home, once they hold everything. `choice`: the embedder, as `mesh index use` takes it."""
    choose(home, choice)
    wants_vectors, _ = available(choice)
    with IndexBuilding(home) as building, SearchIndexes(home, building) as recall:
        deadline = time.monotonic() + _WAIT_SECONDS
        told = time.monotonic()
        while why := behind(recall.status(), wants_vectors=wants_vectors):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the indexes were not ready in {_WAIT_SECONDS:g} s: {why}")
            if time.monotonic() - told > _SAY_SECONDS:
                told = time.monotonic()
                say(f"indexing: {why}")
            time.sleep(_LOOK_SECONDS)
        yield recall


def behind(status: Mapping[str, Any], *, wants_vectors: bool) -> str:
    """What the indexes still lack, in words; empty if nothing."""
    if status["behind"] and status["words"] == "tantivy":
        return f"{status['behind']:,} records are not in the index of words"
    vectors = status["vectors"]
    if not wants_vectors:
        return ""
    if vectors is None:
        return str(status["says"])
    return f"{vectors['made']:,} of {vectors['of']:,} vectors" if vectors["made"] < vectors["of"] else ""


def peers(items: Sequence[Item], depth: int = _PEER_DEPTH) -> dict[str, Way]:
    """What the engines do with the texts alone, as one would use them first. They know the scope, and nothing of archives.

    `depth`: of an answer that is gone through for what is in scope.
    """
    found = {PLAIN: _plain_fts(items, depth)}
    try:
        found[TANTIVY] = _plain_tantivy(items, depth)
    except ImportError:
        say("tantivy is not installed, so it is not among the peers")
    return found


def _plain_fts(items: Sequence[Item], depth: int) -> Way:
    """FTS5 with the tokenizer it is most often used with, all words joined by OR, in the order of its own bm25()."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
    with connection:
        rows = ((number, item.text) for number, item in enumerate(items))
        connection.executemany("INSERT INTO t(rowid, text) VALUES(?,?)", rows)

    def answer(question: Question) -> list[str]:
        words = dict.fromkeys(split_words(question.text))
        expression = " OR ".join(f'"{word}"' for word in words)
        if not words:
            return []
        found = connection.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (expression, depth))
        return _in_scope((items[number] for (number,) in found), question)

    return answer


def _plain_tantivy(items: Sequence[Item], depth: int) -> Way:
    """The English stemmer of tantivy, all words joined by OR."""
    import tantivy

    fields = tantivy.SchemaBuilder()
    fields.add_text_field("text", tokenizer_name="en_stem")
    fields.add_unsigned_field("number", stored=True)
    schema = fields.build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=50_000_000, num_threads=1)
    for number, item in enumerate(items):
        document = tantivy.Document()
        document.add_text("text", item.text)
        document.add_unsigned("number", number)
        writer.add_document(document)
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def answer(question: Question) -> list[str]:
        words = " ".join(dict.fromkeys(split_words(question.text)))
        query, _ = index.parse_query_lenient(words, ["text"])
        found = searcher.search(query, depth).hits
        return _in_scope((items[searcher.doc(address)["number"][0]] for _, address in found), question)

    return answer


def _in_scope(found: Iterable[Item], question: Question) -> list[str]:
    repos = None if question.repo is None else ("", question.repo)
    return [item.id for item in found if repos is None or item.fields.get("repo", "") in repos][:DEPTH]
