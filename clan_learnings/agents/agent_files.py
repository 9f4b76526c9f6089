"""Files of agents that we write to: what to install, reading and replacing a file with a backup, putting our part in and taking it out.

Which files there are, and what our part says, is up to the modules of each agent. A file that cannot be changed is a value, not an
error: it does not keep the others from being written.

Command lines of hooks are made here and nowhere else. They must stay the same byte for byte after an upgrade: Codex trusts a hook by
its hash.
"""

import difflib
import hashlib
import os
import shlex
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from clan_learnings.agents.settings_entries import CannotEdit
from clan_learnings.agents.skill_text import MARK, NAME, skill


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """One request to install or to uninstall."""

    mesh: str  # the absolute path of the program
    environ: Mapping[str, str]
    project: str = ""  # the folder of one project; empty: for the user
    home: str = ""  # the node's home, if it is not the default one
    allow: bool = False  # also let the agent call us without asking

    @property
    def user_home(self) -> str:
        """The user's own folder."""
        return self.environ.get("HOME") or os.path.expanduser("~")

    @property
    def program(self) -> str:
        """How texts name the program: in a project, which others share, by its name alone."""
        return "mesh" if self.project else shlex.quote(self.mesh)

    def hook(self, event: str, agent: str = "") -> str:
        """The command line of a hook. Claude Code is what `mesh hook` takes for granted."""
        words = [self.mesh, "hook", event]
        words += ["--agent", agent] if agent else []
        return shlex.join(words + self._home)

    def server(self) -> list[str]:
        """The words after the program that run the MCP server."""
        return ["mcp", *self._home]

    @property
    def _home(self) -> list[str]:
        return ["--home", self.home] if self.home else []


_BYTES = 16 * 1024 * 1024
_MARK = ".clan-mesh-"
_END = ".bak"


class Unusable(Exception):
    """The file must be left as it is; the message says why."""


def read(path: str) -> bytes | None:
    """The file's bytes; None if there is none."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("it is no plain file")
        if status.st_size > _BYTES:
            raise Unusable(f"it has more than {_BYTES:,} bytes")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from error


def decoded(data: bytes | None) -> str:
    """A file's text; empty if there is no file."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise Unusable("it is not UTF-8") from error


def check_writable(path: str) -> None:
    """Raise if the file, or the folder it would be created in, is read-only. This also holds for root, who could write it."""
    target = os.path.realpath(path)
    if os.path.exists(target):
        if not os.stat(target).st_mode & 0o222 or not os.access(target, os.W_OK):
            raise Unusable("it is read-only")
        folder = os.path.dirname(target)
    else:
        folder = os.path.dirname(target)
        while not os.path.exists(folder):
            folder = os.path.dirname(folder)
    if not os.path.isdir(folder) or not os.stat(folder).st_mode & 0o222 or not os.access(folder, os.W_OK):
        raise Unusable(f"the folder {folder} is read-only")


def write(path: str, data: bytes, expected: bytes | None) -> None:
    """Replace the bytes that were read, all or nothing. Mode and links stay."""
    check_writable(path)
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if read(target) != expected:
            raise Unusable("another program changed it just now")
        _replace(target, data, target)
    except OSError as error:
        raise Unusable(f"it cannot be written: {error.strerror}") from error


def delete(path: str, stop: str) -> None:
    """Delete a file, and the folders that are then empty, up to `stop`, which stays."""
    check_writable(path)
    try:
        os.unlink(path)
    except OSError as error:
        raise Unusable(f"it cannot be taken away: {error.strerror}") from error
    folder = os.path.dirname(path)
    with suppress(OSError):  # not empty
        while folder.startswith(stop + os.sep):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def backup_path(path: str, written: bytes) -> str:
    """The name of the backup of what was there before these bytes."""
    return f"{path}{_MARK}{hashlib.blake2b(written, digest_size=6).hexdigest()}{_END}"


def backups(path: str) -> list[str]:
    """All backups beside a file."""
    folder, start = os.path.dirname(path), os.path.basename(path) + _MARK
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(os.path.join(folder, name) for name in names if name.startswith(start) and name.endswith(_END))


def back_up(path: str, without_us: bytes, written: bytes) -> str:
    """Keep what the file was, before it is written."""
    made = backup_path(path, written)
    try:
        _replace(made, without_us, path)
    except OSError as error:
        raise Unusable(f"its backup {made} cannot be written: {error.strerror}") from error
    return made


def forget_backups(path: str, but: str = "") -> None:
    """Take away the backups of a file, but one: there is never more than the newest."""
    for old in backups(path):
        if old != but:
            forget(old)


def forget(backup: str) -> None:
    """Take one backup away, if there is one."""
    with suppress(OSError):
        os.unlink(backup)


