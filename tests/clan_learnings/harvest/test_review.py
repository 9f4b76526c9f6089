"""What a person decides about candidates, and what comes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.harvest.candidates import APPROVED, MERGED, PROVISIONAL, RECORDED, REJECTED
from clan_learnings.harvest.harvest import open_harvest
from clan_learnings.harvest.items import HarvestItem
from clan_learnings.harvest.review import CandidateReview
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from tests.clan_learnings.harvest.homes import API, Farm
from tests.clan_learnings.harvest.signals import correction, fact
from tests.end_to_end.claude_sessions import clone_of
from tests.end_to_end.commands import done, mesh


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A node that shares one repository."""
    made = Farm(tmp_path)
    made.share(API)
    return made


@pytest.fixture
def curator(farm: Farm) -> Iterator[CandidateReview]:
    """A person before two candidates that wait: a statement, and a rule that needs better words."""
    farm.session(
        "codex:1", fact(is_stated=True), correction("a change of setup.cfg", "lol, that belongs in pyproject.toml")
    )
    farm.harvest()
    with open_harvest(farm.home) as harvest:
        yield CandidateReview(harvest)


def waiting(curator: CandidateReview, kind: str) -> str:
    """The id of the one of a kind that waits."""
    (found,) = [each.id for each in curator.queue() if each.kind == kind]
    return found


def test_what_is_accepted_is_written_at_once(farm: Farm, curator: CandidateReview) -> None:
    """Whatever the bar says; and it says that a person let it in."""
    answer = curator.accept(waiting(curator, "fact"))
    assert answer["state"] == RECORDED
    assert [record["text"] for record in answer["recorded"]] == [fact().text]
    (record,) = farm.records("discoveries")
    assert record["curated"] is True
    assert [each.kind for each in curator.queue()] == ["correction"]


def test_what_is_accepted_in_a_repository_that_is_not_shared_waits_for_that(tmp_path: Path) -> None:
    """Curating is one decision, sharing another."""
    farm = Farm(tmp_path)
    farm.session("codex:1", fact(is_stated=True))
    farm.harvest()
    with open_harvest(farm.home) as harvest:
        answer = CandidateReview(harvest).accept(farm_only(harvest))
    assert (answer["state"], answer["waits_for"], answer["recorded"]) == (APPROVED, "share", [])
    farm.share(API)
    assert len(farm.harvest().written.records) == 1


def farm_only(harvest: object) -> str:
    """The id of the one candidate."""
    (found,) = harvest.shelf.every()  # type: ignore[attr-defined]
    return str(found.id)


def test_what_is_rejected_stays_rejected_and_says_why(farm: Farm, curator: CandidateReview) -> None:
    """Also when three more sessions say it; the reason has no secret in it."""
    secret = "ghp_" + "a1B2c3D4" * 5
    answer = curator.reject(waiting(curator, "fact"), f"only with {secret}")
    assert answer["state"] == REJECTED
    assert secret not in answer["why"]


def test_the_same_that_comes_again_is_rejected_again(farm: Farm) -> None:
    """Counted, and told as such."""
    farm.session("codex:1", fact(is_stated=True))
    farm.harvest()
    with open_harvest(farm.home) as harvest:
        CandidateReview(harvest).reject(farm_only(harvest), "")
    for number in range(3):
        farm.session(f"codex:again-{number}", fact(is_stated=True))
    summary = farm.harvest()
    assert summary.taken.again == 3
    assert (farm.only().state, farm.only().sessions, farm.records("discoveries")) == (REJECTED, 4, [])
    with open_harvest(farm.home) as harvest:
        assert CandidateReview(harvest).queue() == []
        CandidateReview(harvest).accept(farm_only(harvest))
    assert len(farm.records("discoveries")) == 1


def test_other_words_make_a_rule_of_what_was_talk(farm: Farm, curator: CandidateReview) -> None:
    """The record has the person's words, and the session's evidence."""
    name = waiting(curator, "correction")
    answer = curator.edit(name, text="Tool settings belong in pyproject.toml.", wrong="setup.cfg")
    assert answer["problems"] == []
    assert answer["state"] == APPROVED
    curator.auto()
    (record,) = farm.records()
    assert (record["wrong"], record["right"]) == ("setup.cfg", "Tool settings belong in pyproject.toml.")
    assert record["session"] == "codex:1"


