"""Another peer: `basic-memory` of PyPI, notes in Markdown files with an index in SQLite, by its own command line.

Every call is a process of its own, as ours are. It needs a newer Python than we do; where it does not install, a note says why.
"""

import os
import re
import subprocess
import sys
import uuid

from bench.processes import ran
from bench.table import say

NAME = "basic-memory"
_VERSION = "0.24.1"
_INSTALL_SECONDS = 600
_NEEDS = re.compile(
    rf"{re.escape(_VERSION)} Requires-Python (\S+?);?$|; {re.escape(_VERSION)} Requires-Python ([^\s;]+)"
)


def install(work: str) -> tuple[str, str]:
    """Its command in an environment of its own in this work folder, or why there is none."""
    folder = os.path.join(work, "peers", NAME)
    command = os.path.join(folder, "bin", NAME)
    if os.path.exists(command):
        return command, ""
    say(f"installing {NAME} {_VERSION}")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        done = subprocess.run([*pip, f"{NAME}=={_VERSION}"], capture_output=True, check=False, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return "", f"{NAME} {_VERSION} does not install here: {error}"
    if done.returncode or not os.path.exists(command):
        return "", f"{NAME} {_VERSION} does not install here: {_reason(done.stderr.decode(errors='replace'))}"
    return command, ""


def recent(command: str, work: str) -> float:
    """Seconds of asking what was written lately."""
    return ran([command, "tool", "recent-activity", "--local"], environ=_environ(work))[0]


def write(command: str, work: str) -> float:
    """Seconds of one new note."""
    title = f"note {uuid.uuid4()}"
    words = ["--title", title, "--folder", "notes", "--content", "use pnpm for the install, not npm", "--local"]
    return ran([command, "tool", "write-note", *words], environ=_environ(work))[0]


def _environ(work: str) -> dict[str, str]:
    """Nobody's settings or notes but those of this work folder."""
    person = os.path.join(work, "person")
    return os.environ | {"HOME": person, "BASIC_MEMORY_HOME": os.path.join(person, NAME)}


def _reason(said: str) -> str:
    """The one line of pip's that matters."""
    found = _NEEDS.search(said)
    if found:
        return f"it needs Python {found[1] or found[2]}, this is {sys.version.split()[0]}"
    lines = [line for line in said.splitlines() if line.startswith("ERROR")]
    return lines[-1].removeprefix("ERROR: ")[:200] if lines else "pip says nothing"
