"""A file that we have a part in: put in, taken out, and what came of it. Which files, and what stands in them, is an agent's affair.

What cannot be done is a value, not an error: one file that must be left alone does not keep the others from being written.
"""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from clan_learnings.agents import settings_file
from clan_learnings.agents.install_target import Target
from clan_learnings.agents.settings_entries import CannotEdit
from clan_learnings.agents.settings_file import Unusable
from clan_learnings.agents.skill_text import MARK, NAME, skill

_TRACE = b"mesh"  # stands in everything that we put in

Did = Literal["created", "changed", "same", "removed", "restored", "refused"]
Standing = Literal["whole", "absent", "outdated", "broken"]


@dataclass(frozen=True, slots=True)
class Part:
    """What we have to say in one file. `put` and `take` are each other's inverse, and may be repeated."""

    path: str
    put: Callable[[str], str]
    take: Callable[[str], str]
    is_empty: Callable[[str], bool]
    base: str  # the folder that stays when what we made in it is gone


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done with one file, or would be."""

    agent: str
    path: str
    did: Did
    note: str = ""  # why not, or where the backup is
    by_hand: str = ""  # what a person has to add where we could not
    diff: str = ""


def install(agent: str, part: Part, *, dry_run: bool) -> Outcome:
    """Put our part into its file."""
    try:
        old, text = _read(part.path)
        new = part.put(text)
        if old is not None and new == text:
            return Outcome(agent, part.path, "same")
        settings_file.check_writable(part.path)
        did: Did = "created" if old is None else "changed"
        if dry_run:
            return Outcome(agent, part.path, did, diff=_diff(part.path, text, new))
        return Outcome(agent, part.path, did, note=_write(part, old, text, new.encode()))
    except (Unusable, CannotEdit) as error:
        return Outcome(agent, part.path, "refused", str(error), by_hand=part.put(""))


def uninstall(agent: str, part: Part, *, dry_run: bool) -> Outcome:
    """Take our part out of its file. If nobody else has changed it since, it gets back the bytes it had."""
    try:
        if _TRACE not in (settings_file.read(part.path) or b""):
            return Outcome(agent, part.path, "same")  # also if it is broken: there is nothing of ours to take out
        old, text = _read(part.path)
        assert old is not None
        backup = settings_file.backup_path(part.path, old)
        before = settings_file.read(backup)
        if before is not None:
            did: Did = "restored"
            new = before.decode()
        else:
            new = part.take(text)
            if new == text:
                return Outcome(agent, part.path, "same")
            is_ours = part.is_empty(new) and not settings_file.backups(part.path) and not os.path.islink(part.path)
            did = "removed" if is_ours else "changed"
        settings_file.check_writable(part.path)
        if dry_run:
            return Outcome(agent, part.path, did, diff=_diff(part.path, text, new))
        if did == "removed":
            settings_file.delete(part.path, part.base)
        else:
            settings_file.write(part.path, new.encode(), old)
        if did == "restored":
            settings_file.forget_backups(part.path)
        left = settings_file.backups(part.path)
        return Outcome(agent, part.path, did, note=f"backup: {left[-1]}" if left else "")
    except (Unusable, CannotEdit) as error:
        return Outcome(agent, part.path, "refused", str(error))


def standing(part: Part) -> tuple[Standing, str]:
    """How a file stands to what we would write into it now, and why it cannot be said, if it cannot."""
    try:
        old, text = _read(part.path)
        if old is not None and part.put(text) == text:
            return "whole", ""
        return ("absent" if part.take(text) == text else "outdated"), ""
    except (Unusable, CannotEdit) as error:
        return "broken", str(error)


def _read(path: str) -> tuple[bytes | None, str]:
    data = settings_file.read(path)
    return data, settings_file.decoded(data)


def _write(part: Part, old: bytes | None, text: str, new: bytes) -> str:
    """Back up, then write. The backup is the file without us, also if an older version of us is in it."""
    without_us = None
    if old is not None:
        without_us = settings_file.read(settings_file.backup_path(part.path, old))
        if without_us is None:
            bare = part.take(text)
            is_ours = bare != text and part.is_empty(bare) and not settings_file.backups(part.path)
            without_us = None if is_ours else bare.encode()
    backup = "" if without_us is None else settings_file.back_up(part.path, without_us, new)
    try:
        settings_file.write(part.path, new, old)
    except Unusable:
        if settings_file.read(part.path) != new:  # else somebody was faster with the same, and this is their backup
            settings_file.forget(backup)
        raise
    settings_file.forget_backups(part.path, backup)
    return f"backup: {backup}" if backup else ""


def _diff(path: str, old: str, new: str) -> str:
    """The lines that come and go, without those around them: settings files may hold secrets."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=0)
    return "\n".join(lines)


def own_file(path: str, text: str, base: str) -> Part:
    """A file of ours. Its text has the mark."""
    assert MARK in text

    def put(present: str) -> str:
        return text if not present.strip() or MARK in present else present

    def take(present: str) -> str:
        return "" if MARK in present else present

    return Part(path, put, take, lambda left: not left, base)


def skill_file(folder: str, target: Target, base: str) -> Part:
    """Our skill in an agent's folder of skills."""
    return own_file(os.path.join(folder, NAME, "SKILL.md"), skill(target.program, MARK), base)
