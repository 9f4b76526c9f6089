"""What is read: HOT, WARM and BANK of a scope, what this node hides, and records that no writer of ours would write."""

from pathlib import Path
from typing import Any

import pytest

from clan_learnings.context.session_context import session_context
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_conflicts import PatternConflicts
from clan_learnings.records.recent_records import recent, recent_patterns
from clan_learnings.records.tiers import WARM_DISCOVERIES, WARM_MOST, Census
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.likeness import covering
from clan_learnings.search.record_search import search
from mesh.app import record_json
from mesh.core.draft import Assignment, NewRecord
from mesh.core.ids import text_id
from mesh.store.reader import Reader
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path)


def warm(book: Notebook, repo: str | None = REPO) -> list[str]:
    return [note.text for note in book.memory().warm(repo)]


# HOT


def test_hot_lists_those_of_most_sessions_first(book: Notebook) -> None:
    """Of equally many the newest."""
    book.sessions("three", 3)
    book.sessions("five", 5)
    book.sessions("later-three", 3)
    assert book.hot() == ["five", "later-three", "three"]
    assert [item.slug for item in book.memory().hot(REPO, 2)] == ["five", "later-three"]


def test_the_mesh_decides_when_a_pattern_is_hot(book: Notebook) -> None:
    """A setting of all nodes; one that cannot be counts as not set."""
    book.sessions("use-pnpm", 3)
    for value, expected in (
        (4, []),
        (2, ["use-pnpm"]),
        (0, ["use-pnpm"]),
        ("four", ["use-pnpm"]),
        (True, ["use-pnpm"]),
    ):
        book.set("settings", "hot_at", value)
        assert book.hot() == expected, value


def test_the_tier_of_a_correction_follows_its_pattern(book: Notebook) -> None:
    """HOT with it, in the archive with it."""
    tags = book.sessions("use-pnpm", 3)
    assert book.tier(tags[0]) == "HOT"
    book.archive("use-pnpm")
    assert book.tier(tags[0]) == "ARCHIVE"
    book.restore("use-pnpm")
    book.sessions("bun", 1, first=9)
    book.supersede("use-pnpm", "bun")
    assert book.tier(tags[0]) == "ARCHIVE"


# WARM


def test_the_last_twenty_discoveries_stay_warm_however_old_they_are(book: Notebook) -> None:
    """Corrections only for two days."""
    for number in range(WARM_DISCOVERIES + 2):
        book.add("discoveries", text=f"thing {number}", repo=REPO)
    book.correction("use-pnpm", "codex:1")
    book.wait(4)
    book.add("discoveries", text="today", repo=OTHER)
    assert warm(book) == [f"thing {number}" for number in range(WARM_DISCOVERIES + 1, 1, -1)]


def test_everything_of_two_days_is_warm(book: Notebook) -> None:
    """More discoveries than twenty, and corrections."""
    for number in range(WARM_DISCOVERIES + 2):
        book.add("discoveries", text=f"thing {number}", repo=REPO)
    book.correction("use-pnpm", "codex:1")
    assert len(warm(book)) == WARM_DISCOVERIES + 3


def test_warm_has_at_most_fifty(book: Notebook) -> None:
    """The newest of them."""
    for number in range(WARM_MOST + 5):
        book.add("discoveries", text=f"thing {number}", repo=REPO)
    assert len(warm(book)) == WARM_MOST
    assert warm(book)[0] == f"thing {WARM_MOST + 4}"


def test_a_busy_pattern_hides_no_discovery_from_warm(book: Notebook) -> None:
    """However many corrections of what is HOT anyway came after them."""
    tags = [book.add("discoveries", text=f"thing {number}", repo=REPO) for number in range(WARM_DISCOVERIES + 10)]
    book.write(
        *(
            NewRecord(
                "corrections", {"wrong": "a", "right": "b", "pattern": "p", "repo": REPO, "session": f"codex:{n}"}
            )
            for n in range(5 * WARM_MOST)
        )
    )
    memory = book.memory()
    assert {note.tag for note in memory.warm(REPO)} == set(tags)
    assert {memory.tier_of(note) for tag in tags if (note := memory.note(tag))} == {"WARM"}


