"""The settings in a repository's `.clan-mesh.toml`: another name, sharing, categories. Reads them; decides nothing.

The file comes with the repository, so it is untrusted: what is not understood is reported in `problem` and ignored. Except for sharing:
a rule about it that cannot be understood may have meant that nothing leaves the machine, so nothing does.
"""

from __future__ import annotations

import os
from collections import namedtuple

from clan_learnings.repository.git_config import read_text
from clan_learnings.repository.remote_name import IDENTITY_CHARS, identity_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import NamedTuple

    class _RepoFile(NamedTuple):
        repo: str  # empty: not written. A wish: whether it counts is for `repository` to decide
        share: bool | None  # false also if the file speaks of it and cannot be understood; `problem` says so then
        categories: tuple[str, ...]
        problem: str  # one sentence, empty if all is well
        unknown: tuple[str, ...] = ()  # keys and tables that we know nothing of: of a later version, or misspelt

else:
    _RepoFile = namedtuple("_RepoFile", ("repo", "share", "categories", "problem", "unknown"), defaults=((),))  # noqa: PYI024

NAME = ".clan-mesh.toml"
_BYTES = 64 * 1024
_CATEGORIES, _CATEGORY_CHARS = 64, 64
_KNOWN = ("repo", "share", "categories")
_LATER = ("search", "decay", "quality_gate", "compound")  # tables that are to come
_SHOWN, _SHOWN_CHARS = 5, 40
_NOTICED = 8  # files, in one process
_ERROR_CHARS = 160
_NOT_TOML, _UNCLEAR = "is not TOML", "share is not true or false"
_OUTSIDE = "is a link that leads out of the repository, so it is not read"
_UNREADABLE = f"cannot be read as a plain file of at most {_BYTES // 1024} KB"


class RepoFile(_RepoFile):
    """What a repository says of itself."""

    __slots__ = ()

    @property
    def why_unshared(self) -> str:
        """Why nothing of the repository may be shared, in words; empty if it may."""
        if self.share is not False:
            return ""
        if any(why in self.problem for why in (_NOT_TOML, _UNCLEAR, _OUTSIDE, _UNREADABLE)):
            return f"{self.problem}. Until it is mended (share = true, or share = false), nothing is shared"
        return f"the repository says share = false in {NAME}"

    @property
    def remark(self) -> str:
        """What is unknown, in words; empty if nothing is. No problem: a later version may know it."""
        later = [f"[{name}]" for name in self.unknown if name in _LATER]
        other = [_misspelt(name) for name in self.unknown if name not in _LATER]
        said = [
            f"{', '.join(names[:_SHOWN])} {'is' if len(names) == 1 else 'are'} {what}"
            for names, what in ((later, "not supported yet"), (other, "not known"))
            if names
        ]
        return f"{' and '.join(said)}: what stands there changes nothing" if said else ""


ABSENT = RepoFile("", None, (), "")
NOTICED: dict[str, RepoFile] = {}  # those with something unknown that this process has read, for a warning to the user


def read_repo_file(root: str) -> RepoFile:
    """The settings of a repository; those of no file if there is none. What is there and cannot be read may forbid sharing."""
    path = os.path.join(root, NAME)
    text = read_text(path, _BYTES, follows_links=False)
    if text is None:
        if not os.path.lexists(path):
            return ABSENT
        inside = _inside(root, path)
        text = read_text(inside, _BYTES) if inside else None
        if text is None:
            return ABSENT._replace(share=False, problem=f"{NAME} {_UNREADABLE if inside else _OUTSIDE}")
    file = parse_repo_file(text)
    if file.unknown and len(NOTICED) < _NOTICED:
        NOTICED[path] = file
    return file


def _inside(root: str, path: str) -> str:
    """Where a file really is, if that is in its repository; else empty. A clone must not have us read what is not of it."""
    target = os.path.realpath(path)
    return target if target.startswith(os.path.realpath(root).rstrip("/") + "/") else ""


