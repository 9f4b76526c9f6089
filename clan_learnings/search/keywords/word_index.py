"""The keyword index of a running node: a tantivy index in a folder, and the sink that feeds it with records. `word_view` reads it.

Everything in the folder is disposable, and not trusted.
"""

import ctypes
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from clan_learnings.records.record import LOGS, written_under
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.index_state import STATE, LiveRecord
from clan_learnings.search.keywords.bm25 import joined
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.keywords.word_sums import is_sound
from clan_learnings.search.keywords.word_table import plain
from clan_learnings.search.keywords.word_view import (
    ASIDE,
    EVERY,
    FOUR,
    IS_INSTALLED,
    PATTERN,
    STAMP,
    TAG,
    WORDS,
    IndexScope,
    WordDocument,
    WordIndexBroken,
    open_index,
    pattern_number,
    reading,
)
from mesh.core.ids import signed_prefix as key_of
from mesh.store.reader import Reader
from mesh.store.schema import VERSION

if IS_INSTALLED:
    import tantivy

FIELDS = 7  # counted up whenever what is kept of a record is another
_HEAP_BYTES = 15_000_000  # the least that tantivy takes
# Reading forty records takes 0.13 ms; with 16 KB, which is usual, 0.43 ms, for an eighth less on disk.
_BLOCK_BYTES = 2048


