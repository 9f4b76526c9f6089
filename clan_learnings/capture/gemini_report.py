"""The report that Gemini CLI's shell gives about a command: what it printed, its exit code, where it ran. No events here."""

import re
from typing import NamedTuple

_EXIT_CODE = re.compile(r"(?:^|\n|\\n)Exit Code: (-?\d{1,9})\b")
_FOLDER = re.compile(r"(?:^|\n|\\n)Directory: ([/~][^\n\\]{1,400})")
_TRAILERS = ("\nError: ", "\nExit Code: ", "\nSignal: ", "\nBackground PIDs: ", "\nProcess Group PGID: ")
_NEAR = 2000  # from either end: what is said about a command stands before and behind what it printed


class Report(NamedTuple):
    """What is known about a command that ran."""

    printed: str
    exit_code: int | None
    folder: str


def report_of(text: str) -> Report:
    """The report taken apart. The last exit code counts: those before it were printed by the program."""
    folder = _FOLDER.search(text[:_NEAR])
    codes = _EXIT_CODE.findall(text[-_NEAR:])
    return Report(_printed(text), int(codes[-1]) if codes else None, folder[1].strip() if folder else "")


def _printed(text: str) -> str:
    """What a command printed, out of the report about it."""
    if not text.startswith(("Command: ", "Directory: ", "Output: ", "Stdout: ")):
        return text
    start = max(text.find("\nOutput: "), text.find("\nStdout: "))
    body = text[start + 1 :] if start >= 0 else text
    body = body.partition(": ")[2] if body.startswith(("Output: ", "Stdout: ")) else body
    ends = {label: body.rfind(label) for label in _TRAILERS}
    end = min((at for at in ends.values() if at >= 0), default=len(body))
    error = ""
    if ends["\nError: "] == end and end < len(body):
        error = body[end + len("\nError: ") :].partition("\nExit Code: ")[0].strip()
    said = [part for part in (body[:end].strip(), error) if part not in {"", "(none)", "(empty)"}]
    return "\n".join(said)
