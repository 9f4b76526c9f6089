"""Finished sessions become knowledge: real transcripts' form, real commands, real homes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.claude_sessions import ClaudeSession, clone_of, corrected
from tests.end_to_end.commands import anywhere, asked, done, killed_at, mesh, quickly

REPO = "github.com/acme/web"
SECRETS = (
    "AKIA" + "Q3EGVJ7ZK5XW2M4T",
    "ghp_" + "x9K2mQ7vR4tY8wB3nL6pD1sF5hJ0cA2eGzUi",
    "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 3,
    "xoxb-" + "123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
    "hunter2-" + "correct-horse-battery",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node."""
    made = tmp_path / "home"
    quickly(made, "init", "--name", "laptop")
    return made


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that sessions work in."""
    return clone_of(REPO, tmp_path / "clone")


def records(home: Path) -> list[dict[str, Any]]:
    """Every live record, oldest first."""
    return [json.loads(line)["record"] for line in done(home, "op", "list", "--json").splitlines()]


def standing(home: Path) -> dict[str, tuple[int, int]]:
    """Sessions of every pattern, and how often it was logged."""
    found = asked(home, "pattern", "list", "--all")["patterns"]
    return {each["pattern"]: (each["sessions"], each["logged"]) for each in found}


def test_a_correction_in_a_finished_session_is_in_the_next_context(home: Path, clone: Path, tmp_path: Path) -> None:
    """Off by default; with the repository switched on it is recorded, and three sessions make it HOT."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    first = asked(home, "harvest", str(folder))
    assert (first["captured"]["ingested"], first["sessions"], first["recorded"]) == (1, 1, [])
    assert first["waiting"]["share"] == 1
    assert first["share"] == {REPO: 1}
    said = mesh(home, "harvest", str(folder))
    assert "1 candidate for mesh share" in said.stdout
    assert "mesh share REPO" in said.stderr

    assert asked(home, "share", REPO)["shared"] == [REPO]
    second = asked(home, "harvest", str(folder))
    assert [record["repo"] for record in second["recorded"]] == [REPO]
    (record,) = records(home)
    assert record["session"] == "claude-code:one"
    assert "pnpm" in record["right"]
    assert "npm install" in record["wrong"]
    assert asked(home, "harvest", str(folder))["recorded"] == []

    for name in ("two", "three"):
        corrected(name, clone).save(folder)
    third = asked(home, "harvest", str(folder))
    assert len(third["hot"]) == 1
    assert "pnpm" in done(home, "context", "--repo", REPO)
    assert [sessions for sessions, _ in standing(home).values()] == [3]


def test_what_was_logged_live_counts_once(home: Path, clone: Path, tmp_path: Path) -> None:
    """`mesh correct` in the session, and the transcript of it later."""
    done(home, "share", REPO)
    done(
        home, "correct", "--wrong", "npm install", "--right", "use pnpm install here, we never use npm",
        "--repo", REPO, "--session", "claude-code:one",
    )  # fmt: skip
    corrected("one", clone).save(tmp_path / "sessions")
    harvest = asked(home, "harvest", str(tmp_path / "sessions"))
    assert (harvest["recorded"], harvest["known"]) == ([], 1)
    assert list(standing(home).values()) == [(1, 1)]


def test_one_transcript_in_two_files_and_on_two_nodes_counts_once(home: Path, clone: Path, tmp_path: Path) -> None:
    """The bundles of both nodes together have one session."""
    corrected("one", clone).save(tmp_path / "a")
    corrected("one", clone).save(tmp_path / "b")
    done(home, "share", REPO)
    done(home, "harvest", str(tmp_path / "a"), str(tmp_path / "b"))
    assert list(standing(home).values()) == [(1, 1)]
    other = tmp_path / "other"
    quickly(other, "init", "--name", "other", "--mesh", asked(home, "status")["mesh"])
    bundle = tmp_path / "bundle"
    done(home, "admit", asked(other, "status")["node"])
    done(other, "share", REPO)
    done(other, "harvest", str(tmp_path / "b"))
    done(other, "export", str(bundle))
    done(home, "import", str(bundle))
    assert len(records(home)) == 2
    assert list(standing(home).values()) == [(1, 2)]


KILLED_AT = (
    "clan_learnings.harvest.intake.add_signal",
    "clan_learnings.harvest.record_writer.draft_signal",
    "clan_learnings.harvest.record_writer._recorded",
)


