"""Which repository a folder belongs to, and its name in the mesh. Reads git's files; never starts git.

Everyday commands come through here: nothing slow is imported, and only `claim` writes.
"""

from __future__ import annotations

import os
from collections import namedtuple

from clan_learnings import git_config, local_id
from clan_learnings.remote import identity_of, local_path, names_host
from clan_learnings.repo_file import ABSENT, NAME, RepoFile, read_repo_file
from mesh.core.ids import named_digest, text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from clan_learnings.git_config import Entry

    class _Repository(NamedTuple):
        identity: str  # host/owner/name, local/ID, or empty: global, or not named yet
        root: str  # the top of the working tree; empty without one
        git_folder: str  # where the shared configuration is; empty without git
        file: RepoFile

else:
    _Repository = namedtuple("_Repository", ("identity", "root", "git_folder", "file"))  # noqa: PYI024

GLOBAL = ""
LOCAL = "local/"  # before the random id of a repository without a remote
_ID_CHARS = 26  # 130 bits
_HOPS = 5  # from a clone to the clone it was made of, and so on
_POINTER_BYTES = 64 * 1024


class Repository(_Repository):
    """Where a folder is, and what that place is called in the mesh."""

    __slots__ = ()

    @property
    def needs_claim(self) -> bool:
        """Whether it is a repository that has no name before `claim` has given it one."""
        return not self.identity and bool(self.git_folder)


NOWHERE = Repository(GLOBAL, "", "", ABSENT)


def find(folder: str, environ: Mapping[str, str]) -> Repository:
    """The repository of a folder. Writes nothing: one without a remote may have no name yet."""
    place = _discover(os.path.abspath(folder), environ)
    if place is None:
        return NOWHERE
    root, git_folder = place
    file = read_repo_file(os.path.join(root, NAME)) if root else ABSENT
    common = _common(git_folder, environ) if git_folder else ""
    identity = file.repo
    if common and not identity:
        identity = _identity(git_folder, common, environ, _HOPS)
    return Repository(identity, root, common, file)


def claim(repository: Repository, environ: Mapping[str, str], random: bytes) -> Repository:
    """Give a repository without a remote its random id, in git's configuration, once for all its worktrees and clones.

    Where that cannot be written, the name is made of the machine and the path: it holds until one of them changes.
    """
    if not repository.needs_claim:
        return repository
    origin = _origin(repository.git_folder, environ)
    for folder in dict.fromkeys((origin, repository.git_folder)):
        found = local_id.write(
            os.path.join(folder, "config"), text_id(named_digest(b"clan-mesh repo 1", random))[:_ID_CHARS]
        )
        if found:
            return repository._replace(identity=LOCAL + found)
    place = f"{os.uname().nodename}\0{os.path.realpath(repository.git_folder)}"
    made = named_digest(b"clan-mesh path 1", place.encode("utf-8", "surrogateescape"))
    return repository._replace(identity=LOCAL + text_id(made)[:_ID_CHARS])


