"""What writing means: which pattern a correction is counted under, what is found by rule, and that no secret is written."""

from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records.matching import slug_of
from clan_learnings.records.notebook import (
    draft_correction,
    draft_discovery,
    draft_edit,
    draft_move,
    draft_retraction,
    require_slug,
)
from clan_learnings.records.pattern_drafts import draft_category, draft_hot_at, draft_pattern, draft_wording
from clan_learnings.records.pattern_merging import draft_merges
from clan_learnings.records.patterns import counter
from clan_learnings.records.record import EDITABLE, About, Note
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.core.draft import Assignment, Increment, NewRecord, Removal
from mesh.core.errors import UsageError
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook

SECRET = "AKIAIOSFODNN7EXAMPLE"
# One thing in three wordings.
WORDINGS = (
    ("used npm install to add a package", "use pnpm in this repo"),
    ("installed a package with npm", "this repo uses pnpm, not npm"),
    ("npm add of a package", "pnpm is what this repo uses"),
)


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path)


def live(book: Notebook, tag: bytes) -> Note:
    note = book.memory().note(tag)
    assert note is not None
    return note


def correction(book: Notebook, wrong: str, right: str, **more: Any) -> dict[str, Any]:
    drafts, _ = draft_correction(
        book.memory(), wrong, right, About(repo=REPO, session="codex:1"), TextCleaner(), **more
    )
    (record, counted) = drafts
    assert isinstance(record, NewRecord)
    assert counted == Increment(counter(record.record["pattern"]))
    return record.record


# Patterns


def test_a_correction_that_is_the_first_of_its_kind_founds_a_pattern(book: Notebook) -> None:
    """It is named by its words, so every node gives it the same name."""
    drafts, found = draft_correction(book.memory(), "npm install", "pnpm install", About(repo=REPO), TextCleaner())
    assert (found.founded, found.sureness, found.why) == (True, 1.0, "the first of its kind")
    assert isinstance(drafts[0], NewRecord)
    assert drafts[0].record["pattern"] == found.slug


def test_the_same_words_give_the_same_name_on_nodes_that_never_met(tmp_path: Path) -> None:
    """Case, spaces and punctuation do not matter."""
    one, other = Notebook(tmp_path, "one"), Notebook(tmp_path, "other")
    assert one.correct("npm install", "pnpm install") == other.correct("  NPM install.", "Pnpm  install!")


def test_other_words_for_the_same_are_counted_together(book: Notebook) -> None:
    """The record says how sure that was, so the fold never guesses."""
    slugs = {book.correct(*words, f"codex:{number}") for number, words in enumerate(WORDINGS)}
    assert len({slug_of(*words) for words in WORDINGS}) > 1
    assert book.hot() == list(slugs)
    note = book.standing(slugs.pop()).corrections[-1]
    assert 0.5 < note.record["sureness"] < 1


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("npm install", "yarn install"), ("pnpm install", "npm install"), ("npm ci", "pnpm ci --frozen-lockfile")],
)
def test_look_alikes_are_counted_apart(book: Notebook, wrong: str, right: str) -> None:
    """Other names, other flags, the other way round."""
    slug = book.correct("npm install", "pnpm install")
    assert book.correct(wrong, right, "codex:2") != slug


def test_a_pattern_of_another_repository_is_out_of_scope(book: Notebook) -> None:
    """Unless it is known in several."""
    slug = book.correct(*WORDINGS[0], "codex:1", OTHER)
    assert book.correct(*WORDINGS[1], "codex:2") == slug_of(*WORDINGS[1])
    book.correct(*WORDINGS[0], "codex:3", "github.com/acme/third")
    assert book.correct(*WORDINGS[2], "codex:4", "github.com/acme/fourth") == slug


def test_the_same_words_belong_together_in_every_repository(book: Notebook) -> None:
    """That makes the pattern one of all repositories."""
    slug = book.correct("npm install", "pnpm install", "codex:1", OTHER)
    assert book.correct("npm install", "pnpm install", "codex:2") == slug
    assert book.standing(slug).scope == ""


def test_a_pattern_named_by_hand_is_taken_as_it_is(book: Notebook) -> None:
    """Founded if there is none of that name."""
    record = correction(book, "npm install", "pnpm install", pattern="use-pnpm")
    assert (record["pattern"], record["sureness"]) == ("use-pnpm", 1.0)


