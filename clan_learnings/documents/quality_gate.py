"""The quality gate of learning documents: whether one may be kept, how good it is, and why. Pure.

The quality says how much a reader would miss: it starts at 1 and loses a fixed amount for each thing that is absent. It matters later,
too: records of low quality go to the archive sooner (ADR 0047).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from clan_learnings.documents.learning import Learning
from clan_learnings.records.record import CATEGORIES, category_of

LEAST_CHARS = 200
_SHORT_CHARS = 60  # of a problem or a solution that a stranger can hardly follow
_TITLE_CHARS = 8
# What is taken off, for what, and what a person is told.
_MISSING = {
    "prevention": (0.15, "it does not say how to prevent it (prevention)"),
    "example": (0.15, "it has no example"),
    "root_cause": (0.10, "it does not say why it happened (root cause)"),
}
_SHORT = 0.10
_GUESSED = 0.05
_UNPROVED = 0.05
_REDACTED = 0.10
_UNSURE = 0.2  # for a confidence of 0, and less for more


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result of the gate. `refusals`: why it may not be kept; `remarks`: what it lost quality for."""

    quality: float
    category: str
    refusals: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether it may be kept."""
        return not self.refusals


def judge(learning: Learning, categories: Collection[str] = CATEGORIES) -> Assessment:
    """Judge a document. `categories`: those of the mesh; one that is none of them is found by the words instead."""
    refusals = [f"it has no {name}" for name in ("problem", "solution") if not getattr(learning, name).strip()]
    if learning.chars < LEAST_CHARS:
        refusals.append(f"it has {learning.chars} characters, and needs {LEAST_CHARS}")
    if learning.problem and learning.problem == learning.solution:
        refusals.append("its solution only repeats the problem")
    lost, remarks = 0.0, []
    for name, (amount, remark) in _MISSING.items():
        if not getattr(learning, name):
            lost += amount
            remarks.append(remark)
    for name in ("problem", "solution"):
        if 0 < len(getattr(learning, name)) < _SHORT_CHARS:
            lost += _SHORT
            remarks.append(f"its {name} is very short")
    category = learning.category
    if category not in categories:
        category = category_of(f"{learning.title} {learning.problem} {learning.root_cause} {learning.solution}")
        if learning.category:
            lost += _GUESSED
            remarks.append(f"its category is none of the mesh's; by its words it is {category}")
    if not (learning.session or learning.evidence):
        lost += _UNPROVED
        remarks.append("nothing says where it was learned (session or evidence)")
    if any("[redacted: " in text for text in learning.sections().values()):
        lost += _REDACTED
        remarks.append("something was redacted in it")
    if learning.confidence is not None and learning.confidence < 1:
        lost += _UNSURE * (1 - learning.confidence)
        if learning.confidence < 0.5:
            remarks.append(f"its author is not sure (confidence {learning.confidence:g})")
    if len(learning.title) < _TITLE_CHARS:
        remarks.append("its title says little")
    return Assessment(max(0.0, round(1 - lost, 2)), category, tuple(refusals), tuple(remarks))