def test_records_that_were_moved_away_hide_none_that_stay_from_warm(book: Notebook) -> None:
    """They stand among the newest of the repository they were written for, and are not shown there."""
    tags = [book.add("discoveries", text=f"thing {number}", repo=REPO) for number in range(WARM_DISCOVERIES + 10)]
    busy = {"wrong": "a", "right": "b", "pattern": "p", "repo": REPO}
    book.write(*(NewRecord("corrections", busy | {"session": f"codex:{n}"}) for n in range(5 * WARM_MOST)))
    newest = [entry.tag for entry in book.memory().reader.newest("corrections", 5 * WARM_MOST)]
    book.write(*(Assignment(tag, "repo", OTHER) for tag in newest[::3]))
    assert {note.tag for note in book.memory().warm(REPO)} == set(tags)


def test_warm_is_scoped(book: Notebook) -> None:
    """Records of the repository and global ones; without a repository all."""
    book.add("discoveries", text="here", repo=REPO)
    book.add("discoveries", text="there", repo=OTHER)
    book.add("discoveries", text="everywhere", repo="")
    assert warm(book) == ["everywhere", "here"]
    assert warm(book, "") == ["everywhere"]
    assert warm(book, None) == ["everywhere", "there", "here"]


def test_a_record_edited_into_a_repository_is_warm_there(book: Notebook) -> None:
    """And no more where it was written."""
    tag = book.add("discoveries", text="it", repo=OTHER)
    book.set(tag, "repo", REPO)
    assert warm(book) == ["it"]
    assert warm(book, OTHER) == []


@pytest.mark.parametrize("edits", [0, 2])
def test_a_tier_says_warm_of_what_is_in_the_list_and_of_nothing_else(book: Notebook, edits: int) -> None:
    """Most are told by their stamps alone: also beside the last that has a place, and where records have moved or name no scope."""
    tags = [book.add("discoveries", text=f"old {number}", repo=OTHER) for number in range(WARM_DISCOVERIES + 5)]
    tags.append(book.correction("use-pnpm", "codex:1", OTHER))
    book.wait(4)
    tags += [book.add("discoveries", text=f"new {number}", repo=REPO) for number in range(WARM_MOST)]
    tags += book.sessions("use-uv", 3) + [book.correction(f"use-{number}", "codex:1") for number in range(5)]
    tags += [book.add("discoveries", text="of nowhere"), book.add("discoveries", text="everywhere", repo="")]
    for tag in tags[3 : 3 + edits] + tags[WARM_MOST : WARM_MOST + edits]:
        book.set(tag, "repo", REPO if tag in tags[:9] else OTHER)
    memory = book.memory()
    notes = [note for tag in tags if (note := memory.note(tag)) is not None]
    for repo in (None, "", REPO, OTHER):
        told = {note.tag for note in notes if book.memory().tier_in(note, repo) == "WARM"}
        assert told == {note.tag for note in memory.warm(repo)}, repo


def test_what_is_hot_is_not_warm_too(book: Notebook) -> None:
    """No line stands twice in a context."""
    book.sessions("use-pnpm", 3)
    assert warm(book) == []


def test_what_is_not_warm_any_more_is_in_the_bank(book: Notebook) -> None:
    """Until it has decayed."""
    tag = book.correction("use-pnpm", "codex:1", confidence=0.8)
    assert book.tier(tag) == "WARM"
    book.wait(3)
    book.add("discoveries", text="today", repo=OTHER)
    assert book.tier(tag) == "BANK"
    assert [note.tag for note in book.memory().bank(REPO, 10)] == [tag]
    book.wait(600)
    book.add("discoveries", text="much later", repo=OTHER)
    assert book.tier(tag) == "ARCHIVE"
    assert book.memory().bank(REPO, 10) == []


def test_tiers_go_by_mesh_time_and_not_by_the_clock(book: Notebook) -> None:
    """A node that was switched on after a year sees what it saw, until news come in."""
    tag = book.correction("use-pnpm", "codex:1")
    book.wait(400)
    assert book.tier(tag) == "WARM"


# Private and muted


