"""A shell session as a document shows it: parsed from Markdown, run for real, and told with names, dates and places that never change.

Ids are random, days pass, and a test has a folder of its own. So each of them is replaced both ways: a command is run with what is
real, its output is told with what the document says. Two runs of the same program are told in the same words.
"""

import os
import re
import subprocess
import time
from base64 import b32encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

CUT = "…"  # in a document: something is left out, on a line of its own any number of lines
DAY = date(2026, 11, 16)  # the day on which documents play
_FENCE, _PROMPT = "```", "$ "
_WAITING = re.compile(r"sleep (\d+); ")  # a reader waits; a test repeats what follows until it is as expected
_HERE = re.compile(r"<<'(\w+)'$")
# Where an id stands in what a command prints. It is told by its place: many words are spelled with the same letters.
_IDS = re.compile(
    r"^ *([a-z2-7]{8})  (?! )|·([a-z2-7]{5})\b|\[([a-z2-7]{8})\]|\b([a-z2-7]{52})\b|--move ([a-z2-7]{8})\b"
    r"|(?:new pattern|counted under) [a-z0-9-]+-([a-z2-7]{6})$|day-\d{4}-\d\d-\d\d-([a-z2-7]{12})\b|digest=([a-z2-7]{16})",
    re.MULTILINE,
)
_LABELS = frozenset({"keywords", "embedder"})  # stand where an id may stand
_WORD = re.compile(r"(?<![a-z2-7])[a-z2-7]{4,}(?![a-z2-7])")
_HASH = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{16}\b")
_DATE = re.compile(r"\b20\d\d-\d\d-\d\d(?!\d)")
_TIME = re.compile(r"(?<=\d)T\d\d:\d\d(:\d\d(?:\.\d+)?)?(?=Z|\b)")
_PROCESS = re.compile(r"\bprocess \d+\b")
_TOLD_TIMES = {False: "T15:49", True: "T15:49:05.307"}


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what the document shows of its output: nothing means that it is left out."""

    command: str
    output: tuple[str, ...]

    @property
    def wait_seconds(self) -> int:
        """How long a reader waits first."""
        found = _WAITING.match(self.command)
        return int(found[1]) if found else 0

    @property
    def typed(self) -> str:
        """The command without the waiting."""
        return _WAITING.sub("", self.command, count=1)


def split(text: str) -> list[str | list[Step]]:
    """A document, piece by piece: Markdown as it is, and the sessions in it."""
    pieces: list[str | list[Step]] = []
    for number, piece in enumerate(re.split(rf"(?m)^({_FENCE}.*\n)", text)):
        pieces.append(piece)
        is_session = number >= 2 and pieces[-2] == f"{_FENCE}\n" and piece.startswith(_PROMPT)
        if is_session:
            pieces[-1] = _steps(piece.splitlines())
    return pieces


def joined(pieces: Sequence[str | list[Step]]) -> str:
    """The document again."""
    return "".join(piece if isinstance(piece, str) else _text(piece) for piece in pieces)


def _steps(lines: list[str]) -> list[Step]:
    found: list[Step] = []
    rest = iter(lines)
    for line in rest:
        if not line.startswith(_PROMPT):
            found[-1] = Step(found[-1].command, (*found[-1].output, line))
            continue
        command = [line.removeprefix(_PROMPT)]
        if end := _HERE.search(line):
            while command[-1] != end[1]:
                command.append(next(rest))
        found.append(Step("\n".join(command), ()))
    return found


def _text(steps: list[Step]) -> str:
    return "".join(f"{_PROMPT}{step.command}\n" + "".join(f"{line}\n" for line in step.output) for step in steps)


def shows(output: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether a document's lines are what was printed, but for what they leave out."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == CUT else re.escape(line).replace(CUT, ".*") + r"\n" for line in output
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def updated(output: Sequence[str], printed: Sequence[str]) -> tuple[str, ...]:
    """What the document should show instead: what was printed; lines that still hold and what was left out stay as they are."""
    new: list[str] = []
    at = 0
    is_cut = _is_cut(output, at)
    for line in printed:
        found = next((n for n in range(at, len(output)) if not _is_cut(output, n) and shows([output[n]], [line])), None)
        if found is not None:
            new.append(output[found])
            at = found + 1
        elif is_cut:
            continue
        else:
            new.append(line)
            at += _is_cut(output, at + 1)  # it stands where another line stood, whose rest was left out
        is_cut = _is_cut(output, at)
        if is_cut:
            new.append(output[at])
    return tuple(new)


def _is_cut(output: Sequence[str], number: int) -> bool:
    return number < len(output) and output[number].strip() == CUT


@dataclass(slots=True)
class Names:
    """What is real, and what the document says instead."""

    places: Mapping[str, str]  # of folders and ports: as the document says it -> as it is
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    _ids: list[list[str]] = field(default_factory=list)  # each as it is, as far as that is known, and as it is told
    _seen: Counter[str] = field(default_factory=Counter)  # how many ids each command was the first to print
    _hashes: dict[str, str] = field(default_factory=dict)

    def real(self, command: str) -> str:
        """A command of the document as it is run."""
        command = _DATE.sub(lambda found: _moved(found[0], self.today - DAY), command)
        for told, real in self.places.items():
            command = command.replace(told, real)
        return _WORD.sub(lambda found: self._real_id(found[0]), command)

    def told(self, printed: str, command: str) -> str:
        """What a command of the document printed, as the document says it. An id is named after the command that first printed it.

        So other commands, and more or fewer words in their outputs, change no name.
        """
        for groups in _IDS.findall(printed):
            seen = "".join(groups)
            if seen not in _LABELS:
                self._learn(seen, command)
        for told, real in self.places.items():
            printed = printed.replace(real, told)
        printed = _DATE.sub(lambda found: _moved(found[0], DAY - self.today), printed)
        printed = _TIME.sub(lambda found: _TOLD_TIMES[found[1] is not None], printed)
        printed = _PROCESS.sub("process 3099", printed)
        printed = _HASH.sub(lambda found: self._told_hash(found[0]), printed)
        return _WORD.sub(lambda found: self._told_id(found[0]), printed)

    def _learn(self, seen: str, command: str) -> None:
        for names in self._ids:
            if names[0].startswith(seen) or seen.startswith(names[0]):
                names[0] = max(names[0], seen, key=len)
                return
        self._seen[command] += 1
        self._ids.append([seen, _invented(f"{command} {self._seen[command]}")])

    def _told_id(self, word: str) -> str:
        for real, told in self._ids:
            if real.startswith(word) or word.startswith(real):
                return told[: len(word)]
        return word

    def _real_id(self, word: str) -> str:
        for real, told in self._ids:
            if told.startswith(word):
                return real[: len(word)]
        return word

    def _told_hash(self, real: str) -> str:
        return self._hashes.setdefault(real, blake2b(b"hash %d" % len(self._hashes), digest_size=8).hexdigest())


def _invented(seed: str) -> str:
    """An id like any other, the same in every run."""
    return b32encode(blake2b(seed.encode(), digest_size=33).digest()).decode().lower()[:52]


def _moved(day: str, by: timedelta) -> str:
    return (date.fromisoformat(day) + by).isoformat()


class Shell:
    """One bash, in which aliases, variables and the folder last from a command to the next."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._process = subprocess.Popen(  # its commands are the document's
            ["bash", "--noprofile", "--norc"],  # noqa: S607 (the one of the PATH, as a reader has it)
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environ),
            cwd=folder,
            text=True,
        )
        self.run("shopt -s expand_aliases")

    def run(self, command: str) -> tuple[int, str]:
        """Its exit code, and what it printed: first on stdout, then on stderr."""
        script, out, err = (self._folder / name for name in ("command", "out", "err"))
        script.write_text(f"{command}\n", encoding="utf-8")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f". {script} >{out} 2>{err} </dev/null; echo $?\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return code, out.read_text(encoding="utf-8") + err.read_text(encoding="utf-8")

    def close(self) -> None:
        """End it; what it started in the background goes on."""
        self._process.communicate()


