"""Readers, throw-away nodes and quotas as people and agents meet them: what is said, what is written, and what waits."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.agents.skill_text import CALLS
from clan_learnings.records import spool
from mesh.app.application import Application
from mesh.cli import joining
from mesh.cli.quota import parse_size
from mesh.core.display import shown_size
from mesh.core.draft import NewRecord
from mesh.core.errors import TooManyFeeds, UsageError
from mesh.core.statement import ADMIN, EPHEMERAL, EPHEMERAL_READER, MEMBER, READER
from mesh.store.acceptance import OVER_QUOTA
from mesh.store.home import Home, open_home
from tests.cli.test_commands import Shell, alpha, beta, carry
from tests.roles import admitted, fill, free

__all__ = ["alpha", "beta"]  # fixtures

MB = 2**20
PROBLEM = (
    "The upload fails with 403 Forbidden once the build has taken longer than an hour; trying again does not help."
)
SOLUTION = (
    "Fetch a new token right before the upload: `deploy login --fresh`. A token of the registry is valid for an hour."
)


def node_of(shell: Shell) -> str:
    return str(shell.json("status")["node"])


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository, and a queue of our own."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MESH_SPOOL", str(tmp_path / "queue"))
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")


def shell_in(alpha: Shell, role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A node of alpha's mesh in a role, which knows all that alpha has written."""
    home = admitted(tmp_path, open_home(os.fspath(alpha.home)), role, role)
    shell = Shell(Path(home.path), capsys)
    carry(alpha, shell, tmp_path)
    return shell


