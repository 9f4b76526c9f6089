"""Who may change what, as people type it: settings, proposals in a guarded mesh, requests to erase."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import Shell, alpha, beta, carry
from tests.cli.test_trust_commands import admit, gamma, node

__all__ = ["alpha", "beta", "gamma"]  # fixtures

Clan = tuple[Shell, Shell, Shell]
Meet = Callable[[], None]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clan(alpha: Shell, beta: Shell, gamma: Shell) -> Clan:
    """An admin, who founded it, and two members."""
    admit(alpha, beta, gamma)
    return alpha, beta, gamma


@pytest.fixture
def meet(clan: Clan, tmp_path: Path) -> Meet:
    """Everybody hears of everything."""

    def carry_all() -> None:
        for source in clan:
            for target in clan:
                if source is not target:
                    carry(source, target, tmp_path)

    carry_all()
    return carry_all


@pytest.fixture
def guarded(clan: Clan, meet: Meet) -> Clan:
    clan[0]("settings", "moderation", "guarded")
    meet()
    return clan


def waiting(shell: Shell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("proposals")["proposals"]
    return found


def sorts(shell: Shell) -> list[str]:
    return [finding["sort"] for finding in shell.json("doctor", code=3)]


def is_live(shell: Shell, identity: str) -> bool:
    return bool(shell.json("why", identity)["state"] == "live")


# Settings


def test_a_member_that_is_no_admin_is_told_who_is(clan: Clan, meet: Meet) -> None:
    """And what to run; nothing is written. The founder is one, alone or not."""
    alpha, beta, _ = clan
    before, mine = beta.json("status")["counts"]["operations"], node(beta)
    for words in (["hot-at", "9"], ["category", "data-quality"], ["moderation", "guarded"], ["hot-a-run", "1"]):
        beta("settings", *words, code=1)
        assert f"alpha·{node(alpha)[:5]}" in beta.err
        assert f"mesh settings {' '.join(words)}" in beta.err
        assert f"mesh admin add {mine}" in beta.err
    assert beta.json("status")["counts"]["operations"] == before
    alpha("settings", "hot-at", "5")
    meet()
    assert beta.json("settings")["hot_at"] == 5


def test_a_later_setting_of_a_member_neither_counts_nor_hides_the_admins(clan: Clan, meet: Meet) -> None:
    """However it was written. The admin is told once what is passed over, until it says so again."""
    alpha, beta, gamma = clan
    alpha("settings", "hot-at", "4")
    meet()
    beta("op", "set", "settings", "hot_at", "9", "--key")
    beta("op", "set", "settings", "category:ours", "true", "--key")
    meet()
    for shell in (alpha, beta, gamma):
        answer = shell.json("settings")
        assert (answer["hot_at"], "ours" in answer["categories"]) == (4, False)
    told = [item for item in alpha.json("doctor", code=3) if item["sort"] == "setting without effect"]
    assert [("hot_at" in item["sentence"], item["next_step"]) for item in told] == [
        (False, "if it is to be so: mesh settings category ours; else leave it"),
        (True, "if it is to be so: mesh settings hot-at 9; if not: mesh settings hot-at 4"),
    ]
    assert "setting without effect" not in sorts(gamma)
    alpha("settings", "hot-at", "4")
    alpha("settings", "category", "ours")
    meet()
    assert "setting without effect" not in sorts(alpha)
    assert "ours" in gamma.json("settings")["categories"]


def test_a_revoked_admins_setting_makes_place_for_the_next_admins(clan: Clan, meet: Meet) -> None:
    """What it had set counts no more; naming another admin lets that one's count."""
    alpha, beta, gamma = clan
    alpha("settings", "hot-at", "4")
    alpha("admin", "add", "beta")
    meet()
    beta("settings", "hot-at", "7")
    meet()
    assert gamma.json("settings")["hot_at"] == 7
    alpha("revoke", "beta", "--reason", "lost")
    meet()
    assert [shell.json("settings")["hot_at"] for shell in (alpha, gamma)] == [4, 4]
    gamma("op", "set", "settings", "hot_at", "8", "--key")
    meet()
    assert alpha.json("settings")["hot_at"] == 4
    alpha("admin", "add", "gamma")
    meet()
    assert [shell.json("settings")["hot_at"] for shell in (alpha, gamma)] == [8, 8]
    assert alpha.json("verify")["problems"] == []


# Guarded


def test_in_an_open_mesh_one_word_is_enough(clan: Clan, meet: Meet) -> None:
    """As it always was, and nothing is a proposal."""
    alpha, beta, _ = clan
    record = alpha.json("discover", "red")["id"]
    meet()
    beta("retract", record, "--reason", "it is green")
    meet()
    assert alpha.json("why", record)["state"] == "removed"
    assert alpha.json("proposals") == {"moderation": "open", "proposals": [], "erase_requests": []}
    assert "open" in alpha("proposals") + alpha.err


