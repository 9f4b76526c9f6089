"""`mesh import --from`, as a person types it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.imports.record_lines import RecordLines
from tests.cli.test_commands import Shell, alpha

__all__ = ["alpha"]

REPO = "github.com/acme/api"
SECRET = "ghp_" + "a1B2c3D4" * 5
DISCOVERIES: list[Any] = [
    {"fact": "HTTP 405 on push means branch protection", "category": "pitfall", "repo": "global", "confidence": 0.9},
    {"text": "the token is in a file and not in the environment", "repo": "some-bare-name"},
    {"fact": "what is the best batch size?", "category": "question", "repo": "global"},
    {"id": "a", "text": "the cache of the gateway lives for an hour on staging", "repo": REPO},
    {"id": "b", "text": "the cache of the gateway lives for ten minutes", "repo": REPO, "supersedes": "a"},
    ["no object"],
    {"text": f"the deploy key {SECRET} rotates each month", "repo": REPO, "tags": ["keys", 7]},
    {"note": "nothing that we know the name of"},
]
PATTERNS = [
    {"pattern": "retry-upload", "rule": "retry uploads with a fresh token", "repo": REPO, "topic": "uploads"},
    {"pattern": "deploy by test, build, push and webhook in this order", "repo": "global"},
]


def lines(path: Path, values: list[Any], more: str = "") -> str:
    path.write_text("".join(json.dumps(value) + "\n" for value in values) + more)
    return str(path)


def test_discoveries_become_records_once(alpha: Shell, tmp_path: Path) -> None:
    """What is not taken is said with its reason; nothing holds more widely than its line said."""
    path = lines(tmp_path / "discoveries.jsonl", DISCOVERIES, "not JSON\n")
    first = alpha.json("import", "--from", "discoveries", path)
    assert (first["read"], first["recorded"], first["known"]) == (9, 3, 0)
    assert sorted(first["skipped"].values()) == [1] * 6
    assert SECRET not in alpha("tail", "--json")
    records = {each["record"]["text"]: each["record"] for each in map(json.loads, alpha("tail", "--json").splitlines())}
    assert records["HTTP 405 on push means branch protection"]["repo"] == ""
    assert records["the cache of the gateway lives for ten minutes"]["repo"] == REPO
    again = alpha.json("import", "--from", "discoveries", str(tmp_path))  # the folder it is in
    assert (again["recorded"], again["known"]) == (0, 3)


def test_a_bare_name_is_taken_for_the_repository_that_is_given(alpha: Shell, tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", DISCOVERIES[1:2])
    assert alpha.json("import", "--from", "discoveries", "--repo", REPO, path)["recorded"] == 1
    (record,) = map(json.loads, alpha("tail", "--json").splitlines())
    assert record["record"]["repo"] == REPO


def test_patterns_become_records_once_and_are_not_hot(alpha: Shell, tmp_path: Path) -> None:
    path = lines(tmp_path / "patterns.jsonl", PATTERNS)
    assert alpha.json("import", "--from", "patterns", path)["recorded"] == 2
    assert alpha.json("import", "--from", "patterns", path)["known"] == 2
    assert "retry-upload" in alpha("pattern", "list", "--all")
    assert alpha.json("hot", "--all")["hot"] == []


def test_rules_become_candidates_and_no_records(alpha: Shell, tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_text("- Run the tests with `pytest -n 1`, the database is not safe in parallel\n- ok\n")
    out = alpha("import", "--from", "claude-md", str(path), "--repo", REPO)
    assert "1 candidate of 1 point" in out
    assert "too short" in alpha.err
    assert "next: mesh curate" in alpha.err
    assert alpha("tail") == ""
    (waiting,) = alpha.json("curate", "--list")["candidates"]
    assert waiting["repos"] == [REPO]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "claude-md", "nowhere"], "there is no nowhere"),
        (["--from", "claude-md", "--private", "."], "--private is for bundles"),
        (["--repo", REPO, "x.mesh"], "--repo is for --from"),
    ],
)
def test_what_cannot_be_is_said(alpha: Shell, words: list[str], said: str) -> None:
    alpha("import", *words, code=1)
    assert said in alpha.err


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.dictionaries(
                st.sampled_from(["text", "fact", "rule", "pattern", "repo", "tags", "confidence", "id", "supersedes"]),
                st.one_of(
                    st.none(),
                    st.booleans(),
                    st.floats(),
                    st.text(max_size=8),
                    st.lists(st.text(max_size=3), max_size=2),
                ),
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=6,
    )
)
def test_any_bytes_are_lines_or_skipped(tmp_path: Path, given_lines: list[bytes]) -> None:
    """Each line is taken, or counted with a reason."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(b"\n".join(given_lines))
    found = RecordLines(str(path))
    assert len(found.lines) + sum(found.skipped.values()) == found.read
