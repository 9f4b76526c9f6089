"""The review of candidates by a person: accept, edit, reject, merge. Each decision is kept, and what it approves is written at once."""

from typing import Any

from clan_learnings.harvest.candidates import (
    APPROVED,
    BY_HAND,
    MERGED,
    NOTICED,
    PROVISIONAL,
    RECORDED,
    REJECTED,
    RULES,
    HarvestCandidate,
    reading_of,
)
from clan_learnings.harvest.clusters import found_by, ranked, with_signal
from clan_learnings.harvest.harvest import Harvest, told
from clan_learnings.harvest.record_writer import WriteCounts
from clan_learnings.records.notebook import REASON_CHARS
from clan_learnings.records.record import required_text
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.repository.remote_name import named_repo
from mesh.core.errors import UsageError, WriteRefused

_EXAMPLE = 'mesh curate --edit ID --text "..."'


class CandidateReview:
    """The candidates of one home, for one person to decide about."""

    def __init__(self, harvest: Harvest) -> None:
        self._harvest = harvest
        self._shelf = harvest.shelf

    def queue(self) -> list[HarvestCandidate]:
        """What waits for a person: what is below the bar, and what is held back so that it makes nothing HOT, or global, by itself."""
        waiting = self._shelf.every(PROVISIONAL, APPROVED, RECORDED)
        return ranked(
            each
            for each in waiting
            if each.state == PROVISIONAL or any(signal.held in BY_HAND for signal in each.waiting)
        )

    def all(self) -> list[HarvestCandidate]:
        """Everything that is kept, the best founded first."""
        return ranked(self._shelf.every())

    def get(self, name: str) -> HarvestCandidate:
        """A candidate as it is now."""
        return self._shelf.find(name)

    def linked(self, candidate: HarvestCandidate) -> list[HarvestCandidate]:
        """Those that are about the same, and still stand."""
        found = [self._shelf.get(name) for name in candidate.linked]
        return [each for each in found if each is not None and each.state not in (MERGED, REJECTED)]

    def accept(self, name: str, repo: str = "") -> dict[str, Any]:
        """Let it in, whatever the bar says. It is written at once where its repository is shared. `repo`: where that is not known."""
        candidate = self._unmerged(name)
        if repo:
            candidate = _placed(candidate, named_repo(repo))
        freed = (signal._replace(held="") if signal.held in BY_HAND else signal for signal in candidate.signals)
        state = RECORDED if candidate.state == RECORDED else APPROVED
        accepted = candidate._replace(state=state, why="a person accepted it", is_accepted=True, signals=tuple(freed))
        self._keep(accepted)
        return self._written(accepted)

    def auto(self) -> WriteCounts:
        """Write what passes the bar by itself."""
        written = self._harvest.writer().run()
        self._harvest.document(written)
        return written

    def reject(self, name: str, reason: str) -> dict[str, Any]:
        """Never again, also when the same comes again."""
        candidate = self._unmerged(name)
        said = next((signal.record for signal in candidate.signals if signal.record), "")
        if said:
            raise UsageError(
                f"{candidate.id} is a record already", f"take that back: mesh retract {said[:8]} --reason ..."
            )
        pen = TextCleaner()
        why = pen.clean(reason.strip())[:REASON_CHARS] or "a person rejected it"
        rejected = self._keep(candidate._replace(state=REJECTED, why=why, is_accepted=False))
        return told(rejected) | {"redacted": pen.found}

    def edit(self, name: str, text: str = "", wrong: str = "", right: str = "") -> dict[str, Any]:
        """Say it in other words. Of a rule, a new sentence is what is right, unless that is said too."""
        candidate = self._unmerged(name)
        if not (text or wrong or right):
            raise UsageError("nothing to change", f"give the new words: {_EXAMPLE}")
        if any(signal.record for signal in candidate.signals):
            raise UsageError(f"{candidate.id} is a record already", "change that: mesh edit ID")
        pen = TextCleaner()
        text, wrong, right = (pen.clean(said.strip()) for said in (text, wrong, right))
        changed = candidate._replace(
            text=required_text(text or candidate.text, "the text", _EXAMPLE),
            wrong=wrong or candidate.wrong,
            right=right or (text if text and candidate.family == RULES else candidate.right),
            is_edited=True,
        )
        self._keep(changed)
        return told(self._harvest.intake.judge(changed)) | {"redacted": pen.found}

    def merge(self, name: str, into: str) -> dict[str, Any]:
        """Two that are one: what speaks for the first speaks for the second from now on."""
        one, other = self._unmerged(name), self._unmerged(into)
        if one.id == other.id:
            raise UsageError("a candidate cannot be merged into itself", "name two: mesh curate --merge ID INTO")
        if any(signal.record for signal in one.signals):
            raise UsageError(
                f"{one.id} is a record already", "join the patterns instead: mesh pattern alias NAME OTHER"
            )
        words = {name: getattr(other, name) for name in ("kind", "text", "wrong", "right")}
        for signal in one.signals:
            other = with_signal(other, signal)._replace(**words)  # the person chose those
        if other.state in (NOTICED, PROVISIONAL, APPROVED):
            other = other._replace(state=NOTICED if not other.is_accepted else other.state)
        self._keep(other)
        other = self._harvest.intake.judge(other)
        self._keep(one._replace(state=MERGED, into=other.id, why=f"merged into {other.id}", signals=()))
        return told(other)

    def _written(self, candidate: HarvestCandidate) -> dict[str, Any]:
        writer = self._harvest.writer()
        trouble: list[str] = []
        try:
            candidate = writer.write(candidate)
        except WriteRefused as error:  # it stays accepted: a later harvest writes it, if that may be
            trouble = [f"not written: {error}; next: {error.next_step}"]
        written = writer.written()
        trouble += written.problems
        answer = told(candidate) | {"recorded": written.records, "known": written.known, "trouble": trouble}
        return answer | {"documents": self._harvest.document(written)}

    def _unmerged(self, name: str) -> HarvestCandidate:
        found = self._shelf.find(name)
        if found.is_wiped:
            raise UsageError(
                f"{found.id} was taken back, and its words are gone", "say it anew: mesh discover, mesh correct"
            )
        if found.state == MERGED:
            raise UsageError(f"{found.id} was merged into {found.into}", f"decide about that one: {found.into}")
        return found

    def _keep(self, candidate: HarvestCandidate) -> HarvestCandidate:
        words = found_by(reading_of(candidate.kind, candidate.text, candidate.wrong, candidate.right))
        with self._shelf.writing():
            self._shelf.put(candidate, words)
        return candidate


def _placed(candidate: HarvestCandidate, repo: str) -> HarvestCandidate:
    """The same, with a repository for what has none."""
    if all(signal.repo for signal in candidate.waiting):
        raise UsageError(
            f"the repository of {candidate.id} is known", f"leave --repo out: mesh curate --accept {candidate.id}"
        )
    signals = (signal if signal.repo or signal.record else signal._replace(repo=repo) for signal in candidate.signals)
    return candidate._replace(signals=tuple(signals))
