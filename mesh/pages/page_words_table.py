"""Pages that contain some words of a question, by their texts as last computed. Only reads; triggers keep the index."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from clan_learnings.search.keywords.bm25 import DIGITS, rarity, word_weight
from clan_learnings.search.keywords.fts_table import FTS, FtsIndex, number_in
from mesh.store.database import Run

# The texts of pages, as last worked out. The numbers are ours: those of `page_texts` change when the file is written anew. A
# REPLACE deletes without a trigger, so what comes in takes the place of what was there.
PAGE_WORDS = f"""
CREATE TABLE page_numbers(number INTEGER PRIMARY KEY, body BLOB NOT NULL UNIQUE);
CREATE VIRTUAL TABLE page_words USING {FTS};
CREATE VIRTUAL TABLE page_word_counts USING fts5vocab('page_words', 'row');
CREATE VIRTUAL TABLE page_word_places USING fts5vocab('page_words', 'instance');
CREATE TRIGGER page_text_comes AFTER INSERT ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=new.body);
    INSERT OR IGNORE INTO page_numbers(body) VALUES(new.body);
    INSERT INTO page_words(rowid, text) SELECT number, new.text FROM page_numbers WHERE body=new.body;
END;
CREATE TRIGGER page_text_changes AFTER UPDATE ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=old.body);
    INSERT INTO page_words(rowid, text) SELECT number, new.text FROM page_numbers WHERE body=old.body;
END;
CREATE TRIGGER page_text_goes AFTER DELETE ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=old.body);
    DELETE FROM page_numbers WHERE body=old.body;
END;
INSERT INTO page_numbers(body) SELECT body FROM page_texts;
INSERT INTO page_words(rowid, text) SELECT number, text FROM page_texts JOIN page_numbers USING(body);
"""


def best_pages(connection: apsw.Connection, words: Mapping[str, float], count: int) -> list[tuple[bytes, str, float]]:
    """The texts that weigh most, best first, each with the name of its body. BM25 among pages alone: there are few, and long ones."""
    run: Run = connection.execute
    index = FtsIndex(connection, "page_words", "page_word_counts")
    pages, mentions = index.size()
    usual = mentions / max(pages, 1) or 1
    gains: dict[str, float] = {}
    for text, counts in words.items():
        for stem, _ in index.spelled(text):
            gains[stem] = max(counts, gains.get(stem, 0.0))
    often: dict[int, list[tuple[float, int]]] = {}
    for stem in sorted(gains):
        rows = run("SELECT doc, count(*) FROM page_word_places WHERE term=? GROUP BY doc", (stem,)).fetchall()
        gain = gains[stem] * rarity(pages, len(rows))
        for number, times in rows:
            often.setdefault(number, []).append((gain, times))
    found = []
    for number, size in run(
        "SELECT page_words_docsize.id, sz FROM json_each(?) CROSS JOIN page_words_docsize ON page_words_docsize.id=value",
        (str([*often]),),
    ):
        weight = sum(word_weight(gain, times, number_in(size), usual) for gain, times in often[number])
        found.append((round(weight, DIGITS), number))
    found.sort(reverse=True)
    texts = [
        (
            *run(
                "SELECT body, text FROM page_numbers JOIN page_texts USING(body) WHERE number=?", (number,)
            ).fetchone(),
            weight,
        )
        for weight, number in found[: max(count, 0)]
    ]
    return sorted(texts, key=lambda item: (-item[2], item[0]))
