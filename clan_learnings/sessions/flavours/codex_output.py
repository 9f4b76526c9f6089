"""The arguments and outputs of the tools of Codex, in the forms of every era. `codex` makes events of them."""

import re
from itertools import islice
from json import JSONDecoder
from typing import Any, NamedTuple

import orjson

from clan_learnings.sessions.json_values import exit_code_of, list_of, object_of, text_of, words_of

_HEAD = 2000  # where the words about a process stand, before what it printed
_OUTPUT = "\nOutput:"
_REPORTS = ("Chunk ID", "Command: ", "Wall time", "Exit code", "Script ", "Process ")
_FAILURES = ("failed in sandbox", "execution error", "sandbox ")  # sentences of the oldest era
_EXITED = re.compile(r"(?:Process exited with code|[Ee]xit code:?) (-?\d{1,9})\b")
_RUNNING = re.compile(r"(?:Process running with session ID|Script running with cell ID) (\w{1,40})")
_SCRIPT_COMMAND = re.compile(r"\b(?:cmd|command)[\"']?\s{0,9}:\s{0,9}(?=[\"'`])")
_COMMANDS_OF_SCRIPT = 50  # looked at: to say where a string is torn takes as long as to read all of it
_string = JSONDecoder(strict=False).raw_decode


class CodexOutput(NamedTuple):
    """The parts of a tool's output."""

    text: str  # what was printed
    exit_code: int | None
    about: str  # the words before it
    process: str  # that runs on, empty if none does


def told(output: Any) -> CodexOutput:
    """What a tool printed, and its exit code where any era of the format says it."""
    if isinstance(output, dict):
        output = output.get("content", output.get("output"))
    text = words_of(output)
    about, found, _ = text[:_HEAD].partition(_OUTPUT)
    is_report = bool(found) and about.startswith(_REPORTS)
    if is_report:
        text = text[len(about) + len(_OUTPUT) :].lstrip("\n")
    if text.startswith('{"'):
        blocks = [words_of(block) for block in list_of(output)[1:]] if is_report and isinstance(output, list) else []
        results = [_result(block) for block in blocks or [text]]
        if all(result is not None for result in results):
            return _together([result for result in results if result is not None], about if is_report else "")
    code = _EXITED.search(about) if about.startswith((*_REPORTS, *_FAILURES)) else None
    process = None if code else _RUNNING.search(about)
    return CodexOutput(text, int(code[1]) if code else None, about, process[1] if process else "")


def _result(text: str) -> CodexOutput | None:
    """A result that was written down as JSON: by the tool in the oldest era, by the model's script in the newest."""
    try:
        result = object_of(orjson.loads(text))
    except ValueError:
        return None
    if not isinstance(result.get("output"), str):
        return None
    code = exit_code_of(result.get("exit_code", object_of(result.get("metadata")).get("exit_code")))
    process = result.get("session_id") if code is None else None
    return CodexOutput(result["output"], code, "", str(process)[:40] if process else "")


def _together(results: list[CodexOutput], about: str) -> CodexOutput:
    # One that failed is what all of them amount to; one that nobody knows leaves all unknown.
    codes = [result.exit_code for result in results]
    failed = next((code for code in codes if code), None)
    code = failed if failed is not None or None in codes else 0
    process = next((result.process for result in results if result.process), "") if code is None else ""
    return CodexOutput("\n".join(result.text for result in results), code, about, process)


def arguments_of(item: dict[str, Any]) -> dict[str, Any]:
    """What a call gives to its tool; what is no object is its `input`."""
    for name in ("arguments", "input", "action"):
        value = item.get(name)
        if isinstance(value, dict):
            return value
        if isinstance(value, str):
            try:
                found = orjson.loads(value)
            except ValueError:
                found = None
            return found if isinstance(found, dict) else {"input": value}
    return {}


def command_of(arguments: dict[str, Any]) -> str:
    """What a shell is told to do, without the shell's own name."""
    command = arguments.get("cmd", arguments.get("command"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) == 3 and words[1] in {"-lc", "-c", "-Command"}:
            return words[2]
        return " ".join(words)
    return text_of(command) or _script_commands(text_of(arguments.get("input")))


def _script_commands(script: str) -> str:
    """What a script gives to a shell: the strings that it names `cmd`."""
    found: list[str] = []
    for match in islice(_SCRIPT_COMMAND.finditer(script), _COMMANDS_OF_SCRIPT):
        quote = script[match.end()]
        if quote == '"':
            try:
                found.append(text_of(_string(script, match.end())[0]))
            except ValueError:
                continue
        else:
            end = script.find(quote, match.end() + 1)
            found.append(script[match.end() + 1 : end] if end > 0 else "")
    return "\n".join(filter(None, found))
