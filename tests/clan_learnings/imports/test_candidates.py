"""What was imported waits for a person, and proves nothing."""

from pathlib import Path

from clan_learnings.harvest.candidates import PROVISIONAL, RECORDED
from clan_learnings.harvest.harvest import open_harvest
from clan_learnings.harvest.intake import IntakeCounts
from clan_learnings.harvest.review import CandidateReview
from clan_learnings.imports.candidates import Adoption
from clan_learnings.imports.finding import CLAUDE_MD
from clan_learnings.imports.markdown_notes import read_rules
from tests.clan_learnings.harvest.homes import API, Farm
from tests.clan_learnings.harvest.signals import fact

RULE = fact().text
SECRET = "ghp_" + "a1B2c3D4" * 5


def adopted(farm: Farm, *lines: str, repo: str = API) -> IntakeCounts:
    """Import a file that says this."""
    (farm.folder / "CLAUDE.md").write_text("".join(f"- {line}\n" for line in lines))
    with open_harvest(farm.home) as harvest:
        return Adoption(CLAUDE_MD, {}, repo).into(harvest, read_rules(str(farm.folder)))[0]


def test_what_was_imported_waits_for_a_person(tmp_path: Path) -> None:
    """In a repository that is shared, and after any number of harvests."""
    farm = Farm(tmp_path)
    farm.share("*")
    assert adopted(farm, RULE).founded == 1
    for _ in range(2):
        assert farm.harvest().written.records == []
    assert (farm.only().state, farm.only().repos, farm.only().sessions) == (PROVISIONAL, [API], 0)
    with open_harvest(farm.home) as harvest:
        assert [each.id for each in CandidateReview(harvest).queue()] == [farm_id(harvest)]


def farm_id(harvest: object) -> str:
    (found,) = harvest.shelf.every()  # type: ignore[attr-defined]
    return str(found.id)


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    adopted(farm, RULE, "the gateway listens on port 8443 everywhere")
    before = farm.candidates()
    again = adopted(farm, RULE, "the gateway listens on port 8443 everywhere")
    assert (again.founded, again.joined) == (0, 0)
    assert farm.candidates() == before


def test_what_is_accepted_says_where_it_comes_from(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.share(API)
    adopted(farm, RULE)
    with open_harvest(farm.home) as harvest:
        assert CandidateReview(harvest).accept(farm_id(harvest))["state"] == RECORDED
    (record,) = farm.records("discoveries")
    assert (record["text"], record["evidence"]) == (RULE, "imported from CLAUDE.md, line 1")
    assert adopted(farm, RULE).founded == 0


def test_an_import_lifts_nothing_over_the_bar(tmp_path: Path) -> None:
    """One session is not enough to share a fact, and stays one however many files say the same."""
    farm = Farm(tmp_path)
    farm.share("*")
    farm.session("codex:1", fact())
    adopted(farm, RULE.lower())
    assert farm.harvest().written.records == []
    assert (farm.only().sessions, farm.only().state) == (1, PROVISIONAL)
    farm.session("codex:2", fact())
    (record,) = farm.harvest().written.records
    assert (
        record["text"] == RULE
    )  # in the words of a session, which passed the bar, not of a file that nobody has looked at
    assert farm.only().state == RECORDED


def test_no_secret_is_kept(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    adopted(farm, f"the staging key is {SECRET} for all uploads", "<private>what nobody should know here</private>")
    assert SECRET not in str(farm.only())
    assert "redacted" in farm.only().text
    assert not any(SECRET.encode() in path.read_bytes() for path in Path(farm.home).rglob("*") if path.is_file())


def test_what_was_rejected_is_not_brought_back(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    adopted(farm, RULE)
    with open_harvest(farm.home) as harvest:
        CandidateReview(harvest).reject(farm_id(harvest), "not true any more")
    adopted(farm, RULE)
    with open_harvest(farm.home) as harvest:
        assert CandidateReview(harvest).queue() == []
