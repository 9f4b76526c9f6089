"""Git's configuration files, read as git reads them. Never starts git, and knows nothing of remotes.

Everyday commands run through here, so nothing slow is imported. The files are not ours: one that is too large or not a regular file
counts as empty, and a broken one counts up to where it breaks.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping

    Entry = tuple[str, str, str, str]  # section, subsection, key, value; section and key in lower case


FILE_BYTES = 1024 * 1024
_INCLUDE_DEPTH = 10  # git's own limit
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_NO = frozenset({"", "0", "no", "off", "false"})


class _Broken(Exception):
    """Git would refuse the file at this point."""


def read_text(path: str, limit: int = FILE_BYTES, *, follows_links: bool = True) -> str | None:
    """A plain file's text; None if it is anything else. A pipe or a device must not keep a command waiting."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags if follows_links else flags | os.O_NOFOLLOW)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        data = b""
        while chunk := os.read(descriptor, limit + 1):
            data += chunk
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "surrogateescape")


def parse(text: str) -> list[Entry]:
    """The entries of one file, in order. A key without a value is true."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n") + "\n"
    entries: list[Entry] = []
    section = subsection = ""
    at = 0
    try:
        while at < len(text):
            char = text[at]
            if char.isspace():
                at += 1
            elif char in "#;":
                at = text.index("\n", at)
            elif char == "[":
                section, subsection, at = _header(text, at + 1)
            elif char.isalpha() and section:
                key, value, at = _variable(text, at)
                entries.append((section, subsection, key, value))
            else:
                break
    except (_Broken, ValueError, IndexError):  # the latter two: something that does not end
        pass
    return entries


def read(path: str, environ: Mapping[str, str], git_folder: str = "", depth: int = 0) -> list[Entry]:
    """The entries of a file and of the files it includes, each at the place where it is included."""
    text = read_text(path)
    if text is None:
        return []
    found: list[Entry] = []
    for entry in parse(text):
        section, condition, key, value = entry
        found.append(entry)
        if key == "path" and depth < _INCLUDE_DEPTH and value:
            wanted = (section == "include" and not condition) or (
                section == "includeif" and _holds(condition, path, environ, git_folder)
            )
            if wanted:
                target = os.path.join(os.path.dirname(path), expand(value, environ))
                found += read(target, environ, git_folder, depth + 1)
    return found


def read_outer(environ: Mapping[str, str], git_folder: str = "") -> list[Entry]:
    """The machine's and the user's configuration, which hold for every repository."""
    home = environ.get("HOME", "")
    files = []
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() in _NO:
        files.append(environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environ:
        files.append(environ["GIT_CONFIG_GLOBAL"])
    else:
        folder = environ.get("XDG_CONFIG_HOME") or (home and os.path.join(home, ".config"))
        files += [os.path.join(folder, "git", "config")] if folder else []
        files += [os.path.join(home, ".gitconfig")] if home else []
    return [entry for file in files if file for entry in read(file, environ, git_folder)]


def is_true(value: str) -> bool:
    """Git's idea of a true boolean."""
    return value.lower() not in _NO


def expand(path: str, environ: Mapping[str, str]) -> str:
    """A path as it may stand in the configuration, with `~/` for the user's home."""
    home = environ.get("HOME", "")
    return home + path[1:] if home and path.startswith("~/") else path


def _header(text: str, at: int) -> tuple[str, str, int]:
    """What follows a `[`: section, subsection, and where the line goes on."""
    start = at
    while text[at].isalnum() or text[at] in "-.":
        at += 1
    section, subsection = text[start:at].lower(), ""
    if text[at] in " \t":
        at = text.index('"', at) + 1
        if text[start + len(section) : at - 1].strip(" \t"):
            raise _Broken
        while text[at] != '"':
            at += text[at] == "\\"
            if text[at] == "\n":
                raise _Broken
            subsection += text[at]
            at += 1
        at += 1
    elif "." in section:  # the old way to write it, which does not keep upper case
        section, _, subsection = section.partition(".")
    if not section or text[at] != "]":
        raise _Broken
    return section, subsection, at + 1


