"""Which agent writes, and in which session: worked out from the environment, the folder and the parent processes.

Everyday commands run through here, so nothing slow is imported. Environment, folder and process tree are arguments.
"""

from __future__ import annotations

from collections import namedtuple

from clan_learnings.agents import session_notes
from clan_learnings.repository.detection import Repository, find
from mesh.core.errors import UsageError
from mesh.core.ids import named_digest, text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from clan_learnings.agents.session_notes import Process

    class _Surroundings(NamedTuple):
        agent: str  # the flavour: claude-code, codex, gemini, ..., or shell
        session: str  # flavour:id
        repository: Repository

else:
    _Surroundings = namedtuple("_Surroundings", ("agent", "session", "repository"))  # noqa: PYI024

SHELL = "shell"  # no agent that we know: a person, a script
SESSION_CHARS = 200
_FLAVOUR_CHARS = 32

# flavour: variables that hold its session, variables that only tell that it is there, names of its process.
_FLAVOURS = {
    "codex": (("CODEX_THREAD_ID", "CODEX_SESSION_ID"), ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"), ("codex",)),
    "gemini": (("GEMINI_SESSION_ID",), ("GEMINI_CLI",), ("gemini",)),
    "claude-code": (("CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"), ("CLAUDECODE",), ("claude",)),
    "opencode": (("OPENCODE_SESSION_ID",), ("OPENCODE",), ("opencode",)),
    "grok": (("GROK_SESSION_ID",), (), ("grok",)),
    "cursor": (("CURSOR_CONVERSATION_ID",), ("CURSOR_AGENT",), ("cursor-agent",)),
}


# What Codex, Gemini CLI and Claude Code set for what they run in a sandbox.
_SANDBOXES = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SANDBOX", "SANDBOX_RUNTIME")


class Surroundings(_Surroundings):
    """What a record says of where it was written."""

    __slots__ = ()


def look_around(
    environ: Mapping[str, str],
    folder: str,
    *,
    node: bytes,
    day: str,
    session: str = "",
    left: str = "",
    tree: tuple[Process, ...] = (),
) -> Surroundings:
    """Agent, session and repository at once. `session`: given by hand; `left`: the folder of notes that session starts have left."""
    repository = find(folder, environ)
    agent = flavour(environ, tree)
    named = session_of(environ, session=session, agent=agent, tree=tree)
    if not named and left:
        named = session_notes.find(left, repository.root or folder, tree)
    if named:
        told = named.partition(":")[0]
        agent = told if agent == SHELL else agent
    else:
        named = pseudo_session(node, agent, repository.identity, day)
    return Surroundings(agent, named, repository)


def flavour(environ: Mapping[str, str], tree: tuple[Process, ...] = ()) -> str:
    """Which agent runs this command. If one runs another, the nearest process decides, as variables are passed on to both."""
    there = [
        name
        for name, (holding, telling, _) in _FLAVOURS.items()
        if any(environ.get(variable) for variable in (*holding, *telling))
    ]
    if len(there) > 1:
        for process in tree:
            for name in there:
                if process.name in _FLAVOURS[name][2]:
                    return name
    return there[0] if there else SHELL


def require_person(environ: Mapping[str, str], what: str, command: str) -> None:
    """Raise UsageError inside an agent, which could be talked into `command`, as far as the environment shows."""
    agent = flavour(environ)
    if agent != SHELL:
        raise UsageError(
            f"{agent} runs this command, and only a person can say {what}", f"in a terminal of your own: {command}"
        )


def in_sandbox(environ: Mapping[str, str]) -> bool:
    """Whether an agent says that it runs this in a sandbox."""
    return any(environ.get(variable) for variable in _SANDBOXES)


def session_of(
    environ: Mapping[str, str], *, session: str = "", agent: str = "", tree: tuple[Process, ...] = ()
) -> str:
    """The session that was given by hand, by `MESH_SESSION`, or by the agent's own environment; empty if by none."""
    agent = agent or flavour(environ, tree)
    if session:
        return named_session(session, agent)
    given = environ.get("MESH_SESSION", "")
    if given:
        return named_session(given, agent, "MESH_SESSION")
    for variable in _FLAVOURS.get(agent, ((),))[0]:
        told = environ.get(variable, "")
        if told and is_session(f"{agent}:{told}"):
            return f"{agent}:{told}"
    return ""


def named_session(text: str, agent: str = SHELL, source: str = "--session") -> str:
    """A session as it is written in records: `flavour:id`. An id alone gets the flavour of the agent at work."""
    if is_session(text):
        return text
    if is_session(f"{agent}:{text}"):
        return f"{agent}:{text}"
    raise UsageError(
        f"{text[:SESSION_CHARS]!r} is no session: {source} takes an id, or flavour:id, of at most {SESSION_CHARS} printable characters without spaces",
        f"leave {source} out, and the session is found from the agent's surroundings",
    )


def is_session(text: str) -> bool:
    """Whether a text has the form `flavour:id`."""
    name, _, own = text.partition(":")
    return (
        0 < len(name) <= _FLAVOUR_CHARS
        and name.isascii()
        and name[0].isalpha()
        and name == name.lower()
        and name.replace("-", "").isalnum()
        and own != ""
        and len(text) <= SESSION_CHARS
        and text.isprintable()
        and " " not in text
    )


def pseudo_session(node: bytes, agent: str, repo: str, day: str) -> str:
    """A stand-in for a missing session: everything one node's agent does in one repository on one day."""
    agent = agent or SHELL
    whole = b"\0".join((node, agent.encode(), repo.encode("utf-8", "surrogateescape"), day.encode()))
    return f"{agent}:day-{day}-{text_id(named_digest(b'clan-mesh sess 1', whole))[:12]}"
