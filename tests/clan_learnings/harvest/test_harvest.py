"""From digests to records, on one home: what is kept, what is written where, and what is counted once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clan_learnings.harvest import intake
from clan_learnings.harvest.candidates import APPROVED, NOTICED, PROVISIONAL, RECORDED, HarvestCandidate
from clan_learnings.harvest.harvest import Harvest, harvest_new, open_harvest
from clan_learnings.harvest.intake import IntakeCounts
from clan_learnings.harvest.record_writer import WriteCounts
from clan_learnings.harvest.withdrawals import WithdrawalMarks
from clan_learnings.records.record import CORRECTIONS, HARVESTED
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.app.application import Application
from mesh.app.snapshot import memory_of
from mesh.store.author import Author
from mesh.store.erase_requests import erase
from mesh.store.home import open_home
from mesh.store.reader import Reader
from tests.clan_learnings.harvest.homes import API, DAY_MS, WEB, Farm
from tests.clan_learnings.harvest.signals import correction, fact
from tests.end_to_end.claude_sessions import clone_of
from tests.end_to_end.commands import asked
from tests.interrupting import interrupted_author


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A node that shares nothing."""
    return Farm(tmp_path)


def test_nothing_leaves_the_node_before_its_repository_is_shared(farm: Farm) -> None:
    """Approved, kept, counted, and told how many wait for it and where."""
    farm.session("codex:1", correction())
    summary = farm.harvest()
    assert farm.records() == []
    assert farm.only().state == APPROVED
    assert (summary.waiting["share"], summary.share) == (1, {API: 1})
    farm.share("github.com/other/*")
    assert farm.harvest().written.records == []
    farm.share("github.com/acme/*")
    summary = farm.harvest()
    assert [record["kind"] for record in summary.written.records] == ["correction"]
    assert summary.waiting["share"] == 0
    assert farm.only().state == RECORDED


def test_a_record_says_where_it_comes_from_and_when_it_happened(farm: Farm) -> None:
    """Kind, evidence, confidence, source, category, agent, session; its stamp is its session's."""
    farm.share(API)
    farm.session("claude-code:abc", correction(line=12, fix_line=15), days_ago=40)
    farm.harvest()
    (record,) = farm.records()
    assert record["kind"] == "correction"
    assert record["evidence"] == "session claude-code:abc, line 12, put right in line 15"
    assert (record["source"], record["agent"], record["session"]) == ("human", "claude-code", "claude-code:abc")
    assert (record["wrong"], record["right"], record["repo"]) == ("npm install", "pnpm install", API)
    assert record["confidence"] == 0.9
    assert record[HARVESTED] >= farm.now_ms
    with memory_of(farm.home) as memory:
        (entry,) = memory.reader.tail(5, "corrections")
        assert entry.at >> 16 == farm.now_ms - 40 * DAY_MS


def test_facts_are_discoveries_said_once_whoever_says_them_again(farm: Farm) -> None:
    """Of two sessions in two repositories one record, which holds everywhere."""
    farm.share("*")
    farm.session("codex:1", fact())
    assert farm.harvest().written.records == []
    assert farm.only().state == NOTICED
    farm.session("gemini:1", fact(), repo=WEB)
    farm.harvest()
    (record,) = farm.records("discoveries")
    assert (record["text"], record["repo"], record["kind"]) == (fact().text, "", "fact")
    farm.session("codex:3", fact())
    farm.harvest()
    assert len(farm.records("discoveries")) == 1


def test_a_run_without_anything_new_changes_nothing(farm: Farm) -> None:
    """Incremental: the second reads no digest again."""
    farm.share(API)
    farm.session("codex:1", correction())
    farm.harvest()
    before = farm.records()
    again = farm.harvest()
    assert (again.taken.sessions, again.written.records) == (0, [])
    assert farm.records() == before


def test_the_same_session_in_two_files_and_twice_counts_once(farm: Farm) -> None:
    """A copy, a resumed file that has the beginning again, the same file that grew."""
    farm.share(API)
    path = farm.session("codex:1", correction())
    farm.session("codex:1", correction(line=90), key="codex:1#2")
    farm.harvest()
    farm.session("codex:1", correction(), fact(), path=path)
    farm.harvest()
    (record,) = farm.records()
    assert farm.sessions_of(record["pattern"]) == 1
    assert {candidate.sessions for candidate in farm.candidates()} == {1}