class WordIndex:
    """One folder, and the one thread that writes to it; what it has committed is for `word_files`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.generation = 0  # of the last commit
        self._writer: Any = None

    def open(self) -> bool:
        """Go on with what is there. False if there is nothing, or nothing sound."""
        self.close()
        try:
            if not is_sound(self.folder):
                return False
            with reading():
                open_index(self.folder)
            self.generation = self._meta()["opstamp"]
        except (WordIndexBroken, OSError, ValueError, KeyError):
            self.close()
            return False
        return True

    def clear(self) -> None:
        """Start with an empty index: not a byte of the old one stays."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, mode=0o700)
        tantivy.Index(_schema(), path=self.folder, reuse=False)
        self._set_block_bytes()
        self.generation = 0

    def put(self, papers: Iterable[WordDocument]) -> None:
        """In the place of what was kept of the same records."""
        writer = self._writing()
        for paper in papers:
            document = tantivy.Document()
            for name, part in zip(TAG, FOUR.unpack(paper.tag), strict=True):
                document.add_integer(name, part)
            document.add_text(paper.field, joined(paper.words))
            for facet in (EVERY, *paper.facets):
                document.add_text("facet", facet)
            document.add_unsigned("length", len(paper.words))
            document.add_unsigned(STAMP, paper.at)
            document.add_integer(PATTERN, pattern_number(paper.pattern))
            writer.delete_documents_by_term("tag", key_of(paper.tag))
            writer.add_document(document)

    def drop(self, tags: Iterable[bytes]) -> None:
        """Not to be found any more."""
        for tag in tags:
            self._writing().delete_documents_by_term("tag", key_of(tag))

    def commit(self) -> None:
        """On disk, and to be found."""
        if self._writer is not None:
            self.generation = self._writer.commit()

    def rest(self) -> None:
        """Give back what only writing needs."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()
            del writer
            with suppress(
                OSError, AttributeError
            ):  # elsewhere than in glibc what is freed is given back by itself, or never
                ctypes.CDLL(None).malloc_trim(0)

    def close(self) -> None:
        """What was not committed is lost."""
        self._writer = None

    def _writing(self) -> Any:
        if self._writer is None:
            self._writer = open_index(self.folder).writer(_HEAP_BYTES, 1)
        return self._writer

    def _set_block_bytes(self) -> None:
        """How much is unpacked to read one record. Tantivy keeps that in its own file, and its Python has no name for it."""
        meta = self._meta()
        meta["index_settings"]["docstore_blocksize"] = _BLOCK_BYTES
        with open(os.path.join(self.folder, "meta.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file)

    def _meta(self) -> dict[str, Any]:
        with open(os.path.join(self.folder, "meta.json"), encoding="utf-8") as file:
            return dict(json.load(file))


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    for name in TAG:  # four numbers, because only numbers can be had for many records at once
        builder.add_integer_field(name, indexed=name == TAG[0], fast=True)
    builder.add_text_field(WORDS, stored=True, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(ASIDE, stored=True, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("length", fast=True)
    builder.add_unsigned_field(STAMP, indexed=True, fast=True)
    builder.add_integer_field(PATTERN, fast=True)
    return builder.build()


_STAMP_BITS = 16  # of a stamp below its milliseconds


class WordSink:
    """The index of one home, as `index_thread` keeps it up to date."""

    batch = 500
    commit_records = 10_000

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._index = WordIndex(os.path.join(folder, "index"))

    @property
    def generation(self) -> int:
        """As a follower wants it."""
        return self._index.generation

    def open(self, about: Mapping[str, Any] | None) -> bool:
        """As a follower wants it."""
        return about == self.about() and self._index.open()

    def has_changed(self) -> bool:
        """As a follower wants it: there is only one."""
        return False

    def begin(self) -> None:
        """As a follower wants it."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, STATE))  # first: nobody is to ask what is going
        self._index.clear()

    def about(self) -> dict[str, Any]:
        """As a follower wants it."""
        return {"fields": FIELDS, "words": VERSION, "logs": list(LOGS)}  # of another log nobody finds anything

    def put(self, records: Sequence[LiveRecord], reader: Reader, breathe: Callable[[], None]) -> None:
        """As a follower wants it."""
        for record in records:
            self._index.put([word_document(record, reader)])
            breathe()

    def drop(self, tags: Iterable[bytes]) -> None:
        """As a follower wants it."""
        self._index.drop(tags)

    def erase(self, tags: Iterable[bytes]) -> bool:  # noqa: ARG002 (all of it)
        """As a follower wants it. What tantivy deletes stays in its files for as long as it likes."""
        return False

    def swept(self, are_live: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        """As a follower wants it. There was nothing before."""

    def commit(self) -> None:
        """As a follower wants it."""
        self._index.commit()

    def rest(self) -> None:
        """As a follower wants it."""
        self._index.rest()

    def close(self) -> None:
        """As a follower wants it."""
        self._index.close()


def words_of(record: LiveRecord, reader: Reader) -> list[str]:
    """The words of a record, in the form in which the node's database keeps them too."""
    return reader.part(WordSearch).stems(plain(record.entry.record | record.fields))


def word_document(record: LiveRecord, reader: Reader) -> WordDocument:
    """What is kept of a record."""
    note = record.note
    facets = [f"log:{note.log}", f"repo:{note.repo}", f"author:{note.node.hex()}", f"agent:{note.word('agent')}"]
    facets += [f"category:{note.word('category')}", *(f"tag:{tag}" for tag in note.tags)]
    pattern = written_under(record.entry)
    facets += [f"pattern:{pattern}"] if pattern else []
    return WordDocument(note.tag, words_of(record, reader), facets, note.stamp, pattern, is_aside=note.log not in LOGS)


def scope_of(within: SearchFilters, without: Collection[str] = ()) -> IndexScope:
    """Filters in the form of the index; tiers are checked in ranking. `without`: patterns."""
    is_usual = set(within.logs) == set(LOGS)
    groups = [] if is_usual else [[f"log:{log}" for log in within.logs]]
    if within.repo is not None:
        groups.append([f"repo:{repo}" for repo in sorted({"", within.repo})])
    for facet, value in (("category", within.category), ("agent", within.agent)):
        if value:
            groups.append([f"{facet}:{value}"])
    if within.tags:
        groups.append([f"tag:{tag}" for tag in within.tags])
    if within.author is not None:
        groups.append([f"author:{within.author.hex()}"])
    passed = tuple(f"pattern:{pattern}" for pattern in sorted(without))
    return IndexScope(groups, passed, _stamp(within.since_ms), _stamp(within.until_ms))


def _stamp(at_ms: int | None) -> int | None:
    return None if at_ms is None else min(max(at_ms, 0) << _STAMP_BITS, (1 << 63) - 1)