def test_an_edited_candidate_keeps_its_words_when_more_sessions_come(farm: Farm, curator: CandidateReview) -> None:
    """And is found by what the sessions say as before."""
    name = waiting(curator, "fact")
    curator.edit(name, text="Clients of the staging database of billing have to speak TLS 1.3.")
    assert curator.get(name).text.startswith("Clients")


def test_two_that_are_one_are_merged(farm: Farm, curator: CandidateReview) -> None:
    """Signals go over, the other stands for both; what comes later goes there too."""
    into, name = waiting(curator, "fact"), waiting(curator, "correction")
    answer = curator.merge(name, into)
    assert answer["id"] == into
    assert answer["sessions"] == 1
    assert curator.get(name).state == MERGED
    assert [each.id for each in curator.queue()] == [into]
    with pytest.raises(UsageError, match="merged into"):
        curator.accept(name)


def test_decisions_that_cannot_be_say_what_can(farm: Farm, curator: CandidateReview) -> None:
    """Each with its next step."""
    name = waiting(curator, "fact")
    with pytest.raises(UsageError, match="itself"):
        curator.merge(name, name)
    with pytest.raises(UsageError, match="nothing to change"):
        curator.edit(name)
    with pytest.raises(UnknownId, match="no candidate"):
        curator.accept("zzzzzzzz")
    with pytest.raises((UnknownId, AmbiguousId)):
        curator.accept("")
    curator.accept(name)
    with pytest.raises(UsageError, match="a record already"):
        curator.reject(name, "")
    with pytest.raises(UsageError, match="a record already"):
        curator.edit(name, text="x y z")


def test_what_was_held_back_from_being_hot_is_a_persons_to_let_go(farm: Farm) -> None:
    """Old sessions alone: accepted by hand, they make it HOT."""
    for number in range(4):
        farm.session(f"codex:{number}", correction(), days_ago=200 + number)
    farm.harvest()
    assert farm.hot() == []
    with open_harvest(farm.home) as harvest:
        curator = CandidateReview(harvest)
        (held,) = curator.queue()
        assert held.waits_for == "hot"
        answer = curator.accept(held.id)
        assert len(answer["recorded"]) == 2
        assert curator.queue() == []
    assert len(farm.hot()) == 1


def test_about_the_same_is_shown_for_choosing(farm: Farm) -> None:
    """Those that were answered are no choice."""
    farm.session("codex:1", fact("The staging database of billing is encrypted by the vault.", is_stated=True))
    farm.session("codex:2", fact("The staging database of billing is restored by the vault on Monday.", is_stated=True))
    farm.harvest()
    with open_harvest(farm.home) as harvest:
        curator = CandidateReview(harvest)
        one, other = curator.queue()
        assert [each.id for each in curator.linked(one)] == [other.id]
        assert one.state == PROVISIONAL
        curator.reject(other.id, "")
        assert curator.linked(curator.get(one.id)) == []


def local_rule() -> HarvestItem:
    """A rule of one project."""
    return correction("npm install", "use pnpm install in this project", text="Use pnpm install in this project.")


def test_a_rule_of_an_unknown_project_waits_whatever_is_shared(tmp_path: Path) -> None:
    """Three sessions say it, everything is shared, and still it holds nowhere else; a person says where."""
    farm = Farm(tmp_path)
    farm.share("*")
    for number in range(3):
        farm.session(f"codex:{number}", local_rule(), repo="")
    assert farm.harvest().waiting["person"] == 1
    assert (farm.records(), farm.hot()) == ([], [])
    with open_harvest(farm.home) as harvest:
        answer = CandidateReview(harvest).accept(farm_only(harvest), "github.com/acme/web")
    assert answer["state"] == RECORDED
    assert {record["repo"] for record in farm.records()} == {"github.com/acme/web"}


def test_beside_sessions_with_a_repository_those_without_wait(tmp_path: Path) -> None:
    """The rule is recorded where it is known to hold."""
    farm = Farm(tmp_path)
    farm.share("*")
    farm.session("codex:1", local_rule())
    farm.session("codex:2", local_rule(), repo="")
    assert farm.harvest().waiting["place"] == 1
    assert [record["repo"] for record in farm.records()] == [API]
    with open_harvest(farm.home) as harvest:
        curator = CandidateReview(harvest)
        assert [each.waits_for for each in curator.queue()] == ["place"]
        curator.accept(farm_only(harvest))
        with pytest.raises(UsageError, match="is known"):
            curator.accept(farm_only(harvest), API)
    assert {record.get("repo", "") for record in farm.records()} == {API, ""}
    assert farm.harvest().waiting["place"] == 0