def test_two_nodes_that_harvest_one_transcript_count_it_once(tmp_path: Path) -> None:
    """The same pattern by the same words, and the same session: one occurrence after they have met."""
    one, other = Farm(tmp_path / "a", "one"), Farm(tmp_path / "b", "other")
    for farm in (one, other):
        farm.share(API)
        farm.session("codex:1", correction())
        farm.harvest()
    (mine,), (its,) = one.records(), other.records()
    assert (mine["pattern"], mine["session"]) == (its["pattern"], its["session"])


@pytest.mark.parametrize("right", ["pnpm install", "pnpm install, for the lockfile of this monorepo"])
def test_what_the_agent_logged_live_is_not_counted_again(farm: Farm, right: str) -> None:
    """Also if the harvester found other words for it: the same session, about the same thing."""
    farm.share(API)
    told = Application(farm.home, {}, "/", session="codex:1").correct("npm install", right, repo=API)
    farm.session("codex:1", correction())
    summary = farm.harvest()
    assert summary.written.known == 1
    assert len(farm.records()) == 1
    assert farm.sessions_of(told["pattern"]) == 1
    farm.session("codex:2", correction())
    farm.harvest()
    assert farm.sessions_of(told["pattern"]) == 2


def test_provisional_ones_wait_for_a_person_and_are_no_records(farm: Farm) -> None:
    """Kept, not shared, however shared their repository is."""
    farm.share("*")
    farm.session("codex:1", fact(is_stated=True))
    summary = farm.harvest()
    assert farm.only().state == PROVISIONAL
    assert summary.waiting["person"] == 1
    assert farm.records("discoveries") == []


def test_a_secret_keeps_it_here_and_is_not_kept_itself(farm: Farm) -> None:
    """Neither in the candidate nor in a record."""
    farm.share("*")
    secret = "ghp_" + "a1B2c3D4" * 5
    farm.session("codex:1", correction(right=f"export TOKEN={secret}", text=f"Use {secret} for pushes."))
    farm.harvest()
    found = farm.only()
    assert found.state == PROVISIONAL
    assert found.is_redacted
    assert farm.records() == []
    assert not [path for path in Path(farm.home).rglob("*") if path.is_file() and b"ghp_a1B2" in path.read_bytes()
                and path.name.startswith("candidates")]  # fmt: skip


def test_a_repository_that_says_no_is_not_shared_whatever_the_globs_say(farm: Farm, tmp_path: Path) -> None:
    """`share = false` at its root stands above `mesh share`."""
    folder = clone_of(API, tmp_path / "clone")
    (folder / ".clan-mesh.toml").write_text("share = false\n", encoding="utf-8")
    farm.share("*")
    farm.session("codex:1", correction(), folder=str(folder))
    summary = farm.harvest()
    assert farm.records() == []
    assert (summary.waiting["unshared"], summary.waiting["share"]) == (1, 0)
    (folder / ".clan-mesh.toml").unlink()
    farm.harvest()
    assert len(farm.records()) == 1


def test_the_repository_is_found_by_its_folder_where_the_transcript_does_not_tell(farm: Farm, tmp_path: Path) -> None:
    """As for live records: by the remote of the clone that the session worked in."""
    farm.session("codex:1", correction(), repo="", folder=str(clone_of(WEB, tmp_path / "clone")))
    farm.harvest()
    assert farm.only().repos == [WEB]


FAILURE = {
    "line": 9,
    "command": "make deploy",
    "error": "ssh: connect to host bastion port 22: Connection refused",
    "signature": "ssh connect to host port connection refused",
    "tool": "Bash",
    "fix_line": None,
    "fix": "",
}


def test_an_error_that_recurs_in_another_session_is_a_candidate(farm: Farm) -> None:
    """One alone is no signal at all; what a rule has made an item of is not told twice."""
    farm.session("codex:1", failures=[FAILURE])
    farm.harvest()
    assert farm.candidates() == []
    farm.session("claude-code:2", failures=[FAILURE | {"line": 30}])
    farm.harvest()
    found = farm.only()
    assert (found.kind, found.sessions, found.state) == ("pitfall", 2, PROVISIONAL)
    assert found.is_cross_flavour
    assert found.text == "`make deploy` fails with “ssh: connect to host bastion port 22: Connection refused”"
    assert [signal.item.line for signal in found.signals] == [30, 9]
    known = fact("ssh to the bastion host needs the VPN.", kind="pitfall", signature=FAILURE["signature"])
    farm.session("codex:3", known, failures=[FAILURE])
    farm.harvest()
    assert farm.only().sessions == 3