def test_private_records_count_for_nothing_public(book: Notebook) -> None:
    """They are another database."""
    book.sessions("use-pnpm", 2)
    private = book.home.author(private=True, clock=lambda: book.now_ms)
    record = {"wrong": "a", "right": "b", "pattern": "use-pnpm", "session": "codex:9", "repo": REPO}
    private.append([NewRecord("corrections", record)])
    assert book.hot() == []
    memory = Memory(Reader(private.store.database.connection))
    standing = memory.patterns.standing("use-pnpm")
    assert standing is not None
    assert standing.sessions == 1


@pytest.mark.parametrize("what", ["record", "node", "pattern"])
def test_muting_hides_and_changes_no_count(book: Notebook, what: str) -> None:
    """The tier of a muted record stays, and so do the sessions of its pattern."""
    tags = book.sessions("use-pnpm", 3)
    names = {"record": text_id(tags[2]), "node": text_id(book.home.node), "pattern": "use-pnpm"}
    book.muted.add(names[what])
    items = book.memory().hot(REPO)
    if what == "record":  # another correction stands for it
        assert [(item.tag, item.sessions) for item in items] == [(tags[1], 3)]
    else:
        assert items == []
    assert book.standing("use-pnpm").sessions == 3
    assert book.tier(tags[2]) == "HOT"


def test_a_muted_pattern_is_hidden_under_every_name(book: Notebook) -> None:
    """Also if it was muted under a name that stands for it no more."""
    book.sessions("old", 2)
    book.sessions("young", 1, first=3)
    book.alias("old", "young")
    book.muted.add("young")
    assert book.hot() == []


def test_a_muted_pattern_is_not_listed(book: Notebook) -> None:
    """One of which only a part is muted is."""
    book.sessions("hidden", 1)
    tags = book.sessions("shown", 2)
    book.muted |= {"hidden", text_id(tags[0])}
    assert [standing.slug for standing in recent_patterns(book.memory(), None, 10)] == ["shown"]


def test_a_muted_record_is_nowhere(book: Notebook) -> None:
    """Not in WARM, not in the newest, not found."""
    tag = book.add("discoveries", text="405 on push", repo=REPO)
    kept = book.add("discoveries", text="405 on pull", repo=REPO)
    book.muted.add(text_id(tag))
    memory = book.memory()
    assert [note.tag for note in memory.warm(REPO)] == [kept]
    assert [note.tag for note in recent(memory, REPO, 10)] == [kept]
    assert [hit.note.tag for hit in search(memory, "405", SearchFilters(REPO), 10)] == [kept]


def test_the_newest_go_on_behind_what_is_muted(book: Notebook) -> None:
    """As many as were asked for."""
    first = book.add("discoveries", text="first", repo=REPO)
    for number in range(3):
        book.muted.add(text_id(book.add("discoveries", text=f"hidden {number}", repo=REPO)))
    assert [note.tag for note in recent(book.memory(), REPO, 1)] == [first]


# The newest, and how many


def test_the_newest_of_a_topic(book: Notebook) -> None:
    """By its topic or a tag, whatever the case, with edits."""
    book.add("discoveries", text="a", repo=REPO, topic="Git")
    book.add("discoveries", text="b", repo=REPO, tags=["git"])
    edited = book.add("discoveries", text="c", repo=REPO)
    book.add("discoveries", text="d", repo=REPO, topic="docker")
    book.set(edited, "topic", "git")
    assert [note.text for note in recent(book.memory(), None, 10, "git")] == ["c", "b", "a"]


def test_patterns_are_listed_hot_first_then_the_newest(book: Notebook) -> None:
    """Each once, under the name that stands for it, those of other repositories left out."""
    book.sessions("hot", 3)
    book.sessions("old", 1)
    book.sessions("new", 1)
    book.sessions("alias", 1)
    book.sessions("elsewhere", 1, OTHER)
    book.alias("alias", "old")
    memory = book.memory()
    assert [standing.slug for standing in recent_patterns(memory, REPO, 10)] == ["hot", "old", "new"]
    assert [standing.slug for standing in recent_patterns(memory, None, 2)] == ["hot", "elsewhere"]


def test_a_census_counts_records_by_tier(book: Notebook) -> None:
    """And says when there were more than it looked at."""
    book.sessions("use-pnpm", 3)
    book.sessions("over", 1)
    book.archive("over")
    for number in range(3):
        book.add("discoveries", text=f"thing {number}", repo=REPO)
    census = Census(book.memory(), REPO)
    assert (census.counts, census.is_whole) == ({"HOT": 3, "WARM": 3, "BANK": 0, "ARCHIVE": 1}, True)


