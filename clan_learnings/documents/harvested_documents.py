"""Learning documents for the records of a harvest: one a candidate, from the session that showed it best.

A document is only written beside a record: so its content has passed the evidence bar, and its repository is shared. Beyond the record it
holds the session's error, commands and a person's words, so nothing with a secret in it is written.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from clan_learnings.documents.assembly import WORKED, assemble
from clan_learnings.documents.drafts import draft_learning, learnings
from clan_learnings.documents.learning import Learning, learning_of
from clan_learnings.harvest.candidates import BY_MODEL, HarvestCandidate, Signal
from clan_learnings.harvest.items import item_from
from clan_learnings.records.memory import Memory
from clan_learnings.records.record import BESIDE, HARVESTED, About
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.sessions.catalogue_rows import DigestRow
from clan_learnings.sessions.digest import Digest, Failure
from mesh.core.draft import NewRecord
from mesh.core.errors import UsageError, WriteRefused
from mesh.store.handing_author import DraftAuthor
from mesh.store.reader import Reader

WORTH = 0.6  # quality from which on a document is worth reading beside the one sentence that is recorded anyway
A_RUN = 20  # the rest of a first harvest has its sentences


class Sessions(Protocol):
    """The catalogue, as far as it is asked."""

    def digests(self, after: int = 0) -> Iterator[DigestRow]:
        """Every session's digest."""
        ...


def write_documents(
    author: DraftAuthor,
    catalogue: Sessions,
    recorded: Iterable[HarvestCandidate],
    now_ms: int,
    breathe: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Documents for candidates that have become records in this run; returns `id`, `title`, `quality`, `candidate` of each.

    Of one candidate, and of one place in a session, there is one at most, however often this runs. Nothing is raised for what
    a session holds; what makes no good document makes none. Where this node may write no more, the rest has its sentences.
    """
    best = {candidate.id: (candidate, signal) for candidate in recorded if (signal := _best(candidate)) is not None}
    if not best:
        return []
    sessions = {signal.key.removesuffix(BY_MODEL): None for _, signal in best.values()}
    found: dict[tuple[str, str], DigestRow] = {}
    for one in catalogue.digests():
        breathe()
        if one.key in sessions:
            found[one.key, one.session] = one
    written: list[dict[str, Any]] = []
    for candidate, signal in best.values():
        breathe()
        session = found.get((signal.key.removesuffix(BY_MODEL), signal.session))
        if session is not None and len(written) < A_RUN:
            try:
                written += _write(author, candidate, signal, session, now_ms)
            except WriteRefused:
                break
    return written


def _best(candidate: HarvestCandidate) -> Signal | None:
    """The session to tell of: one that is recorded, has a secret nowhere, was put right, and is surest."""
    usable = [signal for signal in candidate.signals if signal.record and not signal.is_redacted]
    return max(
        usable,
        key=lambda one: (one.item.fix_line is not None, one.item.confidence, one.times, one.session),
        default=None,
    )


def _write(
    author: DraftAuthor, candidate: HarvestCandidate, signal: Signal, session: DigestRow, now_ms: int
) -> list[dict[str, Any]]:
    digest = _digest(session.digest)
    if digest is None:
        return []
    items = [item for value in session.items if (item := item_from(value)) is not None]
    focus = signal.item._replace(text=candidate.text)  # a person may have put it better
    made = assemble(digest._replace(repo=signal.repo), items, focus)
    if made is None or not _is_worth(candidate, made) or _has_secret(made):
        return []
    pen = TextCleaner()
    about = About(repo=signal.repo, agent=signal.flavour, session=signal.session, confidence=candidate.confidence)
    with author.store.database.savepoint():  # one state: others write and erase meanwhile
        memory = Memory(Reader(author.store.database.connection))
        if _is_told(memory, made):
            return []
        try:
            drafts, answer = draft_learning(memory, made, about, pen, at_ms=max(0, min(signal.at_ms, now_ms)))
        except UsageError:  # a name that looks like a secret, a text without end
            return []
    if not drafts or pen.found:
        return []
    (draft,) = drafts
    assert isinstance(draft, NewRecord)
    record = draft.record | {HARVESTED: now_ms, BESIDE: signal.record}
    receipt = author.append([draft._replace(record=record)], is_bulk=True)
    short = Reader(author.store.database.connection).short_id(receipt.tags[0])
    return [{"id": short, "title": answer["title"], "quality": answer["quality"], "candidate": candidate.id}]


def _is_worth(candidate: HarvestCandidate, made: Learning) -> bool:
    """Whether a document says more than its sentence: what failed and what worked, or what came up in several sessions."""
    return (made.quality or 0.0) >= WORTH and (WORKED in made.solution or candidate.sessions > 1)


def _is_told(memory: Memory, made: Learning) -> bool:
    """Whether there is a document about the same place of the same session, or one of the same title here."""
    for note in learnings(memory, made.repo):
        known = learning_of(note)
        if known.evidence == made.evidence or (known.title == made.title and known.repo == made.repo):
            return True
    return False


def _has_secret(made: Learning) -> bool:
    return any("[redacted: " in text for text in (made.title, *made.sections().values(), *made.related))


def _digest(value: dict[str, Any]) -> Digest | None:
    """A digest that was kept as JSON; None if it is none."""
    try:
        failures = [
            Failure(**{name: one[name] for name in Failure._fields if name in one}) for one in value["failures"]
        ]
        corrections = [(line, text) for line, text in value["corrections"]]
        kept = {name: value[name] for name in Digest._fields if name in value}
        return Digest(**kept | {"failures": failures, "corrections": corrections})
    except (KeyError, TypeError, ValueError):
        return None
