"""Clustering: items of many sessions that say the same become one candidate; candidates are ranked. Pure: the caller passes in the set of candidates.

One likeness decides, that of `clan_learnings.search.likeness`: from MERGE on two are one, from LINK on they know of each other.
Of many candidates only those are compared that share words which count.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

from clan_learnings.harvest.candidates import (
    MERGED,
    PROVISIONAL,
    RECORDED,
    HarvestCandidate,
    Signal,
    candidate_id,
    family_of,
    reading_of,
    words_of,
)
from clan_learnings.harvest.items import PITFALL, HarvestItem
from clan_learnings.records.matching import ComparableCorrection
from clan_learnings.records.record import category_of
from clan_learnings.search.likeness import LINK, MERGE, likeness

_COMPARED = 24  # candidates that share the most words
_WORDS = 24  # of an item that candidates are found by
_LINKED = 8
_HOPS = 16  # from one that was merged to the one it was merged into
_SIGNATURE = "error:"  # before the signature of an error, where words stand
# The best of some signals, by which tuple they are: of what thousands of sessions say, not all are ranked again for each.
_BESTS = 64
_bests: dict[int, tuple[tuple[Signal, ...], Signal]] = {}


class CandidateSet(Protocol):
    """A store of candidates, as clustering needs it."""

    def get(self, name: str) -> HarvestCandidate | None:
        """The candidate of an id."""

    def near(self, family: str, words: list[str], most: int) -> list[HarvestCandidate]:
        """Those of a family that share words, most of them first."""

    def put(self, candidate: HarvestCandidate, words: list[str]) -> None:
        """Keep one; `words`: by which it is found."""


class CandidatesInMemory:
    """A `CandidateSet` in memory."""

    def __init__(self) -> None:
        self.all: dict[str, HarvestCandidate] = {}
        self._found_by: dict[tuple[str, str], set[str]] = {}

    def get(self, name: str) -> HarvestCandidate | None:
        """The candidate of an id."""
        return self.all.get(name)

    def near(self, family: str, words: list[str], most: int) -> list[HarvestCandidate]:
        """Those of a family that share words, most of them first."""
        shared: dict[str, int] = {}
        for word in words:
            for name in self._found_by.get((family, word), ()):
                shared[name] = shared.get(name, 0) + 1
        names = sorted(shared, key=lambda name: (-shared[name], name))
        return [self.all[name] for name in names[:most]]

    def put(self, candidate: HarvestCandidate, words: list[str]) -> None:
        """Keep one."""
        self.all[candidate.id] = candidate
        for word in words:
            self._found_by.setdefault((candidate.family, word), set()).add(candidate.id)


def add_signal(shelf: CandidateSet, signal: Signal) -> tuple[HarvestCandidate, bool]:
    """Add a signal to the candidate that says the same, or to a new one. Returns it, and whether anything changed."""
    item = signal.item
    family, reading = family_of(item.kind, item.right), reading_of(item.kind, item.text, item.wrong, item.right)
    own = candidate_id(family, words_of(reading, item.text))
    found = shelf.get(own)
    linked: list[str] = []
    if found is None:
        found, linked = _closest(shelf, family, reading, item)
    for _ in range(_HOPS):
        if found is None or found.state != MERGED or (into := shelf.get(found.into)) is None:
            break
        found = into
    if found is None:
        found = HarvestCandidate(own, item.kind, category_of(f"{item.text} {item.wrong} {item.right}"), item.text)
        found = found._replace(wrong=item.wrong, right=item.right, linked=tuple(linked))
        for name in linked:
            other = shelf.get(name)
            if other is not None and own not in other.linked and len(other.linked) < _LINKED:
                shelf.put(other._replace(linked=(*other.linked, own)), [])
    if found.is_wiped:
        return found, False
    changed = with_signal(found, signal)
    is_new = changed != found
    if is_new:
        shelf.put(changed, found_by(reading, item.signature))
    return changed, is_new


def _closest(
    shelf: CandidateSet, family: str, reading: ComparableCorrection, item: HarvestItem
) -> tuple[HarvestCandidate | None, list[str]]:
    """The candidate that says the same, if there is one, and those that are about the same."""
    best: tuple[float, str] | None = None
    found: HarvestCandidate | None = None
    linked: list[str] = []
    for other in shelf.near(family, found_by(reading, item.signature), _COMPARED):
        alike = _likeness(reading, item, other)
        if alike >= MERGE and (best is None or (-alike, other.id) < best):
            best, found = (-alike, other.id), other
        elif LINK <= alike < MERGE and len(linked) < _LINKED:
            linked.append(other.id)
    return found, linked


def _likeness(reading: ComparableCorrection, item: HarvestItem, other: HarvestCandidate) -> float:
    its = other.reading()
    is_telling = len(reading.hard) > 1 and len(its.hard) > 1  # one word that counts in common is not enough
    alike = likeness(reading, its) if is_telling else 0.0
    # The same error is the same pitfall, however it is told; what mends it may be something else.
    least = MERGE if item.kind == PITFALL else LINK
    if alike >= least or not item.signature or item.kind != other.kind:
        return alike
    return least if any(signal.item.signature == item.signature for signal in other.signals) else alike


def with_signal(candidate: HarvestCandidate, signal: Signal) -> HarvestCandidate:
    """The same candidate with what one more session says. A session says it once, however many transcripts tell of it."""
    before = next((each for each in candidate.signals if each.session == signal.session), None)
    if before is None:
        more = (*candidate.signals, signal)
        if candidate.signals:
            _remember_best(more, min(_best_of(candidate.signals), signal, key=_rank))
        return _told_best(candidate._replace(signals=more))
    if before.record or (signal.times <= before.times and _rank(signal) >= _rank(before)):
        return candidate
    best = min(before, signal, key=_rank)._replace(times=max(before.times, signal.times), held=before.held)
    kept = tuple(best if each.session == signal.session else each for each in candidate.signals)
    return _told_best(candidate._replace(signals=kept))


def _told_best(candidate: HarvestCandidate) -> HarvestCandidate:
    """In the words of the best signal, unless they are a person's, or stand in a record."""
    if candidate.is_edited or any(signal.record for signal in candidate.signals):
        return candidate
    best = _best_of(candidate.signals).item
    if family_of(best.kind, best.right) != candidate.family:
        return candidate
    return candidate._replace(kind=best.kind, text=best.text, wrong=best.wrong, right=best.right)


