"""Makes transcripts in large numbers: four flavours, sizes spread like those of real ones. Measures nothing.

The same seed makes the same sessions. Half of them are below 16 KB, one in ten is above 400 KB, as in a collection of real
transcripts, times a scale.
"""

import json
import os
import random

_DECILES_KB = (0.6, 1.2, 2.8, 7, 16, 56, 110, 240, 400, 1500)
_PROSE = (
    "the test fails because of a missing import in module parser please fix it and run again build server returned error "
    "config file value default path cache token stream reader writer index query result line number function class method "
    "deploy branch merge commit push release version update remove rename refactor check verify lint format type"
)
_WORDS = _PROSE.split()
_REPOS = 60


def make(folder: str, count: int, scale: float, seed: int = 7) -> int:
    """Write so many sessions; returns their bytes."""
    os.makedirs(folder, exist_ok=True)
    chance = random.Random(seed)
    total = 0
    for number in range(count):
        decile = chance.randrange(10)
        low = _DECILES_KB[decile - 1] if decile else 0.3
        size = int(chance.uniform(low, _DECILES_KB[decile]) * 1024 * scale)
        flavour = (_claude, _codex, _hermes, _pi)[number % 4]
        lines = flavour(chance, f"{seed:08x}-0000-4000-8000-{number:012x}", max(size, 600))
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        day = chance.randrange(90)
        path = os.path.join(folder, f"202611{1 + number % 28:02d}_{number % 240000:06d}_{number:08x}.jsonl")
        with open(path, "wb") as file:
            file.write(data)
        at = 1_795_000_000 - day * 86_400
        os.utime(path, (at, at))
        total += len(data)
    return total


def _text(chance: random.Random, size: int) -> str:
    """So many characters of words, some of them lines."""
    start = chance.randrange(1000)
    words = [_WORDS[(start + number * 7) % len(_WORDS)] for number in range(size // 6 + 1)]
    words[::17] = [f"{word}\n" for word in words[::17]]
    return " ".join(words)[:size]


def _steps(chance: random.Random, size: int) -> "list[tuple[str, str, str, bool]]":
    """Turns of a session: what is asked now and then, a command, what it printed, whether it failed."""
    steps: list[tuple[str, str, str, bool]] = []
    while size > 0:
        output = min(int(chance.lognormvariate(6.6, 1.3)), 60_000)
        asked = _text(chance, chance.randrange(20, 200)) if not steps or chance.random() < 0.12 else ""
        command = f"pytest tests/test_{chance.randrange(40)}.py -q"
        steps.append((asked, command, _text(chance, output), chance.random() < 0.1))
        size -= output + 900
    return steps


def _claude(chance: random.Random, name: str, size: int) -> list[dict[str, object]]:
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": f"/home/dev/project{chance.randrange(_REPOS)}",
        "sessionId": name,
        "version": "2.1.30",
        "gitBranch": "main",
    }
    lines: list[dict[str, object]] = []

    def add(kind: str, message: dict[str, object]) -> None:
        number = len(lines)
        uuid = f"{name[:-12]}{number:012x}"
        stamp = f"2026-10-{1 + number % 28:02d}T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        lines.append(common | {"parentUuid": None, "type": kind, "uuid": uuid, "timestamp": stamp, "message": message})

    for number, (asked, command, output, failed) in enumerate(_steps(chance, size)):
        if asked:
            add("user", {"role": "user", "content": asked})
        answer = {"id": f"msg_{name[-6:]}{number}", "type": "message", "role": "assistant", "model": "claude-x"}
        usage = {"input_tokens": 4, "output_tokens": 90, "cache_read_input_tokens": 9000}
        call = f"toolu_{name[-6:]}{number}"
        add("assistant", answer | {"content": [{"type": "text", "text": _text(chance, 120)}], "usage": usage})
        add(
            "assistant",
            answer
            | {
                "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}],
                "usage": usage,
            },
        )
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        add("user", {"role": "user", "content": [result]})
    return lines


def _codex(chance: random.Random, name: str, size: int) -> list[dict[str, object]]:
    at = "2026-10-05T09:00:00.000Z"
    repo = f"https://github.com/acme/project{chance.randrange(_REPOS)}.git"
    meta = {
        "id": name,
        "timestamp": at,
        "cwd": "/home/dev/x",
        "cli_version": "0.120.0",
        "git": {"repository_url": repo},
    }
    lines: list[dict[str, object]] = [{"timestamp": at, "type": "session_meta", "payload": meta}]

    def add(kind: str, **payload: object) -> None:
        lines.append({"timestamp": at, "type": kind, "payload": payload})

    for number, (asked, command, output, failed) in enumerate(_steps(chance, size)):
        if asked:
            add("response_item", type="message", role="user", content=[{"type": "input_text", "text": asked}])
            add("event_msg", type="user_message", message=asked)
        said = _text(chance, 120)
        add("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": said}])
        arguments = json.dumps({"cmd": command, "workdir": "/home/dev/x"})
        add("response_item", type="function_call", name="exec_command", arguments=arguments, call_id=f"call_{number}")
        printed = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {int(failed)}\nOutput:\n{output}"
        add("response_item", type="function_call_output", call_id=f"call_{number}", output=printed)
    return lines


def _hermes(chance: random.Random, name: str, size: int) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = [
        {"role": "session_meta", "model": "m", "platform": "cli", "timestamp": "2026-10-05T09:00:00"}
    ]
    for number, (asked, command, output, failed) in enumerate(_steps(chance, size)):
        at = f"2026-10-05T09:{number // 60 % 60:02d}:{number % 60:02d}"
        if asked:
            lines.append({"role": "user", "content": f"{asked} ({name})", "timestamp": at})
        function = {"name": "terminal", "arguments": json.dumps({"command": command})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        lines.append({"role": "assistant", "content": _text(chance, 120), "tool_calls": [call], "timestamp": at})
        printed = json.dumps({"output": output, "exit_code": int(failed), "error": None})
        lines.append({"role": "tool", "tool_call_id": f"call_{number}", "content": printed, "timestamp": at})
    return lines


def _pi(chance: random.Random, name: str, size: int) -> list[dict[str, object]]:
    at = "2026-10-05T09:00:00.000Z"
    folder = f"/home/dev/project{chance.randrange(_REPOS)}"
    lines: list[dict[str, object]] = [{"type": "session", "version": 3, "id": name, "timestamp": at, "cwd": folder}]

    def add(message: dict[str, object]) -> None:
        number = len(lines)
        parent = f"{number - 1:08x}" if number > 1 else None
        lines.append(
            {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": at, "message": message}
        )

    for number, (asked, command, output, failed) in enumerate(_steps(chance, size)):
        if asked:
            add({"role": "user", "content": [{"type": "text", "text": asked}]})
        call = {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {"command": command}}
        usage = {"input": 10, "output": 80, "cacheRead": 5000, "cacheWrite": 0, "cost": {"total": 0.01}}
        said = {"type": "text", "text": _text(chance, 120)}
        add({"role": "assistant", "content": [said, call], "usage": usage, "stopReason": "toolUse"})
        printed = [{"type": "text", "text": output}]
        add(
            {
                "role": "toolResult",
                "toolCallId": f"c{number}",
                "toolName": "bash",
                "content": printed,
                "isError": failed,
            }
        )
    return lines
