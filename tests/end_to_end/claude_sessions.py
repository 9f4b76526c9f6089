"""Transcripts as Claude Code writes them, line by line, for tests that run the real commands. No test lives here."""

import json
import time
from pathlib import Path
from typing import Any

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)


class ClaudeSession:
    """One session, told in order."""

    def __init__(self, name: str, folder: Path, days_ago: float = 1.0) -> None:
        self.name = name
        self._folder = str(folder)
        self._seconds = time.time() - days_ago * 86_400
        self._records: list[dict[str, Any]] = []

    def prompt(self, text: str) -> "ClaudeSession":
        """A person types something."""
        return self._add("user", {"role": "user", "content": text})

    def reply(self, text: str) -> "ClaudeSession":
        """The model says something."""
        return self._assistant({"type": "text", "text": text})

    def ran(self, command: str, output: str, *, failed: bool = False) -> "ClaudeSession":
        """A command that ran."""
        return self._call(command, f"Exit code 1\n{output}" if failed else output, failed=failed)

    def refused(self, command: str, reason: str) -> "ClaudeSession":
        """A command that a person did not let run, and why."""
        return self._call(command, REFUSED + reason, failed=True)

    def hook(self, text: str) -> "ClaudeSession":
        """What a hook of ours put into the session."""
        attachment = {"type": "hook_additional_context", "content": [text], "hookName": "SessionStart"}
        return self._add("attachment", None, attachment=attachment)

    def reminder(self, text: str) -> "ClaudeSession":
        """The same, as older versions show it: in the person's place."""
        return self._add(
            "user", {"role": "user", "content": f"<system-reminder>\n{text}\n</system-reminder>"}, isMeta=True
        )

    def compacted(self, text: str) -> "ClaudeSession":
        """A summary of all before it, which quotes what was read."""
        said = f"This session is being continued from a previous conversation that ran out of context. {text}"
        return self._add("user", {"role": "user", "content": said}, isCompactSummary=True)

    def called(self, tool: str, arguments: dict[str, Any], answer: str) -> "ClaudeSession":
        """Any tool."""
        number = f"toolu_{len(self._records)}"
        self._assistant({"type": "tool_use", "id": number, "name": tool, "input": arguments})
        return self._result(number, answer, failed=False)

    def save(self, folder: Path) -> Path:
        """As a file; returns it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in self._records), encoding="utf-8")
        return path

    def _call(self, command: str, answer: str, *, failed: bool) -> "ClaudeSession":
        number = f"toolu_{len(self._records)}"
        self._assistant({"type": "tool_use", "id": number, "name": "Bash", "input": {"command": command}})
        return self._result(number, answer, failed=failed)

    def _result(self, number: str, answer: str, *, failed: bool) -> "ClaudeSession":
        block = {"type": "tool_result", "tool_use_id": number, "content": answer, "is_error": failed}
        return self._add("user", {"role": "user", "content": [block]})

    def _assistant(self, block: dict[str, Any]) -> "ClaudeSession":
        message = {
            "role": "assistant",
            "id": f"msg_{len(self._records)}",
            "model": "claude-opus-4-5",
            "content": [block],
        }
        return self._add("assistant", message | {"usage": {"input_tokens": 5, "output_tokens": 7}})

    def _add(self, kind: str, message: dict[str, Any] | None, **more: Any) -> "ClaudeSession":
        self._seconds += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._seconds)) + ".000Z"
        number = len(self._records)
        record: dict[str, Any] = {
            "type": kind,
            "uuid": f"{self.name}-{number}",
            "sessionId": self.name,
            "timestamp": at,
        }
        record |= {"parentUuid": f"{self.name}-{number - 1}" if number else None, "isSidechain": False}
        record |= {"cwd": self._folder, "version": "2.1.109", "userType": "external"} | more
        self._records.append(record if message is None else record | {"message": message})
        return self


def clone_of(repo: str, folder: Path) -> Path:
    """A folder that is a clone of a repository, as far as its name goes."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{repo}.git\n', encoding="utf-8")
    return folder


def corrected(
    name: str, folder: Path, reason: str = "use pnpm install here, we never use npm", **more: Any
) -> ClaudeSession:
    """A session in which a person refuses a command and says what is right."""
    session = ClaudeSession(name, folder, **more).prompt("Please install the dependencies of the web app.")
    session.reply("I will install them.").refused("npm install", reason)
    return session.ran("pnpm install", "Done in 3s").reply("Installed with pnpm.")