@pytest.mark.parametrize("function", KILLED_AT)
def test_a_harvest_that_is_killed_is_finished_by_the_next(
    home: Path, clone: Path, tmp_path: Path, function: str
) -> None:
    """Wherever it was: nothing is lost, nothing is there twice."""
    folder = tmp_path / "sessions"
    done(home, "share", "*")
    for name in ("one", "two", "three"):
        corrected(name, clone).save(folder)
    for time_called in (1, 2):
        assert killed_at(function, time_called, home, "harvest", str(folder))
    done(home, "harvest", str(folder))
    found = [json.loads(line) for line in done(home, "op", "list", "--json").splitlines()]
    assert sorted(one["record"]["session"] for one in found if one["log"] == "corrections") == [
        "claude-code:one",
        "claude-code:three",
        "claude-code:two",
    ]
    assert len([one for one in found if one["log"] == "learnings"]) <= 1
    assert [sessions for sessions, _ in standing(home).values()] == [3]
    assert "clean" in done(home, "verify")


def told_by_every_way(home: Path, clone: Path, name: str) -> ClaudeSession:
    """A session into which our own text comes by every way there is, and that has nothing of its own to teach."""
    context = done(home, "context", "--repo", REPO)
    found = done(home, "search", "pnpm npm install", "--all")
    memory = home / "rendered" / "MEMORY.md"
    done(home, "render", str(home / "rendered"))
    session = ClaudeSession(name, clone).hook(context).reminder(context)
    session.prompt("What do we know about installing here?")
    session.called("mcp__clan-mesh__search_knowledge", {"query": "pnpm"}, found)
    session.ran('mesh search "pnpm npm install"', found)
    session.ran(f"cat {memory}", memory.read_text(encoding="utf-8"))
    session.ran("mesh context", context).ran("mesh hot --all", done(home, "hot", "--all"))
    session.reply(f"From the shared notes I know this:\n\n{context}")
    session.compacted(f"The notes said: {context} and {found}")
    return session.prompt("Thanks, go on.").reply("Done.")


def test_our_own_text_never_comes_back(home: Path, clone: Path, tmp_path: Path) -> None:
    """Three harvests in a row over sessions that were fed by our own contexts raise no count."""
    folder = tmp_path / "sessions"
    done(home, "share", "*")
    for name in ("one", "two", "three"):
        corrected(name, clone).save(folder)
    done(home, "discover", "The staging database of billing needs TLS 1.3.", "--repo", REPO)
    assert len(asked(home, "harvest", str(folder))["hot"]) == 1
    before, counts = records(home), standing(home)
    assert [sessions for sessions, _ in counts.values()] == [3]
    for number in range(3):
        told_by_every_way(home, clone, f"fed-{number}").save(folder)
        harvest = asked(home, "harvest", str(folder))
        assert harvest["sessions"] == 1
        assert (harvest["items"], harvest["recorded"]) == (0, []), harvest["learned"]
        assert (records(home), standing(home)) == (before, counts)


def test_planted_keys_are_nowhere_after_a_harvest(home: Path, clone: Path, tmp_path: Path) -> None:
    """Not in stored bodies, digests, candidates, records, rendered files or logs: every byte of the home is searched."""
    folder = tmp_path / "sessions"
    done(home, "share", "*")
    for number, secret in enumerate(SECRETS[:4]):
        reason = f"use the token {secret} for the registry, never npm"
        session = corrected(f"s{number}", clone, reason)
        session.ran(f"curl -H 'Authorization: Bearer {secret}' https://x.test", f"401 for {secret}", failed=True)
        session.ran(f"REGISTRY_TOKEN={secret} pnpm publish", "ok")
        session.prompt(f"Remember: always publish with {secret}.").reply(f"I will remember {secret}.")
        session.save(folder)
    url = f"postgres://billing:{SECRETS[4]}@db.test/app"
    corrected("s9", clone, f"use {url} for the tests, never sqlite").save(folder)
    done(home, "harvest", str(folder))
    for candidate in asked(home, "curate", "--list")["candidates"]:
        done(home, "curate", "--accept", candidate["id"])
    done(home, "harvest", str(folder))
    done(home, "render", str(home / "rendered"))
    assert records(home)
    for secret in SECRETS:
        assert anywhere(home, secret) == [], secret


def test_a_dry_run_needs_no_home_and_keeps_nothing(clone: Path, tmp_path: Path) -> None:
    """File as it was given, kind, line, fix, text, confidence; as one JSON array."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    (folder / "noise.jsonl").write_text("not a transcript\n", encoding="utf-8")
    nowhere = tmp_path / "nowhere"
    finished = mesh(nowhere, "harvest", "--dry-run", "--json", str(folder))
    assert finished.returncode == 0, finished.stderr
    items = json.loads(finished.stdout)
    (found,) = [item for item in items if item["kind"] == "correction"]
    assert set(found) == {"file", "kind", "evidence_line", "fix_line", "text", "confidence"}
    assert found["file"] == str(folder / "one.jsonl")
    assert found["evidence_line"] == 4
    assert "noise.jsonl" in finished.stderr
    assert not nowhere.exists()


def test_an_extractor_adds_what_it_finds_and_its_failure_loses_nothing(home: Path, clone: Path, tmp_path: Path) -> None:
    """A program that reads the question on stdin; one that crashes is told of."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    answer = [{"kind": "fact", "text": "The web app of acme is built by turborepo.", "line": 6, "confidence": 0.6}]
    model = tmp_path / "model"
    model.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{json.dumps(answer)}'\n", encoding="utf-8")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    for program in (model, broken):
        os.chmod(program, 0o700)
    harvest = asked(home, "harvest", str(folder), "--extractor", str(broken))
    assert harvest["sessions"] == 1
    assert any("broken" in problem for problem in harvest["problems"])
    assert asked(home, "detect", "--min-frequency", "1")["found"] == 1
    harvest = asked(home, "harvest", str(folder), "--extractor", str(model))
    assert harvest["problems"] == []
    kinds = {each["kind"] for each in asked(home, "detect", "--min-frequency", "1")["candidates"]}
    assert kinds == {"correction", "fact"}


