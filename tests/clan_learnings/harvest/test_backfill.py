"""Records of sessions long past: they stand among those of their time, and make nothing HOT by themselves."""

from pathlib import Path
from typing import Any

from clan_learnings.records.recent_records import recent
from clan_learnings.records.record import CURATED, HARVESTED
from mesh.core.draft import NewRecord
from tests.clan_learnings.records.notebooks import DAY_MS, REPO, Notebook


def harvested(book: Notebook, log: str, days_ago: float, **record: Any) -> bytes:
    """A record as the harvester writes it: stamped with its session's time."""
    said = {"repo": REPO, HARVESTED: book.now_ms} | record
    return book.write(NewRecord(log, said, book.now_ms - int(days_ago * DAY_MS)))


def occurrence(book: Notebook, session: str, days_ago: float, **more: Any) -> bytes:
    """A harvested correction of one pattern."""
    said = {"wrong": "npm install", "right": "pnpm install", "pattern": "pnpm", "session": session}
    return harvested(book, "corrections", days_ago, **said | more)


def test_a_harvested_record_stands_among_those_of_its_time(tmp_path: Path) -> None:
    """What was learned months ago is not today's news, in lists as in WARM, however late it was written."""
    book = Notebook(tmp_path)
    live = [book.discover(f"the cache of builder{number} is kept in /var/b{number}") for number in range(25)]
    old = [harvested(book, "discoveries", 100 + number, text=f"lore of month {number}") for number in range(60)]
    memory = book.memory()
    assert [note.tag for note in recent(memory, REPO, 25)] == live[::-1]
    warm = {note.tag for note in memory.warm(REPO)}
    assert warm == set(live)
    assert {book.tier(tag) for tag in old[:3]} == {"BANK"}
    note = memory.note(old[0])
    assert note is not None
    assert note.at_ms < book.now_ms - 99 * DAY_MS


def test_a_time_in_the_future_is_the_time_of_writing(tmp_path: Path) -> None:
    """A transcript with a wrong clock cannot stamp what nobody would accept."""
    book = Notebook(tmp_path)
    tag = harvested(book, "discoveries", -400, text="from the future")
    note = book.memory().note(tag)
    assert note is not None
    assert note.at_ms == book.now_ms


def test_old_sessions_alone_make_nothing_hot(tmp_path: Path) -> None:
    """Four sessions of last year, perhaps harvested on two nodes that did not know of each other."""
    book = Notebook(tmp_path)
    for number in range(4):
        occurrence(book, f"codex:{number}", 200 + number)
    assert book.hot() == []
    assert book.standing("pnpm").sessions == 4
    occurrence(book, "codex:9", 89)
    assert book.hot() == ["pnpm"]


def test_one_that_was_written_at_once_makes_old_ones_count(tmp_path: Path) -> None:
    """A live correction is no harvest: with it, sessions of any age count; and it stays HOT when time passes."""
    book = Notebook(tmp_path)
    book.correction("pnpm", "codex:live")
    occurrence(book, "codex:1", 200)
    assert book.hot() == []
    occurrence(book, "codex:2", 300)
    assert book.hot() == ["pnpm"]
    book.wait(400)
    book.discover("time has passed here")
    assert book.hot() == ["pnpm"]


def test_what_became_hot_by_a_young_session_stays_hot(tmp_path: Path) -> None:
    """Being old news is decided by when a record was written, not by when one looks."""
    book = Notebook(tmp_path)
    for number, days in enumerate((200, 100, 10)):
        occurrence(book, f"codex:{number}", days)
    assert book.hot() == ["pnpm"]
    book.wait(300)
    book.discover("time has passed here")
    assert book.hot() == ["pnpm"]


def test_a_person_may_let_old_sessions_make_a_pattern_hot(tmp_path: Path) -> None:
    """Who accepts it by hand has decided."""
    book = Notebook(tmp_path)
    for number in range(3):
        occurrence(book, f"codex:{number}", 200, **({CURATED: True} if number == 2 else {}))
    assert book.hot() == ["pnpm"]


def test_the_rule_holds_for_joined_patterns(tmp_path: Path) -> None:
    """Patterns with several names are counted another way, and come to the same."""
    book = Notebook(tmp_path)
    for number in range(2):
        occurrence(book, f"codex:{number}", 200)
        occurrence(book, f"codex:{number + 5}", 200, pattern="use-pnpm")
    book.alias("use-pnpm", "pnpm")
    assert book.hot() == []
    occurrence(book, "codex:9", 5, pattern="use-pnpm")
    assert len(book.hot()) == 1


def test_sessions_before_an_archiving_do_not_bring_a_pattern_back(tmp_path: Path) -> None:
    """It is HOT again after three further sessions; what happened before it was archived is not further."""
    book = Notebook(tmp_path)
    book.sessions("pnpm", 3)
    book.wait(1)
    book.archive("pnpm")
    for number in range(3):
        occurrence(book, f"gemini:{number}", 30)
    assert book.hot() == []
    book.wait(1)
    for number in range(3):
        occurrence(book, f"gemini:later-{number}", 0.5)
    assert book.hot() == ["pnpm"]
