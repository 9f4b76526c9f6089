"""`mesh demo`: the whole product on one machine, in a temporary folder, with the commands and processes of a real installation.

Says what it does as it does it, checks each step, and leaves neither a process nor a folder behind, also when it is interrupted.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Any

from mesh.app.client import ask
from mesh.cli.grammar import Given, command
from mesh.cli.output import print_json, put, put_ours
from mesh.core.errors import MeshError
from mesh.store.file_access import patience

_NODES = ("laptop", "builder", "tester")
# One mistake, three sessions on three machines, three wordings.
_CORRECTIONS = (
    ("ran npm install", "use pnpm install in this repo"),
    ("used npm install", "pnpm install"),
    ("npm install was run again", "always run pnpm install instead of npm install"),
)
# What a person says to the first agent, and what that one records of it.
_TASK, _OBJECTION = "deploy the shop", "no, use make ship: kubectl apply skips the migrations"
_WRONG, _RIGHT = "deployed with kubectl apply", "deploy with make ship; kubectl apply skips the migrations"
_QUESTION = "deploy the payments service with kubectl apply"
_PATIENCE_SECONDS = 15.0
_STOP_SECONDS = 3.0
_LINE = 150
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # also a terminal that is closed ends it in order


class _Failed(Exception):
    """Something is not as it should be."""


class Demo:
    """Three nodes in a folder, and what is said about them."""

    def __init__(self, folder: str, *, quiet: bool) -> None:
        self._folder = folder
        self._quiet = quiet
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._environ = _environ(folder)
        self.facts: dict[str, Any] = {}

    def home(self, name: str) -> str:
        """A node's home."""
        return os.path.join(self._folder, name)

    def say(self, text: str = "") -> None:
        """A line for the person who watches."""
        if not self._quiet:
            put_ours(f"{text}\n")  # of nodes of its own, and our frame is to be seen
            sys.stdout.flush()

    def run(self, name: str, *words: str, stdin: str = "", show: bool = True) -> str:
        """One command on one node, as a user types it."""
        if show:
            typed = " ".join(f'"{word}"' if " " in word else word for word in words)
            self.say(f"{name:>8} $ mesh {typed if len(typed) <= _LINE else typed[: _LINE - 1] + '…'}")
        done = subprocess.run(  # noqa: S603 (our own command, our own arguments)
            [sys.executable, "-m", "mesh", *words],
            input=stdin.encode(),
            capture_output=True,
            env=self._environ | {"MESH_HOME": self.home(name)},  # what is typed here names no home, nor does the answer
            cwd=self._folder,
            timeout=patience(_PATIENCE_SECONDS * 2),
            check=False,
        )
        if done.returncode not in (0, 3):
            raise _Failed(f"mesh {words[0]} on {name} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode(errors="replace").strip()

    def shown(self, text: str) -> None:
        """What a command printed."""
        for line in text.splitlines():
            self.say(f"           {line if len(line) <= _LINE else line[: _LINE - 1] + '…'}")

    def up(self, name: str) -> None:
        """A sidecar of its own process."""
        self.say(f"{name:>8} $ mesh up --listen 127.0.0.1:0")
        words = [sys.executable, "-m", "mesh", "up", "--json", "--listen", "127.0.0.1:0", "--home", self.home(name)]
        with open(os.path.join(self._folder, f"{name}.log"), "ab") as log:
            process = subprocess.Popen(  # noqa: S603 (our own command, our own arguments)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environ,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C is ours to deal with
            )
        self._running[name] = process
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise _Failed(f"the sidecar of {name} did not start")
        self.shown(f"process {json.loads(line)['pid']} listens on {json.loads(line)['addresses'][0]}")

    def cut(self, name: str) -> None:
        """As a power cut would."""
        process = self._running.pop(name)
        process.kill()
        process.communicate()

    def wait(self, what: str, condition: Callable[[], bool]) -> float:
        """Wait for something, and say how long it took."""
        start, most = time.monotonic(), patience(_PATIENCE_SECONDS)
        while not condition():
            if time.monotonic() - start > most:
                raise _Failed(f"{what}: not within {most:.0f} s")
            time.sleep(0.01)
        return time.monotonic() - start

    def ask(self, name: str, path: str) -> Any:
        """What a sidecar says of itself, over its socket."""
        try:
            return ask(self.home(name), "GET", path)
        except MeshError:
            return {}

    def has_one_hot(self, name: str) -> bool:
        """Whether a node has exactly one HOT pattern."""
        return len(self.ask(name, "/hot?everywhere=true").get("hot", ())) == 1

    def root(self, name: str) -> str:
        """The name of a node's whole state."""
        return str(self.ask(name, "/node").get("root", name))

    def wait_in_step(self) -> float:
        """Until all nodes have one root."""
        return self.wait("one root", lambda: len({self.root(name) for name in _NODES}) == 1)

    def close(self) -> None:
        """End what was started."""
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self._running.values():
            try:
                process.communicate(timeout=patience(_STOP_SECONDS))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._running.clear()


@command("mesh demo")
def main(given: Given) -> int:
    """Run it; any check that fails is exit code 1."""
    for each in _SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _interrupted)
    start = time.monotonic()
    with _demo(quiet=given.json) as demo:
        try:
            for step in (_make, _before, _two_agents, _corrections, _after, _cut_off, _one_root):
                step(demo)
        except _Failed as error:
            demo.say()
            raise MeshError(f"the demo failed: {error}", "repeat it; for a report, run it with MESH_DEBUG=1") from error
        except KeyboardInterrupt:
            demo.say("\ninterrupted: stopping what was started")
            raise
        finally:
            demo.close()
    seconds = time.monotonic() - start
    if given.json:
        print_json(demo.facts | {"seconds": round(seconds, 2)})
    else:
        put("", f"All checks passed in {seconds:.1f} s; nothing was left behind. Yours: mesh setup")
    return 0