def test_a_members_retraction_is_a_proposal_until_another_says_the_same(guarded: Clan, meet: Meet) -> None:
    """Then it counts on every node; the proposer alone cannot make it so, however often."""
    alpha, beta, gamma = guarded
    record = alpha.json("discover", "the build needs node 18")["id"]
    meet()
    shown = beta("retract", record, "--reason", "it is 20", code=3)
    assert "asked to retract" in shown
    assert "mesh proposals grant" in beta.err
    beta("retract", record, "--reason", "really", code=3)
    meet()
    assert all(is_live(shell, record) for shell in guarded)
    assert "node 18" in gamma("search", "node 18")
    first = waiting(gamma)[0]
    assert (first["sort"], first["about"], first["change"]) == ("remove", record, "take it back: it is 20")
    assert (first["name"], first["is_own"], first["may_decide"]) == (f"beta·{node(beta)[:5]}", False, False)
    assert "the build needs node 18" in gamma("proposals")
    assert "proposals" in sorts(gamma)
    assert "proposals" not in sorts(beta)
    beta("proposals", "grant", first["id"], code=1)
    assert "one node alone is not enough" in beta.err
    gamma("proposals", "grant", first["id"][:10])
    meet()
    assert [shell.json("why", record)["state"] for shell in guarded] == ["removed"] * 3
    assert waiting(alpha) == []
    assert alpha.json("verify")["problems"] == []


def test_author_and_admin_change_a_record_alone(guarded: Clan, meet: Meet) -> None:
    """The author its own, an admin everybody's."""
    alpha, beta, gamma = guarded
    first, second = (beta.json("discover", text)["id"] for text in ("red", "blue"))
    meet()
    beta("edit", first, "--text", "dark red")
    alpha("edit", second, "--text", "dark blue")
    assert alpha.err == beta.err == ""
    meet()
    assert [gamma.json("show", one)["text"] for one in (first, second)] == ["dark red", "dark blue"]
    alpha("retract", first, "--reason", "wrong")
    beta("retract", second, "--reason", "wrong")
    meet()
    assert not is_live(gamma, first)
    assert not is_live(gamma, second)


def test_an_edit_of_anothers_record_waits_and_the_author_can_grant_it(guarded: Clan, meet: Meet) -> None:
    """Text, repository and pattern alike: what is shown, searched and counted stays until then."""
    _, beta, gamma = guarded
    record = beta.json("correct", "--wrong", "npm ci", "--right", "pnpm ci", "--pattern", "use-pnpm")["id"]
    meet()
    gamma("edit", record, "--right", "evil ci", "--repo", "github.com/evil/evil", code=3)
    gamma("correct", "--move", record, "--pattern", "evil", code=3)
    meet()
    shown = beta.json("show", record)
    assert (shown["record"]["right"], shown["pattern"], shown["repo"]) == ("pnpm ci", "use-pnpm", "")
    assert "evil" not in beta("search", "evil") + beta("pattern", "list", "--all")
    found = {item["change"].split()[0]: item["id"] for item in waiting(beta)}
    assert set(found) == {"right", "repo", "pattern"}
    beta("proposals", "grant", found["right"])
    meet()
    assert gamma.json("show", record)["record"]["right"] == "evil ci"
    assert gamma.json("show", record)["pattern"] == "use-pnpm"


def test_a_proposal_is_dismissed_here_or_by_who_may_decide_for_all(guarded: Clan, meet: Meet) -> None:
    """It stays what it is: nothing counts by it, and a new one is a new one."""
    alpha, beta, gamma = guarded
    record = alpha.json("discover", "red")["id"]
    other = gamma.json("discover", "blue")["id"]
    meet()
    for one in (record, other):
        beta("retract", one, "--reason", "no", code=3)
    meet()
    ids = {item["about"]: item["id"] for item in waiting(gamma)}
    assert gamma.json("proposals", "dismiss", ids[record])["for_all"] is False
    meet()
    assert [item["about"] for item in waiting(gamma)] == [other]
    assert {item["about"] for item in waiting(alpha)} == {record, other}
    assert gamma.json("proposals", "dismiss", ids[other])["for_all"] is True
    assert "for every node" in alpha("proposals", "dismiss", ids[record])
    meet()
    assert [waiting(shell) for shell in guarded] == [[], [], []]
    gamma("proposals", "grant", ids[record], code=1)
    assert "mesh proposals" in gamma.err
    assert is_live(gamma, record)


