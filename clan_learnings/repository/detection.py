"""Which repository a folder belongs to, and its name in the mesh. Reads git's files; never starts git.

The name comes from git's remotes, which the person set by cloning. What a clone says of itself in `.clan-mesh.toml` counts only if a
remote says the same, or if the person has permitted it (`consent`): a stranger's clone must not choose whose memory is read and
written there.

Everyday commands run through here: nothing slow is imported, and only `claim` writes.
"""

from __future__ import annotations

import os
from collections import namedtuple

from clan_learnings.repository import git_config
from clan_learnings.repository import git_config as local_id
from clan_learnings.repository.remote_name import identity_of, local_path, names_host
from clan_learnings.repository.repository_settings import ABSENT, NAME, RepoFile, read_repo_file
from mesh.core.ids import named_digest, text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple

    from clan_learnings.repository.git_config import Entry

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
_NOTICED = 8  # repositories, in one process


class Repository(_Repository):
    """Where a folder is, and what that place is called in the mesh."""

    __slots__ = ()

    @property
    def needs_claim(self) -> bool:
        """Whether it is a repository that has no name before `claim` has given it one."""
        return not self.identity and bool(self.git_folder)

    @property
    def unconfirmed(self) -> str:
        """The repository that the file names without anybody having confirmed it, so that it counts for nothing; empty if there is none."""
        return self.file.repo if self.file.repo != self.identity else ""

    @property
    def warning(self) -> str:
        """The same in one sentence for a person; empty if all is well."""
        if not self.unconfirmed:
            return ""
        is_now = self.identity or ("a repository without a remote" if self.git_folder else "no repository")
        return (
            f"{os.path.join(self.root, NAME)} asks for the memory of {self.unconfirmed}, which no git remote of this checkout names: "
            f"that is ignored, and this is {is_now}"
        )


NOWHERE = Repository(GLOBAL, "", "", ABSENT)
UNCONFIRMED: dict[str, Repository] = {}  # by root: those that this process has found, for a warning to the user


def find(folder: str, environ: Mapping[str, str]) -> Repository:
    """The repository of a folder. Writes nothing: one without a remote may have no name yet."""
    place = _discover(os.path.abspath(folder), environ)
    if place is None:
        return NOWHERE
    root, git_folder = place
    found = _by_git(root, git_folder, environ)
    file = read_repo_file(root) if root else ABSENT
    if file.repo and file.repo != found.identity and _may_name(file.repo, root, git_folder, found.git_folder, environ):
        return found._replace(identity=file.repo, file=file)
    found = found._replace(file=file)
    if found.unconfirmed and len(UNCONFIRMED) < _NOTICED:
        UNCONFIRMED[root] = found
    return found


def find_by_git(folder: str, environ: Mapping[str, str]) -> Repository:
    """The same, without a look at what the repository says of itself."""
    place = _discover(os.path.abspath(folder), environ)
    return NOWHERE if place is None else _by_git(*place, environ)


def _by_git(root: str, git_folder: str, environ: Mapping[str, str]) -> Repository:
    common = _common(git_folder, environ) if git_folder else ""
    identity = _identity(git_folder, common, environ, _HOPS) if common else ""
    return Repository(identity, root, common, ABSENT)


def _may_name(repo: str, root: str, git_folder: str, common: str, environ: Mapping[str, str]) -> bool:
    """Whether a checkout may call itself by a name that is not its own: any of its remotes has it, or the person has said so."""
    if common and repo in _identities(git_folder, common, environ):
        return True
    from clan_learnings.repository.consent import is_trusted  # hardly any file gets so far

    folders = [os.path.realpath(root)]
    if main := _main_checkout(root, git_folder, common):
        folders.append(main)
    return is_trusted(environ, folders, repo)


def _main_checkout(root: str, git_folder: str, common: str) -> str:
    """The checkout that a linked worktree belongs to, if its git folder knows of this worktree: a `.git` file alone proves nothing."""
    if not common or git_folder == common or os.path.basename(common) != ".git":
        return ""
    known = (git_config.read_text(os.path.join(git_folder, "gitdir"), _POINTER_BYTES) or "").strip()
    is_known = bool(known) and os.path.realpath(os.path.join(git_folder, known)) == os.path.realpath(f"{root}/.git")
    return os.path.realpath(os.path.dirname(common)) if is_known else ""


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
    bare = ""
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isfile(dot_git):
            target = _pointed_to(dot_git)
            return folder, target if _is_git(target) else ""  # a worktree mounted without its repository has a root
        if _is_git(dot_git):
            return folder, dot_git
        if _is_git(folder):
            if os.path.basename(folder) == ".git":
                return os.path.dirname(folder), folder
            bare = (
                bare or folder
            )  # a clone may have one among its files, with any remote: its checkout decides, if there is one
        parent = os.path.dirname(folder)
        if parent == folder or parent in ceilings:
            return ("", bare) if bare else None
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
    for identity in _named(_addresses(entries), entries, git_folder, common, environ, hops):
        return identity
    found = local_id.written(entries)
    return LOCAL + found if found else ""


def _identities(git_folder: str, common: str, environ: Mapping[str, str]) -> set[str]:
    """Every name that some remote gives, whichever of them the repository is called by."""
    entries = _entries(git_folder, common, environ)
    addresses = [address for addresses in _remotes(entries).values() for address in addresses]
    return set(_named(addresses, entries, git_folder, common, environ, _HOPS))


def _named(
    addresses: list[str], entries: list[Entry], git_folder: str, common: str, environ: Mapping[str, str], hops: int
) -> Iterator[str]:
    """The names of those addresses that name something."""
    rules: list[tuple[str, str]] | None = None
    for written in addresses:
        address = written
        if not names_host(address):
            if rules is None:
                rules = _rules(git_config.read_outer(environ, git_folder) + entries)
            address = _rewritten(address, rules)
        identity = identity_of(address) or _elsewhere(local_path(address), common, environ, hops)
        if identity:
            yield identity


def _entries(git_folder: str, common: str, environ: Mapping[str, str]) -> list[Entry]:
    entries = git_config.read(os.path.join(common, "config"), environ, git_folder)
    if any(entry[:3] == ("extensions", "", "worktreeconfig") and git_config.is_true(entry[3]) for entry in entries):
        entries += git_config.read(os.path.join(git_folder, "config.worktree"), environ, git_folder)
    return entries


def _addresses(entries: list[Entry]) -> list[str]:
    """The addresses to name the repository by: of `upstream`, then of `origin`, else of the only remote."""
    found = {name: addresses[0] for name, addresses in _remotes(entries).items()}
    chosen = [found[name] for name in ("upstream", "origin") if name in found]
    return chosen or (list(found.values()) if len(found) == 1 else [])


def _remotes(entries: list[Entry]) -> dict[str, list[str]]:
    """The addresses of every remote that has any."""
    remotes: dict[str, dict[str, list[str]]] = {}
    for section, name, key, value in entries:
        if section == "remote" and key in ("url", "pushurl"):
            values = remotes.setdefault(name, {}).setdefault(key, [])
            if value:
                values.append(value)
            else:
                values.clear()  # an empty one takes back those before it
    found = {name: kinds.get("url") or kinds.get("pushurl") or [] for name, kinds in remotes.items()}
    return {name: addresses for name, addresses in found.items() if addresses}


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
    """The git folder at a local path, if it is this user's: others may not name our repositories."""
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
