"""Documents as records: what is written, what is refused, what an edit changes, and where a learning turns up."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.documents.drafts import draft_learning, draft_revision, learnings, same_learning
from clan_learnings.documents.learning import BYTES, Learning, learning_from, learning_of
from clan_learnings.records.record import About, Note
from clan_learnings.records.tiers import ARCHIVE, BANK, WARM
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.record_search import search
from mesh.core.errors import UsageError
from tests.clan_learnings.documents.learned import GOOD
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook

KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    made = Notebook(tmp_path)
    yield made
    made.author.store.close()


def written(book: Notebook, learning: Learning, **about: Any) -> Note:
    drafts, _ = draft_learning(book.memory(), learning, About(repo=REPO, agent="codex", **about), TextCleaner())
    note = book.memory().note(book.write(*drafts))
    assert note is not None
    return note


def revised(book: Notebook, note: Note, **changes: Any) -> Note:
    drafts, _ = draft_revision(book.memory(), note, changes, TextCleaner())
    book.write(*drafts)
    found = book.memory().note(note.tag)
    assert found is not None
    return found


def test_a_document_becomes_a_record_and_reads_the_same(book: Notebook) -> None:
    """Nothing is lost between a document and its record."""
    note = written(book, GOOD)
    assert note.log == "learnings"
    assert learning_of(note) == replace(GOOD, agent="codex")
    assert note.text == f"{GOOD.title}: Fetch a new token right before the upload:"


def test_what_is_not_said_is_found(book: Notebook) -> None:
    """Category, severity, confidence, quality, who and where."""
    note = written(book, Learning(problem=GOOD.problem, solution=GOOD.solution * 2), session="codex:s9")
    found = learning_of(note)
    assert found.title == GOOD.problem.split("\n", maxsplit=1)[0]
    assert (found.severity, found.confidence, found.session, found.repo) == ("medium", 0.8, "codex:s9", REPO)
    assert found.category in ("api-patterns", "build-errors", "security-practices")
    assert found.quality == 0.56


@pytest.mark.parametrize("given", [Learning(), Learning(problem="p" * 300), Learning(problem="p", solution="s")])
def test_what_does_not_pass_the_gate_is_refused_with_the_next_step(book: Notebook, given: Learning) -> None:
    """It says what is missing."""
    with pytest.raises(UsageError, match="no learning yet") as refused:
        draft_learning(book.memory(), given, About(repo=REPO), TextCleaner())
    assert "mesh discover" in refused.value.next_step


def test_a_document_that_no_operation_can_hold_is_refused(book: Notebook) -> None:
    """The error says how much fits, and what to do; the most that fits can be written, also if nobody speaks English."""
    with pytest.raises(UsageError, match="bytes") as refused:
        draft_learning(book.memory(), replace(GOOD, example="x" * BYTES), About(repo=REPO), TextCleaner())
    assert "mesh page new" in refused.value.next_step
    note = written(book, replace(GOOD, example="字" * ((BYTES - 2000) // 3)))
    assert learning_of(note).example.endswith("字")


def test_secrets_leave_every_part_of_a_document(book: Notebook) -> None:
    """Sections, title, tags, related, evidence."""
    pen = TextCleaner()
    dirty = Learning(
        title=f"a {KEY}",
        problem=f"{GOOD.problem} {KEY}",
        root_cause=KEY,
        solution=f"{GOOD.solution} {KEY[:8]}\u200b{KEY[8:]}",
        example=KEY,
        prevention=KEY,
        related=(KEY,),
        tags=(KEY,),
        evidence=KEY,
    )
    drafts, answer = draft_learning(book.memory(), dirty, About(repo=REPO), pen)
    assert KEY not in json.dumps(drafts[0].record)  # type: ignore[union-attr]
    assert "aws key" in pen.found
    assert "something was redacted in it" in answer["remarks"]


def test_the_same_document_twice_is_one(book: Notebook) -> None:
    """Also with another title; not in another repository."""
    note = written(book, GOOD)
    drafts, answer = draft_learning(book.memory(), replace(GOOD, title="Other"), About(repo=REPO), TextCleaner())
    assert drafts == []
    assert answer["id"] == book.memory().reader.short_id(note.tag)
    assert same_learning(book.memory(), replace(GOOD, repo=OTHER)) is None


def test_an_edit_changes_fields_and_the_quality(book: Notebook) -> None:
    """What it did not have it may get; what was said by whom stays."""
    note = written(book, replace(GOOD, prevention="", quality=None))
    assert learning_of(note).quality == 0.81
    after = learning_of(revised(book, note, prevention="Log in first.", tags=("x",)))
    assert (after.prevention, after.tags, after.quality) == ("Log in first.", ("x",), 0.96)
    assert learning_of(revised(book, note, quality=0.5, title="T")).quality == 0.5


def test_an_edit_that_changes_nothing_writes_nothing(book: Notebook) -> None:
    """The same values, maybe with other line ends."""
    note = written(book, GOOD)
    drafts, _ = draft_revision(
        book.memory(), note, {"problem": f"\r\n{GOOD.problem}\n\n", "tags": GOOD.tags}, TextCleaner()
    )
    assert drafts == []


@pytest.mark.parametrize(
    "changes",
    [{"problem": ""}, {"session": "x"}, {"category": "none-such"}, {"severity": "huge"}, {"example": "x" * BYTES}],
)
def test_an_edit_that_cannot_be_is_refused(book: Notebook, changes: dict[str, Any]) -> None:
    """With the next step."""
    note = written(book, GOOD)
    with pytest.raises(UsageError) as refused:
        draft_revision(book.memory(), note, changes, TextCleaner())
    assert refused.value.next_step


def test_only_a_learning_is_revised(book: Notebook) -> None:
    """A discovery is edited by another command."""
    note = book.memory().note(book.add("discoveries", text="found", repo=REPO))
    assert note is not None
    with pytest.raises(UsageError, match="no learning"):
        draft_revision(book.memory(), note, {"title": "x"}, TextCleaner())


def test_a_learning_is_found_by_any_of_its_words(book: Notebook) -> None:
    """In every section; and as edited."""
    note = written(book, GOOD)
    for words in ("Forbidden", "registry valid hour", "deploy login fresh", "scripts/upload.sh"):
        assert [hit.note.tag for hit in search(book.memory(), words, SearchFilters(REPO), 5)] == [note.tag], words
    revised(book, note, prevention="Keep a zeppelin ready.")
    assert [hit.note.tag for hit in search(book.memory(), "zeppelin", SearchFilters(REPO), 5)] == [note.tag]


def test_a_learning_has_a_tier_and_decays_by_its_quality(book: Notebook) -> None:
    """WARM for two days, then BANK; a poor one goes to the archive sooner than a good one."""
    good, poor = written(book, GOOD), written(book, replace(GOOD, solution=GOOD.solution + "!", quality=0.35))
    memory = book.memory()
    assert [memory.tier_of(note) for note in (good, poor)] == [WARM, WARM]
    book.wait(200)
    book.add("discoveries", text="later", repo="")
    memory = book.memory()
    assert [memory.tier_of(note) for note in (good, poor)] == [BANK, ARCHIVE]
    assert [note.tag for note in memory.bank(REPO, 5)] == [good.tag]


def test_what_is_muted_or_retracted_is_not_listed(book: Notebook) -> None:
    """Here, and everywhere."""
    first = written(book, GOOD)
    second = written(book, replace(GOOD, solution=GOOD.solution + "!"))
    book.retract(first.tag)
    assert [note.tag for note in learnings(book.memory(), REPO)] == [second.tag]
    assert list(learnings(book.memory(), OTHER)) == []


@pytest.mark.parametrize(
    "record",
    [
        {},
        {
            "title": 7,
            "problem": b"x",
            "solution": None,
            "related": "x",
            "tags": {"a": 1},
            "quality": "1",
            "confidence": True,
        },
        {
            "title": "\x1b[31mx\n\n## Problem",
            "related": [1, "\u202e", "a"],
            "quality": 7,
            "minutes_lost": -1,
            "severity": [],
        },
    ],
)
def test_a_record_that_anybody_wrote_is_read(book: Notebook, record: dict[str, Any]) -> None:
    """Whatever it says, it can be shown."""
    note = book.memory().note(book.add("learnings", **record, repo=REPO))
    assert note is not None
    found = learning_of(note)
    assert found.title.isprintable()
    assert found.quality is None
    assert found.severity == "medium"
    assert isinstance(note.text, str)


@pytest.mark.parametrize(
    "value",
    [
        {"nonsense": 1},
        {"title": 1},
        {"tags": [1]},
        {"related": 5},
        {"quality": 2},
        {"confidence": True},
        {"minutes_lost": 1.5},
    ],
)
def test_json_that_cannot_be_one_is_refused_by_name(value: dict[str, Any]) -> None:
    """The error names the field."""
    with pytest.raises(UsageError, match=next(iter(value))):
        learning_from(value)