def parse_repo_file(text: str) -> RepoFile:
    """The settings in a text. One that is wrong does not take the others with it."""
    values = plain_lines(text)
    if values is None:
        import tomllib  # with `re` and datetime: only for what the few lines below do not understand

        try:
            text.encode()  # what was no UTF-8 is half a pair now
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            unshared = False if "share" in text.lower() else None
            why = "it is not UTF-8" if isinstance(error, UnicodeEncodeError) else _shown(str(error), _ERROR_CHARS)
            return ABSENT._replace(share=unshared, problem=f"{NAME} {_NOT_TOML}: {why}")
    problems = []
    repo = ""
    if "repo" in values:
        repo = _repo(values["repo"])
        if not repo:
            problems.append("repo is not host/owner/name")
    share = values.get("share")
    if (share is not None and type(share) is not bool) or (share is None and _speaks_of_sharing(values)):
        share = False
        problems.append(_UNCLEAR)
    assert share is None or isinstance(share, bool)
    categories = values.get("categories", [])
    if not _is_categories(categories):
        categories = []
        problems.append(f"categories is not a list of at most {_CATEGORIES} short words")
    assert isinstance(categories, list)
    names = _names(categories)
    if len(names) < len(categories):
        problems.append("a category is small letters, digits and hyphens")
    problem = f"{NAME}: {', '.join(problems)}" if problems else ""
    unknown = tuple(key for key in values if key not in _KNOWN)
    return RepoFile(repo, share, tuple(dict.fromkeys(names)), problem, unknown)


def _misspelt(name: str) -> str:
    """An unknown key as it is shown, with what was probably meant."""
    from difflib import get_close_matches

    shown = _shown(name, _SHOWN_CHARS)
    near = get_close_matches(name.lower(), _KNOWN, 1)
    return f"{shown} (did you mean {near[0]}?)" if near else shown


def _shown(text: str, chars: int) -> str:
    """Words of the file as they may be shown: they are a stranger's."""
    return "".join(char if char.isprintable() else "?" for char in text[:chars])


def _speaks_of_sharing(values: dict[str, object]) -> bool:
    """Whether `share` stands where it does not count: in capitals, or in a table."""
    inner = [key for value in values.values() if isinstance(value, dict) for key in value]
    return any(key.lower() == "share" for key in (*values, *inner))


def _repo(value: object) -> str:
    """A name as it was written, or the name of an address."""
    if type(value) is not str or not value.isprintable() or len(value) > IDENTITY_CHARS:
        return ""
    identity = identity_of(value)
    return identity or identity_of("ssh://" + value)


def _is_categories(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _CATEGORIES
        and all(type(word) is str and word and word.isprintable() and len(word) <= _CATEGORY_CHARS for word in value)
    )


def _names(categories: list[str]) -> list[str]:
    """Those that can name a category. Agents are shown them with every tool that takes one: no place for sentences."""
    if not categories:
        return []
    from clan_learnings.records.shared_settings import is_category  # few files have any

    return [word for word in categories if is_category(word)]


def plain_lines(text: str) -> dict[str, object] | None:
    """The file read without a TOML parser, if it is as simple as most are; None if it may say anything more."""
    values: dict[str, object] = {}
    table = values
    for line in text.replace("\r\n", "\n").split("\n"):
        written = line.strip(" \t")
        if not written.isprintable():
            return None
        if not written or written.startswith("#"):
            continue
        if written.startswith("[") and _is_name(written[1:-1]) and written.endswith("]"):
            if written[1:-1] in values:
                return None
            values[written[1:-1]] = table = {}
            continue
        key, equals, value = written.partition("=")
        key = key.strip()
        found = _plain_value(value.strip())
        if not equals or not _is_name(key) or key in table or found is None:
            return None
        table[key] = found
    return values


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii()


def _plain_value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    if text.isascii() and text.replace(".", "", 1).isdigit() and text[0] not in "0." and text[-1] != ".":
        return float(text)  # of what is not known to us; one that begins with a nought is left to who knows TOML
    if text.startswith("[") and text.endswith("]"):
        words = [_plain_string(word.strip()) for word in text[1:-1].split(",")] if text[1:-1].strip() else []
        return None if None in words else words
    return _plain_string(text)


def _plain_string(text: str) -> str | None:
    inner = text[1:-1]
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and inner.isprintable()
    return inner if quoted and not any(char in inner for char in '"\\,') else None