def _variable(text: str, at: int) -> tuple[str, str, int]:
    start = at
    while text[at].isalnum() or text[at] == "-":
        at += 1
    key = text[start:at].lower()
    while text[at] in " \t":
        at += 1
    if text[at] in "\n#;":
        return key, "true", at
    if text[at] != "=":
        raise _Broken
    value, at = _value(text, at + 1)
    return key, value, at


def _value(text: str, at: int) -> tuple[str, int]:
    """What follows a `=`: the value without quotes and comments, and where the next line starts."""
    value = space = ""
    quoted = False
    while text[at] != "\n":
        char = text[at]
        at += 1
        if not quoted and char in "#;":
            return value, text.index("\n", at)
        if not quoted and char in " \t":
            space += char if value else ""
            continue
        value, space = value + space, ""  # inner space counts, space at either end does not
        if char == "\\":
            char = text[at]
            at += 1
            if char == "\n":
                if at >= len(text):
                    break
                continue
            if char not in _ESCAPES:
                raise _Broken
            value += _ESCAPES[char]
        elif char == '"':
            quoted = not quoted
        else:
            value += char
    if quoted:
        raise _Broken
    return value, min(at, len(text))


def _holds(condition: str, config: str, environ: Mapping[str, str], git_folder: str) -> bool:
    """Whether an `includeIf` applies. Conditions on remotes can only bring what does not name one, and are passed over."""
    kind, _, pattern = condition.partition(":")
    if kind == "onbranch":
        head = (read_text(os.path.join(git_folder, "HEAD")) or "").strip()
        pattern += "**" if pattern.endswith("/") else ""
        return head.startswith("ref: refs/heads/") and _matches(head.removeprefix("ref: refs/heads/"), pattern)
    if kind not in ("gitdir", "gitdir/i") or not git_folder:
        return False
    pattern = expand(pattern, environ)
    if pattern.startswith("./"):
        pattern = os.path.join(os.path.dirname(os.path.realpath(config)), pattern[2:])
    elif not pattern.startswith("/"):
        pattern = "**/" + pattern
    pattern += "**" if pattern.endswith("/") else ""
    fold = str.lower if kind == "gitdir/i" else str
    paths = (os.path.abspath(git_folder), os.path.realpath(git_folder))
    return any(_matches(fold(path), fold(pattern)) for path in paths)


def _matches(text: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase  # brings `re`, which is slow, and few people have such conditions

    return fnmatchcase(text, pattern)


_SECTION, _KEY = "clan-mesh", "id"
_CHARS = 64
_TRIES, _WAIT_SECONDS = 100, 0.01


def written(entries: list[Entry]) -> str:
    """The id in a configuration; empty if there is none."""
    ids = [value for section, _, key, value in entries if section == _SECTION and key == _KEY]
    return ids[-1] if ids and ids[-1].isalnum() and ids[-1].isascii() and len(ids[-1]) <= _CHARS else ""


def write(config: str, made: str) -> str:
    """The id in a configuration file, put there if there is none; empty if it cannot be."""
    config = os.path.realpath(config)
    for _ in range(_TRIES):
        found = _read(config)
        if found:
            return found
        try:
            return _append(config, made)
        except FileExistsError:
            time.sleep(_WAIT_SECONDS)  # git, or another of our commands, holds the lock
        except OSError:
            return ""
    return ""


def _read(config: str) -> str:
    text = read_text(config)
    return "" if text is None else written(parse(text))


def _append(config: str, made: str) -> str:
    status = os.stat(config)
    mode = status.st_mode & 0o777
    if not mode & 0o222:
        return ""
    lock = config + ".lock"
    descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    ours = True  # the lock, until it has become the file: then the next one is another's
    try:
        found = _read(config)  # again, now that no other process can write
        text = "" if found else _with_id(config, made)
        if text:
            if os.geteuid() == 0:
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, mode)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(text.encode("utf-8", "surrogateescape"))
            os.rename(lock, config)
            ours = False
            return made
    finally:
        os.close(descriptor)
        if ours:
            os.unlink(lock)
    return found


def _with_id(config: str, made: str) -> str:
    """The file's text with the id; empty if git would not find it there, behind something broken."""
    text = read_text(config)
    if text is None:
        return ""
    start = "" if not text or text.endswith("\n") else "\n"
    text += f"{start}[{_SECTION}]\n\t{_KEY} = {made}\n"
    return text if written(parse(text)) == made else ""
