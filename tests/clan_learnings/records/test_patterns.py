"""Patterns as they stand: what counts, under which names, and what ends them."""

from pathlib import Path

import pytest

from clan_learnings.records.pattern_drafts import draft_alias, draft_supersession, draft_unalias, draft_wording
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.core.errors import UnknownId, UsageError
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path)


def test_three_sessions_make_a_pattern_hot(book: Notebook) -> None:
    """Two do not."""
    book.sessions("use-pnpm", 2)
    assert book.hot() == []
    book.sessions("use-pnpm", 1, first=3)
    assert book.hot() == ["use-pnpm"]
    assert book.standing("use-pnpm").sessions == 3


def test_ten_corrections_of_one_session_count_once(book: Notebook) -> None:
    """So no session makes a pattern HOT alone."""
    for _ in range(10):
        book.correction("use-pnpm", "codex:1")
    assert book.standing("use-pnpm").sessions == 1
    assert book.hot() == []


def test_a_correction_without_a_session_counts_for_itself(book: Notebook) -> None:
    """Also one whose session is no text."""
    for session in ("", None, 7):
        book.add("corrections", wrong="a", right="b", pattern="p", repo=REPO, session=session)
    assert book.standing("p").sessions == 3
    assert book.hot() == ["p"]


def test_a_retraction_ends_hot(book: Notebook) -> None:
    """Losing occurrences takes the promotion back."""
    tags = book.sessions("use-pnpm", 3)
    book.retract(tags[1])
    assert book.hot() == []
    assert book.standing("use-pnpm").sessions == 2


def test_a_pattern_of_which_nothing_is_left_is_gone(book: Notebook) -> None:
    """It is what its records amount to."""
    (tag,) = book.sessions("use-pnpm", 1)
    book.retract(tag)
    assert book.memory().patterns.standing("use-pnpm") is None


def test_a_moved_correction_counts_where_it_was_moved_to(book: Notebook) -> None:
    """And no more where it was."""
    tags = book.sessions("npm", 3)
    book.sessions("pnpm", 2, first=4)
    book.set(tags[0], "pattern", "pnpm")
    assert (book.standing("npm").sessions, book.standing("pnpm").sessions) == (2, 3)
    assert book.hot() == ["pnpm"]
    book.set(tags[0], "pattern", "npm")
    assert book.hot() == ["npm"]


def test_a_moved_correction_that_is_retracted_counts_nowhere(book: Notebook) -> None:
    """A register of a record that is gone moves nothing."""
    tags = book.sessions("npm", 1)
    book.set(tags[0], "pattern", "pnpm")
    book.retract(tags[0])
    assert book.memory().patterns.standing("pnpm") is None


@pytest.mark.parametrize("names", [("young", "old"), ("old", "young")])
def test_an_alias_joins_in_either_direction_under_the_oldest_name(book: Notebook, names: tuple[str, str]) -> None:
    """Whoever says it, in whichever order."""
    book.sessions("old", 2)
    book.sessions("young", 1, first=3)
    book.alias(*names)
    for name in ("old", "young"):
        standing = book.standing(name)
        assert (standing.slug, standing.sessions, sorted(standing.names)) == ("old", 3, ["old", "young"])
    assert book.hot() == ["old"]


@pytest.mark.parametrize("name", ["young", "old"])
def test_an_alias_can_be_undone_from_either_end(book: Notebook, name: str) -> None:
    """Then both count for themselves."""
    book.sessions("old", 2)
    book.sessions("young", 1, first=3)
    book.alias("old", "young")
    book.unalias(name)
    assert book.hot() == []
    assert book.standing("young").names == frozenset({"young"})


def test_a_name_to_part_may_be_given_by_its_beginning(book: Notebook) -> None:
    """If only one of the names begins so."""
    book.sessions("use-pnpm", 1)
    book.sessions("use-yarn", 1, first=2)
    book.alias("use-pnpm", "use-yarn")
    with pytest.raises(UsageError, match="several of its names"):
        book.unalias("use")
    book.unalias("use-y")
    assert book.standing("use-yarn").names == frozenset({"use-yarn"})


def test_a_third_alias_parts_no_one(book: Notebook) -> None:
    """Each name points to one other, so the free end is taken."""
    for number, name in enumerate(("a", "b", "c", "d")):
        book.sessions(name, 1, first=number)
    book.alias("a", "b")
    book.alias("a", "c")
    book.alias("d", "a")
    assert book.standing("d").names == frozenset("abcd")
    assert book.standing("d").sessions == 4


def test_names_joined_from_both_ends_at_once_take_a_third(book: Notebook) -> None:
    """Two nodes said it at the same time: a circle, which may lose one of its links."""
    for number, name in enumerate(("a", "b", "c", "d")):
        book.sessions(name, 1, first=number)
    book.set("pattern:a", "alias_of", "b")
    book.set("pattern:b", "alias_of", "a")
    book.set("pattern:c", "alias_of", "d")
    book.set("pattern:d", "alias_of", "c")
    book.alias("a", "c")
    assert book.standing("b").names == frozenset("abcd")
    book.unalias("a")
    assert "a" not in book.standing("b").names


