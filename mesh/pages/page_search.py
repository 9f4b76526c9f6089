"""Pages that match a question: their names, and the best matching line. Only reads, and starts no worker.

By words alone, and by texts as they were last worked out. Where no page has the words, nothing of what pages need is loaded.
"""

from __future__ import annotations

from typing import Any

from clan_learnings.records.matching_tokens import split_words
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.question import is_grammar
from mesh.core.identifier_words import extra_words
from mesh.core.ids import text_id
from mesh.pages.memory_text import MemoryReader
from mesh.pages.page_table import PageTable
from mesh.pages.page_words_table import best_pages
from mesh.store.reader import Reader

_WORDS = 32  # of a question that are looked for
_LOOKED_AT = 10  # pages that weigh most
_LEAST = 0.5  # of a question's words must stand in a page
_LINE_CHARS = 300
_TEXT_CHARS = 200_000  # of a page in which the line is looked for


def pages_about(reader: Reader, query: str, count: int) -> list[dict[str, Any]]:
    """Those that have at least half of the question's words, best first."""
    if count <= 0 or not reader.connection.execute("SELECT EXISTS(SELECT 1 FROM page_texts)").get:
        return []
    words = _words(query)
    weighed = best_pages(reader.connection, dict.fromkeys((*words, *extra_words(query)[:_WORDS]), 1.0), _LOOKED_AT)
    if not weighed or not words:
        return []
    asked = {word: reader.part(WordSearch).stems(word)[:1] for word in words}
    names = _names(reader)
    found = []
    for body, text, weight in weighed:
        there = set(reader.part(WordSearch).stems(text[:_TEXT_CHARS]))
        had = [word for word, stem in asked.items() if there.issuperset(stem)]
        if body in names and len(had) >= _LEAST * len(words):
            identity, name = names[body]
            line = _line(text[:_TEXT_CHARS], had)
            found.append({"id": identity, "name": name, "line": line, "words": had, "weight": weight})
    return found[:count]


def _words(query: str) -> list[str]:
    """Those that say something; of a question of nothing else, all."""
    chunks = query[:_TEXT_CHARS].split()
    said = " ".join([chunk for chunk in chunks if not is_grammar(chunk)] or chunks)
    return list(dict.fromkeys(split_words(said)))[:_WORDS]


def _names(reader: Reader) -> dict[bytes, tuple[str, str]]:
    """The id and the shown name of the page that has a text now; of an ended or removed page none."""
    from mesh.pages.book import listed

    database: Any = MemoryReader(reader)
    return {info.body: (text_id(info.id), info.shown) for info in listed(PageTable(database))}


def _line(text: str, words: list[str]) -> str:
    """The line with most of the words, the first of several."""
    best, most = "", -1
    for line in text.splitlines():
        small = line.lower()
        has = sum(word in small for word in words)
        if has > most and small.strip():
            best, most = line.strip(), has
    return best[:_LINE_CHARS]
