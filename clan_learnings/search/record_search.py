"""Search: the records that fit a question best, by their words and, where there are vectors, by what they mean. Reads only.

The filters come first, then the score, then what would be shown twice is put together. What finds the candidates is behind
`Finder`; the arithmetic is in `fusion`.
"""

from __future__ import annotations

from collections.abc import Sequence

from clan_learnings.records.memory import Memory, quality
from clan_learnings.records.record import CORRECTIONS, PATTERNS, Note, written_under
from clan_learnings.search import fusion
from clan_learnings.search.diversity import ResultText, diverse, grouped
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.question import Question
from mesh.store.reader import Entry

# Candidates where words are all there is, for ten to be shown: see ADR 0043 for what more of them would change.
_BY_WORDS = 30
_BY_BOTH = 40  # of each sort where there is meaning, too: ADR 0043
_DEEPER = 3  # times as many, if the filters leave too few of them
_CROWD = 5  # candidates of one pattern, which say much the same: whoever goes deeper looks for others
_GLANCE = 2  # more than are asked for are read of what is all of one pattern
_DEEPEST = 2000
_SPARE = 10  # more than are asked for, so that something different can be chosen
_WHY = 4  # words that are named


class SearchHit:
    """A record that was found.

    `score`: what it is ranked by; `relevance`: how well it fits whatever else was found; both from 0 to 1. `words`: those of
    the question that it has. `parts`: what the score is made of. `also`: others that say the same, and are not shown.
    `more`: further ones under its pattern, at which nobody has looked.
    """

    __slots__ = ("also", "more", "note", "parts", "relevance", "score", "why", "words")

    def __init__(
        self,
        note: Note,
        score: float,
        why: str,
        *,
        relevance: float = 0.0,
        words: Sequence[str] = (),
        parts: dict[str, float] | None = None,
    ) -> None:
        self.note = note
        self.score = score
        self.why = why
        self.relevance = relevance
        self.words = list(words)
        self.parts = parts or {}
        self.also: list[Note] = []
        self.more = 0


def search(
    memory: Memory, query: str, within: SearchFilters, limit: int, *, least: float = 0.0, collapse: bool = True
) -> list[SearchHit]:
    """The records that fit a question best, best first. `least`: none that is less relevant. `collapse`: what says the same once."""
    depth = max(limit, _BY_BOTH if memory.finder.has_meaning else _BY_WORDS)
    memory.finder.expect(query, within, depth)
    question = Question(memory, query)
    finding = _Finding(memory, question, within)
    hits: list[SearchHit] = []
    if collapse and 0 < limit + _GLANCE < depth and not memory.finder.has_meaning:
        depth -= finding.pass_crowd(depth, limit)
    while limit > 0:
        hits = _chosen(memory, finding.hits(depth, least), limit, collapse=collapse)
        if len(hits) >= limit or depth >= _DEEPEST or finding.beyond < least or not finding.beyond:
            break
        if not (collapse and finding.pass_crowds()):
            depth = min(depth * _DEEPER, _DEEPEST)
    finding.count_crowds(hits)
    for hit in hits:
        hit.parts = {name: fusion.steady(part) for name, part in hit.parts.items()}
        _explain(memory, question, hit)
    return hits


