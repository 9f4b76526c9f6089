"""Installing the clients from npm: `python -m tests.clients.installation [newest]`, which `make clients` runs before the tests.

They lie in `.clients` of the checkout, a folder for each set of versions. What cannot be installed is said there in a file, and the
tests are skipped with that reason.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
VERSIONS = Path(__file__).with_name("versions.json")
FOLDER = ROOT / ".clients"
NEWEST = "MESH_CLIENTS_NEWEST"  # in the environment: not the versions that are written down, but the newest
_REASON = "why-not.txt"
_SECONDS = 240
_NODE = 20


class Package(NamedTuple):
    """A client on npm."""

    package: str
    version: str


def packages() -> dict[str, Package]:
    """Every client with its version; `latest` if the newest are wanted."""
    written = json.loads(VERSIONS.read_text(encoding="utf-8"))
    newest = bool(os.environ.get(NEWEST))
    return {name: Package(each["package"], "latest" if newest else each["version"]) for name, each in written.items()}


def folder() -> Path:
    """Where these versions are, or would be."""
    if os.environ.get(NEWEST):
        return FOLDER / "newest"
    return FOLDER / hashlib.sha256(json.dumps(packages()).encode()).hexdigest()[:12]


def programs() -> Path:
    """The folder of their commands."""
    return folder() / "node_modules" / ".bin"


def version(client: str) -> str:
    """What is really installed."""
    manifest = folder() / "node_modules" / packages()[client].package / "package.json"
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])


def missing() -> str:
    """Why they cannot be run; empty if they can."""
    if programs().is_dir():
        return ""
    try:
        return (FOLDER / _REASON).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return "the clients are not installed: make clients"


def install() -> str:
    """Install what is missing; returns why not, or nothing. The newest are looked up each time."""
    if programs().is_dir() and not os.environ.get(NEWEST):
        return ""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / _REASON).unlink(missing_ok=True)
    reason = _installed()
    if reason:
        (FOLDER / _REASON).write_text(reason + "\n", encoding="utf-8")
    return reason


def _installed() -> str:
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "there is no npm or no node on the PATH"
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = said.removeprefix("v").partition(".")[0]
    if not major.isdigit() or int(major) < _NODE:
        return f"node says {said or 'nothing'}: the clients need {_NODE} or newer"
    draft = folder().with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    (draft / "package.json").write_text('{"private": true}', encoding="utf-8")
    names = [f"{package}@{version}" for package, version in packages().values()]
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", *names],
            cwd=draft,
            timeout=_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"npm install was not done after {_SECONDS} s"
    if done.returncode:
        return "npm install failed: " + " ".join(done.stderr.split())[-300:]
    shutil.rmtree(folder(), ignore_errors=True)
    draft.rename(folder())
    return ""


if __name__ == "__main__":
    why = install()
    sys.stdout.write(f"=== skipped: the clients: {why}\n" if why else f"the clients are in {folder()}\n")
