"""`mcp_tokens`: tokens that the definitions of our tools cost every session: what a model is shown of them, and all that is sent to the client.

Counted by the bound that contexts are kept within, and by a real tokenizer: Claude's, which an old release of its SDK carries. It is
fetched for this and never imported; where that fails, a note says so.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from bench.peer import measured
from bench.table import Goal, Report, say
from clan_learnings.context.token_bound import at_most_tokens
from clan_learnings.records.record import CATEGORIES
from mesh.mcp.descriptions import INSTRUCTIONS, TOOLS

_GOAL = Goal(1000, most=True)
_SHOWN = ("name", "description", "inputSchema")  # what clients pass on to a model
_CARRIER = "anthropic==0.38.0"
_SECONDS = 120


def run(work: str) -> Report:
    """What is announced as a rule, beside the same with `--tools all`."""
    report = Report("mcp_tokens", "--tools all")
    counts: dict[str, Callable[[str], int]] = {"by our bound": at_most_tokens}
    measured(report.notes, lambda: _with_claude(work, counts))
    usual, whole = _announced(is_whole=False), _announced(is_whole=True)
    for name, count in counts.items():
        for what, fields, goal in (("shown to a model", _SHOWN, _GOAL), ("sent to a client", (), None)):
            ours, peer = (_tokens(tools, fields, count) for tools in (usual, whole))
            report.add(f"{what}, {name}", "tokens", ours, peer, goal)
        report.add(f"instructions of the server, {name}", "tokens", count(INSTRUCTIONS))
    report.add(f"arguments of {len(TOOLS)} tools", "", _arguments(usual), _arguments(whole))
    return report


def _announced(*, is_whole: bool) -> list[dict[str, Any]]:
    return [tool.announced(CATEGORIES, is_bound=False, is_whole=is_whole) for tool in TOOLS]


def _arguments(tools: list[dict[str, Any]]) -> int:
    return sum(len(tool["inputSchema"]["properties"]) for tool in tools)


def _tokens(tools: list[dict[str, Any]], fields: tuple[str, ...], count: Callable[[str], int]) -> float:
    shown = [{name: tool[name] for name in fields or tool} for tool in tools]
    return count(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


def _with_claude(work: str, counts: dict[str, Callable[[str], int]]) -> tuple[dict[str, float], str]:
    """Add a real tokenizer to the counts, or say why there is none."""
    folder = Path(work, "peers", "tokenizer")
    place = folder / "anthropic" / "tokenizer.json"
    if not place.exists():
        say(f"fetching {_CARRIER} for its tokenizer")
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([*pip, "-d", str(folder), _CARRIER], capture_output=True, check=False, timeout=_SECONDS)
        wheels = [name for name in os.listdir(folder) if name.endswith(".whl")] if folder.is_dir() else []
        if done.returncode or not wheels:
            return {}, f"{_CARRIER} cannot be fetched here, so there is no real tokenizer to count with"
        with zipfile.ZipFile(folder / wheels[0]) as archive:
            archive.extract("anthropic/tokenizer.json", folder)
    tokenizer = Tokenizer.from_file(str(place))
    counts["by Claude's tokenizer"] = lambda text: len(tokenizer.encode(text).ids)
    return {}, ""