class Told:
    """A shell whose commands and outputs are those of a document."""

    def __init__(self, shell: Shell, names: Names, settle: Callable[[], None]) -> None:
        """`settle`: waits until what was written has come everywhere, as it has when a person types the next command."""
        self._shell = shell
        self._names = names
        self._settle = settle

    def run(self, command: str) -> tuple[int, list[str]]:
        """Run a command of the document; its exit code, and what it printed in the document's words."""
        self._settle()
        code, printed = self._shell.run(self._names.real(command))
        return code, self._names.told(printed, command).splitlines()

    def run_until(self, step: Step, patience_seconds: float) -> tuple[int, list[str]]:
        """The same for a step that a reader waits for: again and again, until the output is as shown or patience ends."""
        end = time.monotonic() + patience_seconds
        while True:
            code, printed = self.run(step.typed)
            if not step.wait_seconds or shows(step.output, printed) or time.monotonic() > end:
                return code, printed
            time.sleep(0.1)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; an error if it does not in five minutes."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def plain_environ(user: Path, programs: Sequence[str]) -> dict[str, str]:
    """Of a person who has only just begun: whatever the developer has does not count."""
    return {
        "HOME": str(user),
        "MESH_STATE": str(user / "state"),
        "MESH_SPOOL": str(user / "queue"),
        "MESH_EMBEDDER": "none",
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join([*programs, "/usr/local/bin", "/usr/bin", "/bin"]),
    }
