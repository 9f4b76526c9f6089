"""The newest of a scope: which records are WARM (the last discoveries, and everything of the last two days), and the lists that `recent` shows.

Reads through a memory, only as far as it must, and remembers what it has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from clan_learnings.records import tiers
from clan_learnings.records.patterns import Pattern
from clan_learnings.records.record import DISCOVERIES, LOGS, Note
from mesh.core.limits import TEXT_CHARS

if TYPE_CHECKING:
    from clan_learnings.records.memory import Memory


# The newest records are gone through in pages for those that may be WARM. Most stay, so one page that is a little longer is enough.
_PAGE, _PAGES = tiers.WARM_MOST + 14, 4
# Behind those of a busy author others' are looked for: so many pages far, and of discoveries that are not new so many back.
_FAR, _BACK = 16, 2_000


class _Border:
    """The stamp at which places run out, and the authors that have more than their share of those before it."""

    __slots__ = ("busy", "stamp")

    def __init__(self, stamp: int, busy: frozenset[bytes]) -> None:
        self.stamp = stamp
        self.busy = busy


class WarmRecords:
    """The WARM records of one snapshot. A scope is a repository and what holds everywhere; None: all repositories.

    Of the places each author has a third first; what is left goes to the newest, whoever wrote them.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._notes: dict[str | None, list[Note]] = {}
        self._tags: dict[str | None, frozenset[bytes]] = {}
        self._lasts: dict[str | None, _Border] = {}
        self._fulls: dict[str | None, _Border] = {}
        self._is_alone: bool | None = None

    def notes(self, repo: str | None) -> list[Note]:
        """Those that are shown, newest first."""
        if repo not in self._notes:
            self._notes[repo] = self._find(repo, self._memory.is_shown)
        return self._notes[repo]

    def has(self, note: Note, repo: str | None) -> bool:
        """Whether a record that is neither HOT nor over is WARM: by stamps alone, unless it is a close thing."""
        if note.log not in LOGS or not self._memory.in_scope(note, repo):
            return False
        author = self._memory.witnesses.source(note.node)
        is_sure = note.stamp >= (self._memory.now_ms - tiers.WARM_MS) << 16
        if not is_sure:
            if note.log != DISCOVERIES:
                return False
            last = self._last(repo)
            if note.stamp < last.stamp and not last.busy:
                return False
            is_sure = note.stamp > last.stamp and author not in last.busy and not self._moved(repo)
        said = note.record.get("repo")  # what does not say where it holds is in the list of all, and in no other
        is_there = repo is None or (type(said) is str and len(said) <= TEXT_CHARS)
        if is_sure and is_there:
            full = self._full(repo)
            if note.stamp > full.stamp and author not in full.busy:
                return True
        return note.tag in self._all(repo)

    def _find(self, repo: str | None, may_stay: Callable[[Note], bool]) -> list[Note]:
        newest = self._memory.newest
        after = (self._memory.now_ms - tiers.WARM_MS) << 16
        looked_at = 0
        found: list[Note] = []
        for note in newest(LOGS, repo, _PAGE, after, pages=_PAGES):
            looked_at += 1
            found += [note] if may_stay(note) else []
            if len(found) == tiers.WARM_MOST:
                break
        if len(found) == tiers.WARM_MOST:
            if not self._busy(found, tiers.WARM_MOST):
                return found
            found += self._others(found, LOGS, repo, after, may_stay, tiers.WARM_MOST)
        every = {note.tag: note for note in found}
        may_be_cut = looked_at + self._moved(repo) > (_PAGES - 1) * _PAGE
        if (
            may_be_cut and len(found) < tiers.WARM_MOST
        ):  # a busy pattern, which is HOT or over, must not hide the other logs
            for log in LOGS:
                late = (note for note in newest(log, repo, _PAGE, after, pages=_PAGES) if may_stay(note))
                every |= {note.tag: note for note in islice(late, tiers.WARM_MOST)}
        every |= {note.tag: note for note in self._last_discoveries(repo) if may_stay(note)}
        return self._shared_out(every.values(), tiers.WARM_MOST)

    def _last_discoveries(self, repo: str | None) -> list[Note]:
        most = tiers.WARM_DISCOVERIES
        last = list(islice(self._memory.newest(DISCOVERIES, repo, most), most))
        if len(last) < most or not self._busy(last, most):
            return last
        back = self._memory.reader.stamps(DISCOVERIES, _BACK, *self._where(repo))[-1]
        return self._shared_out(last + self._others(last, (DISCOVERIES,), repo, back, lambda _: True, most), most)

    def _others(
        self,
        newest: list[Note],
        logs: Sequence[str],
        repo: str | None,
        least: int,
        may_stay: Callable[[Note], bool],
        most: int,
    ) -> list[Note]:
        """Behind the newest, of which some authors have more than their share, what others have: as much as finds a place."""
        found: list[Note] = []
        before = newest[-1].stamp, newest[-1].tag
        while True:
            every = [*newest, *found]
            missing = most - len(self._first(every, most))
            busy = self._busy(every, most, at=_share(most))
            without = self._memory.witnesses.nodes(busy)
            for note in self._memory.newest(logs, repo, _PAGE, least, _FAR, before, without) if missing else ():
                before = note.stamp, note.tag
                if may_stay(note):
                    found.append(note)
                    missing -= 1
                    every.append(note)
                    if not missing or self._busy(every, most, at=_share(most)) != busy:
                        break
            else:
                return found

    def _shared_out(self, notes: Iterable[Note], most: int) -> list[Note]:
        """So many, newest first: of each author its share, and what is left of the places to the newest."""
        every = sorted(notes, key=lambda note: (note.stamp, note.tag), reverse=True)
        if len(every) <= most:
            return every
        first = self._first(every, most)
        chosen = {note.tag for note in first}
        chosen |= {note.tag for note in islice((note for note in every if note.tag not in chosen), most - len(first))}
        return [note for note in every if note.tag in chosen]

    def _first(self, notes: Iterable[Note], most: int) -> list[Note]:
        """At most its share from each author, in the same order."""
        counts: dict[bytes, int] = {}
        kept: list[Note] = []
        for note in notes:
            author = self._memory.witnesses.source(note.node)
            counts[author] = counts.get(author, 0) + 1
            if len(kept) < most and (counts[author] <= _share(most) or self._alone()):
                kept.append(note)
        return kept

    def _busy(self, notes: Iterable[Note], most: int, at: int = 0) -> frozenset[bytes]:
        """The authors of more records than their share, or of so many."""
        return self._over((note.node for note in notes), at or _share(most) + 1)

    def _over(self, nodes: Iterable[bytes], at: int) -> frozenset[bytes]:
        if self._alone():
            return frozenset()
        counts: dict[bytes, int] = {}
        for author in map(self._memory.witnesses.source, nodes):
            counts[author] = counts.get(author, 0) + 1
        return frozenset([author for author, count in counts.items() if count >= at])

    def _alone(self) -> bool:
        """Whether one node has written everything: then there is nothing to share out."""
        if self._is_alone is None:
            self._is_alone = not self._memory.reader.has_several_authors()
        return self._is_alone

    def _all(self, repo: str | None) -> frozenset[bytes]:
        """Also what is hidden here: that changes no tier."""
        if repo not in self._tags:
            notes = self._find(repo, self._memory.stays) if self._memory.has_muted else self.notes(repo)
            self._tags[repo] = frozenset(note.tag for note in notes)
        return self._tags[repo]

    def _last(self, repo: str | None) -> _Border:
        """Before it nothing is one of the last discoveries of a scope, unless an author has too many of them."""
        if repo not in self._lasts:
            count = tiers.WARM_DISCOVERIES + self._moved(repo)  # as many may have been edited to be elsewhere
            found = self._memory.reader.authors(DISCOVERIES, count, *self._where(repo))
            self._lasts[repo] = self._border(found, count, _share(tiers.WARM_DISCOVERIES))
        return self._lasts[repo]

    def _full(self, repo: str | None) -> _Border:
        """After it there are fewer records in a scope than may be WARM: only of busy authors some are left out."""
        if repo not in self._fulls:
            most, where = tiers.WARM_MOST, self._where(repo)
            found = [each for log in LOGS for each in self._memory.reader.authors(log, most, *where)]
            found.sort(key=lambda each: each[0], reverse=True)
            self._fulls[repo] = self._border(found[:most], most, _share(most))
        return self._fulls[repo]

    def _border(self, found: list[tuple[int, bytes]], count: int, share: int) -> _Border:
        if len(found) < count:
            return _Border(0, frozenset())
        return _Border(found[-1][0], self._over((node for _, node in found), share + 1))

    def _where(self, repo: str | None) -> tuple[tuple[str, str] | None, list[bytes]]:
        return None if repo is None else ("", repo), self._memory.moved_into(repo)

    def _moved(self, repo: str | None) -> int:
        """How many records are elsewhere than they were written for; where all are looked at, that makes no difference."""
        return 0 if repo is None else len(self._memory.moved())