def test_what_a_grown_file_does_not_say_any_more_is_no_signal(farm: Farm) -> None:
    """Read again, judged again; what nobody speaks for is gone."""
    path = farm.session("codex:1", correction(), fact())
    farm.harvest()
    assert len(farm.candidates()) == 2
    farm.session("codex:1", correction(), path=path)
    farm.harvest()
    assert farm.only().kind == "correction"


@pytest.mark.parametrize("odd", ["chat:", "codex:a b c", "codex:" + "x" * 250], ids=["none", "blanks", "long"])
def test_a_session_that_no_record_could_name_gets_a_name(farm: Farm, odd: str) -> None:
    """One for every copy of it: so it counts once."""
    farm.share("*")
    farm.session(odd, correction(), key="k1")
    farm.harvest()
    farm.session(odd, correction(), key="k1" if odd == "chat:" else "k2")
    farm.harvest()
    (record,) = farm.records()
    assert record["session"].startswith(odd.partition(":")[0] + ":id-")
    assert farm.only().sessions == 1


def test_what_is_forgotten_is_gone_from_the_candidates_too(farm: Farm) -> None:
    """Every byte of it."""
    farm.session("codex:1", fact("The zanzibar service needs a token."))
    farm.session("codex:2", correction())
    farm.harvest()
    with Catalogue(farm.home) as catalogue:
        catalogue.forget("codex:1")
    assert farm.harvest().taken.forgotten == 1
    assert farm.only().kind == "correction"
    held = [path.name for path in Path(farm.home).rglob("*") if path.is_file() and b"zanzibar" in path.read_bytes()]
    assert held == []


def test_what_is_erased_is_gone_from_the_candidates_too(farm: Farm) -> None:
    """Its words, in every byte; and the same that comes again is not recorded again."""
    farm.share(API)
    said = fact("The zanzibar service needs a token.")
    for number in (1, 2):
        farm.session(f"codex:{number}", said)
    (record,) = farm.harvest().written.records
    told = asked(farm.home, "erase", record["id"], "--reason", "leaked")
    assert told["sessions"] == ["codex:1", "codex:2"]
    assert not [path for path in (Path(farm.home) / "capture").glob("candidates*") if b"zanzibar" in path.read_bytes()]
    farm.session("codex:3", said)
    farm.harvest()
    assert farm.records("discoveries") == []
    assert farm.only().state == "rejected"


def test_harvested_occurrences_make_a_pattern_hot_if_one_is_young(farm: Farm) -> None:
    """Three sessions, one of last week."""
    farm.share(API)
    for number, days in enumerate((300, 200, 7)):
        farm.session(f"codex:{number}", correction(), days_ago=days)
    summary = farm.harvest()
    assert len(summary.written.hot) == 1
    assert farm.hot() == list(summary.written.hot)


def test_old_sessions_alone_wait_for_a_person(farm: Farm) -> None:
    """Two are written, the one that would make it HOT is held back."""
    farm.share(API)
    for number in range(4):
        farm.session(f"codex:{number}", correction(), days_ago=200 + number)
    summary = farm.harvest()
    assert len(farm.records()) == 2
    assert summary.waiting["hot"] == 1
    assert farm.hot() == []
    assert farm.harvest().written.records == []


def test_at_most_so_many_patterns_become_hot_in_one_run(farm: Farm) -> None:
    """The best founded ten; the rest waits, also after the next run."""
    farm.share(API)
    for topic in range(12):
        for number in range(3):
            farm.session(f"codex:{topic}-{number}", correction(f"srv{topic} start", f"srv{topic} launch"), days_ago=3)
    summary = farm.harvest()
    assert len(farm.hot()) == 10
    assert summary.waiting["hot"] == 2
    farm.harvest()
    assert len(farm.hot()) == 10


def test_a_pattern_that_is_logged_live_is_no_matter_of_that_limit(farm: Farm) -> None:
    """Sessions of any age count beside one that was written at once."""
    farm.share(API)
    Application(farm.home, {}, "/", session="codex:live").correct("npm install", "pnpm install", repo=API)
    for number in range(2):
        farm.session(f"codex:{number}", correction(), days_ago=300)
    assert farm.harvest().waiting["hot"] == 0
    assert len(farm.hot()) == 1