def test_a_fact_of_this_project_is_not_made_global_by_two_repositories(tmp_path: Path) -> None:
    """Each has its own project in mind."""
    farm = Farm(tmp_path)
    farm.share("*")
    said = fact("The tests of billing in this project need postgres 16.")
    farm.session("codex:1", said)
    farm.session("codex:2", said, repo="github.com/acme/web")
    farm.harvest()
    assert [record["repo"] for record in farm.records("discoveries")] == [API]


def listed(farm: Farm, *options: str) -> str:
    """What `mesh curate --list` prints."""
    return done(farm.home, "curate", "--list", *options)


def test_the_list_says_why_what_is_held_back_waits(tmp_path: Path) -> None:
    """Sessions that are all long past make nothing HOT; what is recorded of it is named."""
    farm = Farm(tmp_path)
    farm.share(API)
    for number in range(3):
        farm.session(f"codex:{number}", correction(), days_ago=200 + number)
    assert farm.harvest().written.held_hot == 1
    shown = listed(farm)
    assert "recorded as" in shown
    assert "the rest waits: with it the pattern would be HOT" in shown
    assert "all of them older than 90 days" in shown


def test_the_list_says_that_the_limit_of_a_run_was_reached(tmp_path: Path) -> None:
    """And with which setting it is raised."""
    farm = Farm(tmp_path)
    farm.share(API)
    done(farm.home, "settings", "hot-a-run", "0")
    for number in range(3):
        farm.session(f"codex:{number}", correction())
    farm.harvest()
    assert "mesh settings hot-a-run" in listed(farm)


def test_what_was_erased_has_one_line_and_no_empty_numbers(farm: Farm) -> None:
    """Nothing of it is kept to be told."""
    farm.session("codex:1", correction())
    farm.harvest()
    with open_harvest(farm.home) as harvest:
        (kept,) = harvest.shelf.every()
        with harvest.shelf.writing():
            harvest.shelf.put(kept.wiped("erased"), [])
    (line,) = listed(farm, "--all").splitlines()
    assert line.startswith(kept.id)
    assert line.endswith("erased: nothing of it is kept")


@pytest.mark.parametrize("text", ["share = false\n", "share = maybe\n"])
def test_who_accepts_where_the_repository_forbids_sharing_is_told_so(tmp_path: Path, text: str) -> None:
    """`mesh share` alone would not help. A file that cannot be understood is not quoted as if it could."""
    farm = Farm(tmp_path)
    folder = clone_of(API, tmp_path / "clone")
    (folder / ".clan-mesh.toml").write_text(text, encoding="utf-8")
    farm.share("*")
    farm.session("codex:1", fact(is_stated=True), folder=str(folder))
    farm.harvest()
    (kept,) = farm.candidates()
    said = done(farm.home, "curate", "--accept", kept.id)
    assert "its repository forbids sharing in .clan-mesh.toml (share = false, or not understood)" in said
    assert "next: change that line there" in said
    assert "its repository forbids sharing in .clan-mesh.toml" in farm.only().because
    assert "the repository forbids sharing in .clan-mesh.toml" in done(farm.home, "harvest", str(folder))


def test_what_is_taken_out_of_a_persons_words_is_said(farm: Farm) -> None:
    """As of every other command that writes; the words themselves are not repeated."""
    farm.session("codex:1", fact(is_stated=True))
    farm.harvest()
    (kept,) = farm.candidates()
    secret = "AKIA" + "IOSFODNN7EXAMPLA"
    for words in (
        ["--edit", kept.id, "--text", f"The deploy of billing needs the key {secret} of the vault."],
        ["--reject", kept.id, "--reason", f"<private>HIDDEN</private> has {secret} in it"],
    ):
        finished = mesh(farm.home, "curate", *words)
        assert "taken out before it was written: 1 aws key" in finished.stderr
        assert secret not in finished.stdout + finished.stderr
    assert "1 private passage" in finished.stderr
    assert farm.only().why == "has [redacted: aws key] in it"