@pytest.mark.parametrize("slug", ["", "A", "a b", "-a", "ä", "a/b", "x" * 97, ".", "--"])
def test_names_that_no_pattern_can_have(slug: str) -> None:
    """The error says what may be."""
    with pytest.raises(UsageError) as raised:
        require_slug(slug)
    assert "small letters" in raised.value.next_step


def test_a_move_is_of_corrections_only(book: Notebook) -> None:
    """Discoveries are counted under nothing."""
    tag = book.correction("a", "codex:1")
    assert draft_move(live(book, tag), "b") == [Assignment(tag, "pattern", "b")]
    with pytest.raises(UsageError, match="only corrections"):
        draft_move(live(book, book.discover("thing")), "b")


def test_the_founder_of_the_younger_name_joins_it_to_the_older_one(book: Notebook) -> None:
    """While nodes were apart, both founded the same; what was parted by hand stays parted."""
    for number, name in enumerate(("older", "younger")):
        wrong, right = WORDINGS[number]
        book.correction(name, f"codex:{number}", wrong=wrong, right=right)
    drafts = draft_merges(book.memory(), book.home.node)
    assert drafts == [Assignment("pattern:younger", "alias_of", "older")]
    assert draft_merges(book.memory(), b"x" * 32) == []
    book.write(*drafts)
    book.unalias("younger")
    assert draft_merges(book.memory(), book.home.node) == []


# What is found by rule, and what is refused


def test_what_was_not_said_is_found_by_rule(book: Notebook) -> None:
    """Category by its words, severity medium, confidence by who speaks."""
    record = correction(book, "run the tests with jest", "run the tests with vitest", source="human")
    assert (record["category"], record["severity"], record["confidence"]) == ("test-failures", "medium", 0.9)
    assert correction(book, "a b", "c d")["confidence"] == 0.8


@pytest.mark.parametrize(("agent", "confidence"), [("", 0.9), ("shell", 0.9), ("codex", 0.8)])
def test_a_discovery_of_a_person_is_believed_more(book: Notebook, agent: str, confidence: float) -> None:
    """No agent at work means a person."""
    (draft,), _ = draft_discovery(book.memory(), "thing", About(agent=agent), TextCleaner())
    assert isinstance(draft, NewRecord)
    assert draft.record["confidence"] == confidence


@pytest.mark.parametrize(
    ("wrong", "right", "more", "sentence"),
    [
        ("", "b", {}, "what went wrong is empty"),
        ("a", " ", {}, "the right way is empty"),
        ("same", "same ", {}, "are the same"),
        ("a", "b", {"source": "boss"}, "no source"),
        ("a", "b", {"pattern": "No Good"}, "cannot name a pattern"),
        ("a" * 8001, "b", {}, "8001 characters"),
    ],
)
def test_a_correction_that_cannot_be(
    book: Notebook, wrong: str, right: str, more: dict[str, Any], sentence: str
) -> None:
    """Each is said in a sentence."""
    with pytest.raises(UsageError, match=sentence):
        correction(book, wrong, right, **more)


def test_a_discovery_that_is_covered_names_the_record(book: Notebook) -> None:
    """Another number is another thing."""
    tag = book.discover("HTTP 405 on push means branch protection")
    _, hit = draft_discovery(
        book.memory(), "http 405 on push means branch protection!", About(repo=REPO), TextCleaner()
    )
    assert hit is not None
    assert hit.note.tag == tag
    _, other = draft_discovery(
        book.memory(), "HTTP 403 on push means branch protection", About(repo=REPO), TextCleaner()
    )
    assert other is None


def test_categories_of_the_mesh_and_of_the_repository_are_allowed(book: Notebook) -> None:
    """The repository is asked only for one that the mesh does not know, and for names that can be."""
    asked = []

    def here() -> tuple[str, ...]:
        asked.append(1)
        return ("of-the-repo", "No Good")

    book.write(*draft_category(book.memory(), "of-the-mesh"))
    for category in ("of-the-mesh", "build-errors", "of-the-repo"):
        draft_discovery(book.memory(), "thing", About(category=category), TextCleaner(here))
    assert asked == [1]
    for category in ("No Good", "unknown"):
        with pytest.raises(UsageError) as raised:
            draft_discovery(book.memory(), "thing", About(category=category), TextCleaner(here))
        assert "of-the-mesh, of-the-repo;" in raised.value.next_step


