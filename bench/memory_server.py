"""The peer that most agents know: MCP's reference memory server, `@modelcontextprotocol/server-memory` of npm.

It keeps a graph of entities in one JSONL file, which it reads for every call and rewrites for every change. Talked to as an
agent does: JSON-RPC, a line a message, over its standard streams. An entity a record.
"""

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.learnings import learnings
from bench.processes import started
from bench.table import say

NAME = "server-memory"
_PACKAGE = "@modelcontextprotocol/server-memory"
VERSION = "2026.8.31"
_INSTALL_SECONDS = 300
_CALL_SECONDS = 120.0


def install(work: str) -> tuple[str, str]:
    """The server's script in this work folder, or why there is none."""
    folder = os.path.join(work, "peers", NAME)
    script = os.path.join(folder, "node_modules", _PACKAGE, "dist", "index.js")
    if os.path.exists(script):
        return script, ""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "", f"{NAME} does not install here: it needs node and npm"
    say(f"installing {_PACKAGE} {VERSION}")
    os.makedirs(folder, exist_ok=True)
    words = [npm, "install", "--prefix", folder, "--no-audit", "--no-fund", f"{_PACKAGE}@{VERSION}"]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=_INSTALL_SECONDS, cwd=folder)
    except subprocess.TimeoutExpired:
        return "", f"{NAME} does not install here: npm was not done in {_INSTALL_SECONDS} s"
    if done.returncode or not os.path.exists(script):
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return "", f"{NAME} does not install here: {lines[-1] if lines else 'npm says nothing'}"
    return script, ""


def graph(work: str, records: int) -> str:
    """A file of so many entities, with the texts that our homes have."""
    path = os.path.join(work, "peers", f"graph-{records}.jsonl")
    if not os.path.exists(path):
        with open(path + ".new", "w", encoding="utf-8") as file:
            for number, item in enumerate(learnings(records)):
                text = item.record.get("text") or " / ".join(
                    str(item.record[field]) for field in ("right", "wrong", "rule", "reason") if field in item.record
                )
                repo, tags = item.record["repo"], ", ".join(item.record["tags"])
                entity = {"type": "entity", "name": entity_name(number), "entityType": item.log}
                file.write(json.dumps(entity | {"observations": [text, f"repo: {repo}", f"tags: {tags}"]}) + "\n")
        os.rename(path + ".new", path)
    return path


def entity_name(number: int) -> str:
    """What an entity is called."""
    return f"record-{number}"


class Server:
    """One that runs and has shaken hands."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._number = 0
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def seconds(self, tool: str, **arguments: object) -> float:
        """One call of a tool, until its whole answer is here."""
        return self._call(tool, arguments)[0]

    def chars(self, tool: str, **arguments: object) -> int:
        """How much a tool answers."""
        _, result = self._call(tool, arguments)
        return sum(len(part.get("text", "")) for part in result["content"])

    def _call(self, tool: str, arguments: dict[str, object]) -> tuple[float, dict[str, Any]]:
        seconds, answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer.get("result", {})
        if "error" in answer or result.get("isError"):
            raise RuntimeError(f"{NAME}: {tool}: {json.dumps(answer)[:500]}")
        return seconds, result

    def _ask(self, method: str, parameters: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        self._number += 1
        begin = time.perf_counter()
        self._send({"id": self._number, "method": method, "params": parameters})
        alarm = threading.Timer(_CALL_SECONDS, self._process.kill)
        alarm.start()
        try:
            assert self._process.stdout is not None
            for line in self._process.stdout:
                seconds = time.perf_counter() - begin  # before we read it: that is our own time
                answer: dict[str, Any] = json.loads(line)
                if answer.get("id") == self._number:
                    return seconds, answer
        finally:
            alarm.cancel()
        raise RuntimeError(f"{NAME} did not answer {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def serving(script: str, path: str) -> Iterator[Server]:
    """A server over one file, from its handshake until it is ended."""
    environ = os.environ | {"MEMORY_FILE_PATH": path}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with started(["node", script], env=environ, **streams) as process:
        yield Server(process)


def cold_seconds(script: str, path: str, tool: str, **arguments: object) -> float:
    """From nothing, through the handshake, to the answer of one tool."""
    begin = time.perf_counter()
    with serving(script, path) as server:
        return time.perf_counter() - begin + server.seconds(tool, **arguments)