def _discover(folder: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The root of the working tree and the git folder, either empty if there is none."""
    given = environ.get("GIT_DIR", "")
    if given and _is_git(os.path.join(folder, given)):  # in a git hook, or with a working tree kept apart
        root = environ.get("GIT_WORK_TREE") or (os.path.dirname(given) if given.endswith("/.git") else ".")
        return os.path.normpath(os.path.join(folder, root)), os.path.normpath(os.path.join(folder, given))
    ceilings = {path.rstrip("/") for path in environ.get("GIT_CEILING_DIRECTORIES", "").split(":") if path}
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isfile(dot_git):
            target = _pointed_to(dot_git)
            return folder, target if _is_git(target) else ""  # a worktree mounted without its repository has a root
        if _is_git(dot_git):
            return folder, dot_git
        if _is_git(folder):
            return (os.path.dirname(folder) if os.path.basename(folder) == ".git" else ""), folder
        parent = os.path.dirname(folder)
        if parent == folder or parent in ceilings:
            return None
        folder = parent


def _pointed_to(file: str) -> str:
    """The git folder that a `.git` file names: of a worktree, a submodule, or one kept apart."""
    text = git_config.read_text(file, _POINTER_BYTES) or ""
    if not text.startswith("gitdir:"):
        return ""
    target = text[len("gitdir:") :].strip()
    return os.path.normpath(os.path.join(os.path.dirname(file), target)) if target else ""


def _is_git(folder: str) -> bool:
    """What git asks of a git folder: a HEAD, and objects and refs, here or in the folder it shares."""
    if not folder or not os.path.lexists(os.path.join(folder, "HEAD")):
        return False
    return os.path.exists(os.path.join(folder, "commondir")) or (
        os.path.isdir(os.path.join(folder, "objects")) and os.path.isdir(os.path.join(folder, "refs"))
    )


def _common(git_folder: str, environ: Mapping[str, str]) -> str:
    """The folder that the worktrees of a repository share."""
    given = environ.get("GIT_COMMON_DIR")
    if given and environ.get("GIT_DIR"):
        return os.path.abspath(given)
    text = git_config.read_text(os.path.join(git_folder, "commondir"), _POINTER_BYTES)
    if not text or not text.strip():
        return git_folder
    return os.path.normpath(os.path.join(git_folder, text.strip()))


def _identity(git_folder: str, common: str, environ: Mapping[str, str], hops: int) -> str:
    """The name that the remotes give; else the id that was written; else that of the clone it was made of."""
    entries = _entries(git_folder, common, environ)
    addresses = _addresses(entries)
    rules: list[tuple[str, str]] | None = None
    for written in addresses:
        address = written
        if not names_host(address):
            if rules is None:
                rules = _rules(git_config.read_outer(environ, git_folder) + entries)
            address = _rewritten(address, rules)
        identity = identity_of(address)
        if not identity:
            identity = _elsewhere(local_path(address), common, environ, hops)
        if identity:
            return identity
    found = local_id.written(entries)
    return LOCAL + found if found else ""


def _entries(git_folder: str, common: str, environ: Mapping[str, str]) -> list[Entry]:
    entries = git_config.read(os.path.join(common, "config"), environ, git_folder)
    if any(entry[:3] == ("extensions", "", "worktreeconfig") and git_config.is_true(entry[3]) for entry in entries):
        entries += git_config.read(os.path.join(git_folder, "config.worktree"), environ, git_folder)
    return entries


def _addresses(entries: list[Entry]) -> list[str]:
    """The addresses to name the repository by: of `upstream`, then of `origin`, else of the only remote."""
    remotes: dict[str, dict[str, list[str]]] = {}
    for section, name, key, value in entries:
        if section == "remote" and key in ("url", "pushurl"):
            values = remotes.setdefault(name, {}).setdefault(key, [])
            if value:
                values.append(value)
            else:
                values.clear()  # an empty one takes back those before it
    found = {name: (kinds.get("url") or kinds.get("pushurl") or [""])[0] for name, kinds in remotes.items()}
    found = {name: address for name, address in found.items() if address}
    chosen = [found[name] for name in ("upstream", "origin") if name in found]
    return chosen or (list(found.values()) if len(found) == 1 else [])


def _rules(entries: list[Entry]) -> list[tuple[str, str]]:
    """Git's `insteadOf` rules: what an address may start with, and what that stands for."""
    return [(value, base) for section, base, key, value in entries if section == "url" and key == "insteadof" and value]


def _rewritten(address: str, rules: list[tuple[str, str]]) -> str:
    """An address with the longest rule applied.

    Only for one that names no host itself: a mirror that one machine goes through must not make another repository of it.
    """
    start, base = max(
        (rule for rule in rules if address.startswith(rule[0])), key=lambda rule: len(rule[0]), default=("", "")
    )
    return base + address[len(start) :] if start else address


def _elsewhere(path: str, common: str, environ: Mapping[str, str], hops: int) -> str:
    """The name of the repository on this machine that this one was cloned from."""
    git_folder = _neighbour(path, common)
    if not git_folder or hops == 0:
        return ""
    return _identity(git_folder, _common(git_folder, {}), environ, hops - 1)


def _neighbour(path: str, common: str) -> str:
    """The git folder at a local path, if it is this user's: nobody else may name our repositories."""
    if not path:
        return ""
    base = os.path.dirname(common) if os.path.basename(common) == ".git" else common
    path = os.path.join(base, path)
    for folder in (os.path.join(path, ".git"), path, path + ".git"):
        target = _pointed_to(folder) if os.path.isfile(folder) else folder
        try:
            if _is_git(target) and os.stat(target).st_uid == os.geteuid() and not os.path.samefile(target, common):
                return target
        except OSError:
            continue
    return ""


def _origin(common: str, environ: Mapping[str, str]) -> str:
    """The repository at the end of a chain of local clones: its id stands for all of them."""
    for _ in range(_HOPS):
        addresses = _addresses(_entries(common, common, environ))
        target = next((folder for address in addresses if (folder := _neighbour(local_path(address), common))), "")
        if not target:
            break
        common = _common(target, {})
    return common
