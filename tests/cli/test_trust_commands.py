"""Admins, revocation and recovery as a person types them: who may, what it does, what is said."""

import os
from pathlib import Path

import pytest

from mesh.core.clock import milliseconds
from mesh.core.statement import Recover
from mesh.store import keyfile
from mesh.store.home import open_home
from tests.cli.test_commands import Shell, alpha, beta, carry

__all__ = ["alpha", "beta"]  # fixtures


@pytest.fixture
def gamma(alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A third node."""
    shell = Shell(tmp_path / "gamma", capsys)
    shell("init", "--name", "gamma", "--mesh", alpha.json("status")["mesh"])
    return shell


def node(shell: Shell) -> str:
    return str(shell.json("status")["node"])


def admit(alpha: Shell, *others: Shell) -> None:
    for other in others:
        alpha("admit", node(other), "--name", other.home.name)


def test_an_admin_is_named_and_listed(alpha: Shell, beta: Shell) -> None:
    """By name, and it keeps its name. Twice is once."""
    admit(alpha, beta)
    assert "beta·" in alpha("admin", "add", "beta")
    assert alpha.json("admin", "add", node(beta)[:10]) == {
        "node": node(beta),
        "name": f"beta·{node(beta)[:5]}",
        "new": False,
        "was": "admin",
    }
    lines = alpha("admin", "list").splitlines()
    assert {line.split("  ")[1].split("·")[0] for line in lines} == {"alpha", "beta"}
    assert [line for line in lines if "this node" in line] == [f"{node(alpha)}  alpha·{node(alpha)[:5]}  this node"]


def test_only_where_the_root_key_is_can_an_admin_be_named(
    alpha: Shell, beta: Shell, gamma: Shell, tmp_path: Path
) -> None:
    """An admin names no others; a node nobody knows, and a word too few or too many, are answered."""
    admit(alpha, beta, gamma)
    alpha("admin", "add", "beta")
    carry(alpha, beta, tmp_path)
    beta("admin", "add", "gamma", code=1)
    assert "the root key of this mesh is not in this home" in beta.err
    alpha("admin", "add", "nobody", code=1)
    assert "no node that is known here" in alpha.err
    alpha("admin", "add", code=2)
    alpha("admin", "list", "beta", code=2)


def test_a_node_that_is_not_admitted_cannot_be_an_admin(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """The next step is said."""
    beta("op", "add", "notes", "waiting")
    carry(beta, alpha, tmp_path, code=3)
    alpha("admin", "add", node(beta)[:12], code=1)
    assert f"mesh admit {node(beta)}" in alpha.err


def test_the_author_is_told_that_a_third_member_asked_to_erase_its_record(
    alpha: Shell, beta: Shell, gamma: Shell, tmp_path: Path
) -> None:
    """Who asked, why, that the text is still there and for what reason, and what to do; until the author erases it."""
    admit(alpha, beta, gamma)
    for shell in (beta, gamma):
        carry(alpha, shell, tmp_path)
    record = beta.json("discover", "the horse on staging is swordfish9")["id"]
    carry(beta, gamma, tmp_path)
    gamma("erase", record, "--reason", "a name\x1b[2J got in", code=3)
    assert "they are asked to" in gamma.err
    assert [request["id"] for shell in (alpha, gamma) for request in shell.json("status")["erase_requests"]] == []
    carry(gamma, beta, tmp_path)

    (asked,) = beta.json("status")["erase_requests"]
    assert (asked["id"][:8], asked["by"], asked["name"]) == (record[:8], node(gamma), f"gamma·{node(gamma)[:5]}")
    told = (
        f"gamma·{node(gamma)[:5]} asked to erase {record[:8]}, which beta·{node(beta)[:5]} wrote",
        "a name",
        "its text is still in this database",
        "only its author, an admin or the root key can erase it",
        f"mesh erase {asked['id'][:16]} --reason REASON",
        "it stays as it is until then",
        f"mesh proposals dismiss {asked['request'][:16]}",
    )
    for said in (beta("status"), beta("doctor", code=3), beta("why", record)):
        assert [part for part in told if part not in said] == []
        assert "\x1b" not in said
    assert b"swordfish9" in (beta.home / "mesh.db").read_bytes() + (beta.home / "mesh.db-wal").read_bytes()
    assert "erase asked" in [finding["sort"] for finding in beta.json("doctor", code=3)]
    assert [one["name"] for one in beta.json("why", record)["erase_requests"]] == [asked["name"]]
    assert gamma.json("why", record)["erase_requests"] == []

    beta("erase", record, "--reason", "yes")
    assert beta.json("status")["erase_requests"] == []
    assert "asked to erase" not in beta("status")
    assert "erase asked" not in beta("doctor", code=3)


def test_a_retraction_by_another_member_is_no_request_to_erase(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """Asking twice is asking once, with the last reason."""
    admit(alpha, beta)
    carry(alpha, beta, tmp_path)
    first, second = (alpha.json("discover", text)["id"] for text in ("red", "blue"))
    carry(alpha, beta, tmp_path)
    beta("retract", first, "--reason", "it is green")
    for reason in ("please", "pretty please"):
        beta("erase", second, "--reason", reason, code=3)
    carry(beta, alpha, tmp_path)
    asked = alpha.json("status")["erase_requests"]
    assert [(one["id"][:8], one["reason"]) for one in asked] == [(second[:8], "pretty please")]


def test_a_revoked_node_writes_in_vain_and_keeps_what_it_wrote(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """What was accepted before counts on; what comes later does not, on any node."""
    admit(alpha, beta)
    carry(alpha, beta, tmp_path)
    beta("op", "add", "notes", "before")
    carry(beta, alpha, tmp_path)
    beta("op", "add", "notes", "unheard of")
    assert "0 operations of it stop counting, 1 operation kept" in alpha("revoke", "beta", "--reason", "sold")
    carry(beta, alpha, tmp_path, code=3)
    assert [line.split("  ")[2] for line in alpha("op", "list", "notes").splitlines()] == ["before"]
    carry(alpha, beta, tmp_path)
    beta("op", "add", "notes", "in vain", code=1)
    assert "revoked" in beta.err
    assert "was revoked before" in alpha("revoke", "beta")
    assert alpha.json("revoke", "beta")["new"] is False
    alpha("admin", "add", "beta", code=1)
    assert "for ever" in alpha.err


def test_a_time_cuts_a_node_off_in_the_middle(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """Up to the stamp of an operation; a second revocation may only cut lower."""
    admit(alpha, beta)
    carry(alpha, beta, tmp_path)
    for text in ("one", "two", "three"):
        beta("op", "add", "notes", text)
    carry(beta, alpha, tmp_path)
    store = open_home(str(alpha.home)).store()
    (row,) = [row for row in store.feeds.all() if row.held.seq == 3]
    times = [milliseconds(op.hlc) for op in store.feeds.rows(row.number, 1, 3)]
    store.close()
    told = alpha.json("revoke", node(beta), "--keep-until", iso(times[1]))
    assert (told["kept"], told["stopped"]) == (
        sum(time <= times[1] for time in times),
        sum(t > times[1] for t in times),
    )
    told = alpha.json("revoke", node(beta), "--keep-until", "2020-01-01")
    assert told["kept"] == 0
    told = alpha.json("revoke", node(beta), "--keep-until", "2100-01-01T00:00+02:00")
    assert told["kept"] == 0
    alpha("revoke", "beta", "--keep-until", "yesterday", code=1)
    assert "is not a time" in alpha.err
    alpha("verify")


def iso(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def test_an_admin_revokes_members_and_no_admins(alpha: Shell, beta: Shell, gamma: Shell, tmp_path: Path) -> None:
    """Who may is said; nobody revokes the node they are on."""
    admit(alpha, beta, gamma)
    for shell in (beta, gamma):
        carry(alpha, shell, tmp_path)
    gamma("revoke", "beta", code=1)
    assert "no admin" in gamma.err
    assert "alpha·" in gamma.err
    alpha("admin", "add", "beta")
    carry(alpha, beta, tmp_path)
    beta("revoke", "alpha", code=1)
    assert "only the root key revokes an admin" in beta.err
    alpha("revoke", "alpha", code=1)
    assert "the node you are on" in alpha.err
    beta("revoke", "nobody", code=1)
    assert "no node that is known" in beta.err
    assert "revoked gamma" in beta("revoke", "gamma")
    carry(beta, alpha, tmp_path)
    assert alpha.json("revoke", "gamma")["new"] is False


def test_a_revoked_admin_takes_along_what_it_signed_later(
    alpha: Shell, beta: Shell, gamma: Shell, tmp_path: Path
) -> None:
    """By default all it signed is kept; with a time before it, whom it had ended is free again."""
    admit(alpha, beta, gamma)
    alpha("admin", "add", "beta")
    carry(alpha, beta, tmp_path)
    carry(alpha, gamma, tmp_path)
    gamma("op", "add", "notes", "of gamma")
    carry(gamma, beta, tmp_path)
    carry(gamma, alpha, tmp_path)
    beta("revoke", "gamma", "--keep-until", "2020-01-01")
    carry(beta, alpha, tmp_path)
    assert "of gamma" not in alpha("op", "list")
    alpha("revoke", "beta")
    assert "of gamma" not in alpha("op", "list")
    alpha("revoke", "beta", "--keep-until", "2020-01-01")
    assert "of gamma" in alpha("op", "list")
    assert "revoked" in alpha("admin", "list")
    alpha("verify")


def test_a_name_that_two_nodes_have_is_not_enough(alpha: Shell, beta: Shell, gamma: Shell) -> None:
    """Both are listed."""
    for shell in (beta, gamma):
        alpha("admit", node(shell), "--name", "twin")
    alpha("revoke", "twin", code=1)
    assert node(beta) in alpha.err
    assert node(gamma) in alpha.err
    alpha("revoke", f"twin·{node(beta)[:5]}")


def test_a_lost_root_key_is_replaced(alpha: Shell, beta: Shell, gamma: Shell, tmp_path: Path) -> None:
    """Members stay members, the old key is good for nothing, the new one for everything; other nodes agree."""
    admit(alpha, beta)
    alpha("op", "add", "notes", "hello")
    key = tmp_path / "recovery.key"
    os.rename(alpha.home / "recovery.key", key)
    told = alpha.json("recover", "--key", str(key), "--reason", "lost")
    assert told["kept"] == 2
    assert told["replaced"] == str(alpha.home / "root.key.replaced-1")
    assert "offline again" in alpha.err
    assert (alpha.home / "root.key").stat().st_mode & 0o777 == 0o600
    assert not (alpha.home / "root.key.new").exists()
    assert "hello" in alpha("tail")
    admit(alpha, gamma)
    alpha("admin", "add", "gamma")
    assert {line["named_by"] for line in map(as_json, alpha("admin", "list", "--json").splitlines())} == {"root"}
    for shell in (beta, gamma):
        carry(alpha, shell, tmp_path)
        assert shell.json("status")["root"] == alpha.json("status")["root"]
        assert shell.json("status")["certified"]
    os.replace(alpha.home / "root.key.replaced-1", alpha.home / "root.key")
    alpha("admit", "a" * 52, code=1)
    assert "was replaced by another" in alpha.err
    alpha("verify")


def as_json(line: str) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(line)
    return found


def test_a_recovery_can_be_made_on_any_node_that_knows_the_mesh(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """The machine with the root key is gone: a plain member's machine becomes the new place of it."""
    admit(alpha, beta)
    carry(alpha, beta, tmp_path)
    elsewhere = tmp_path / "offline.key"
    beta("recover", "--key", str(alpha.home / "recovery.key"), "--new-root", str(elsewhere))
    assert not (beta.home / "root.key").exists()
    assert keyfile.load(str(elsewhere)).public == open_home(str(beta.home)).store().trust().root
    beta("recover", "--key", str(alpha.home / "recovery.key"), "--new-root", str(elsewhere), code=1)
    assert "is there already" in beta.err
    beta("recover", "--key", str(alpha.home / "recovery.key"))
    beta("admin", "add", "beta")
    beta("revoke", "alpha")
    carry(beta, alpha, tmp_path)
    alpha("op", "add", "notes", "in vain", code=1)


def test_another_key_recovers_nothing(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """The root key itself, another mesh's, a file that is none, and a node that knows no founders yet."""
    root = open_home(str(alpha.home)).root_identity()
    alpha("recover", "--key", str(alpha.home / "root.key"), code=1)
    assert "is a root key, not the recovery key" in alpha.err
    alpha("recover", "--key", str(alpha.home / "node.key"), code=1)
    assert "is not the recovery key of this mesh" in alpha.err
    alpha("recover", "--key", str(tmp_path / "none"), code=1)
    alpha("recover", "--key", str(alpha.home / "home.json"), code=1)
    beta("recover", "--key", str(alpha.home / "recovery.key"), code=1)
    assert "mesh import FILE" in beta.err
    assert open_home(str(alpha.home)).root_identity().public == root.public
    assert not list(alpha.home.glob("root.key.*"))


@pytest.mark.parametrize("moved", [0, 1])
def test_a_recovery_that_was_killed_is_finished_by_the_next(
    alpha: Shell, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """It was signed, but the new key was not yet in its place: nothing is signed a second time."""
    key = str(alpha.home / "recovery.key")
    real, left = os.rename, [moved]

    def rename(source: str, target: str) -> None:
        if "root.key" in str(source):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
        real(source, target)

    with monkeypatch.context() as killed:
        killed.setattr("os.rename", rename)
        with pytest.raises(KeyboardInterrupt):
            alpha("recover", "--key", key)
    alpha("recover", "--key", key)
    home = open_home(str(alpha.home))
    trust = home.store().trust()
    assert home.root_identity(trust).public == trust.root
    assert sum(isinstance(item.fact, Recover) for item in trust.statements()) == 1
    assert sorted(path.name for path in alpha.home.glob("root.key*")) == ["root.key", "root.key.replaced-1"]


def test_an_exact_name_wins_over_the_beginning_of_an_id(alpha: Shell, beta: Shell, gamma: Shell) -> None:
    """A whole id wins over both; two nodes of one name are told apart by their ids."""
    alpha("admit", node(beta), "--name", "beta")
    start = node(beta)[:4]
    alpha("admit", node(gamma), "--name", start)
    assert alpha.json("quota", start, "128MB")["node"] == node(gamma)
    assert alpha.json("quota", node(beta), "128MB")["node"] == node(beta)
    assert alpha.json("quota", node(beta)[:10], "256MB")["node"] == node(beta)


def test_two_nodes_of_one_name_are_both_shown(alpha: Shell, beta: Shell, gamma: Shell) -> None:
    """With their ids, so that one of them can be typed."""
    for shell in (beta, gamma):
        alpha("admit", node(shell), "--name", "twin")
    alpha("quota", "twin", "128MB", code=1)
    for shell in (beta, gamma):
        assert f"{node(shell)}  twin·{node(shell)[:5]}" in alpha.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--role", "reader"), "was a reader, and the role of an admin takes that place: what it writes counts from now on"),
        (("--ephemeral",), "it is no throw-away node any more, and may write as much as a full member"),
    ],
)  # fmt: skip
def test_who_names_a_reader_or_a_throw_away_node_is_told_what_follows(
    alpha: Shell, beta: Shell, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    """It is a full member from then on: what it writes counts on other nodes."""
    alpha("admit", node(beta), "--name", "beta", *options)
    alpha("admin", "add", "beta")
    assert says in alpha.err
    assert f"mesh revoke {node(beta)[:16]}" in alpha.err
    carry(alpha, beta, tmp_path)
    record = beta.json("discover", "an admin writes")["id"]
    carry(beta, alpha, tmp_path)
    assert alpha.json("why", record)["state"] == "live"
    assert {share["role"] for share in alpha.json("quota")} == {"admin"}
    alpha("admin", "add", "beta")
    assert alpha.err == ""