def _interrupted(*_: object) -> None:
    _hear_nothing()
    raise KeyboardInterrupt


def _hear_nothing() -> None:
    """From now on things are put away: a second Ctrl-C must not leave half of them."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)


@contextmanager
def _demo(*, quiet: bool) -> Iterator[Demo]:
    with tempfile.TemporaryDirectory(prefix="mesh-demo-") as folder:
        demo = Demo(folder, quiet=quiet)
        try:
            yield demo
        finally:
            _hear_nothing()
            demo.close()


def _environ(folder: str) -> dict[str, str]:
    """Nothing of the user's own nodes, agents and settings is seen or touched."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "MESH_PATIENCE" or not name.startswith(("MESH_", "CLAUDE", "CODEX", "GEMINI"))
    }
    return kept | {
        "HOME": folder,
        "XDG_CONFIG_HOME": os.path.join(folder, "config"),
        "MESH_STATE": os.path.join(folder, "state"),
        "MESH_SPOOL": os.path.join(folder, "queue"),
        "MESH_NO_AUTOSTART": "1",
    }


def _make(demo: Demo) -> None:
    demo.say("Three nodes on this machine, each with its own home, key and sidecar; links are mutual TLS.")
    demo.run("laptop", "init", "--name", "laptop")
    demo.up("laptop")
    token = json.loads(demo.run("laptop", "invite", "--uses", "2", "--json"))["token"]
    for name in _NODES[1:]:
        demo.say(f"{name:>8} $ mesh join TOKEN --name {name}")
        demo.run(name, "join", token, "--name", name, show=False)
        demo.up(name)
    seconds = demo.wait_in_step()
    demo.shown(f"in step after {seconds:.2f} s")


