"""The HOT patterns of a scope, and the words they are told in. One snapshot; writes nothing.

What makes a pattern HOT is decided in `patterns`. Where one node's word is not enough, a pattern is told in the words that an admin
approved or enough witnesses say; elsewhere in the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice

from clan_learnings.records.patterns import DISPUTED, IS_HOT, UNWITNESSED, Pattern, Patterns
from clan_learnings.records.record import CORRECTIONS, KINDS, PATTERNS, Note, said_of
from clan_learnings.records.shared_settings import KEY as SETTINGS
from clan_learnings.records.shared_settings import SharedSettings
from clan_learnings.records.witnesses import Ballot, Witnesses, are_alike
from mesh.core.ids import text_id
from mesh.store.reader import Entry, PatternTally, Reader

_EXAMPLES = 20  # newest corrections of a pattern that are read to find one that is not muted


class HotItem:
    """A HOT pattern, as it is shown: its rule, and the correction that stands for it."""

    __slots__ = ("last_ms", "nodes", "note", "repo", "repos", "rule", "sessions", "slug", "wrong")

    def __init__(
        self,
        slug: str,
        note: Note,
        rule: str,
        wrong: str,
        *,
        sessions: int,
        nodes: int,
        repos: list[str],
        repo: str,
        last_ms: int,
    ) -> None:
        self.slug = slug
        self.note = note
        self.rule = rule
        self.wrong = wrong
        self.sessions = sessions
        self.nodes = nodes
        self.repos = repos
        self.repo = repo  # empty: everywhere
        self.last_ms = last_ms

    @property
    def tag(self) -> bytes:
        """The record that is cited."""
        return self.note.tag


class PatternWording:
    """The words of a HOT pattern, and the votes they come from. `cited`: the record to look at; None if there is no correction."""

    __slots__ = ("ballot", "cited", "rule", "wrong")

    def __init__(self, rule: str, wrong: str, cited: Entry | None, ballot: Ballot) -> None:
        self.rule = rule
        self.wrong = wrong
        self.cited = cited
        self.ballot = ballot

    def says(self, note: Note) -> bool:
        """Whether a record says the same, apart from differences that do not matter."""
        own = note.word("right") if note.log == CORRECTIONS else note.word("rule")
        return are_alike(own, self.rule) and (note.log != CORRECTIONS or are_alike(note.word("wrong"), self.wrong))


class HotPatterns:
    """Reads the HOT patterns of one snapshot of a notebook, without what is hidden from the caller."""

    def __init__(self, reader: Reader, muted: frozenset[str], bound: str | None) -> None:
        """`muted`: whole text ids of records and nodes, and slugs, that are hidden here. `bound`: the only repository that is read."""
        self.reader = reader
        self.bound = bound
        self.settings = SharedSettings(reader.fields(SETTINGS))
        self.witnesses = Witnesses(reader.members(), self.settings.hot_nodes)
        self.patterns = Patterns(reader, self.settings, self.witnesses, bound=bound)
        if self.witnesses.are_needed:
            self.patterns.agreed = Patterns(reader, self.settings, self.witnesses, bound=bound, by_agreement=True)
        self._muted = muted
        self._wordings: dict[frozenset[str], PatternWording] = {}
        self._tallies: list[PatternTally] | None = None  # of the patterns that were needed often enough

    def hot(
        self, repo: str | None, limit: int | None = None, wanted: Callable[[str], bool] | None = None
    ) -> list[HotItem]:
        """The HOT patterns of a scope, those of most sessions first. None: of all repositories. `wanted`: by their names."""
        found = self._standing_so((IS_HOT,), repo)
        items = (self._item(each) for each in found if wanted is None or wanted(each.slug))
        return list(islice((item for item in items if item is not None), limit))

    def hot_names(self, repo: str | None, limit: int) -> list[str]:
        """The names of HOT patterns, without reading what they say; also those that are muted here."""
        return [found.slug for found in islice(self._standing_so((IS_HOT,), repo), limit)]

    def count_hot(self, repo: str | None) -> int:
        """How many HOT patterns there are; also those that are muted here."""
        return sum(1 for _ in self._standing_so((IS_HOT,), repo))

    def count_needed(self, repo: str | None) -> int:
        """How many were needed often enough by enough machines, HOT ones and those whose words are disputed: without a look at most records."""
        agreed = self.patterns.agreed
        special = agreed.special()
        exact: list[Pattern | PatternTally] = [
            each for state in (IS_HOT, DISPUTED) for each in agreed.special_in(state)
        ]
        plain = (each for each in self._often() if each.slug not in special and agreed.is_needed(each.slug, each))
        return sum(repo is None or self._scope(found) in ("", repo) for found in (*exact, *plain))

    def unwitnessed(self, repo: str | None) -> Iterator[Pattern | PatternTally]:
        """The patterns of a scope that were needed often enough, by too few machines or in no words that enough of them say."""
        return self._lacking(repo) if self.witnesses.are_needed else iter(())

    def seen_here(self, repo: str | None, limit: int | None = None) -> list[HotItem]:
        """Those of `unwitnessed` that this node alone has seen often enough, in its own words: shown here and nowhere else."""
        if not self.witnesses.are_needed:
            return []
        enough = self.settings.hot_at
        found = self._lacking(
            repo,
            lambda tally: (
                self.reader.own in tally.authors and self.reader.own_sessions(tally.slug, CORRECTIONS) >= enough
            ),
        )
        items = (self._seen_here(each.slug) for each in found)
        return list(islice((item for item in items if item is not None), limit))

    def _seen_here(self, slug: str) -> HotItem | None:
        standing = self.patterns.agreed.standing(slug)
        own = [] if standing is None else [note for note in standing.counted if note.node == self.reader.own]
        sessions = len({note.session for note in own})
        note = self._newest_shown(own)
        if standing is None or note is None or sessions < self.settings.hot_at:
            return None
        said = self.reader.said_in([note.tag], ("right", "wrong"))
        right, wrong = (
            next((one.value for one in said.get((note.tag, field), ()) if one.node == note.node), note.word(field))
            for field in ("right", "wrong")
        )
        return HotItem(
            standing.slug,
            note,
            right if type(right) is str else "",
            wrong if type(wrong) is str else "",
            sessions=sessions,
            nodes=1,
            repos=standing.repos,
            repo=standing.scope,
            last_ms=note.at_ms,
        )

    def _lacking(
        self, repo: str | None, may: Callable[[PatternTally], bool] = lambda _: True
    ) -> Iterator[Pattern | PatternTally]:
        return self._standing_so((UNWITNESSED, DISPUTED), repo, may)

    def _standing_so(
        self, states: Sequence[int], repo: str | None, may: Callable[[PatternTally], bool] = lambda _: True
    ) -> Iterator[Pattern | PatternTally]:
        """Merges two sorted streams: patterns decided by their tally, and the few that must be read. `may` filters by the tally."""
        agreed = self.patterns.agreed
        special = agreed.special()
        exact = sorted((each for state in states for each in agreed.special_in(state)), key=_rank)
        plain = (
            tally
            for tally in self._often()
            if tally.slug not in special and may(tally) and agreed.state(tally.slug, tally) in states
        )
        streams: list[Iterable[Pattern | PatternTally]] = [plain, exact]
        for found in merge(*streams, key=_rank):
            if repo is None or self._scope(found) in ("", repo):
                yield found

    def _often(self) -> list[PatternTally]:
        if self._tallies is None:
            self._tallies = self.reader.tallies(self.settings.hot_at, CORRECTIONS)
        return self._tallies

    def _scope(self, found: Pattern | PatternTally) -> str:
        """Where a pattern holds: in the one repository it was seen in, or everywhere (empty)."""
        if isinstance(found, Pattern):
            return found.scope
        is_local = len(found.repos) == 1 and not self.patterns.agreed.is_marked_global(found.slug)
        return found.repos[0] if is_local else ""

    def _item(self, found: Pattern | PatternTally) -> HotItem | None:
        words = self.words(found)
        if words is None:
            return None
        note, rule, wrong = words
        return HotItem(
            found.slug,
            note,
            rule,
            wrong,
            sessions=found.sessions,
            nodes=found.nodes,
            repos=list(found.repos),
            repo=self._scope(found),
            last_ms=_last(found) >> 16,
        )

    def words(self, found: Pattern | PatternTally) -> tuple[Note, str, str] | None:
        """The words of a pattern: a record to cite, the rule, what was wrong. None if all of it is hidden here."""
        return self._agreed_words(found) if self.witnesses.are_needed else self._latest_words(found)

    def _latest_words(self, found: Pattern | PatternTally) -> tuple[Note, str, str] | None:
        """The words of the newest correction, with the rule that was set for the pattern, if any."""
        if isinstance(found, Pattern):
            note = self._newest_shown(found.corrections)
            if note is None:
                return None
            rule = found.rule
            if self.has_muted:  # what is said in the name of all must not be the words of who is hidden
                written = self._newest_shown(found.records)
                rule = self.patterns.rule_of(found.slug) or _rule(written, note)
        else:
            note = self._example(found.slug, CORRECTIONS)
            if note is None:
                return None
            rule = self.patterns.rule_of(found.slug) or _rule(self._example(found.slug, PATTERNS), note)
        return note, rule, note.word("wrong")

    def _agreed_words(self, found: Pattern | PatternTally) -> tuple[Note, str, str] | None:
        wording = self._wording(found.names if isinstance(found, Pattern) else frozenset((found.slug,)))
        if wording.cited is None or not wording.rule:
            return None
        return self.read(wording.cited), wording.rule, wording.wrong

    def wording(self, names: Iterable[str]) -> PatternWording | None:
        """The words of the first HOT pattern among these names, where one node's word is not enough; else None: the latest are told.

        Everything that is shown as HOT, or as a rule, is shown in these words.
        """
        slug = next(filter(self.is_hot, names), None) if self.witnesses.are_needed else None
        if slug is None:
            return None
        agreed = self.patterns.agreed
        standing = None if self.bound is None else agreed.standing(slug)
        found = self._wording(agreed.names(slug) if standing is None else standing.names)
        return found if found.rule else None

    def rule_of(self, standing: Pattern) -> tuple[str, str]:
        """The rule of a pattern, and what was wrong, as they are shown."""
        wording = self.wording((standing.slug, *sorted(standing.names)))
        return (standing.rule, standing.wrong) if wording is None else (wording.rule, wording.wrong)

    def text_of(self, note: Note) -> str:
        """The sentence to show for a record: for one of a HOT pattern, the words of the pattern."""
        wording = self.wording(filter(None, (counted_under(note),)))
        if wording is None or wording.says(note):
            return note.text
        return said_of(wording.rule, wording.wrong if note.log == CORRECTIONS else "")

    def told_words(self, note: Note) -> tuple[str, str]:
        """What is right and what was wrong, as a correction is shown: for one of a HOT pattern, the words of the pattern."""
        wording = self.wording(filter(None, (counted_under(note),)))
        if wording is None or wording.says(note):
            return note.word("right"), note.word("wrong")
        return wording.rule, wording.wrong

    def cited_for(self, note: Note) -> Note:
        """The record to cite for these words: its own, if it says so itself."""
        wording = self.wording(filter(None, (counted_under(note),)))
        return note if wording is None or wording.cited is None or wording.says(note) else self.read(wording.cited)

    def _wording(self, names: frozenset[str]) -> PatternWording:
        """The words an admin approved, else those of most witnesses; for a HOT pattern, of enough of them."""
        if names not in self._wordings:
            self._wordings[names] = self._worded(sorted(names))
        return self._wordings[names]

    def _worded(self, names: list[str]) -> PatternWording:
        agreed = self.patterns.agreed
        voiced = agreed.voiced(names)
        entries = [entry for entry in voiced.entries if not self._is_hidden(entry)]
        corrections = [entry for entry in entries if entry.log == CORRECTIONS]
        ballot = voiced.ballot
        if self._muted:
            ballot = agreed.ballot(names, entries)
            for votes in (ballot.rules, ballot.wrongs):
                votes[:] = [vote for vote in votes if text_id(vote.node) not in self._muted]
        approval = agreed.approval(names)
        approved = None if approval is None else ballot.approved(approval.value)
        least = self.witnesses.needed if agreed.is_hot_name(names[0]) else 1
        # A member that is hidden here still counts as a witness to the words of others.
        rule, wrong = approved or (
            voiced.rule.elected(ballot.rules, least),
            voiced.wrong.elected(ballot.wrongs, least),
        )
        saying = (entry for entry in corrections if entry.record.get("right") == rule)
        return PatternWording(rule, wrong, next(saying, corrections[0] if corrections else None), ballot)

    def _is_hidden(self, entry: Entry) -> bool:
        return self.has_muted and self.is_muted(Note(entry, self.patterns.agreed.edits(entry.tag)))

    def _example(self, slug: str, log: str) -> Note | None:
        """The newest record of a log that was written under a name and is not muted."""
        entries = self.reader.newest_of(slug, log, _EXAMPLES if self._muted else 1)
        return self._newest_shown([self.read(entry) for entry in reversed(entries)])

    def _newest_shown(self, notes: list[Note]) -> Note | None:
        return next((note for note in reversed(notes) if not self.is_muted(note)), None)

    def is_hot(self, slug: str) -> bool:
        """Whether a correction under this name is one of a HOT pattern."""
        return self.patterns.is_hot_name(slug)

    def read(self, entry: Entry) -> Note:
        """A live record with its edits applied."""
        return Note(entry, self.reader.fields(entry.tag))

    def sees(self, log: str, repo: str) -> bool:
        """Whether a record of this log and repository may be shown at all."""
        return self.bound is None or (log in KINDS and repo in ("", self.bound))

    @property
    def has_muted(self) -> bool:
        """Whether anything is hidden here."""
        return bool(self._muted) or self.bound is not None

    def is_muted(self, note: Note) -> bool:
        """Whether a record, its author or its pattern is muted on this node, or may not be shown."""
        if not self.sees(note.log, note.repo):
            return True
        return bool(self._muted) and (
            text_id(note.tag) in self._muted
            or text_id(note.node) in self._muted
            or (bool(note.pattern) and not self._muted.isdisjoint(self.patterns.names(note.pattern)))
        )


def counted_under(note: Note) -> str:
    """The pattern that a record counts under; empty for logs that patterns are not made of."""
    return note.pattern if note.log in (CORRECTIONS, PATTERNS) else ""


def _rule(written: Note | None, note: Note) -> str:
    """The rule of a pattern without one of its own: from its newest pattern record, or else its newest correction."""
    return note.word("right") if written is None else written.word("rule")


def _rank(found: Pattern | PatternTally) -> tuple[int, int, str]:
    """Sort key of HOT patterns: most sessions first, then the newest correction."""
    return -found.sessions, -_last(found), found.slug


def _last(found: Pattern | PatternTally) -> int:
    return found.last if isinstance(found, Pattern) else found.at