def test_a_run_that_is_ended_in_the_middle_goes_on_where_its_last_page_ended(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the page is kept, in the file or in memory, and the next run comes to the same as one that was never ended."""
    monkeypatch.setattr(intake, "_PAGE", 3)
    for number in range(8):
        farm.session(
            f"codex:{number}", correction(), fact(f"Port {8000 + number % 2} is taken by the proxy of make dev")
        )
    with open_harvest(farm.home) as harvest, Catalogue(farm.home) as catalogue:
        breaths: list[None] = []

        def breathe() -> None:
            breaths.append(None)
            if len(breaths) > 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            harvest.intake.run(catalogue, breathe=breathe)
        assert {each.sessions for each in harvest.shelf.every()} == {3, 2, 1}
        assert harvest.intake.run(catalogue).sessions == 5
        assert {each.sessions for each in harvest.shelf.every()} == {8, 4}
    assert {each.sessions for each in farm.candidates()} == {8, 4}


def test_the_sidecar_harvests_the_same_way(farm: Farm) -> None:
    """One function, no arguments but the home."""
    farm.share(API)
    farm.session("codex:1", correction())
    farm.session("codex:2", fact(is_stated=True))
    summary = harvest_new(farm.home)
    assert (summary.taken.sessions, len(summary.written.records), summary.waiting["person"]) == (2, 1, 1)


def test_a_kill_between_the_record_and_its_note_writes_nothing_twice(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run finds the record, for corrections as for discoveries."""
    farm.share(API)
    farm.session("codex:1", correction(), fact())
    farm.session("codex:2", fact())

    class Killed(BaseException):
        """Nothing after the append was done."""

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("clan_learnings.harvest.record_writer._recorded", die)
        for _ in range(2):
            with pytest.raises(Killed):
                farm.harvest()
    summary = farm.harvest()
    assert summary.written.known >= 1
    assert (len(farm.records()), len(farm.records("discoveries"))) == (1, 1)


def test_the_record_of_what_a_model_said_is_an_agents_and_no_surer_than_that(tmp_path: Path) -> None:
    """Also when another session's signal lets the candidate go."""
    farm = Farm(tmp_path)
    farm.share(API)
    farm.session("codex:1", correction("npm ci", "never use npm ci, use pnpm"))
    farm.session("codex:2")
    claim = correction("npm ci", "never use npm ci, use pnpm", confidence=0.6, source="agent")
    with open_harvest(farm.home) as harvest, Catalogue(farm.home) as catalogue:
        harvest.intake.run(catalogue, more=lambda found: [claim] if found.session == "codex:2" else [])
        harvest.writer().run()
    said = {record["session"]: (record["source"], record["confidence"]) for record in farm.records()}
    assert said == {"codex:1": ("human", 0.9), "codex:2": ("agent", 0.6)}


STEPS: dict[str, Callable[[Harvest, HarvestCandidate], object]] = {
    "written": lambda harvest, _: harvest.run(),
    "summed up": lambda harvest, _: harvest.summary(IntakeCounts(), WriteCounts([]), [], [], []),
    "taken back": lambda harvest, found: WithdrawalMarks(harvest._author).holds(found.signals[0], found),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_record_that_is_erased_while_others_are_harvested_is_only_not_there(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    farm.share(API)
    farm.session("codex:0", correction())
    farm.harvest()
    found, home = farm.only(), open_home(farm.home)

    def erased() -> None:
        author = home.author()
        (newest,) = Reader(author.store.database.connection).newest(CORRECTIONS, 1)
        erase(home, author, {newest.tag: newest.node}, "test")
        author.store.close()

    def harvested(number: int, due: str) -> list[str]:
        for session in range(3):  # so that it is HOT
            Application(farm.home, {}, "/").correct(
                "npm install", "pnpm install", repo=API, session=f"{number}:{session}"
            )
        farm.session(f"codex:{number}", correction())
        with open_harvest(farm.home) as harvest:
            author = harvest._author
            assert isinstance(author, Author)
            asked = interrupted_author(author, due, erased)
            STEPS[step](harvest, found)
        return asked

    questions = harvested(1, "")
    assert len(questions) > 1
    reached = [due in harvested(number, due) for number, due in enumerate(questions, 2)]
    assert reached.count(True) > 1
