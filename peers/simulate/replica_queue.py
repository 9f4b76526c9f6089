"""Where a simulated node's questions to its notebook are answered: one after the other, each after a little while."""

from typing import TYPE_CHECKING, assert_never

from mesh.core.errors import Malformed
from peers.proto.events import (
    CommonFound,
    FindCommon,
    MergeDone,
    MergeThis,
    ReadDone,
    ReadStatements,
    ReadThis,
    StatementsRead,
)
from peers.proto.messages import pack_ranges, unpack_ranges
from peers.proto.replica import Changes, Merge, Verdict
from peers.simulate.world_seams import Surroundings

if TYPE_CHECKING:
    from peers.simulate.node import SimNode

Question = MergeThis | ReadThis | ReadStatements | FindCommon


class Desk:
    """One node's. What is asked while the machine sleeps is answered when it wakes."""

    def __init__(self, node: "SimNode", around: Surroundings) -> None:
        self._node = node
        self._around = around
        self._busy_until = 0.0
        self._frozen: list[tuple[int, Question]] = []
        self.merging_bytes = 0  # waiting to be merged

    def ask(self, life: int, question: Question) -> None:
        """Take in a question. `life`: the answer is for nobody once the node has started anew."""
        schedule, pace = self._around.schedule, self._around.pace
        merging = isinstance(question, MergeThis)
        self.merging_bytes += _size(question) if isinstance(question, MergeThis) else 0
        seconds = pace.merge_seconds if merging else pace.read_seconds
        self._busy_until = max(self._busy_until, schedule.now) + seconds
        schedule.at(self._busy_until, self._answer, life, question)

    def clear(self) -> None:
        """The process is gone, and its questions with it."""
        self.merging_bytes = 0
        self._frozen = []

    def go_on(self) -> None:
        """The machine is awake again."""
        frozen, self._frozen = self._frozen, []
        for life, question in frozen:
            self._answer(life, question)

    def _answer(self, life: int, question: Question) -> None:
        node = self._node
        if life != node.life:
            return
        if node.asleep:
            self._frozen.append((life, question))
            return
        notebook = node.notebook
        match question:
            case MergeThis():
                self.merging_bytes -= _size(question)
                result = self._merge(question)
                node.answer(MergeDone(question.job, result), result.changes)
            case ReadThis(job=job, wants=wants, room=room):
                chunks = notebook.read(wants, room)
                blob = pack_ranges([data for chunk in chunks for data in chunk.ranges])
                node.answer(ReadDone(job, chunks, blob))
            case ReadStatements(job=job, ids=ids, room=room):
                node.answer(StatementsRead(job, notebook.read_statements(ids, room)))
            case FindCommon(job=job, feed=feed, points=points):
                node.answer(CommonFound(job, notebook.common(feed, points)))
            case _:
                assert_never(question)

    def _merge(self, question: MergeThis) -> Merge:
        try:
            ranges = unpack_ranges(question.blob) if question.blob else question.ranges
        except Malformed as error:
            return Merge((), [Verdict.REFUSED], Changes(), [str(error)])
        return self._node.notebook.merge(question.statements, ranges)


def _size(question: MergeThis) -> int:
    return len(question.blob) + sum(map(len, question.statements)) + sum(map(len, question.ranges))