def test_patterns_of_others_are_archived_joined_and_ended_by_two(guarded: Clan, meet: Meet) -> None:
    """Each change is a proposal first; whoever wrote all of a pattern changes it alone."""
    alpha, beta, gamma = guarded
    for name in ("one", "two"):
        beta("pattern", "add", f"the rule of {name}", "--name", name)
    gamma("pattern", "add", "the rule of mine", "--name", "mine")
    meet()
    gamma("pattern", "archive", "mine", "--reason", "over")
    assert gamma.err == ""
    gamma("pattern", "archive", "one", "--reason", "evil", code=3)
    gamma("pattern", "edit", "one", "--rule", "evil", code=3)
    gamma("pattern", "alias", "two", "one", code=3)
    gamma("pattern", "supersede", "two", "mine", code=3)
    assert "waits for its author, an admin or another node that is not throw-away to say the same" in gamma.err
    assert "mesh proposals grant" in gamma.err
    meet()
    for shell in guarded:
        one, two, mine = (shell.json("pattern", "show", name) for name in ("one", "two", "mine"))
        assert (one["archived"], one["rule"], one["names"]) == (None, "the rule of one", ["one"])
        assert (two["in_its_place"], mine["archived"]) == ([], "over")
    found = {item["sort"]: item["id"] for item in waiting(alpha)}
    assert set(found) == {"archive", "wording", "alias", "supersede"}
    for identity in found.values():
        alpha("proposals", "grant", identity)
    meet()
    two = beta.json("pattern", "show", "two")
    assert (sorted(two["names"]), two["rule"], two["archived"]) == (["one", "two"], "evil", "evil")
    assert [other["pattern"] for other in two["in_its_place"]] == ["mine"]
    assert waiting(beta) == []


def test_nobody_becomes_the_owner_of_a_pattern_by_writing_into_it(guarded: Clan, meet: Meet) -> None:
    """Not with the eldest record either: whoever else has written there changes it with another only."""
    _, beta, gamma = guarded
    beta("correct", "--wrong", "a b c", "--right", "d e f", "--pattern", "theirs")
    meet()
    gamma("correct", "--wrong", "x", "--right", "y", "--pattern", "theirs")
    gamma("pattern", "archive", "theirs", code=3)
    meet()
    assert beta.json("pattern", "show", "theirs")["archived"] is None
    beta("pattern", "archive", "theirs", "--reason", "so be it")
    assert beta.err == ""
    meet()
    assert gamma.json("pattern", "show", "theirs")["archived"] is not None


