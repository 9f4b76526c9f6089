"""One FTS5 table, and the few questions about it that SQL alone does not answer. Reads only, but for `scrub`."""

from __future__ import annotations

from typing import Any

import apsw

from mesh.store.database import Run

# Fewer, larger segments than FTS5 makes by itself: see docs/adr/0016.
TOKENIZER = ("porter", "unicode61")
SEGMENTS = """
INSERT INTO {0}({0}, rank) VALUES('automerge', 8);
INSERT INTO {0}({0}, rank) VALUES('hashsize', 8388608);
"""
# A text can be taken out of it without being known: see docs/adr/0041.
FTS = f"fts5(text, content='', contentless_delete=1, tokenize='{' '.join(TOKENIZER)}')"


_LOOKED_FOR = 50  # words of a record
_ENDINGS = ("", "e", "s", "es", "ing", "ed", "y", "ion", "al", "er")


class FtsIndex:
    """The records of one table by their words. Accepts any string, also one with bytes that are not text."""

    def __init__(self, connection: apsw.Connection, table: str, counts: str) -> None:
        """`counts`: the fts5vocab table over it."""
        self._run: Run = connection.execute
        self._tokens: Any = connection.fts5_tokenizer(TOKENIZER[0], [*TOKENIZER[1:]])
        self._table = table
        self._counts = counts

    def size(self) -> tuple[int, int]:
        """How many records it holds, and how many words in all: the first two numbers of FTS5's "averages record"."""
        block = self._run(f"SELECT block FROM {self._table}_data WHERE id=1").get or b""
        numbers, value = [], 0
        for byte in block:
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                numbers.append(value)
                value = 0
        return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)

    def documents(self, stem: str) -> int:
        """How many of its records have a word, in the form it keeps."""
        return self._run(f"SELECT doc FROM {self._counts} WHERE term=?", (stem,)).get or 0

    def terms(self, start: str, count: int) -> list[str]:
        """Words it keeps that begin like this."""
        start = _clean(start)
        rows = self._run(
            f"SELECT term FROM {self._counts} WHERE term>=? AND term<? LIMIT ?", (start, start + "\U0010ffff", count)
        )
        return [term for (term,) in rows]

    def having(self, word: str, most: int) -> list[int]:
        """The records that have a word; of more than that, those that came last."""
        rows = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? ORDER BY rowid DESC LIMIT ?"
        # As one text: a row each costs more than finding them.
        found: str | None = self._run(f"SELECT group_concat(rowid) FROM ({rows})", (quoted(word), most)).get
        return [*map(int, found.split(","))] if found else []

    def holds(self, number: int, text: str) -> bool:
        """Whether a record stands there under the words of this text, as far as that is quickly told."""
        found = self.spelled(text)
        size = self._run(f"SELECT sz FROM {self._table}_docsize WHERE id=?", (number,)).get
        if number_in(size) != len(found):
            return False
        words = [quoted(word) for word in dict(found[:_LOOKED_FOR]).values()]
        sought = f"SELECT 1 FROM {self._table} WHERE {self._table} MATCH ? AND rowid=?"
        return not words or self._run(sought, (" AND ".join(words), number)).get is not None

    def stems(self, text: str) -> list[str]:
        """The words of a text in the form it keeps."""
        return list(
            self._tokens(
                _clean(text).encode(),
                apsw.FTS5_TOKENIZE_DOCUMENT,
                None,
                include_offsets=False,
                include_colocated=False,
            )
        )

    def spelled(self, text: str) -> list[tuple[str, str]]:
        """The same, each with the word as it is written."""
        data = _clean(text).encode()
        found = self._tokens(data, apsw.FTS5_TOKENIZE_QUERY, None, include_colocated=False)
        return [(stem, data[start:end].decode()) for start, end, stem in found]

    def written(self, stem: str) -> str:
        """A word that has this stem: to ask for, since a stem of a stem may be another."""
        return next((stem + end for end in _ENDINGS if self.stems(stem + end) == [stem]), stem)


def number_in(size: bytes | None) -> int:
    """A length as FTS5 writes it: seven bits a byte."""
    value = 0
    for byte in size or b"":
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value


def quoted(word: str) -> str:
    """A word, or several, as FTS5 takes them literally: as one phrase, whatever signs are in it."""
    return '"' + _clean(word).replace('"', '""').replace("\0", " ") + '"'


def _clean(text: str) -> str:
    """Arguments of a command may have bytes in them that are no text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def scrub(run: Run, table: str) -> None:
    """Merge an index into one new segment: FTS5 only marks what is deleted."""
    # A record of our own makes two segments at least: one alone would not be merged, so not rewritten.
    run(f"INSERT INTO {table}(rowid, text) VALUES(0, 'scrub')")
    run(f"INSERT INTO {table}({table}) VALUES('optimize')")
    run(f"DELETE FROM {table} WHERE rowid=0")
