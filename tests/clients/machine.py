"""A machine with one client on it: a user's folder, a clone, a node that runs and knows something, and a model of our own."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from mesh.core.draft import NewRecord
from mesh.mcp.descriptions import TOOLS
from mesh.store.home import create_home
from tests.clients import installation
from tests.clients.clients import Client
from tests.clients.model_server import ModelServer
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, Finished

REPO = "github.com/acme/shop"
_SECONDS = 60  # for one prompt

# What the node knows. The first is HOT and told at the start; what the others say is old by then, and told only when it fits.
RULE = "run pnpm install, npm breaks the lockfile"
FITS_PROMPT = "use yaml.safe_load: yaml.load runs code that stands in the config"
FITS_FAILURE = "E_LOCKSTALE from frobnicate means that the daemon of another user holds the lock: delete /var/lock/frob"
_FILLING = 120  # newer discoveries


def tool_that_takes(*required: str) -> str:
    """The name of our tool that writes and needs just this."""
    (tool,) = (tool for tool in TOOLS if tool.writes and tool.required == required)
    return tool.name


class Machine:
    """Everything a session needs, in one folder."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.client = client
        self.model = ModelServer()
        self.user, self.project = folder / "user", folder / "shop"
        self.home = self.user / ".clan-mesh"
        self.user.mkdir(parents=True)
        # As a person has it: everything in its usual place, so that a client that hands on nothing but HOME is no trouble.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESH_", "XDG_", "npm_"))}
        own = {
            "HOME": str(self.user),
            "PWD": str(self.project),
            "MESH_EMBEDDER": "none",
            "MESH_SPOOL": str(folder / "queue"),
            "TERM": "xterm",
        }
        path = os.pathsep.join([str(installation.programs()), os.path.dirname(MESH), os.environ["PATH"]])
        self.environ = kept | own | {"PATH": path} | client.environ(self.model.address)
        self._node: subprocess.Popen[str] | None = None
        client.configure(self.user, self.model.address)
        self._clone()
        self._know()

    def start(self) -> None:
        """The node."""
        self._node = subprocess.Popen(
            [MESH, "up", "--json"],
            env=self.environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._node.stdout is not None
        assert self._node.stdout.readline(), "the node did not start"

    def close(self) -> None:
        """Nothing of it runs any more."""
        if self._node:
            self._node.send_signal(signal.SIGTERM)
            self._node.communicate(timeout=PATIENCE_SECONDS)
        self.model.close()

    def install(self, *options: str) -> None:
        """What a person does."""
        self.mesh("install", self.client.name, *options)

    def mesh(self, *words: str) -> Finished:
        """A command of ours, as the user types it in the clone."""
        done = subprocess.run(
            [MESH, *words],
            env=self.environ,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    def say(self, prompt: str, *, again: bool = False, careful: bool = False) -> Finished:
        """One prompt to the client, to its end."""
        return self.run(self.client.command(prompt, again=again, careful=careful))

    def run(self, command: list[str], typed: str = "") -> Finished:
        """A command of the client, to its end. `typed`: what a person answers to its questions."""
        process = subprocess.Popen(
            command,
            env=self.environ,
            cwd=self.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that what it leaves behind can be ended with it
        )
        try:
            out, err = process.communicate(typed, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate(timeout=PATIENCE_SECONDS)
            raise AssertionError(f"{command} was not done after {_SECONDS} s: {out[-500:]}{err[-1500:]}") from None
        assert process.returncode == 0, f"{command}: {out[-500:]}{err[-1500:]}"
        return Finished(command, process.returncode, out, err)

    def asked(self, *words: str) -> Any:
        """What a command of ours says with `--json`."""
        return json.loads(self.mesh(*words, "--json").stdout.splitlines()[-1])

    def records(self, containing: str) -> list[dict[str, Any]]:
        """The records in which a text stands."""
        lines = self.mesh("op", "list", "--json").stdout.splitlines()
        found = [json.loads(line)["record"] for line in lines]
        return [record for record in found if containing in record.get("text", "")]

    def _clone(self) -> None:
        git = ["git", "-c", "init.defaultBranch=main"]
        subprocess.run([*git, "init", "-q", str(self.project)], check=True)
        origin = ["remote", "add", "origin", f"https://{REPO}.git"]
        subprocess.run(["git", "-C", str(self.project), *origin], check=True)
        program = self.project / "frobnicate"
        program.write_text("#!/bin/sh\necho 'frobnicate: E_LOCKSTALE lock is stale' >&2\nexit 7\n", encoding="utf-8")
        program.chmod(0o755)

    def _know(self) -> None:
        home = create_home(str(self.home), "laptop")
        author = home.author()
        rule = {"repo": "", "wrong": "run npm install", "right": RULE, "pattern": "pnpm-not-npm", "source": "human"}
        author.append([NewRecord("corrections", rule | {"session": f"other:{number}"}) for number in range(3)])
        texts = [FITS_PROMPT, FITS_FAILURE]
        texts += [f"the report of week {number} is made by the job named after that week" for number in range(_FILLING)]
        author.append([NewRecord("discoveries", {"repo": "", "text": text}) for text in texts])
        author.store.close()