class _Finding:
    """Finds and scores: what one question has for answers, so and so deep."""

    def __init__(self, memory: Memory, question: Question, within: SearchFilters) -> None:
        self._memory = memory
        self._question = question
        self._within = within
        self._entries: dict[bytes, Entry] = {}  # all candidates so far
        self._weights: dict[bytes, float] = {}
        self._read: dict[bytes, Note | None] = {}  # None: the filters do not take it
        self._without: frozenset[str] = frozenset()
        self.beyond = 0.0  # what is not among the candidates is no more relevant than this

    def hits(self, depth: int, least: float) -> list[SearchHit]:
        """All that pass the filters, best first."""
        self._find(depth)
        entries, weights = self._entries, self._weights
        cosines = self._memory.finder.cosines(self._question.text, entries) if self._memory.finder.has_meaning else {}
        notes = self._taken(entries)
        best = max([weights.get(note.tag, 0.0) for note in notes], default=0.0)
        usual, highest = _span(list(cosines.values()))
        ideal, weight_of_meaning = self._question.ideal, self._memory.settings.recall_weight
        found = []
        for note in notes:
            weight, cosine = weights.get(note.tag, 0.0), cosines.get(note.tag)
            relevance = fusion.steady(fusion.relevance_of(weight, ideal, cosine))
            if relevance < least or not relevance:
                continue  # every record has some cosine with every question: what has no more than that was not found
            keyword = fusion.keyword_part(weight, best, ideal)
            parts = {"keyword": keyword} if cosine is None else {"keyword": keyword, "meaning": cosine}
            if cosine is None and cosines:
                cosine = usual + (highest - usual) * keyword
            score = self._score(note, fusion.fuse(keyword, cosine, weight_of_meaning), parts)
            found.append(SearchHit(note, fusion.steady(score), "", relevance=relevance, parts=parts))
        found.sort(key=lambda hit: (-hit.score, -hit.note.stamp, hit.note.tag))
        return found

    def pass_crowd(self, depth: int, limit: int) -> int:
        """A mistake that dozens of sessions made would take thirty reads for one line of the answer. So a few are enough.

        Returns how many were found by then; 0 if the first so many are not of one pattern.
        """
        finder, within, words = self._memory.finder, self._within, self._question.words
        if not words or not finder.is_crowded(words, within, depth, limit, self._memory.moved_into(within.repo)):
            return 0
        self._find(limit + _GLANCE)
        self._taken(self._entries)
        return len(self._entries) if self.pass_crowds() else 0

    def pass_crowds(self) -> bool:
        """Look for nothing more under those patterns that many of the candidates were written under; False if there are none."""
        crowds: dict[str, int] = {}
        for tag, entry in self._entries.items():
            pattern = written_under(entry)
            # What the filters leave out stands for no other, unless all of its pattern is left out.
            if pattern and (self._read[tag] is not None or self._within.leaves_out(self._memory, pattern)):
                crowds[pattern] = crowds.get(pattern, 0) + 1
        before, self._without = self._without, frozenset(name for name, count in crowds.items() if count >= _CROWD)
        return self._without != before

    def count_crowds(self, hits: list[SearchHit]) -> None:
        """Of patterns that were passed, the first line says how many more there are. With filters that is not known."""
        if self._within.is_narrow or self._memory.bound is not None:
            return
        for pattern in sorted(self._without):
            first = next((hit for hit in hits if hit.note.pattern == pattern), None)
            if first is not None:
                looked_at = sum(written_under(entry) == pattern for entry in self._entries.values())
                repos = None if self._within.repo is None else ("", self._within.repo)
                first.more = max(0, self._memory.reader.count_under(pattern, repos) - looked_at)

    def _taken(self, entries: dict[bytes, Entry]) -> list[Note]:
        """Those that pass the filters. Going deeper reads only what is new."""
        memory, read = self._memory, self._read
        for note in memory.read_all(entry for tag, entry in entries.items() if tag not in read):
            read[note.tag] = note if self._within.takes(memory, note) else None
        return [taken for tag in entries if (taken := read[tag]) is not None]

    def _find(self, depth: int) -> None:
        """The next candidates, to those there are."""
        memory, within, question, without = self._memory, self._within, self._question, self._without
        finder, also = memory.finder, memory.moved_into(within.repo)
        by_words = finder.by_words(question.words, within, depth, also, without) if question.words else []
        weight = by_words[-1][1] if len(by_words) >= depth else 0.0
        self._entries |= {entry.tag: entry for entry, _ in by_words}
        self._weights |= {entry.tag: weight for entry, weight in by_words}
        if not finder.has_meaning:
            self.beyond = fusion.relevance_of(weight, question.ideal, None)
            return
        self._taken(self._entries)  # while a vector of the question is being made
        by_meaning = finder.by_meaning(question.text, within, depth, without)
        cosine = by_meaning[-1][1] if len(by_meaning) >= depth else 0.0
        self.beyond = max(fusion.relevance_of(weight, question.ideal, either) for either in (None, cosine))
        self._entries |= {entry.tag: entry for entry, _ in by_meaning}

    def _score(self, note: Note, fused: float, parts: dict[str, float]) -> float:
        """The score of all that counts, which is put to its parts."""
        memory, within = self._memory, self._within
        fresh = 1.0 if note.log == PATTERNS or memory.stays_hot(note) else fusion.recency(memory.now_ms - note.at_ms)
        parts["fused"], parts["recency"] = fused, fresh
        if not within.category and not within.tags:
            return fusion.faded(fused, fresh)
        category = float(bool(within.category) and note.word("category") == within.category)
        tags = len({*within.tags} & {*note.tags}) / len({*within.tags}) if within.tags else 0.0
        rated = quality(note)
        parts |= {"category": category, "tags": tags, "quality": rated}
        return fusion.filed(fused, category, tags, fresh, rated)


def _span(cosines: list[float]) -> tuple[float, float]:
    """What is taken for the cosine of a record whose vector is not made yet: of one without words, and of one with all."""
    ranked = sorted(cosines) or [0.0]
    return ranked[len(ranked) // 2], ranked[-1]


def _chosen(memory: Memory, hits: list[SearchHit], limit: int, *, collapse: bool) -> list[SearchHit]:
    """The first so many, what says the same put together."""
    if not collapse:
        return hits[:limit]
    by_tag = {hit.note.tag: hit for hit in hits}
    lexicon: dict[str, int] = {}
    sayings, others = grouped(
        (ResultText(hit.note, lexicon, _pattern(memory, hit.note)) for hit in hits), limit + _SPARE
    )
    pool = [by_tag[saying.note.tag] for saying in sayings]
    for hit, same in zip(pool, others, strict=True):
        hit.also = same
    return [pool[place] for place in diverse([hit.score for hit in pool], sayings, limit)]


def _pattern(memory: Memory, note: Note) -> str:
    """What a correction is counted under now."""
    return min(memory.patterns.names(note.pattern)) if note.log == CORRECTIONS and note.pattern else ""


def _explain(memory: Memory, question: Question, hit: SearchHit) -> None:
    known = memory.finder.stems_of(hit.note.tag)
    hit.words = question.shared(memory.reader.part(WordSearch).stems(_texts(hit.note)) if known is None else known)
    said = [f"has {', '.join(hit.words[:_WHY])}"] if hit.words else []
    meaning = hit.parts.get("meaning")
    if meaning is not None and fusion.likeness_of(meaning) > 0:
        said.append(f"near in meaning ({meaning:.2f})")
    hit.why = "; ".join(said) or "the nearest there is"


def _texts(note: Note) -> str:
    """Everything a record says, as far as an index sees it."""
    values = [value if type(value) is list else [value] for value in note.record.values()]
    return "\n".join(text for several in values for text in several if type(text) is str)