# Editing and taking back


def test_an_edit_changes_what_it_names(book: Notebook) -> None:
    """One register a field."""
    tag = book.discover("thing")
    book.write(
        *draft_edit(book.memory(), live(book, tag), {"text": "better", "tags": ["a"], "confidence": 0.5}, TextCleaner())
    )
    note = live(book, tag)
    assert (note.text, note.tags, note.confidence) == ("better", ["a"], 0.5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "nothing to change"),
        ({"session": "x"}, "cannot be edited"),
        ({"source": "human"}, "cannot be edited"),
        ({"wrong": "x"}, "has no wrong"),
        ({"pattern": "x"}, "has no pattern"),
        ({"text": " "}, "is empty"),
        ({"severity": "urgent"}, "no severity"),
        ({"category": "nope"}, "no category"),
        ({"confidence": 2.0}, "no confidence"),
    ],
)
def test_an_edit_that_cannot_be(book: Notebook, changes: dict[str, Any], sentence: str) -> None:
    """What may be changed is listed."""
    note = live(book, book.discover("thing"))
    with pytest.raises(UsageError, match=sentence):
        draft_edit(book.memory(), note, changes, TextCleaner())


def test_the_pattern_of_a_pattern_record_cannot_be_edited(book: Notebook) -> None:
    """It is its name; corrections are moved."""
    note = live(book, book.add("patterns", pattern="p", rule="r", repo=REPO))
    with pytest.raises(UsageError, match="only corrections"):
        draft_edit(book.memory(), note, {"pattern": "q"}, TextCleaner())


def test_a_retraction_needs_a_reason(book: Notebook) -> None:
    """A long one is cut."""
    note = live(book, book.discover("thing"))
    with pytest.raises(UsageError, match="say why"):
        draft_retraction(note, " ", TextCleaner())
    (draft,) = draft_retraction(note, "x" * 1000, TextCleaner())
    assert draft == Removal((note.tag,), "x" * 400)


# Patterns by hand


def test_a_pattern_of_its_own_is_written_once(book: Notebook) -> None:
    """A second one is told how to change the first."""
    drafts, slug = draft_pattern(book.memory(), "retry uploads", About(repo=REPO), TextCleaner(), everywhere=True)
    assert drafts[1:] == [Assignment(f"pattern:{slug}", "global", True)]
    book.write(*drafts)
    assert book.standing(slug).scope == ""
    with pytest.raises(UsageError, match="already") as raised:
        draft_pattern(book.memory(), "retry uploads", About(repo=REPO), TextCleaner())
    assert f"mesh pattern edit {slug}" in raised.value.next_step


def test_wording_needs_something_to_change(book: Notebook) -> None:
    """And a topic that can be."""
    book.sessions("p", 1)
    with pytest.raises(UsageError, match="nothing to change"):
        draft_wording(book.memory(), "p", TextCleaner(), everywhere=None)
    with pytest.raises(UsageError, match="one line"):
        draft_wording(book.memory(), "p", TextCleaner(), topic="a\nb", everywhere=None)
    with pytest.raises(UsageError, match="is empty"):
        draft_wording(book.memory(), "p", TextCleaner(), rule="", everywhere=None)


@pytest.mark.parametrize("text", ["1", "101", "three", "", "-3", "3.0", "٣"])
def test_when_a_pattern_is_hot_is_a_small_number(text: str) -> None:
    """From two on: one session never makes a pattern HOT alone."""
    with pytest.raises(UsageError) as raised:
        draft_hot_at(text)
    assert "from 2 to 100" in raised.value.next_step


def test_categories_are_added_once_and_only_own_ones_removed(book: Notebook) -> None:
    """The built-in ones are always there."""
    book.write(*draft_category(book.memory(), "data"))
    with pytest.raises(UsageError, match="already"):
        draft_category(book.memory(), "data")
    with pytest.raises(UsageError, match="cannot name"):
        draft_category(book.memory(), "Data Quality")
    with pytest.raises(UsageError) as raised:
        draft_category(book.memory(), "build-errors", remove=True)
    assert "it has added: data" in raised.value.next_step
    book.write(*draft_category(book.memory(), "data", remove=True))
    assert "data" not in book.memory().settings.categories


# Secrets


