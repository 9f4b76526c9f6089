"""What a snapshot of the database has otherwise than the index of words: a few records, looked at one by one.

So a record is found the moment it is written, and not any more the moment it is taken back; and weights are those of the
snapshot, whenever the index was last brought up to date.
"""

from collections import Counter
from typing import NamedTuple

from clan_learnings.search.index_thread import Kept, as_they_are
from clan_learnings.search.keywords.bm25 import Corpus
from clan_learnings.search.keywords.word_documents import paper
from clan_learnings.search.keywords.word_view import Paper, View
from mesh.store.changes import Followed, Touches
from mesh.store.reading import Reader

MOST = 200  # with more, the database's own index is the quicker one


class Fresh(NamedTuple):
    """An index, and what to make of it."""

    view: View
    hidden: frozenset[bytes]  # records that are not as the index has them
    papers: list[Paper]  # those of them that are live, as they are
    corpus: Corpus


def look(reader: Reader, kept: Kept) -> Fresh | None:
    """How a snapshot differs from what was kept; None if by too much, or if that cannot be said."""
    followed = Followed(reader)
    view: View = kept.view
    if not kept.is_whole or followed.left(kept.place, MOST + 1) > MOST:
        return None
    touched: set[bytes] = set()
    if followed.mark() != kept.mark:
        found = Touches(reader.connection).since(kept.progress)
        if found is None or len(found.records) > MOST or len(found.erased) > MOST:
            return None
        touched = {*found.records, *found.erased}
    lives = reader.live(touched)
    lives |= {entry.tag: entry for _, entry in reader.arrived(kept.place, MOST)}
    papers = [paper(live, reader) for live in as_they_are(reader, lives.values())]
    hidden = frozenset(touched | lives.keys())
    return Fresh(view, hidden, papers, _corpus(view, hidden, papers))


def _corpus(view: View, hidden: frozenset[bytes], papers: list[Paper]) -> Corpus:
    before = [text.split() for text in view.texts(hidden)]
    records = view.records - len(before) + len(papers)
    words = view.words - sum(map(len, before)) + sum(len(item.words) for item in papers)
    if not hidden:
        return Corpus(records, words, view.documents)
    change: Counter[str] = Counter()
    for text in before:
        change.subtract(set(text))
    for item in papers:
        change.update(set(item.words))
    return Corpus(records, words, lambda word: view.documents(word) + change[word])