def _best_of(signals: tuple[Signal, ...]) -> Signal:
    known = _bests.get(id(signals))
    return known[1] if known is not None and known[0] is signals else _remember_best(signals, min(signals, key=_rank))


def _remember_best(signals: tuple[Signal, ...], best: Signal) -> Signal:
    if len(_bests) >= _BESTS:
        _bests.clear()
    _bests[id(signals)] = signals, best
    return best


def _rank(signal: Signal) -> tuple[bool, bool, bool, float, int, int, str]:
    """The best first: of a session, a person's word, what rules found, the surest, the shortest, the oldest."""
    item = signal.item
    return (
        signal.is_imported,
        not signal.is_human,
        signal.is_by_model,
        -item.confidence,
        len(item.text),
        signal.at_ms,
        item.text,
    )


def found_by(reading: ComparableCorrection, signature: str = "") -> list[str]:
    """The words by which candidates are found: those that count, rather than the common ones."""
    words = sorted(reading.hard, key=lambda word: (-len(word), word))[:_WORDS]
    return [*words, _SIGNATURE + signature] if signature else words


def rank(candidate: HarvestCandidate) -> tuple[bool, int, int, float, int, int, str]:
    """First what agents of several sorts came upon, then what came in most sessions, most often, at the greatest cost, last."""
    return (
        not candidate.is_cross_flavour,
        -candidate.sessions,
        -candidate.frequency,
        -(candidate.dollars or 0.0),
        -candidate.tokens,
        -candidate.last_ms,
        candidate.id,
    )


def ranked(candidates: Iterable[HarvestCandidate]) -> list[HarvestCandidate]:
    """The candidates with the best evidence first."""
    return sorted(candidates, key=rank)


def clustered(signals: Iterable[Signal]) -> list[HarvestCandidate]:
    """The ranked candidates of a list of signals."""
    heap = CandidatesInMemory()
    for signal in signals:
        add_signal(heap, signal)
    return ranked(heap.all.values())


def signals_of(items: Iterable[HarvestItem], about: Callable[[HarvestItem], Signal]) -> list[Signal]:
    """The items of one session as signals, each said once: of several that are one the best, with their number."""
    heap = CandidatesInMemory()
    for item in items:
        own = about(item)
        family, reading = family_of(item.kind, item.right), reading_of(item.kind, item.text, item.wrong, item.right)
        same = heap.get(candidate_id(family, words_of(reading, item.text))) or _closest(heap, family, reading, item)[0]
        if same is None:
            add_signal(heap, own)
        else:
            before = same.signals[0]
            best = min(before, own, key=_rank)._replace(times=before.times + 1)
            heap.put(_told_best(same._replace(signals=(best,))), found_by(reading, item.signature))
    return [candidate.signals[0] for candidate in heap.all.values()]


WAITING = 200  # candidates before a person; more are not looked through
OF_ONE_SESSION = 12
LONG_CHARS = 220
LINKED = 5
OF_ONE_REPO = 500  # candidates that became records
HOT_TOKENS = 8000
_CHARS_A_TOKEN = 4


def warnings(candidates: Iterable[HarvestCandidate], hot: Iterable[str] = ()) -> list[str]:
    """What there is too much of, each with the next step. `hot`: the rules that every session is told."""
    waiting = long = 0
    sessions: Counter[str] = Counter()
    repos: Counter[str] = Counter()
    crowded: tuple[str, int] | None = None
    for each in candidates:  # one look: there may be tens of thousands
        if each.state == RECORDED:
            repos.update(each.repos)
        if each.state == PROVISIONAL:
            waiting += 1
            long += len(each.text) > LONG_CHARS
            sessions.update(signal.session for signal in each.signals)
            if len(each.linked) >= LINKED and crowded is None:
                crowded = each.id, len(each.linked)
    found = []
    if waiting > WAITING:
        found.append(
            f"{waiting} candidates wait for a person, more than anybody looks through: raise the bar with"
            " mesh settings keep-signals 3, or reject what repeats: mesh curate"
        )
    for session, count in sessions.most_common(3):
        if count > OF_ONE_SESSION:
            found.append(f"{count} candidates come from one session, {session}: most of them are hardly lasting")
    for repo, count in repos.most_common(3):
        if count > OF_ONE_REPO:
            found.append(f"{repo or 'no repository'} has {count} harvested records: archive what is over")
    if long:
        found.append(
            f"{long} of those that wait are longer than {LONG_CHARS} characters: shorten them with mesh curate"
        )
    if crowded is not None:
        found.append(
            f"{crowded[0]} is about the same as {crowded[1]} others: join them with mesh curate --merge ID {crowded[0]}"
        )
    told = sum(len(rule) for rule in hot) // _CHARS_A_TOKEN
    if told > HOT_TOKENS:
        found.append(
            f"HOT has about {told} tokens; above {HOT_TOKENS} contexts leave rules out: mesh doctor says which"
        )
    return found
