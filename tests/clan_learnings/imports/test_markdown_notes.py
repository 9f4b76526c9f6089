"""The points of Markdown that people and Codex keep for agents."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.context.injected_mark import FILE_CLOSING, FILE_OPENING
from clan_learnings.imports.finding import MOST, TEXT_CHARS, Imported
from clan_learnings.imports.markdown_notes import read_codex_memories, read_rules
from clan_learnings.imports.markdown_points import points
from mesh.core.errors import UsageError

RULES = """\
---
title: rules
---
# Api

Some prose about the project.

Always use pnpm instead of npm in this repo.

## Testing <!-- - not this one -->
- Run tests with `pytest -n 1`,
  the database is not **safe** in parallel
- Before a release:
  - bump the version in [pyproject.toml](pyproject.toml)
  1. tag it with the version
- [ ] write more tests
- ok
```
- not this one in code
```
> - nor this one, which somebody else said
"""
MEMORY = """\
# Task Group: billing
scope: the billing service
applies_to: cwd=/nowhere/billing; reuse_rule=checkout

## Task 1: uploads
### rollout_summary_files
- rollout_summaries/one.md (cwd=/nowhere/billing)
### keywords
- upload, token, 403
### learnings
- The upload token expires after an hour, so fetch it late
"""


def said(imported: Imported) -> list[str]:
    return [finding.text for finding in imported.found]


def test_lists_and_rules_are_points_and_the_rest_is_not(tmp_path: Path) -> None:
    """Code, prose, comments, quotations and tasks are none; a point under another is told with it."""
    (tmp_path / "CLAUDE.md").write_text(RULES)
    imported = read_rules(str(tmp_path))
    assert said(imported) == [
        "Always use pnpm instead of npm in this repo.",
        "Run tests with `pytest -n 1`, the database is not safe in parallel",
        "Before a release: bump the version in pyproject.toml",
        "Before a release: tag it with the version",
    ]
    assert [finding.line for finding in imported.found] == [8, 11, 14, 15]
    assert imported.found[1].place == "CLAUDE.md, Testing"
    assert sum(imported.skipped.values()) == 2


def test_what_clan_mesh_wrote_is_never_learned_again(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    ours = f"{FILE_OPENING}\n- a rule that everybody knows by now\n{FILE_CLOSING}\n"
    path.write_text(
        f"{ours}\n- the gateway listens on port 8443\n\n# The shared memory\n\n- call `mesh hot` for the rules\n"
    )
    imported = read_rules(str(path))
    assert said(imported) == ["the gateway listens on port 8443"]
    assert list(imported.skipped) == ["parts that clan-mesh wrote itself"]


def test_codex_memories_are_what_is_known_and_not_where_to_look(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text(MEMORY)
    (tmp_path / "raw_memories.md").write_text("- this is only the raw material of it\n")
    notes = tmp_path / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "one.md").write_text("- the user wants answers in English only\n")
    imported = read_codex_memories(str(tmp_path))
    assert said(imported) == [
        "The upload token expires after an hour, so fetch it late",
        "the user wants answers in English only",
    ]
    assert imported.found[0].folder == "/nowhere/billing"
    assert imported.read == 2


def test_too_much_is_bounded_and_said(tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    many = "\n".join(f"- rule number {number} of very many" for number in range(MOST + 5))
    path.write_text(f"- {'long ' * TEXT_CHARS}\n{many}\n- rule number 1 of very many\n")
    imported = read_rules(str(path))
    assert len(imported.found) == MOST
    assert sorted(imported.skipped.values()) == [1, 1, 5]
    path.write_bytes(b"x" * (2 * 1024 * 1024))
    with pytest.raises(UsageError, match="has more than"):
        read_rules(str(path))


def test_a_folder_without_rules_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"AGENTS\.md"):
        read_rules(str(tmp_path))
    with pytest.raises(UsageError, match=r"MEMORY\.md"):
        read_codex_memories(str(tmp_path))


@given(st.text(alphabet=st.sampled_from("-#*1. \t\n`~:>|[]()<!ab é"), max_size=300))
def test_any_text_has_points_in_order(text: str) -> None:
    lines = [point.line for point in points(text)]
    assert lines == sorted(set(lines))
    assert all(1 <= line <= len(text.splitlines()) for line in lines)