@pytest.mark.parametrize("change", ["retract", "edit", "archive", "supersede"])
def test_a_throw_away_nodes_change_waits_for_two_others(
    guarded: Clan, meet: Meet, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    """It is told so. Whoever of them grants it first is told that it still waits, for whom, and writes nothing twice; the second makes it count."""
    alpha, beta, gamma = guarded
    job = Shell(tmp_path / "job", capsys)
    job("init", "--name", "job", "--mesh", alpha.json("status")["mesh"])
    alpha("admit", node(job), "--name", "job", "--ephemeral")
    fourth = Shell(tmp_path / "fourth", capsys)
    fourth("init", "--name", "fourth", "--mesh", alpha.json("status")["mesh"])
    alpha("admit", node(fourth), "--name", "fourth")
    record = beta.json("correct", "--wrong", "npm ci", "--right", "pnpm ci", "--pattern", "old")["id"]
    beta("pattern", "add", "the rule of new", "--name", "new")
    meet()
    carry(beta, alpha, tmp_path)
    for shell in (job, fourth):
        carry(alpha, shell, tmp_path)
    words = {
        "retract": ("retract", record, "--reason", "no"),
        "edit": ("edit", record, "--right", "bun ci"),
        "archive": ("pattern", "archive", "old", "--reason", "no"),
        "supersede": ("pattern", "supersede", "old", "new"),
    }
    asked = job.json(*words[change], code=3)
    assert asked["waits_for"] == "its author, an admin or 2 other nodes that are not throw-away"
    for shell in (gamma, fourth):
        carry(job, shell, tmp_path)
    granted = gamma("proposals", "grant", asked["proposed"], code=3)
    assert "noted, and it still waits: " in granted
    assert "waits for its author, an admin or another node that is not throw-away to say the same" in gamma.err
    before = gamma.json("status")["counts"]["operations"]
    gamma("proposals", "grant", asked["proposed"], code=1)
    assert "it waits for its author, an admin or another node that is not throw-away" in gamma.err
    assert gamma.json("status")["counts"]["operations"] == before
    carry(gamma, fourth, tmp_path)
    assert "granted: " in fourth("proposals", "grant", asked["proposed"])
    assert (fourth.err, waiting(fourth)) == ("", [])


def test_switching_looks_at_everything_again(clan: Clan, meet: Meet) -> None:
    """What one node took back while the mesh was open comes back when it is guarded, and goes again when it is not."""
    alpha, beta, gamma = clan
    record, other = (gamma.json("discover", text)["id"] for text in ("the moon is red", "the sun is blue"))
    meet()
    beta("retract", record, "--reason", "no")
    beta("edit", other, "--text", "the sun is evil")
    meet()
    for rule, state, text in (
        ("guarded", "live", "the sun is blue"),
        ("open", "removed", "the sun is evil"),
        ("guarded", "live", "the sun is blue"),
    ):
        alpha("settings", "moderation", rule)
        meet()
        for shell in clan:
            assert shell.json("why", record)["state"] == state
            assert shell.json("show", other)["text"] == text
            assert [hit["text"] for hit in shell.json("search", "sun")["results"]] == [text]
            assert shell.json("verify")["problems"] == []
    assert [item["sort"] for item in waiting(gamma)] == ["remove", "edit"]


# Requests to erase


def test_a_record_that_somebody_asks_to_erase_stays_until_it_is_granted(guarded: Clan, meet: Meet) -> None:
    """Its author and the admins are told how; the reason has no secret in it."""
    alpha, beta, gamma = guarded
    record = beta.json("discover", "the horse on staging is swordfish9")["id"]
    meet()
    gamma("erase", record, "--reason", "AKIAIOSFODNN7EXAMPLE got in", code=3)
    assert "taken out of the reason" in gamma.err
    meet()
    assert all(is_live(shell, record) for shell in guarded)
    assert waiting(alpha) == []
    for shell in (alpha, beta):
        (asked,) = shell.json("proposals")["erase_requests"]
        assert (asked["id"][:8], asked["by"], asked["is_live"]) == (record, node(gamma), True)
        assert "AKIA" not in asked["reason"]
        assert f"mesh erase {asked['id'][:16]}" in shell("doctor", code=3)
        shell("proposals", "grant", asked["request"], code=1)
        assert f"mesh erase {asked['id']}" in shell.err
    assert gamma.json("proposals")["erase_requests"] == []
    alpha("erase", record, "--reason", "yes")
    meet()
    assert [shell.json("proposals")["erase_requests"] for shell in guarded] == [[], [], []]


def test_a_request_that_is_dismissed_is_gone_for_all(clan: Clan, meet: Meet) -> None:
    """The author says no: an admin is not asked any more. Asking again is another request."""
    alpha, beta, gamma = clan
    record = beta.json("discover", "red")["id"]
    meet()
    gamma("erase", record, "--reason", "please", code=3)
    meet()
    (asked,) = beta.json("proposals")["erase_requests"]
    beta("proposals", "dismiss", asked["request"][:12])
    meet()
    assert [shell.json("proposals")["erase_requests"] for shell in clan] == [[], [], []]
    assert is_live(alpha, record)
    gamma("erase", record, "--reason", "pretty please", code=3)
    meet()
    assert [one["reason"] for one in alpha.json("proposals")["erase_requests"]] == ["pretty please"]


def test_a_request_of_an_earlier_version_is_still_one(clan: Clan, meet: Meet) -> None:
    """It took the record away, and is listed until it is granted."""
    alpha, beta, gamma = clan
    record = beta.json("discover", "red")["id"]
    meet()
    gamma("op", "remove", record, "--reason", "asked to erase: a name got in")
    meet()
    assert alpha.json("why", record)["state"] == "removed"
    (asked,) = beta.json("proposals")["erase_requests"]
    assert (asked["reason"], asked["is_live"]) == ("a name got in", False)
    beta("erase", record, "--reason", "yes")
    assert beta.json("proposals")["erase_requests"] == []


def test_wrong_words_are_answered(alpha: Shell) -> None:
    """With the right ones."""
    for words, code, sentence in (
        (["frob", "x"], 2, "'frob' is not one of 'grant', 'dismiss'"),
        (["grant"], 2, "needs the id"),
        (["grant", "aaaaaaaa"], 1, "mesh proposals"),
    ):
        alpha("proposals", *words, code=code)
        assert sentence in alpha.err


def test_a_supersession_that_is_only_proposed_closes_no_circle(guarded: Clan, meet: Meet) -> None:
    """It waits for somebody who agrees: `mesh doctor` says that, and nothing of a circle."""
    alpha, beta, _ = guarded
    for name, words in (("push-lease", "push with a lease"), ("a-cat", "pet the cat")):
        alpha("correct", "--wrong", f"did not {words}", "--right", words, "--pattern", name, "--global")
    meet()
    beta("pattern", "supersede", "push-lease", "a-cat", code=3)
    meet()
    assert "proposals" in sorts(alpha)
    assert "supersession circle" not in sorts(alpha)
