"""What was erased or retracted as a record does not come back by harvesting: not after a deletion, not on another node, not by growth."""

import shutil
from pathlib import Path

import pytest

from clan_learnings.harvest.items import HarvestItem
from clan_learnings.harvest.withdrawals import KEY, key_of
from mesh.app.snapshot import memory_of
from mesh.store.home import open_home
from tests.clan_learnings.harvest.homes import API, WEB, Farm
from tests.clan_learnings.harvest.signals import correction, fact, signal
from tests.end_to_end.commands import asked, done

SAID = correction("zanzibar install", "pnpm install")


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A node that shares one repository."""
    made = Farm(tmp_path)
    made.share(API)
    return made


def has_words(farm: Farm, word: bytes = b"zanzibar") -> list[str]:
    """The files of the candidates that hold a word."""
    return [path.name for path in (Path(farm.home) / "capture").glob("candidates*") if word in path.read_bytes()]


def take_back(farm: Farm, how: str) -> None:
    """The only record that was harvested."""
    (record,) = farm.harvest().written.records
    done(Path(farm.home), how, record["id"], "--reason", "leaked")


@pytest.mark.parametrize("how", ["erase", "retract"])
@pytest.mark.parametrize(
    "items", [[SAID], [fact("The zanzibar service needs a token.", is_stated=True, source="human")]]
)
def test_it_is_not_recorded_again_after_the_captured_sessions_were_deleted(
    farm: Farm, how: str, items: list[HarvestItem]
) -> None:
    """The mark is in the feed, not in the folder; no word of it is among the candidates then."""
    sessions = ["codex:1"] if items == [SAID] else ["codex:1", "codex:2"]
    for session in sessions:
        farm.session(session, *items)
    take_back(farm, how)
    shutil.rmtree(Path(farm.home) / "capture")
    for session in sessions:
        farm.session(session, *items)
    again = farm.harvest()
    assert (again.written.records, again.taken.taken_back) == ([], len(sessions))
    assert (farm.records(), farm.records("discoveries")) == ([], [])
    assert has_words(farm) == []


def member(farm: Farm, name: str) -> Farm:
    """Another node of the same mesh."""
    made = Farm(farm.folder, name)
    shutil.rmtree(made.home)
    done(Path(made.home), "init", "--name", name, "--mesh", asked(farm.home, "status")["mesh"])
    done(Path(farm.home), "admit", asked(made.home, "status")["node"])
    return made


def tell(farm: Farm, *others: Farm) -> None:
    """What a node knows comes to others, which share from then on."""
    bundle = farm.folder / "bundle"
    done(Path(farm.home), "export", str(bundle))
    for other in others:
        done(Path(other.home), "import", str(bundle))
        other.share(API)


@pytest.mark.parametrize("how", ["erase", "retract"])
def test_another_node_that_has_the_same_transcript_does_not_record_it_again(farm: Farm, how: str) -> None:
    """Neither if it harvests afterwards, nor if it had harvested before and shares afterwards."""
    farm.session("codex:1", SAID)
    before, after = member(farm, "before"), member(farm, "after")
    before.session("codex:1", SAID)
    before.harvest()
    take_back(farm, how)
    tell(farm, before, after)
    after.session("codex:1", SAID)
    for other in (before, after):
        assert other.harvest().written.records == []
        assert other.records() == []
        assert has_words(other) == []
    assert before.only().state == "rejected"
    assert after.candidates() == []


def test_who_accepts_what_was_taken_back_elsewhere_is_told_so(farm: Farm) -> None:
    """It is not recorded again, and that is no matter of sharing."""
    farm.session("codex:1", SAID)
    other = member(farm, "other")
    other.session("codex:1", SAID)
    other.harvest()
    take_back(farm, "retract")
    tell(farm, other)
    name = other.only().id
    said = done(Path(other.home), "curate", "--accept", name)
    assert said.startswith(f"{name}  not accepted: taken back: its record was erased or retracted")
    assert "next: say it anew: mesh discover, mesh correct" in said
    assert other.records() == []


def test_erased_words_are_not_kept_again_when_the_transcript_grows(farm: Farm) -> None:
    """What it says besides is."""
    path = farm.session("codex:1", SAID)
    take_back(farm, "erase")
    farm.session("codex:1", SAID, correction("tabs", "spaces"), path=path)
    assert [record["text"] for record in farm.harvest().written.records] == ["Use spaces, not tabs."]
    assert has_words(farm) == []
    assert has_words(farm, b"spaces") != []


def test_what_is_still_a_record_is_found_again_after_the_captured_sessions_were_deleted(farm: Farm) -> None:
    """Of two sessions one was taken back: the other is known, and a third is one more."""
    farm.session("codex:1", SAID)
    take_back(farm, "retract")
    farm.session("codex:2", SAID)
    farm.harvest()
    shutil.rmtree(Path(farm.home) / "capture")
    for number in (1, 2, 3):
        farm.session(f"codex:{number}", SAID)
    again = farm.harvest()
    assert ([record["session"] for record in again.written.records], again.written.known) == (["codex:3"], 1)
    assert {record["session"] for record in farm.records()} == {"codex:2", "codex:3"}


def test_a_fact_that_several_sessions_said_is_marked_for_each(farm: Farm) -> None:
    """Whichever of their transcripts is read again."""
    said = fact("The zanzibar service needs a token.")
    for number in (1, 2):
        farm.session(f"codex:{number}", said)
    (record,) = farm.harvest().written.records
    farm.session("codex:3", said)
    farm.harvest()
    done(Path(farm.home), "erase", record["id"], "--reason", "leaked")
    shutil.rmtree(Path(farm.home) / "capture")
    for number in (2, 3):
        farm.session(f"codex:{number}", said)
    assert farm.harvest().taken.taken_back == 2
    assert farm.candidates() == []


def test_the_mark_is_a_hash_of_the_whole_the_session_and_the_mesh(farm: Farm) -> None:
    """Other words, another session, another mesh: another one. Blanks, case, line and repository do not matter."""
    mesh = b"m" * 32
    key = key_of(mesh, signal(SAID))
    assert key.startswith(KEY)
    assert key == key_of(mesh, signal(SAID._replace(text=SAID.text.upper() + " ", line=99), repo=WEB))
    others = [
        key_of(b"n" * 32, signal(SAID)),
        key_of(mesh, signal(SAID, session="codex:2")),
        key_of(mesh, signal(SAID._replace(right="yarn install"))),
    ]
    assert key not in others
    farm.session("codex:1", SAID)
    farm.harvest()
    with memory_of(farm.home) as memory:
        assert memory.reader.total(key_of(open_home(farm.home).mesh, signal(SAID))) == 1