@pytest.fixture
def reader(alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    alpha("discover", "the staging cluster sleeps at night", "--global")
    alpha("correct", "--wrong", "npm install", "--right", "pnpm install", "--pattern", "pnpm-not-npm", "--global")
    alpha("correct", "--wrong", "yarn", "--right", "pnpm", "--pattern", "no-yarn", "--global")
    alpha("page", "new", "runbook", "--text", "one\n")
    alpha("learnings", "add", "--title", "Uploads fail", "--problem", PROBLEM, "--solution", SOLUTION, "--global")
    return shell_in(alpha, READER, tmp_path, capsys)


@pytest.fixture
def job(alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A throw-away node: its quota is small enough to be filled."""
    return shell_in(alpha, EPHEMERAL, tmp_path, capsys)


def home_of(shell: Shell) -> Home:
    return open_home(os.fspath(shell.home))


# Being admitted


@pytest.mark.parametrize(
    ("options", "role", "says"),
    [
        ((), MEMBER, "a writer"),
        (("--role", "writer"), MEMBER, "a writer"),
        (("--role", "reader"), READER, "a reader"),
        (("--ephemeral",), EPHEMERAL, "a throw-away writer"),
        (("--role", "reader", "--ephemeral"), EPHEMERAL_READER, "a throw-away reader"),
    ],
)
def test_a_node_is_admitted_in_a_role(
    alpha: Shell, beta: Shell, options: tuple[str, ...], role: str, says: str
) -> None:
    """It is said, by every command that shows who belongs, and admitting it again in another role changes nothing."""
    assert f"as {says};" in alpha("admit", node_of(beta), "--name", "beta", *options)
    other = "reader" if role in (MEMBER, EPHEMERAL) else "writer"
    assert alpha.json("admit", node_of(beta), "--role", other)["role"] == role
    assert f"as {says}; that stays" in alpha("admit", node_of(beta), "--role", other)
    assert [peer["role"] for peer in alpha.json("peers")["peers"]] == [role]
    assert {share["role"] for share in alpha.json("quota")} == {ADMIN, role}


@pytest.mark.parametrize("wrong", [("--role", "admin"), ("--role", ""), ("--role",), ("--ephemeral=yes",)])
def test_a_role_that_is_none_is_refused(alpha: Shell, beta: Shell, wrong: tuple[str, ...]) -> None:
    """Admins are named by `mesh admin` alone."""
    for words in (("admit", node_of(beta)), ("invite",)):
        alpha(*words, *wrong, code=2)
    assert len(alpha.json("quota")) == 1


@pytest.mark.parametrize("options", [(), ("--role", "reader"), ("--ephemeral",)])
def test_an_older_sidecar_that_knows_no_roles_gives_out_no_token(
    alpha: Shell, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """It would let a writer in, whatever was asked for: what it made is withdrawn."""
    asked: list[tuple[object, ...]] = []

    def older(_home: str, *request: object) -> dict[str, object]:
        asked.append(request)
        return {"token": "clan1-secret", "id": "f6f6", "expires_ms": 1, "uses": 1}

    monkeypatch.setattr(joining, "ask", older)
    for extra in ((), ("--json",)):
        assert alpha("invite", *options, *extra, code=1) == ""
        assert "older version" in alpha.err
        assert asked.pop() == ("POST", "/withdraw", {"id": "f6f6"})


def test_status_says_what_this_node_is(reader: Shell, alpha: Shell) -> None:
    """A plain writer is not worth a word."""
    assert "(reader)" in reader("status").splitlines()[0]
    assert "(admin)" in alpha("status").splitlines()[0]
    assert reader.json("status")["role"] == READER


# Readers


WRITES: list[tuple[str, ...]] = [
    ("discover", "mine", "--global"),
    ("correct", "--wrong", "a", "--right", "b", "--global"),
    ("edit", "{record}", "--tags", "x"),
    ("retract", "{record}", "--reason", "wrong"),
    ("pattern", "add", "always do it so", "--global"),
    ("pattern", "archive", "no-yarn"),
    ("pattern", "alias", "no-yarn", "pnpm-not-npm"),
    ("pattern", "supersede", "no-yarn", "pnpm-not-npm"),
    ("learnings", "add", "--title", "Mine", "--problem", PROBLEM + " Really.", "--solution", SOLUTION, "--global"),
    ("learnings", "edit", "{learning}", "--title", "Another"),
    ("page", "new", "mine", "--text", "mine\n"),
    ("page", "append", "runbook", "mine"),
    ("page", "rename", "runbook", "mine"),
    ("page", "remove", "runbook", "--reason", "mine"),
    ("erase", "{record}", "--reason", "mine"),
    ("op", "add", "notes", "mine"),
    ("op", "count", "opened"),
    ("op", "set", "{record}", "colour", "red"),
    ("op", "remove", "{record}"),
]


@pytest.mark.parametrize("words", WRITES, ids=lambda words: " ".join(words[:2]))
def test_every_command_tells_a_reader_that_it_may_not_write(reader: Shell, words: tuple[str, ...]) -> None:
    """Why, and what to do; and nothing has changed."""
    record = reader.json("search", "staging cluster sleeps", "--all")["results"][0]["id"]
    learning = reader.json("learnings", "list", "--all")["learnings"][0]["id"]
    before = reader.json("status")
    reader(*(word.format(record=record, learning=learning) for word in words), code=1)
    assert "this node was invited as a reader: what it writes counts nowhere" in reader.err
    assert "  next: keep it here alone, with --private" in reader.err
    after = reader.json("status")
    assert (after["root"], after["feeds"]) == (before["root"], before["feeds"])


def test_a_reader_keeps_private_records(reader: Shell) -> None:
    """And changes them."""
    record = reader.json("discover", "only here", "--private", "--global")["id"]
    reader("edit", record, "--tags", "mine")
    reader("retract", record, "--reason", "done")


def test_a_queued_write_of_a_reader_is_put_aside_and_that_is_said(reader: Shell, tmp_path: Path) -> None:
    """It is not tried for ever, and not lost: the log says why, and the doctor where it is."""
    home = os.fspath(reader.home)
    spool.queue("discover", {"text": "from a sandbox"}, home)
    reader("hook", "Stop")
    assert not spool.is_waiting(home)
    assert "rejected: this node was invited as a reader" in (reader.home / "hook.log").read_text()
    (rejected,) = [item for item in reader.json("doctor", code=3) if item["sort"] == "rejected writes"]
    assert "hook.log" in rejected["sentence"]
    (aside,) = [path for path in (tmp_path / "queue" / "rejected").iterdir() if path.name.endswith(".write")]
    assert "from a sandbox" in aside.read_text()


def test_a_reader_imports_no_documents_and_says_so_once(reader: Shell, tmp_path: Path) -> None:
    """Not a line for every file."""
    folder = documents(tmp_path, 3)
    answer = reader.json("learnings", "import", os.fspath(folder), code=3)
    assert (answer["new"], answer["skipped"], answer["stopped"]["files"]) == (0, 0, 3)
    assert answer["stopped"]["again_ms"] is None
    reader("learnings", "import", os.fspath(folder), code=3)
    assert reader.err.count("invited as a reader") == 1


# Quotas


def test_the_table_says_what_each_member_has_written_and_may_write(alpha: Shell, job: Shell, reader: Shell) -> None:
    """Who has written most first; a reader may write nothing."""
    shares = {share["role"]: share for share in reader.json("quota")}
    assert shares.keys() == {ADMIN, EPHEMERAL, READER}
    assert (shares[ADMIN]["quota"], shares[ADMIN]["allowance"], shares[ADMIN]["days"]) == (64 * MB, 64 * MB, 1)
    assert shares[ADMIN]["written"] > 500
    assert shares[ADMIN]["feeds"] == 1
    assert (shares[EPHEMERAL]["quota"], shares[EPHEMERAL]["days"], shares[EPHEMERAL]["written"]) == (4 * MB, 30, 0)
    assert (shares[READER]["quota"], shares[READER]["allowance"]) == (0, 0)
    head, first, *rest = reader("quota").splitlines()
    assert head.split()[:3] == ["name", "role", "written"]
    assert "64 MB a day" in first
    assert any("4 MB in 30 days" in line and "0 of 64" in line for line in rest)
    assert any("reader" in line and "nothing" in line for line in rest)


def test_an_admin_lets_a_member_write_more(alpha: Shell, job: Shell, tmp_path: Path) -> None:
    """What waited of it counts from then on; all others learn it with the next bundle."""
    name = job.json("status")["name"]
    assert "may write 128 MB by now" in alpha("quota", name, "128MB")
    carry(alpha, job, tmp_path)
    assert [share["quota"] for share in job.json("quota") if share["name"] == name] == [128 * MB]
    assert alpha.json("quota", node_of(job)[:12], "1GB")["quota"] == 2**30


@pytest.mark.parametrize("size", ["", "128", "128M", "128mb", "1.5GB", "-1MB", "0MB", "1_0MB", "٣MB", " 1MB", "00MB"])
def test_a_size_is_taken_strictly(alpha: Shell, size: str) -> None:
    """A quota is signed, and can't be taken back: nothing is guessed."""
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(size)
    alpha("quota", "alpha", size, code=1 if size and size[0] != "-" else 2)


@pytest.mark.parametrize("size", ["99999TB", "99999999999999999999GB", "9" * 5000 + "KB"])
def test_a_size_that_is_too_large_is_told_the_largest(alpha: Shell, size: str) -> None:
    """It is a size all the same."""
    alpha("quota", "alpha", size, code=1)
    assert "is too large" in alpha.err
    assert "at most 8192TB" in alpha.err


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 bytes"), (1023, "1023 bytes"), (MB, "1 MB"), (3 * MB // 2, "1.5 MB")]
)
def test_a_size_is_shown_short(size: int, shown: str) -> None:
    assert shown_size(size) == shown


def test_a_quota_can_only_be_raised(alpha: Shell) -> None:
    """By as little as a byte more than there is."""
    for size in ("63MB", "64MB"):
        alpha("quota", "alpha", size, code=1)
        assert "64 MB already, and it can only be raised" in alpha.err
        assert "mesh revoke" in alpha.err
    alpha("quota", "alpha", "65MB")


def test_who_may_raise_no_quota_is_told_whom_to_ask(alpha: Shell, job: Shell) -> None:
    """Of nobody, its own neither; and nothing is signed."""
    statements = job.json("status")["counts"]["statements"]
    job("quota", job.json("status")["name"], "1GB", code=1)
    assert "this node is no admin, so it may raise nobody's quota" in job.err
    assert f"on an admin: {alpha.json('status')['name']}" in job.err
    assert job.json("status")["counts"]["statements"] == statements


@pytest.mark.parametrize(("words", "code"), [(("alpha",), 2), (("nobody", "1GB"), 1), (("alpha", "1GB", "more"), 2)])
def test_wrong_words_for_a_quota_are_answered(alpha: Shell, words: tuple[str, ...], code: int) -> None:
    alpha("quota", *words, code=code)
    assert "  next: " in alpha.err


def test_a_reader_a_revoked_node_and_a_stranger_get_no_quota(
    alpha: Shell, beta: Shell, reader: Shell, job: Shell
) -> None:
    """It would change nothing."""
    alpha("quota", reader.json("status")["name"], "1GB", code=1)
    assert "is a reader" in alpha.err
    alpha("revoke", node_of(job))
    alpha("quota", node_of(job), "1GB", code=1)
    assert "was revoked" in alpha.err
    (line,) = (line for line in alpha("quota").splitlines() if ", revoked" in line)
    assert "  nothing  " in line
    assert "MB" not in line
    alpha("quota", node_of(beta), "1GB", code=1)
    assert "  next: " in alpha.err


def test_a_quota_that_a_revoked_admin_raised_goes_with_its_word(
    alpha: Shell, beta: Shell, job: Shell, tmp_path: Path
) -> None:
    """It stays where the revocation keeps what the admin had signed, and goes where it does not."""
    alpha("admit", node_of(beta), "--name", "beta")
    alpha("admin", "add", "beta")
    carry(alpha, beta, tmp_path)
    beta("quota", node_of(job), "1GB")
    carry(beta, alpha, tmp_path)
    alpha("revoke", "beta")
    assert quota_of(alpha, job) == 2**30
    alpha("revoke", "beta", "--keep-until", "2020-01-01")
    assert quota_of(alpha, job) == 4 * MB


def quota_of(shell: Shell, other: Shell) -> Any:
    return {share["node"]: share["quota"] for share in shell.json("quota")}[node_of(other)]


def test_a_recovered_root_keeps_the_quotas(alpha: Shell, job: Shell, tmp_path: Path) -> None:
    """What the lost root had signed and what counts, it names."""
    alpha("quota", node_of(job), "1GB")
    key = alpha.home / "recovery.key"
    alpha("recover", "--key", os.fspath(key))
    assert quota_of(alpha, job) == 2**30


def test_a_quota_is_nothing_that_agents_raise() -> None:
    """`mesh install --allow` allows what the skill names."""
    assert "quota" not in CALLS


# At the end of a quota


def documents(tmp_path: Path, count: int) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(count):
        text = f"# Document {number}\n\n## Problem\n\n{PROBLEM} Seen {number} times.\n\n## Solution\n\n{SOLUTION}\n"
        (folder / f"{number}.md").write_text(text)
    return folder


def test_an_import_leaves_half_the_quota_and_goes_on_later(alpha: Shell, job: Shell, tmp_path: Path) -> None:
    """It says where it stopped and from when on it goes on; live writes are not refused because of it."""
    folder = os.fspath(documents(tmp_path, 4))
    fill(home_of(job), 2 * MB + 1200)
    answer = job.json("learnings", "import", folder, code=3)
    taken, left = answer["new"], answer["stopped"]["files"]
    assert taken >= 1
    assert left >= 1
    assert taken + left == 4
    assert answer["stopped"]["again_ms"] > 0
    assert "half of its quota of 4 MB" in answer["stopped"]["why"]
    job("discover", "written live", "--global")
    alpha("quota", node_of(job), "16MB")
    carry(alpha, job, tmp_path)
    assert job.json("learnings", "import", folder)["new"] == left


def test_a_queued_write_waits_until_it_may_be_written(alpha: Shell, job: Shell, tmp_path: Path) -> None:
    """The hook answers as ever, the log says why it waits, and it is taken in once there is room: once."""
    home = os.fspath(job.home)
    fill(home_of(job))
    for text in ("from a sandbox", "and another one"):
        spool.queue("discover", {"text": text}, home)
    for _ in range(2):
        assert job("hook", "Stop").startswith("{")
        assert spool.is_waiting(home)
    log = (job.home / "hook.log").read_text()
    assert "queued writes wait: this node has written as much as it may" in log
    assert "rejected" not in log
    alpha("quota", node_of(job), "16MB")
    carry(alpha, job, tmp_path)
    for _ in range(2):
        job("hook", "Stop")
    assert not spool.is_waiting(home)
    texts = [json.loads(line)["record"]["text"] for line in job("op", "list", "discoveries", "--json").splitlines()]
    assert texts.count("from a sandbox") == texts.count("and another one") == 1


def test_a_write_beyond_the_quota_is_refused_with_the_next_step(job: Shell) -> None:
    """Private records are not counted."""
    fill(home_of(job))
    job("discover", "one more", "--global", code=1)
    assert "as much again from" in job.err
    assert "mesh quota NODE SIZE" in job.err
    job("discover", "one more", "--global", "--private")
    assert free(home_of(job)) < 8


def test_agents_hear_it_as_people_do(job: Shell, reader: Shell) -> None:
    """The tools of MCP and the local API speak through the same application."""
    fill(home_of(job))
    for shell, words in ((job, "as much as it may"), (reader, "invited as a reader")):
        application = Application(os.fspath(shell.home), {}, "/")
        with pytest.raises(UsageError, match=words):
            application.discover("mine")
        with pytest.raises(UsageError, match=words):
            application.correct("a", "b")


# The doctor


def findings(shell: Shell) -> dict[str, dict[str, str]]:
    return {item["sort"]: item for item in shell.json("doctor", code=3)}


def test_the_doctor_warns_when_a_quarter_of_the_quota_is_left(job: Shell) -> None:
    """In time, with when it grows; not before."""
    fill(home_of(job), MB + 100_000)
    assert "quota" not in findings(job)
    fill(home_of(job), MB - 100)
    found = findings(job)["quota"]
    assert "1023.9 KB more until its quota of 4 MB is added again" in found["sentence"]
    assert f"mesh quota {node_of(job)[:16]} SIZE" in found["next_step"]


def test_what_copies_of_a_home_write_beyond_its_quota_waits_until_an_admin_raises_it(
    alpha: Shell, job: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each copy believes it may write; status, quota and doctor of the admin say what waits and why."""
    copy = Shell(tmp_path / "copy", capsys)
    shutil.copytree(job.home, copy.home)
    fill(home_of(job), MB)
    fill(home_of(copy), 2 * MB)
    for shell, code in ((job, 0), (copy, 3)):
        carry(shell, alpha, tmp_path, code=code)
    (line,) = [line for line in alpha("status").splitlines() if line.startswith("waiting")]
    assert (
        f"over the quota of its author; they count as its quota grows, or, on an admin's node: mesh quota {node_of(job)[:16]} SIZE"
        in line
    )
    assert findings(alpha).keys() >= {"over quota", "member over quota"}
    assert {share["waiting"] for share in alpha.json("quota")} == {None, OVER_QUOTA}
    alpha("quota")
    assert "what is beyond a quota waits" in alpha.err
    alpha("quota", node_of(job), "16MB")
    assert alpha.json("status")["waiting"] == []
    assert not findings(alpha).keys() & {"over quota", "member over quota"}


def test_the_doctor_warns_before_a_node_has_opened_all_its_feeds(alpha: Shell) -> None:
    """As a home does that is copied for every job. When it may open no more, a write says so, and what to do."""
    open_feeds(home_of(alpha), 47)
    assert "many feeds" not in findings(alpha)
    open_feeds(home_of(alpha), 48)
    assert "48 of the 64 feeds" in findings(alpha)["many feeds"]["sentence"]
    open_feeds(home_of(alpha), 64)
    author = home_of(alpha).author()
    author.leave(author.place()[0].epoch)
    with pytest.raises(TooManyFeeds, match="the 64 feeds that may count of it") as told:
        author.append([NewRecord("notes", {"text": "one more"})])
    author.store.close()
    assert "mesh invite --ephemeral" in told.value.next_step


def test_a_copy_whose_feed_is_one_too_many_refuses_to_write_once_it_knows(
    alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until then it could not know. What it says next is how to join anew, not how to be admitted."""
    open_feeds(home_of(alpha), 63)
    copy = Shell(tmp_path / "copy", capsys)
    shutil.copytree(alpha.home, copy.home)
    open_feeds(home_of(alpha), 64)
    open_feeds(home_of(copy), 64)  # later, so it is the one that is left out
    carry(alpha, copy, tmp_path)
    assert copy.json("status")["root"] == alpha.json("status")["root"]
    told = copy("discover", "one more", "--global", code=1)
    assert told == ""
    assert "the 64 feeds that may count of it" in copy.err
    assert "mesh invite --ephemeral" in copy.err
    assert "mesh admit" not in copy.err
    (share,) = copy.json("quota")
    assert (share["feeds"], share["feeds_left_out"]) == (64, 1)
    found = [item for item in copy.json("doctor", code=3) if item["sort"] in ("feeds left out", "many feeds")]
    assert [
        ("64 of the 64" in item["sentence"], "1 operation of this node counts nowhere" in item["sentence"])
        for item in found
    ] == [
        (False, True),
        (True, False),
    ]


def open_feeds(home: Home, count: int) -> None:
    """Write into as many feeds as that, one after the other."""
    author = home.author()
    while author.store.feeds.count_of(home.node) < count:
        feed = author.append([NewRecord("notes", {"text": "another copy"})]).feed
        author.leave(feed.epoch)
    author.store.close()


def test_status_and_doctor_say_what_waits_in_clear_words(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """Of a node that wrote before it was admitted as a reader."""
    beta("op", "add", "notes", "before")
    carry(beta, alpha, tmp_path, code=3)
    alpha("admit", node_of(beta), "--role", "reader")
    (line,) = [line for line in alpha("status").splitlines() if line.startswith("waiting")]
    assert "it may only read; its node was admitted as a reader, so they count nowhere" in line
    assert "reader" in findings(alpha)


def test_an_import_counts_an_erase_that_stands_before_what_it_erases(
    alpha: Shell, beta: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in every bundle: statements come first. A backup with one in it is taken in without anything left waiting."""
    alpha("admit", node_of(beta))
    carry(alpha, beta, tmp_path)
    tag = beta.json("op", "add", "notes", "a secret")["ids"][0]
    beta("erase", tag, "--reason", "it was a secret")
    carry(beta, alpha, tmp_path)
    newcomer = shell_in(alpha, MEMBER, tmp_path, capsys)
    assert newcomer.json("status")["root"] == alpha.json("status")["root"]
