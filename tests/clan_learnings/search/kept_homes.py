"""A home with a notebook, and the sidecar's indexes of it, in this process. No test lives here."""

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clan_learnings.records.memory import Memory
from clan_learnings.records.record import LOGS
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import Finder, KeywordFinder
from clan_learnings.search.index_building import IndexBuilding
from clan_learnings.search.index_state import IndexState
from clan_learnings.search.indexes import SearchIndexes
from clan_learnings.search.keywords.word_query import WordSnapshot, word_snapshot
from clan_learnings.search.node_finder import NodeFinder
from mesh.core.draft import NewRecord
from mesh.store.erase_requests import erase
from mesh.store.reader import Reader, open_reading
from mesh.store.record_changes import Followed
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook
from tests.end_to_end.commands import wait_until

WORDS = [f"{start}{end}" for start in "bdfgklmnprst" for end in ("ana", "elo", "iri", "oru")]
Found = list[tuple[bytes, float]]


def text(chance: random.Random, least: int = 3, most: int = 12) -> str:
    """Some words, the first ones often."""
    return " ".join(WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(chance.randint(least, most)))


def fill(book: Notebook, count: int, seed: int = 1) -> list[bytes]:
    """So many discoveries of two repositories."""
    chance = random.Random(seed)
    return write(book, *({"text": text(chance), "repo": chance.choice((REPO, OTHER, ""))} for _ in range(count)))


def write(book: Notebook, *records: dict[str, Any]) -> list[bytes]:
    """Discoveries, in a few commits: each one takes the disk a while."""
    tags: list[bytes] = []
    for start in range(0, len(records), 20):
        book.now_ms += 10
        drafts = [NewRecord("discoveries", record) for record in records[start : start + 20]]
        tags += book.author.append(drafts).tags
    return tags


def wipe(book: Notebook, tag: bytes) -> None:
    """Erase a record, as its author may."""
    author = book.author
    erase(book.home, author, {tag: author.store.own or b""}, "leaked")


class Recalling(SearchIndexes):
    """Indexes that are asked and built in this process."""

    def __init__(self, home: str, environ: dict[str, str] | None = None) -> None:
        self.building = IndexBuilding(home, environ)
        super().__init__(home, self.building)

    def __enter__(self) -> Self:
        self.building.__enter__()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.building.__exit__(kind, error, trace)
        super().__exit__(kind, error, trace)

    def kept(self) -> IndexState | None:
        """The index of words as it was committed last."""
        assert self._words is not None
        return self._words.kept()


@contextmanager
def recalling(book: Notebook, choice: str = "none") -> Iterator[Recalling]:
    """The indexes, running."""
    Path(book.home.file("embedder")).write_text(choice, encoding="utf-8")
    with Recalling(book.home.path) as recall:
        yield recall


@contextmanager
def snapshot(book: Notebook) -> Iterator[Reader]:
    """One state of the database."""
    reader = open_reading(book.home.path)
    try:
        reader.connection.execute("BEGIN")
        yield reader
    finally:
        reader.connection.close()


def settled(book: Notebook, recall: Recalling) -> IndexState:
    """Wait until the index of words is as the database is; returns what it holds. A moment later it may be made anew: it was damaged."""
    found: list[IndexState] = []

    def is_settled() -> bool:
        kept = recall.kept()
        with snapshot(book) as reader:
            mark, last = Followed(reader).mark(), reader.last_arrived()
        if kept is None or not kept.is_whole or kept.mark != mark or kept.place < last:
            return False
        found.append(kept)
        return True

    wait_until(is_settled)
    return found[-1]


class Stale:
    """Indexes that are not brought up to date any more."""

    meaning = None

    def __init__(self, kept: IndexState) -> None:
        self.kept = kept
        self.distrusted: list[Exception] = []

    def fresh(self, reader: Reader) -> WordSnapshot | None:
        return word_snapshot(reader, self.kept)

    def distrust(self, error: Exception) -> None:
        self.distrusted.append(error)


def questions(seed: int = 2, count: int = 25) -> list[tuple[dict[str, float], SearchFilters]]:
    """What is asked for, and within what."""
    chance = random.Random(seed)
    scopes: Sequence[dict[str, Any]] = (
        {},
        {"repo": REPO},
        {"repo": OTHER, "logs": LOGS[:1]},
        {"since_ms": 1_800_000_000_020},
        {"until_ms": 1_800_000_000_020},
    )
    return [
        (
            {word: chance.choice((1.0, 0.5)) for word in text(chance, 1, 5).split()},
            SearchFilters(**chance.choice(scopes)),
        )
        for _ in range(count)
    ]


def asked(finder: Finder, words: dict[str, float], within: SearchFilters, count: int = 10) -> Found:
    """What a finder finds: tags and weights, in its order."""
    return [(entry.tag, weight) for entry, weight in finder.by_words(words, within, count)]


def in_scope(reader: Reader, words: dict[str, float], within: SearchFilters) -> Found:
    """What the database's own index finds, without what was edited to be elsewhere."""
    memory = Memory(reader)
    found = KeywordFinder(reader).by_words(words, within, 1000, memory.moved_into(within.repo))
    return [(entry.tag, weight) for entry, weight in found if within.takes(memory, memory.read(entry))][:10]


def same_as_database(book: Notebook, indexes: SearchIndexes | Stale) -> None:
    """Every answer is the one that the database's own index gives."""
    with snapshot(book) as reader:
        assert indexes.fresh(reader) is not None
        for words, within in questions():
            expected = in_scope(reader, words, within)
            assert asked(NodeFinder(indexes, reader), words, within) == expected, (words, within.repo)


def answers(book: Notebook, recall: Recalling) -> list[Found]:
    """What the indexes answer to everything."""
    with snapshot(book) as reader:
        assert recall.fresh(reader) is not None
        return [asked(NodeFinder(recall, reader), words, within) for words, within in questions()]


def anywhere(folder: str, secret: str) -> list[str]:
    """The files below a folder in which a text can still be read."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            try:
                if secret.encode() in path.read_bytes():
                    found.append(str(path))
            except FileNotFoundError:
                continue
    return found
