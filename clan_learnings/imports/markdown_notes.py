"""Rules that people keep for their agents (CLAUDE.md, AGENTS.md, GEMINI.md), and the memories that Codex keeps, both in Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from clan_learnings.context.injected_mark import without_ours
from clan_learnings.imports.finding import CLAUDE_MD, Finding, Imported, file_bytes
from clan_learnings.imports.markdown_points import Point, points
from mesh.core.errors import UsageError

RULE_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", ".claude/CLAUDE.md")
_OURS = "The shared memory"  # the heading of what `mesh install --text` prints
_TASK = re.compile(r"\[[ xX]\]\s")
_MEMORY = "MEMORY.md"
_NOTES = ("extensions", "ad_hoc", "notes")  # in the folder of Codex's memories: what people asked it to remember
_FILES = 200
# In Codex's memories: where to look, not what is known.
_NO_KNOWLEDGE = (
    "rollout_summary",
    "rollout summary",
    "keywords",
    "scope",
    "what's in memory",
    "evidence",
    "references",
)
_APPLIES = re.compile(r"applies_to:\s*cwd=([^;\n]{1,1000})")
_GROUP = re.compile(r"^# Task Group:", re.MULTILINE)


def read_rules(path: str) -> Imported:
    """The rules in a file, or in the files of that sort in a folder."""
    imported = Imported()
    if not os.path.isdir(path):
        _read_file(imported, path, os.path.dirname(os.path.abspath(path)), by_person=True)
        return imported
    files = [name for name in RULE_FILES if os.path.isfile(os.path.join(path, name))]
    if not files:
        raise UsageError(
            f"there is no {', '.join(RULE_FILES[:-2])} or {RULE_FILES[-2]} in {path}",
            f"name the file: mesh import --from {CLAUDE_MD} FILE",
        )
    for name in files:
        _read_file(imported, os.path.join(path, name), os.path.abspath(path), by_person=True)
    return imported


def read_codex_memories(path: str) -> Imported:
    """What Codex has made of sessions and of what it was told to remember: its handbook and its notes, not its raw material."""
    imported = Imported()
    if os.path.isfile(path):
        _read_memory(imported, path)
        return imported
    folder = os.path.join(path, "memories")
    folder = folder if os.path.isdir(folder) else path  # of CODEX_HOME, or its folder itself
    files = [os.path.join(folder, _MEMORY)] if os.path.isfile(os.path.join(folder, _MEMORY)) else []
    notes = os.path.join(folder, *_NOTES)
    if os.path.isdir(notes):
        files += [os.path.join(notes, name) for name in sorted(os.listdir(notes)) if name.endswith(".md")]
    if not files:
        raise UsageError(f"there is no {_MEMORY} in {folder}", "name the folder: ~/.codex/memories")
    for file in files[:_FILES]:
        _read_memory(imported, file)
    if len(files) > _FILES:
        imported.skipped[f"files beyond {_FILES}"] += len(files) - _FILES
    return imported


def _read_file(
    imported: Imported,
    path: str,
    folder: str,
    *,
    by_person: bool,
    is_knowledge: Callable[[Point], bool] = lambda _: True,
) -> None:
    text = file_bytes(path).decode("utf-8", "replace")
    imported.read += 1
    _take(imported, text, path, folder, by_person=by_person, is_knowledge=is_knowledge)


def _read_memory(imported: Imported, path: str) -> None:
    """Each group of tasks says which folder it is about."""
    text = file_bytes(path).decode("utf-8", "replace")
    imported.read += 1
    starts = [found.start() for found in _GROUP.finditer(text)]
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        group = text[start:end]
        applies = _APPLIES.search(group)
        folder = applies[1].strip() if applies is not None else ""
        before = text.count("\n", 0, start)
        _take(imported, group, path, folder, by_person=False, is_knowledge=_is_knowledge, before=before)


def _take(
    imported: Imported,
    text: str,
    path: str,
    folder: str,
    *,
    by_person: bool,
    is_knowledge: Callable[[Point], bool],
    before: int = 0,
) -> None:
    own = without_ours(text)
    if own != text:
        imported.skipped["parts that clan-mesh wrote itself"] += 1
    try:
        at_ms = int(os.stat(path).st_mtime * 1000)
    except OSError:
        at_ms = 0
    name = os.path.basename(path)
    for point in points(own):
        if _OURS in point.headings:
            imported.skipped["parts that clan-mesh wrote itself"] += 1
        elif _TASK.match(point.text):
            imported.skipped["tasks: nothing is known yet"] += 1
        elif not is_knowledge(point):
            imported.skipped["where to look, not what is known"] += 1
        else:
            heading = next((each for each in reversed(point.headings) if each), "")
            place = f"{name}, {heading}" if heading else name
            line = point.line + before
            imported.add(Finding(point.text, place, line, name, folder, at_ms=at_ms, by_person=by_person))


def _is_knowledge(point: Point) -> bool:
    """Whether a point of Codex's memories says something about the work."""
    above = [heading.lower() for heading in point.headings]
    return not any(heading.startswith(_NO_KNOWLEDGE) for heading in above)