# Records from anyone

ODD: list[Any] = [
    None,
    True,
    7,
    -1.5,
    2**63,
    "",
    "x" * 5000,
    "\u202e\x1b[31m\n",
    [],
    ["a", 1, None],
    {},
    {"a": {"b": []}},
    b"\xff",
]
FIELDS = (
    "text",
    "wrong",
    "right",
    "rule",
    "pattern",
    "sureness",
    "source",
    "repo",
    "agent",
    "session",
    "category",
    "severity",
    "confidence",
    "topic",
    "tags",
    "evidence",
    "minutes_lost",
    "old",
    "new",
    "reason",
)


def read_everything(book: Notebook) -> None:
    """Whatever reads records, over all of them."""
    memory = book.memory()
    for repo in (None, "", REPO):
        memory.hot(repo)
        for note in (*memory.warm(repo), *memory.bank(repo, 50), *recent(memory, repo, 100)):
            assert memory.tier_of(note) in ("HOT", "WARM", "BANK", "ARCHIVE")
            record_json.whole(memory, note)
            assert type(note.text) is str
            assert 0 <= note.confidence <= 1
        for standing in recent_patterns(memory, repo, 100):
            record_json.pattern(memory, standing)
        Census(memory, repo)
    for item in memory.hot(None):
        record_json.hot_item(memory, item)
    search(memory, "npm install thing x", SearchFilters(None), 50)
    covering(memory, "npm install thing", REPO)
    PatternConflicts(memory)
    made = session_context(memory, memory, repo=REPO, task="npm install")
    assert len(made.text) <= 8000


@pytest.mark.parametrize("log", ["discoveries", "corrections", "patterns", "supersessions"])
def test_a_record_with_any_field_of_any_type_breaks_nothing(book: Notebook, log: str) -> None:
    """Peers write what they want; whoever reads gets values of the right type, or none."""
    sound = {
        "text": "thing",
        "wrong": "npm",
        "right": "pnpm",
        "rule": "r",
        "pattern": "p",
        "repo": REPO,
        "old": "p",
        "new": "q",
    }
    book.sessions("p", 3)
    for field in FIELDS:
        for value in ODD:
            book.add(log, **sound | {field: value})
    book.add(log)
    read_everything(book)


@pytest.mark.parametrize("field", FIELDS)
def test_an_edit_to_any_type_breaks_nothing(book: Notebook, field: str) -> None:
    """A register is as free as a record."""
    for value in ODD:
        tags = [
            book.add("discoveries", text="thing", repo=REPO),
            book.correction("p", "codex:1"),
            book.add("patterns", rule="r", pattern="p", repo=REPO),
            book.add("supersessions", old="p", new="q", repo=REPO),
        ]
        for tag in tags:
            book.set(tag, field, value)
    read_everything(book)


@pytest.mark.parametrize("field", ["alias_of", "archived", "global", "rule", "topic"])
def test_a_register_of_a_pattern_of_any_type_breaks_nothing(book: Notebook, field: str) -> None:
    """Each in a pattern of its own, all of them HOT."""
    for number, value in enumerate(ODD):
        book.sessions(f"p-{number}", 3)
        book.set(f"pattern:p-{number}", field, value)
    read_everything(book)
    assert book.hot(None) != []


def test_settings_of_any_type_break_nothing(book: Notebook) -> None:
    """They count as not set."""
    for value in ODD:
        book.set("settings", "hot_at", value)
        book.set("settings", "category:odd", value)
        book.set("settings", f"category:{str(value)[:300]}", True)
        read_everything(book)
    assert book.memory().settings.hot_at == 3


def test_a_context_says_what_one_session_said_ten_times_once(book: Notebook) -> None:
    """Records that say the same would take the room of others."""
    for number in range(10):
        book.add(
            "corrections",
            wrong="no build",
            right="compose up --build",
            pattern="p",
            repo=REPO,
            session=f"s:{number % 2}",
        )
    memory = book.memory()
    assert len(memory.warm(REPO)) == 10
    assert session_context(memory, None, repo=REPO, min_confidence=0).text.count("compose up --build") == 1