def _share(places: int) -> int:
    return places // 3


_NEWEST_PAGE = 200
_NEWEST_PAGES = 50  # of a log, when a topic is looked for


def recent(memory: Memory, repo: str | None, count: int, topic: str = "", logs: Iterable[str] = LOGS) -> list[Note]:
    """The newest first. `topic`: only those that have it as their topic or among their tags."""
    found: list[Note] = []
    for log in logs:
        found += _of_log(memory, log, repo, count, topic.lower())
    found.sort(key=lambda note: (-note.stamp, note.tag))
    return found[:count]


def recent_patterns(memory: Memory, repo: str | None, count: int) -> list[Pattern]:
    """The patterns of a scope: HOT ones, those of most sessions first, then those of the newest records."""
    found: list[Pattern] = []
    seen: set[str] = set()
    for slug in [*(item.slug for item in memory.hot(repo, count)), *memory.patterns.known()]:
        if len(found) == count:
            break
        if slug not in seen:
            standing = memory.standing(slug)
            seen |= memory.patterns.names(slug).difference([] if standing is None else memory.joined_by_one(standing))
            if standing is not None and (repo is None or standing.scope in ("", repo)) and _is_seen(memory, standing):
                found.append(standing)
    return found


def _is_seen(memory: Memory, standing: Pattern) -> bool:
    """Whether something of a pattern is not hidden here."""
    return not memory.has_muted or not all(map(memory.is_muted, (*standing.corrections, *standing.records)))


def _of_log(memory: Memory, log: str, repo: str | None, count: int, topic: str) -> list[Note]:
    page = max(count, _NEWEST_PAGE) if topic or memory.has_muted else count
    found = memory.newest(log, repo, page, pages=_NEWEST_PAGES)
    shown = (note for note in found if not memory.is_muted(note) and _is_about(note, topic))
    return list(islice(shown, max(count, 0)))


def _is_about(note: Note, topic: str) -> bool:
    return not topic or note.word("topic").lower() == topic or topic in (tag.lower() for tag in note.tags)