def test_an_alias_of_what_is_not_there_is_refused(book: Notebook) -> None:
    """And of a pattern with itself."""
    book.sessions("use-pnpm", 1)
    memory = book.memory()
    with pytest.raises(UnknownId, match="no pattern"):
        draft_alias(memory, "use-pnpm", "nothing")
    with pytest.raises(UsageError, match="one pattern already"):
        draft_alias(memory, "use-pnpm", "use-p")
    with pytest.raises(UsageError, match="no other names"):
        draft_unalias(memory, "use-pnpm")


def test_a_session_that_met_both_names_counts_once(book: Notebook) -> None:
    """Occurrences are sessions over all names, not sums."""
    book.sessions("a", 2)
    book.sessions("b", 2)
    book.alias("a", "b")
    assert book.standing("a").sessions == 2


def test_an_archived_pattern_is_hot_again_after_three_further_sessions(book: Notebook) -> None:
    """Sessions from before do not count for that."""
    book.sessions("use-pnpm", 5)
    book.archive("use-pnpm")
    assert book.hot() == []
    book.sessions("use-pnpm", 2, first=6)
    assert book.hot() == []
    book.sessions("use-pnpm", 1, first=8)
    assert book.hot() == ["use-pnpm"]


def test_a_session_from_before_the_archive_that_goes_on_is_no_further_one(book: Notebook) -> None:
    """A session counts once, so three that were counted before the archive cannot bring the pattern back."""
    book.sessions("use-pnpm", 3)
    book.archive("use-pnpm")
    book.sessions("use-pnpm", 5)
    assert (book.hot(), book.standing("use-pnpm").further) == ([], 2)
    book.sessions("use-pnpm", 1, first=6)
    assert (book.hot(), book.standing("use-pnpm").further) == (["use-pnpm"], 3)


def test_a_session_counted_under_another_name_before_the_archive_is_no_further_one(book: Notebook) -> None:
    """Whichever of its names a session met first, and whichever was archived."""
    book.sessions("a", 3)
    book.sessions("b", 1, first=4)
    book.alias("a", "b")
    book.archive("b")
    book.sessions("b", 5)
    assert (book.hot(), book.standing("a").further) == ([], 1)
    book.sessions("a", 2, first=6)
    assert (book.hot(), book.standing("a").further) == (["a"], 3)


def test_a_session_whose_early_correction_was_retracted_is_a_further_one(book: Notebook) -> None:
    """A retraction takes back what was counted, also that the session came before the archive."""
    early, _ = book.sessions("use-pnpm", 2)
    book.archive("use-pnpm")
    book.sessions("use-pnpm", 2)
    assert book.standing("use-pnpm").further == 0
    book.retract(early)
    assert book.standing("use-pnpm").further == 1


def test_an_archive_can_be_undone(book: Notebook) -> None:
    """Under whichever name it was said."""
    book.sessions("a", 3)
    book.sessions("b", 1, first=4)
    book.archive("b")
    book.alias("a", "b")
    assert book.hot() == []
    book.restore("a")
    assert book.hot() == ["a"]
    with pytest.raises(UsageError, match="not archived"):
        book.restore("a")


def test_a_superseded_pattern_ends(book: Notebook) -> None:
    """Its sessions stay counted, and the one in its place is named."""
    book.sessions("npm", 3)
    book.sessions("bun", 1, first=4)
    book.supersede("npm", "bun")
    assert book.hot() == []
    assert book.standing("npm").superseded_by == ["bun"]
    assert book.standing("npm").sessions == 3


def test_concurrent_supersessions_stand_side_by_side(book: Notebook) -> None:
    """Nobody decides for the nodes that did not know of each other."""
    book.sessions("npm", 3)
    book.sessions("bun", 1, first=4)
    book.sessions("pnpm", 1, first=5)
    for new in ("pnpm", "bun"):
        book.add("supersessions", old="npm", new=new, repo=REPO)
    assert book.standing("npm").superseded_by == ["bun", "pnpm"]


def test_a_retracted_supersession_lets_the_old_one_stand_again(book: Notebook) -> None:
    """It is a record like others."""
    book.sessions("npm", 3)
    book.sessions("bun", 1, first=4)
    tag = book.add("supersessions", old="npm", new="bun", repo=REPO)
    book.retract(tag)
    assert book.hot() == ["npm"]


def test_a_circle_of_supersessions_leaves_the_last_one_standing(book: Notebook) -> None:
    """Else all of them would be gone."""
    for number, name in enumerate(("a", "b", "c")):
        book.sessions(name, 3, first=3 * number)
    for old, new in (("a", "b"), ("b", "c"), ("c", "a")):
        book.add("supersessions", old=old, new=new, repo=REPO)
    assert book.hot() == ["c"]


