"""Calls that edit files: which files, and which text they replace by what. Recognised by the form of a call, so that tools of new agents work too."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clan_learnings.sessions.transcript_events import Kind, SessionEvent

_TOOL = re.compile(r"edit|write|patch|replace|create_?file|insert|update_?file|delete_?file|apply", re.IGNORECASE)
_NO_TOOL = re.compile(r"todo|stdin|plan|memory|issue|comment|document|task", re.IGNORECASE)
_FILE_KEYS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "filename", "file", "target_file")
_OLD_KEYS = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
_NEW_KEYS = (
    "new_string",
    "newString",
    "new_str",
    "newText",
    "new_text",
    "replace",
    "content",
    "file_text",
    "new_source",
)
_PATCH = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,400})$", re.MULTILINE)
_DIFF = re.compile(r"^\+\+\+ (?:b/)?(\S{1,400})", re.MULTILINE)
_BEGIN = "*** Begin Patch"
_CHARS = 40_000
# Shell lines that change files themselves.
_BY_SHELL = re.compile(
    r"\b(?:sed|perl)\s+(?:-\w+\s+)*-\w*i|\bgofmt\s+(?:-\w+\s+)*-w|--fix\b|--write\b|\bapply_patch\b|\bgit apply\b|\bpatch -p|\bmv \S+ \S+|\bcat\s*>{1,2}\s*\S+|\btee\s+\S"
)
_WRITTEN = re.compile(r"(?:\bcat\s*>{1,2}\s*|\btee\s+(?:-a\s+)?)([\w./~@+-]{1,200})")


class FileChange(NamedTuple):
    """A piece of a file that a call replaced. `old` is empty where a whole file was written."""

    old: str
    new: str


def is_edit(call: SessionEvent) -> bool:
    """Whether a call changes files."""
    if call.kind is not Kind.CALL:
        return False
    if call.text:
        return bool(_BY_SHELL.search(call.text[:_CHARS]))
    if _patches(call.arguments):
        return True
    if not _TOOL.search(call.tool) or _NO_TOOL.search(call.tool):
        return False
    if not files_of(call):
        return False
    return bool(changes_of(call)) or "delete" in call.tool.lower()  # an editor may also only show


def files_of(call: SessionEvent) -> list[str]:
    """The files that a call is to change, in order, each once."""
    if call.text:
        found = _PATCH.findall(call.text[:_CHARS]) + _WRITTEN.findall(call.text[:_CHARS])
        return list(dict.fromkeys(name.strip() for name in found))
    files = [name for key in _FILE_KEYS if isinstance(name := call.arguments.get(key), str) and name]
    for text in _patches(call.arguments):
        files += _PATCH.findall(text) or _DIFF.findall(text)
    return list(dict.fromkeys(name.strip() for name in files))


def changes_of(call: SessionEvent) -> list[FileChange]:
    """The replacements that a call makes."""
    found = list(_pairs(call.arguments))
    for text in [*_patches(call.arguments), *([call.text[:_CHARS]] if _BEGIN in call.text else [])]:
        lines = text.splitlines()
        old = "\n".join(line[1:] for line in lines if line.startswith("-") and not line.startswith("---"))
        new = "\n".join(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))
        found.append(FileChange(old, new))
    return found


def _pairs(arguments: Mapping[str, Any]) -> Iterator[FileChange]:
    nested = arguments.get("edits")
    for given in [arguments, *(nested[:50] if isinstance(nested, list) else [])]:
        if not isinstance(given, dict):
            continue
        old = next((text for key in _OLD_KEYS if isinstance(text := given.get(key), str)), "")
        new = next((text for key in _NEW_KEYS if isinstance(text := given.get(key), str)), "")
        if old or new:
            yield FileChange(old[:_CHARS], new[:_CHARS])


def _patches(arguments: Mapping[str, Any]) -> list[str]:
    texts = [value[:_CHARS] for value in arguments.values() if isinstance(value, str)]
    patches = [text for text in texts if _BEGIN in text or "\n+++ " in text]
    # In a program that gives a patch to a tool, the patch is a string of that program.
    return [text.replace("\\n", "\n").replace('\\"', '"') if f"{_BEGIN}\\n" in text else text for text in patches]
