"""What the node asks a client while it runs its command: where the caller is, which session it belongs to, what stands on stdin.

The client's side looks at its own files and parents; the node never opens a path because a client named it.
"""

from __future__ import annotations

import os
import sys

from clan_learnings.repository.detection import Repository
from clan_learnings.repository.repository_settings import RepoFile
from mesh.app.caller import CallerSide

TYPE_CHECKING = False  # as in `mesh.cli.client`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clan_learnings.agents.hook_side import HookSide

REPOSITORY, CLAIM, LOOK, STDIN = "repository", "claim", "look", "stdin"
HOOK_PLACE, EXPORT = "hook place", "export"
OK, WRONG, NO_TEXT = "ok", "wrong", "no text"
_SHARES = {"": None, "yes": True, "no": False}
REPOSITORY_FIELDS = 8  # of a repository
_ENDS = "\n"  # between the items of a list: no name has one


def answer(home: str, question: Sequence[str]) -> list[str]:
    """The fields of an answer. What goes wrong is the command's error: it is raised over there."""
    from mesh.core.errors import MeshError

    kind, *words = question
    side = CallerSide(os.environ)
    try:
        if kind == REPOSITORY:
            return [OK, *packed(side.repository())]
        if kind == CLAIM:
            return [OK, side.claimed(side.repository())]
        if kind == LOOK:
            found = side.look(home, bytes.fromhex(words[0]), words[1])
            return [OK, found.agent, found.session, *packed(found.repository)]
        if kind == HOOK_PLACE:
            place = hook_side().place(*words)
            tree = [f"{process.number} {process.start} {process.name}" for process in place.tree]
            return [OK, place.folder, place.session, place.problem, *packed(place.repository), *tree]
        if kind == EXPORT:
            hook_side().export(words[0])
            return [OK]
        if kind == STDIN:
            try:
                text = sys.stdin.read()
            except UnicodeDecodeError:
                return [NO_TEXT]
            from io import StringIO

            sys.stdin = StringIO(text)  # should the command have to be run here after all
            return [OK, text]
    except MeshError as error:
        return [WRONG, str(error), error.next_step]
    except OSError as error:
        return [WRONG, str(error), ""]
    return [WRONG, f"this client does not know what {kind!r} is", "mesh down; mesh up"]


def hook_side() -> HookSide:
    """Where the hook was called: here."""
    from clan_learnings.agents.hook_side import HookSide
    from clan_learnings.agents.session_notes import ancestors

    return HookSide(os.environ, ancestors())


def has_remarks() -> bool:
    """Whether there is something to say of the files that were read."""
    from clan_learnings.repository.detection import UNCONFIRMED
    from clan_learnings.repository.repository_settings import NOTICED

    return bool(UNCONFIRMED or NOTICED)


def packed(found: Repository) -> list[str]:
    """A repository as fields."""
    file = found.file
    share = next(word for word, value in _SHARES.items() if value is file.share)
    lists = (_ENDS.join(file.categories), _ENDS.join(file.unknown))
    return [found.identity, found.root, found.git_folder, file.repo, share, file.problem, *lists]


def unpacked(fields: Sequence[str]) -> Repository:
    """A repository from its fields. ValueError if they are not."""
    identity, root, git_folder, repo, share, problem, categories, unknown = fields
    if share not in _SHARES:
        raise ValueError(share)
    file = RepoFile(
        repo,
        _SHARES[share],
        tuple(filter(None, categories.split(_ENDS))),
        problem,
        tuple(filter(None, unknown.split(_ENDS))),
    )
    return Repository(identity, root, git_folder, file)
