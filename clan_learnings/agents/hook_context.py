"""What hooks tell a session: the whole context, only news, or what fits a prompt or an error. Nothing is told twice.

Reads one snapshot of what the clan knows, and notes in `shown_to_session` what it has told. Knows no agent's JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from clan_learnings.agents.relevance import FAILURE, PROMPT, RelevanceQuery
from clan_learnings.context.composition import (
    Context,
    ContextRecord,
    HotRule,
    compose,
    hot_only,
    limits_for,
    short_lines,
)
from clan_learnings.context.session_context import (
    CALL,
    HOT_LINES,
    MIN_CONFIDENCE,
    here_lines,
    hot_lines,
    line_of,
    session_context,
)
from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.record import Note
from clan_learnings.records.shown_to_session import ShownRecords
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.likeness import telling_words
from mesh.core.ids import text_id

_HOT = 400  # patterns looked at for changes; a context has room for far fewer
_SUBAGENT_HOT, _SUBAGENT_CHARS = 100, 2_000
_PROMPT_LINES, _PROMPT_CHARS = 3, 1_200
_FAILURE_LINES, _FAILURE_CHARS = 1, 700
_CANDIDATES = 24  # many may be of one pattern
_WORDS = 10  # they are looked for by
# From so many records on it says something how many have a word. A home with fewer counts as if it had the second number.
_TELLING_RECORDS, _AS_IF_RECORDS = 100, 1000
_SOFTENED, _SOFTER = (
    0.75,
    0.5,
)  # exponents of a rarity, in such a home and in a small one: a frequent word still says something
_CITED = 8  # characters that every citation has at least
_KNOWN_CHARS = 16  # of an id, to know it again


class SessionMemory(Memory):
    """A memory for one session. What only this node has seen is looked up once, both to show it and to note it as known."""

    _here: list[HotItem] | None = None

    def seen_here(self, repo: str | None, limit: int | None = None) -> list[HotItem]:
        """As in any memory, for one repository only, and at most as many as are compared for changes."""
        if self._here is None:
            self._here = super().seen_here(repo, _HOT)
        return self._here[:limit]


class HookContext:
    """What one session of an agent in one repository is told."""

    def __init__(
        self,
        memory: SessionMemory,
        seen: ShownRecords,
        repo: str,
        now_ms: int,
        complain: Callable[[str, Exception], None],
    ) -> None:
        """`complain`: called when something could not be noted and is told nevertheless."""
        self._memory = memory
        self._seen = seen
        self._repo = repo
        self._now_ms = now_ms
        self._complain = complain

    def everything(self, agent: str, private: Memory | None, program: str = "mesh") -> str:
        """The context of a session, whatever it was shown before: it starts, or what it was shown is gone. `program`: how its shells find us."""
        made = session_context(self._memory, private, repo=self._repo, agent=agent, program=program)
        self._note(made, self._memory.hot(self._repo, HOT_LINES))
        return made.text

    def news(self, agent: str) -> str:
        """What has become HOT or WARM since this session last looked; empty if nothing has. What it recorded itself is no news to it."""
        hot = self._new()
        here = [item for item in self._memory.seen_here(self._repo) if not self._knows(item.slug)]
        warm = [
            note
            for note in self._memory.warm(self._repo)
            if note.confidence > MIN_CONFIDENCE
            and note.session not in (self._seen.session, self._seen.copied_from)
            and not self._seen.has(text_id(note.tag))
        ]
        if not hot and not warm and not here:
            return ""
        lines = [line_of(self._memory, note) for note in warm]
        limits = limits_for(agent)
        hot_now = hot_lines(self._memory, hot)
        here_now = hot_lines(self._memory, here) if self._memory.witnesses.are_needed else None
        made = compose(hot_now, lines, (), (), limits=limits, repo=self._repo, call=CALL, here=here_now)
        self._note(made, hot)
        return made.text

    def to_subagent(self) -> str:
        """HOT only: a subagent starts without the context its parent was shown."""
        hot = hot_lines(self._memory, self._memory.hot(self._repo, _SUBAGENT_HOT))
        made = hot_only(hot, _SUBAGENT_CHARS, repo=self._repo, here=here_lines(self._memory, self._repo))
        return made.text if made.shown else ""

    def about_prompt(self, prompt: str) -> str:
        """What became HOT since this session last looked, then what is about the prompt."""
        here = self._memory.seen_here(self._repo)
        new: list[HotItem] = []
        if self._seen.is_known:
            new = [*self._new(_PROMPT_LINES), *(item for item in here if not self._knows(item.slug))][:_PROMPT_LINES]
        else:  # it started before our hooks were there: what is HOT is no change to it
            before = [*self._memory.hot_names(self._repo, _HOT), *(item.slug for item in here)]
            self._seen.add(self._now_ms, known=[(name, "") for name in before])
        pairs = [(item.slug, text_id(item.tag)) for item in new]
        lines: list[HotRule | ContextRecord] = list(hot_lines(self._memory, new))
        if len(lines) < _PROMPT_LINES:
            names = {slug for slug, _ in pairs}
            for slug, whole, line in self._apt(prompt, PROMPT):
                if not slug or slug not in names:
                    pairs.append((slug, whole))
                    lines.append(line)
        return self._tell(lines, pairs, _PROMPT_LINES, _PROMPT_CHARS)

    def about_failure(self, text: str) -> str:
        """The one record that knows this error, or the command that gave it."""
        apt = self._apt(text, FAILURE)
        pairs = [(slug, whole) for slug, whole, _ in apt]
        return self._tell([line for *_, line in apt], pairs, _FAILURE_LINES, _FAILURE_CHARS)

    def _apt(self, text: str, bar: float) -> list[tuple[str, str, ContextRecord]]:
        """Records worth interrupting for that this session was not shown, the best first: pattern, id, line."""
        memory = self._memory
        words = telling_words(memory, text, _WORDS)
        if not words:
            return []
        subject = RelevanceQuery(text, bar, self._rarity)
        within = SearchFilters(self._repo, archived=False)
        found: list[tuple[float, float, bytes, Note]] = []
        for entry, weight in memory.finder.by_words(words, within, _CANDIDATES, memory.moved_into(self._repo)):
            note = memory.read(entry)
            aptness = subject.aptness(note.text, note.word("wrong"), note.word("evidence"))
            if aptness and note.confidence > MIN_CONFIDENCE and within.takes(memory, note) and not self._is_past(note):
                found.append((-aptness, -weight, note.tag, note))
        best: dict[str, Note] = {}
        for *_, note in sorted(found, key=lambda each: each[:3]):
            best.setdefault(note.pattern or text_id(note.tag), note)
        return [
            (note.pattern, text_id(note.tag), line_of(memory, note)) for note in list(best.values())[:_PROMPT_LINES]
        ]

    def _rarity(self, word: str) -> float:
        """From 1 for a word in one record towards 0 for a word in all of many: the weight of BM25, softened."""
        records, counts = self._memory.finder.counts((word,))
        is_small = records < _TELLING_RECORDS
        found, records = max(counts[word], 1), _AS_IF_RECORDS if is_small else records
        rarity = min(1.0, log(1 + max(records - found, 0.5) / found) / log(records))
        return float(rarity ** (_SOFTER if is_small else _SOFTENED))

    def _is_past(self, note: Note) -> bool:
        """Whether this session was shown it, or its pattern is over. That a pattern is HOT is no reason: it may have had no room."""
        if self._seen.was_shown(note.pattern, text_id(note.tag)):
            return True
        return bool(note.pattern) and self._memory.patterns.has_ended(note.pattern)

    def _tell(
        self, lines: Sequence[HotRule | ContextRecord], pairs: list[tuple[str, str]], most: int, chars: int
    ) -> str:
        """These lines, as many as there is room for. What cannot be noted is not told: it would be told at every prompt."""
        made = short_lines(lines, most, chars)
        shown = [pair for pair, line in zip(pairs, lines, strict=True) if line.id in made.shown]
        if shown:
            self._seen.add(self._now_ms, shown=shown)
        return made.text

    def _note(self, made: Context, told: list[HotItem]) -> None:
        """Remember what this session was shown, and what else was there: that will be no news to it. `told`: of HOT, what may be shown."""
        here = self._memory.seen_here(self._repo)
        hot = [(item.slug, text_id(item.tag)) for item in (*told, *here)]
        names = [*self._memory.hot_names(self._repo, _HOT), *(item.slug for item in here)]
        warm = [(note.pattern, text_id(note.tag)) for note in self._memory.warm(self._repo)]
        cited = {whole[:_CITED]: (slug, whole) for slug, whole in (*warm, *hot)}
        shown = []
        for short in made.shown:
            slug, whole = cited.get(short[:_CITED], ("", short))
            shown.append((slug, short) if whole.startswith(short) else ("", short))
        # A correction that had no room is known, its pattern is not: should it become HOT, that is news.
        known = [(name, "") for name in names] + [("", whole[:_KNOWN_CHARS]) for _, whole in warm]
        try:
            self._seen.add(self._now_ms, shown=shown, known=known)
        except OSError as error:
            self._complain("what was shown", error)

    def _new(self, limit: int | None = None) -> list[HotItem]:
        """What has become HOT since this session last looked."""
        names = {*self._memory.hot_names(self._repo, _HOT)}
        return self._memory.hot(self._repo, limit, lambda slug: slug in names and not self._knows(slug))

    def _knows(self, slug: str) -> bool:
        """Whether a pattern was HOT before, under any of its names."""
        return any(self._seen.knows(name) for name in (slug, *self._memory.patterns.names(slug)))