def test_an_empty_extractor_is_told_and_loses_nothing(home: Path, clone: Path, tmp_path: Path) -> None:
    """A variable of the shell that is not set: what the rules find is harvested, and one sentence says who was not asked."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    tried = mesh(home, "harvest", "--dry-run", str(folder), "--extractor", " ")
    assert "no model was asked: the command of --extractor is empty" in tried.stderr
    harvest = asked(home, "harvest", str(folder), "--extractor", "")
    assert (harvest["sessions"], len(harvest["problems"])) == (1, 1)
    assert "no model was asked" in harvest["problems"][0]
    assert "mesh harvest --extractor 'claude -p'" in harvest["problems"][0]
    assert asked(home, "detect", "--min-frequency", "1")["found"] == 1


def test_an_extractor_has_as_long_as_it_is_given(home: Path, clone: Path, tmp_path: Path) -> None:
    """A slow one is ended after that, and told of; what makes no sense is refused before anything is read."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    os.chmod(slow, 0o700)
    harvest = asked(home, "harvest", str(folder), "--extractor", str(slow), "--extractor-seconds", "1")
    assert harvest["problems"] == ["extractor slow: no answer within 1 s"]
    for given in (["--extractor-seconds", "5"], ["--extractor", "llm", "--extractor-seconds", "0"]):
        refused = mesh(home, "harvest", str(folder), *given)
        assert refused.returncode == 1
        assert "next: " in refused.stderr
        assert "--extractor-seconds 600" in refused.stderr


def codex_session(name: str, folder: Path) -> None:
    """The same mistake, as Codex tells it: a person objects after the command."""
    shell = {"command": ["bash", "-lc", "npm install"]}
    told = (
        ("session_meta", {"id": name, "cwd": "/srv/web", "git": {"repository_url": f"https://{REPO}.git"}}),
        ("event_msg", {"type": "user_message", "message": "Please install the dependencies of the web app."}),
        ("response_item", {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": json.dumps(shell)}),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": "added 900 packages"}),
        ("event_msg", {"type": "agent_message", "message": "Installed."}),
        ("event_msg", {"type": "user_message", "message": "no, use pnpm install here, we never use npm"}),
        ("event_msg", {"type": "agent_message", "message": "You're right, I will use pnpm."}),
    )
    at = "2026-11-01T10:00:00.000Z"
    records = [{"timestamp": at, "type": kind, "payload": payload} for kind, payload in told]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rollout-{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def test_detect_flags_what_agents_of_several_sorts_came_upon(home: Path, clone: Path, tmp_path: Path) -> None:
    """Ranked first, with frequency, sessions, repositories and cost."""
    folder = tmp_path / "sessions"
    corrected("one", clone).save(folder)
    corrected("two", clone).save(folder)
    done(home, "harvest", str(folder))
    (found,) = asked(home, "detect")["candidates"]
    assert (found["frequency"], found["sessions"], found["repos"], found["cross_flavour"]) == (2, 2, [REPO], False)
    assert "2 times in 2 sessions of claude-code" in done(home, "detect")
    codex_session("t1", folder)
    done(home, "harvest", str(folder))
    first = asked(home, "detect")["candidates"][0]
    assert (first["sessions"], first["flavours"], first["cross_flavour"]) == (3, ["claude-code", "codex"], True)
    assert "of claude-code, codex (cross-flavour)" in done(home, "detect")


def test_share_is_listed_and_switched_off(home: Path) -> None:
    """Addresses become names; globs stay."""
    assert asked(home, "share", "git@github.com:Acme/Web.git")["shared"] == [REPO]
    assert asked(home, "share", "github.com/other/*")["shared"] == [REPO, "github.com/other/*"]
    assert done(home, "share").splitlines() == [REPO, "github.com/other/*"]
    assert asked(home, "share", "github.com/other/*", "--off")["shared"] == [REPO]
    assert mesh(home, "share", "not a repository").returncode != 0
    assert mesh(home, "share", "--off").returncode == 2