def _replace(target: str, data: bytes, like: str) -> None:
    """All bytes or none, with the mode and the owner of another file, if there is one."""
    descriptor, draft = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if os.path.exists(like):
                status = os.stat(like)
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
                os.fchmod(file.fileno(), status.st_mode & 0o7777)
            else:
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.rename(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_TRACE = b"mesh"  # stands in everything that we put in

Did = Literal["created", "changed", "same", "removed", "restored", "refused"]
PartState = Literal["whole", "absent", "outdated", "broken"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """Our part in one file. `put` and `take` are inverses, and may be repeated."""

    path: str
    put: Callable[[str], str]
    take: Callable[[str], str]
    is_empty: Callable[[str], bool]
    base: str  # the folder that stays when what we made in it is gone


@dataclass(frozen=True, slots=True)
class PartChange:
    """What was done with one file, or would be."""

    agent: str
    path: str
    did: Did
    note: str = ""  # why not, or where the backup is
    by_hand: str = ""  # what a person has to add where we could not
    diff: str = ""


def install(agent: str, part: FilePart, *, dry_run: bool) -> PartChange:
    """Put our part into its file."""
    try:
        old, text = _read_text(part.path)
        new = part.put(text)
        if old is not None and new == text:
            return PartChange(agent, part.path, "same")
        check_writable(part.path)
        did: Did = "created" if old is None else "changed"
        if dry_run:
            return PartChange(agent, part.path, did, diff=_diff(part.path, text, new))
        return PartChange(agent, part.path, did, note=_write_part(part, old, text, new.encode()))
    except (Unusable, CannotEdit) as error:
        return PartChange(agent, part.path, "refused", str(error), by_hand=part.put(""))


def uninstall(agent: str, part: FilePart, *, dry_run: bool) -> PartChange:
    """Take our part out of its file. If the file has not been changed since, it gets back the bytes it had."""
    try:
        if _TRACE not in (read(part.path) or b""):
            return PartChange(agent, part.path, "same")  # also if it is broken: there is nothing of ours to take out
        old, text = _read_text(part.path)
        assert old is not None
        backup = backup_path(part.path, old)
        before = read(backup)
        if before is not None:
            did: Did = "restored"
            new = before.decode()
        else:
            new = part.take(text)
            if new == text:
                return PartChange(agent, part.path, "same")
            is_ours = part.is_empty(new) and not backups(part.path) and not os.path.islink(part.path)
            did = "removed" if is_ours else "changed"
        check_writable(part.path)
        if dry_run:
            return PartChange(agent, part.path, did, diff=_diff(part.path, text, new))
        if did == "removed":
            delete(part.path, part.base)
        else:
            write(part.path, new.encode(), old)
        if did == "restored":
            forget_backups(part.path)
        left = backups(part.path)
        return PartChange(agent, part.path, did, note=f"backup: {left[-1]}" if left else "")
    except (Unusable, CannotEdit) as error:
        return PartChange(agent, part.path, "refused", str(error))


def standing(part: FilePart) -> tuple[PartState, str]:
    """Whether a file has what we would write into it now, and if that cannot be told, why."""
    try:
        old, text = _read_text(part.path)
        if old is not None and part.put(text) == text:
            return "whole", ""
        return ("absent" if part.take(text) == text else "outdated"), ""
    except (Unusable, CannotEdit) as error:
        return "broken", str(error)


def _read_text(path: str) -> tuple[bytes | None, str]:
    data = read(path)
    return data, decoded(data)


def _write_part(part: FilePart, old: bytes | None, text: str, new: bytes) -> str:
    """Back up, then write. The backup is the file without us, also if an older version of us is in it."""
    without_us = None
    if old is not None:
        without_us = read(backup_path(part.path, old))
        if without_us is None:
            bare = part.take(text)
            is_ours = bare != text and part.is_empty(bare) and not backups(part.path)
            without_us = None if is_ours else bare.encode()
    backup = "" if without_us is None else back_up(part.path, without_us, new)
    try:
        write(part.path, new, old)
    except Unusable:
        if read(part.path) != new:  # else another process has just written the same, and this is its backup
            forget(backup)
        raise
    forget_backups(part.path, backup)
    return f"backup: {backup}" if backup else ""


def _diff(path: str, old: str, new: str) -> str:
    """The lines that come and go, without those around them: settings files may hold secrets."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=0)
    return "\n".join(lines)


def own_file(path: str, text: str, base: str) -> FilePart:
    """A file of ours. Its text has the mark."""
    assert MARK in text

    def put(present: str) -> str:
        return text if not present.strip() or MARK in present else present

    def take(present: str) -> str:
        return "" if MARK in present else present

    return FilePart(path, put, take, lambda left: not left, base)


def skill_file(folder: str, target: InstallTarget, base: str) -> FilePart:
    """Our skill in an agent's folder of skills."""
    return own_file(os.path.join(folder, NAME, "SKILL.md"), skill(target.program, MARK), base)