def test_no_field_of_a_record_keeps_a_secret(book: Notebook) -> None:
    """Whatever was found is told by sort and number only."""
    pen = TextCleaner()
    about = About(repo=REPO, topic=SECRET, tags=[SECRET], evidence=f"see {SECRET}")
    drafts: list[Any] = [
        *draft_discovery(book.memory(), f"the key is {SECRET}", about, pen)[0],
        *draft_correction(book.memory(), f"used {SECRET}", "use the vault", About(repo=REPO), pen)[0],
        *draft_correction(book.memory(), "used a file", f"use {SECRET}", About(repo=REPO), pen)[0],
        *draft_pattern(book.memory(), f"never print {SECRET}", About(repo=REPO), pen, wrong=SECRET)[0],
        *draft_retraction(live(book, book.discover("thing")), f"it had {SECRET}", pen),
    ]
    assert SECRET not in repr(drafts)
    assert SECRET not in pen.found
    assert pen.found == "9 x aws key"


def test_no_field_of_a_record_keeps_a_private_passage(book: Notebook) -> None:
    """It is left out before anything is written, and that is told."""
    pen = TextCleaner()
    hidden = "<private>HIDDEN</private>"
    about = About(
        repo=REPO, topic=f"uploads {hidden}", tags=["a", "<private>HIDDEN", "HIDDEN</private>"], evidence=hidden
    )
    drafts: list[Any] = [
        *draft_discovery(book.memory(), f"retry the upload {hidden}", about, pen)[0],
        *draft_correction(book.memory(), f"used {hidden} npm", "use pnpm <private >HIDDEN", About(repo=REPO), pen)[0],
        *draft_pattern(book.memory(), f"never print {hidden} keys", About(repo=REPO), pen, wrong=hidden)[0],
        *draft_edit(book.memory(), live(book, book.discover("thing")), {"text": f"other {hidden}"}, pen),
        *draft_retraction(live(book, book.discover("thing")), f"it was wrong {hidden}", pen),
    ]
    assert "HIDDEN" not in repr(drafts)
    assert "private>" not in repr(drafts)
    assert drafts[0].record["text"] == "retry the upload"
    assert drafts[0].record["tags"] == ["a"]
    assert pen.found == "10 x private passage"


def test_a_sentence_that_is_private_all_over_is_refused(book: Notebook) -> None:
    """There is nothing to write."""
    for text in ("<private>HIDDEN</private>", "  <private>HIDDEN"):
        with pytest.raises(UsageError, match="is private: nothing is left to write") as raised:
            draft_discovery(book.memory(), text, About(repo=REPO), TextCleaner())
        assert "HIDDEN" not in str(raised.value)


def test_a_reason_that_is_private_all_over_is_refused(book: Notebook) -> None:
    """Whoever takes a record back has to say why."""
    note = live(book, book.discover("thing"))
    for reason in (" ", "<private>HIDDEN</private>"):
        with pytest.raises(UsageError) as raised:
            draft_retraction(note, reason, TextCleaner())
        assert "mesh retract ID --reason" in raised.value.next_step


def test_words_with_blanks_around_are_no_private_passage() -> None:
    """Also beside one that speaks of private keys."""
    pen = TextCleaner()
    assert pen.clean_all([" a", "<private key>"]) == [" a", "<private key>"]
    assert pen.found == ""


def test_no_edit_keeps_a_secret(book: Notebook) -> None:
    """Of any field that is a text."""
    tags = {"text": book.discover("thing"), "rule": book.add("patterns", pattern="p", rule="r", repo=REPO)}
    corrected = book.correction("p", "codex:1")
    for field in sorted(EDITABLE - {"confidence", "minutes_lost", "category", "severity", "pattern"}):
        note = live(book, tags.get(field, corrected))
        value: Any = [SECRET] if field == "tags" else f"a {SECRET}"
        assert SECRET not in repr(draft_edit(book.memory(), note, {field: value}, TextCleaner())), field


@pytest.mark.parametrize("name", ["session", "agent", "repo"])
def test_a_name_that_looks_like_a_secret_is_refused(book: Notebook, name: str) -> None:
    """It stands in for something, so it cannot be changed."""
    about = About()
    setattr(about, name, f"x:{SECRET}")
    with pytest.raises(UsageError, match="looks like a secret") as raised:
        draft_discovery(book.memory(), "thing", about, TextCleaner())
    assert SECRET not in str(raised.value)