def _hook(demo: Demo, name: str, event: str, session: str, **fields: str) -> str:
    """What a coding agent is told after one of its events."""
    said = {"session_id": session, "cwd": demo.home(name), "hook_event_name": event} | fields
    printed = demo.run(name, "hook", event, stdin=json.dumps(said), show=False)
    told = json.loads(printed or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
    return str(told)


def _session_start(demo: Demo, name: str, session: str) -> str:
    demo.say(f"{name:>8} $ mesh hook SessionStart    # as a coding agent calls it")
    text = _hook(demo, name, "SessionStart", session, source="startup")
    demo.shown(text or "(nothing to tell)")
    return text


def _before(demo: Demo) -> None:
    demo.say("\nWhat a session on the third machine is given before anybody has learned anything:")
    if "pnpm" in _session_start(demo, "tester", "before"):
        raise _Failed("the context has something in it before anything was written")


def _two_agents(demo: Demo) -> None:
    demo.say(
        "\nA scripted agent is corrected; its hook asks it to record that, and it does. A second one is at work on another machine:"
    )
    for name, session in (("laptop", "first-agent"), ("builder", "second-agent")):
        _hook(demo, name, "SessionStart", session, source="startup")
    for prompt in (_TASK, _OBJECTION):
        demo.say(f"{'laptop':>8} > {prompt}")
        asked = _hook(demo, "laptop", "UserPromptSubmit", "first-agent", prompt=prompt)
        demo.shown(asked)
        if bool(asked) != (prompt == _OBJECTION):
            raise _Failed("an agent is not asked to record exactly what corrects it")
    call = shlex.split(asked[asked.rindex(": ") + 2 :])
    options = dict(pairwise(call[call.index("correct") + 1 :])) | {"--wrong": _WRONG, "--right": _RIGHT}
    words = [word for name in ("--wrong", "--right", "--source") for word in (name, options[name])]
    demo.shown(demo.run("laptop", "correct", *words, "--global"))
    demo.wait_in_step()
    demo.say(f"{'builder':>8} > {_QUESTION}")
    told = _hook(demo, "builder", "UserPromptSubmit", "second-agent", prompt=_QUESTION)
    demo.shown(told)
    if _RIGHT not in told:
        raise _Failed("the second agent is not told what the first one has recorded")


def _corrections(demo: Demo) -> None:
    demo.say("\nThe same mistake on each machine, in other words each time; nobody names a pattern:")
    for number, (name, (wrong, right)) in enumerate(zip(_NODES, _CORRECTIONS, strict=True), 1):
        words = ("correct", "--wrong", wrong, "--right", right, "--session", f"demo:{number}", "--global")
        demo.shown(demo.run(name, *words))
        written = time.monotonic()
        if number < len(_NODES):
            demo.wait_in_step()
            continue
        for other in _NODES:
            demo.wait(f"HOT on {other}", partial(demo.has_one_hot, other))
            demo.facts[f"hot_on_{other}_seconds"] = round(time.monotonic() - written, 3)
            demo.say(f"{other:>8}   HOT {time.monotonic() - written:.2f} s after the third command returned")
    for name in _NODES:
        (item,) = demo.ask(name, "/hot?everywhere=true")["hot"]
        if (item["sessions"], item["nodes"]) != (3, 3):
            raise _Failed(f"{name} counts {item['sessions']} sessions on {item['nodes']} nodes, not three on three")


def _after(demo: Demo) -> None:
    demo.say("\nWhat the next session on any of them is given:")
    texts = {_session_start(demo, "tester", "after")}
    texts |= {demo.run(name, "context", show=False) for name in _NODES}
    digests = {
        text.strip().partition("\n")[0] for text in texts
    }  # in the opening line; what is of one machine is not in it
    if len(digests) != 1 or not all("pnpm" in text for text in texts):
        raise _Failed("the nodes do not give the same context")
    demo.say("           (the same bytes on all three)")


def _cut_off(demo: Demo) -> None:
    demo.say("\nOne machine loses power; both sides go on writing:")
    demo.say("  tester   kill -9")
    demo.cut("tester")
    demo.shown(demo.run("tester", "discover", "the staging database is reset every night at three"))
    demo.shown(demo.run("laptop", "discover", "HTTP 405 on push means branch protection"))
    demo.up("tester")
    seconds = demo.wait_in_step()
    demo.facts["healed_seconds"] = round(seconds, 3)
    demo.say(f"           healed {seconds:.2f} s after it was back")


def _one_root(demo: Demo) -> None:
    demo.say("\nOne root: the same records, byte for byte.")
    roots = {name: demo.root(name) for name in _NODES}
    tails = {demo.run(name, "tail", "--json", show=False) for name in _NODES}
    for name, root in roots.items():
        demo.say(f"{name:>8}   {root[:32]}")
    if len(set(roots.values())) != 1 or len(tails) != 1:
        raise _Failed("the nodes do not have the same records")
    demo.facts["root"] = roots["laptop"]