def test_a_circle_through_an_alias_leaves_one_standing(book: Notebook) -> None:
    """Names that stand for one pattern are one step of the way."""
    book.sessions("a", 3)
    book.sessions("b", 3, first=4)
    book.sessions("b-too", 1, first=7)
    book.add("supersessions", old="a", new="b", repo=REPO)
    book.alias("b", "b-too")
    book.add("supersessions", old="b-too", new="a", repo=REPO)
    assert book.hot() == ["b"]


def test_a_pattern_that_was_superseded_cannot_take_the_place_of_its_successor(book: Notebook) -> None:
    """The command says so at once."""
    book.sessions("a", 1)
    book.sessions("b", 1, first=2)
    book.supersede("a", "b")
    about = About(repo=REPO)
    with pytest.raises(UsageError, match="cannot take its place"):
        draft_supersession(book.memory(), "b", "a", about, "", TextCleaner())
    with pytest.raises(UsageError, match="its own place"):
        draft_supersession(book.memory(), "b", "b", about, "", TextCleaner())


def test_a_pattern_of_one_repository_is_hot_only_there(book: Notebook) -> None:
    """Others are not told of it."""
    book.sessions("use-pnpm", 3)
    assert book.hot(REPO) == ["use-pnpm"]
    assert book.hot(OTHER) == []
    assert book.hot("") == []
    assert book.hot(None) == ["use-pnpm"]


def test_a_pattern_seen_in_two_repositories_is_hot_everywhere(book: Notebook) -> None:
    """What went wrong in two places goes wrong in a third."""
    book.sessions("use-pnpm", 2)
    book.sessions("use-pnpm", 1, OTHER, first=3)
    assert book.hot("github.com/acme/third") == ["use-pnpm"]
    assert book.standing("use-pnpm").scope == ""


def test_a_pattern_marked_global_is_hot_everywhere_until_it_is_marked_local(book: Notebook) -> None:
    """The mark is a register: the later word counts."""
    book.sessions("use-pnpm", 3)
    for everywhere, expected in ((True, ["use-pnpm"]), (False, [])):
        book.write(*draft_wording(book.memory(), "use-pnpm", TextCleaner(), everywhere=everywhere))
        assert book.hot(OTHER) == expected


def test_a_correction_that_was_edited_to_another_repository_holds_there(book: Notebook) -> None:
    """The edit moves the scope of its pattern with it."""
    tags = book.sessions("use-pnpm", 3)
    for tag in tags:
        book.set(tag, "repo", OTHER)
    assert book.hot(REPO) == []
    assert book.hot(OTHER) == ["use-pnpm"]


def test_a_pattern_record_gives_the_rule_and_counts_no_session(book: Notebook) -> None:
    """And where it was written does not widen where it was seen."""
    book.add("patterns", pattern="use-pnpm", rule="pnpm, always", repo=OTHER, session="codex:9")
    book.sessions("use-pnpm", 3)
    (item,) = book.memory().hot(REPO)
    assert (item.rule, item.sessions, item.repo) == ("pnpm, always", 3, REPO)


def test_the_latest_rule_counts_for_all_names(book: Notebook) -> None:
    """One rule text, by the last writer."""
    book.sessions("a", 2)
    book.sessions("b", 1, first=3)
    book.set("pattern:a", "rule", "first")
    book.set("pattern:b", "rule", "second")
    assert book.standing("a").rule == "first"
    book.alias("a", "b")
    assert book.standing("a").rule == "second"
    assert [item.rule for item in book.memory().hot(REPO)] == ["second"]


def test_hot_is_the_same_by_tally_and_by_looking_at_every_record(book: Notebook) -> None:
    """An alias that changes nothing but the way it is computed changes no line."""
    book.sessions("use-pnpm", 2)
    book.sessions("use-pnpm", 3, OTHER, first=2)

    def lines() -> list[tuple[object, ...]]:
        return [
            (item.slug, item.rule, item.wrong, item.sessions, item.nodes, item.repos, item.repo, item.last_ms, item.tag)
            for item in book.memory().hot(None)
        ]

    before = lines()
    book.set("pattern:use-pnpm", "archived", None)
    book.set("pattern:use-pnpm", "alias_of", "another")
    assert lines() == before
    assert before[0][3] == 4


def test_a_pattern_is_found_by_the_beginning_of_its_name(book: Notebook) -> None:
    """If only one begins so; several are listed."""
    book.sessions("use-pnpm", 1)
    book.sessions("use-uv", 1, first=2)
    patterns = book.memory().patterns
    assert patterns.find("use-p").slug == "use-pnpm"
    with pytest.raises(UsageError, match="several") as raised:
        patterns.find("use")
    assert "use-pnpm, use-uv" in raised.value.next_step
    for text in ("", "nope"):
        with pytest.raises(UnknownId):
            patterns.find(text)


def test_the_counter_never_goes_down(book: Notebook) -> None:
    """It says how often something was logged, whatever became of it."""
    slug = book.correct("npm install", "pnpm install")
    book.correct("npm install", "pnpm install", "codex:2")
    for note in book.standing(slug).corrections[:1]:
        book.retract(note.tag)
    assert (book.standing(slug).logged, book.standing(slug).sessions) == (2, 1)
