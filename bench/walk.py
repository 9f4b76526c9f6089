"""`walk`: how large the code is, what its names say, and how many modules one command crosses.

It must give comparable figures after any renaming: packages are found, not named, and commands run as processes.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import ROOT, ran
from bench.table import Goal, Report, say

SMALL, LARGE = 60, 400  # lines: a module lies between them
_MOST_FOLDERS = 10  # in which a reader follows one command
_BESIDE = ("bench", "tests")  # packages of the checkout that are no part of the product
_INIT = "__init__.py"

# A rule of thumb: words of a path below its package, of old and of new names. A folder called after a subject takes all its modules.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "records": ("records?", "patterns?", "corrections?", "discoveries", "tiers?", "access(es| counts)", "witnesses"),
    "context": ("context",),
    "search": ("search(ing)?", "recall", "index(es)?", "vectors", "embedding", "word query"),
    "sessions": ("sessions?", "captur(e|ed|ing)", "sampl(e|ing)", "transcripts?", "forgotten", "never capture"),
    "harvest": ("harvest(ing)?", "candidates?", "extractor", "curat(e|ing|ion)", "detect"),
    "pages": ("pages?",),
    "agents": ("agents?", "hooks?", "mcp", "(un)?install"),
    "redaction": ("redact(ion|ing|ed)?", "text cleaner", "^pen$"),
    "render": ("render(er|ing)?",),
    "repository": ("repos?", "repository", "git config"),
    "documents": ("document(s|ing)?", "learnings?"),
}

# Loaded by every Python that a command starts, so that worker processes count too: they are not given the environment, but
# the way to the packages, so it finds all it needs beside itself. A file is written down when one of its
# functions is first called, not at the end: some processes end without one. Module and class bodies are not optimized code
# (flag 1), and a comprehension belongs to what surrounds it.
_PROFILE = """
import os, sys, threading

def _watch():
    folder = os.path.dirname(__file__)
    with open(os.path.join(folder, "root"), encoding="utf-8") as file:
        root = file.read() + os.sep
    out = os.open(os.path.join(folder, "crossed"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    done, write, process = set(), os.write, os.getpid

    def called(frame, event, _):
        code = frame.f_code
        path = code.co_filename
        if event != "call" or path in done:
            return
        if path.startswith(root):
            if not code.co_flags & 1 or (code.co_name[0] == "<" and code.co_name != "<lambda>"):
                return
            write(out, f"{process()} {path[len(root):]}\\n".encode())
        done.add(path)

    threading.setprofile(called)
    sys.setprofile(called)

_watch()
"""
_COMMAND = "from mesh.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the product."""

    path: str
    lines: int
    classes: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Where it lies."""
        return os.path.dirname(self.path)

    @property
    def name(self) -> str:
        """Its file name."""
        return os.path.basename(self.path)


@dataclass(frozen=True, slots=True)
class Walk:
    """One command: what has to be there, then the same way twice, of which the second counts."""

    what: str
    before: tuple[tuple[str, ...], ...]
    warm: tuple[str, ...]
    counted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crossed:
    """Modules in which the command called a function, and those of them that only its child processes crossed."""

    modules: list[str]
    by_children: list[str]

    @property
    def folders(self) -> list[str]:
        """Where they lie."""
        return sorted({os.path.dirname(path) for path in self.modules})


def run(work: str) -> Report:
    """The house, then the walks through it."""
    packages = _packages()
    report = _house(packages)
    report.parts.append(_walks(os.path.join(work, "walk"), packages))
    return report


def _packages() -> list[str]:
    found = {path.split("/")[0] for path in _tracked("*.py") if path.count("/") == 1 and path.endswith("/" + _INIT)}
    return sorted(found - set(_BESIDE))


def _tracked(*specs: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", *specs], cwd=ROOT, capture_output=True, check=True)
    return [path for path in listed.stdout.decode().split("\0") if path and os.path.isfile(os.path.join(ROOT, path))]


def _house(packages: list[str]) -> Report:
    modules = [_module(path) for package in packages for path in _tracked(f"{package}/*.py")]
    named = [module for module in modules if module.name != _INIT]
    report = Report("walk", "")
    for package in packages:
        inside = [module for module in modules if module.path.startswith(package + "/")]
        _size(report, package, inside)
    _size(report, "all", modules)
    small = [module.path for module in named if module.lines < SMALL]
    large = [module.path for module in modules if module.lines > LARGE]
    report.add(f"under {SMALL} lines", "modules", len(small))
    report.add(f"over {LARGE} lines", "modules", len(large), goal=Goal(0, most=True))
    files = _several([(module.name, module.path) for module in named])
    report.add("file names that stand more than once", "names", len(files), goal=Goal(0, most=True))
    classes = _several([(name, module.path) for module in modules for name in module.classes])
    report.add("class names that are defined more than once", "names", len(classes))
    subjects = {subject: _folders(subject, named) for subject in SUBJECTS}
    for subject, folders in subjects.items():
        report.add(f"subject: {subject}", "folders", len(folders))
    report.notes += [
        f"modules are git's *.py, with {_INIT}; the small ones and the names are without it",
        "a subject is guessed from words of the path, and its command in the command line counts as one of its folders",
        f"over {LARGE} lines: {', '.join(large) or 'none'}",
        f"file names: {_counted(files)}",
        f"class names: {_counted(classes)}",
    ]
    report.details = {
        "under": small,
        "over": large,
        "file_names": files,
        "class_names": classes,
        "subjects": subjects,
    }
    return report


def _module(path: str) -> Module:
    source = (Path(ROOT) / path).read_bytes()
    classes = tuple(node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))
    return Module(path, source.count(b"\n"), classes)


def _size(report: Report, what: str, modules: list[Module]) -> None:
    report.add(what, "modules", len(modules))
    report.add(what, "lines", sum(module.lines for module in modules))


def _several(named: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Names that stand more than once, the most frequent first, each with its paths."""
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for name, path in named:
        paths[name].append(path)
    often = Counter({name: len(found) for name, found in paths.items() if len(found) > 1})
    return {name: paths[name] for name, _ in sorted(often.items(), key=lambda item: (-item[1], item[0]))}


def _counted(names: dict[str, list[str]]) -> str:
    return ", ".join(f"{name} {len(paths)}" for name, paths in names.items()) or "none"


def _folders(subject: str, modules: list[Module]) -> list[str]:
    return sorted({module.folder for module in modules if subject in _subjects(module)})


def _subjects(module: Module) -> set[str]:
    """Those that its folders are called after; where there are none, those of its own name."""
    *folders, name = module.path.removesuffix(".py").split("/")[1:]
    for folder in reversed(folders):
        if found := _named(folder):
            return found
    return _named("/".join((*folders, name)))


def _named(word: str) -> set[str]:
    text = word.replace("_", " ").strip()
    return {subject for subject, words in SUBJECTS.items() if any(re.search(rf"\b(?:{one})\b", text) for one in words)}


def _walks(work: str, packages: Collection[str]) -> Report:
    report = Report("walk: one command", "")
    shutil.rmtree(work, ignore_errors=True)
    crossed: dict[str, Crossed] = {}
    for number, walk in enumerate(_commands(work)):
        say(f"`{walk.what}`")
        crossed[walk.what] = found = _Place(os.path.join(work, str(number))).walk(walk, packages)
        report.add(walk.what, "modules", len(found.modules))
        report.add(walk.what, "folders", len(found.folders), goal=Goal(_MOST_FOLDERS, most=True))
        if found.by_children:
            report.add(f"{walk.what}, only in its child processes", "modules", len(found.by_children))
    report.notes += [
        "modules in which a function was called, in any thread and any process of the command; not those only loaded",
        "no node is running; each in a fresh home, where the same was done once before",
    ]
    report.details = {
        what: {"modules": found.modules, "folders": found.folders, "by_children": found.by_children}
        for what, found in crossed.items()
    }
    return report


def _commands(work: str) -> list[Walk]:
    """The second correction says the same as the first in other words, so that it has to be compared with what is known."""
    first = ("correct", "--wrong", "npm install", "--right", "pnpm install")
    again = ("correct", "--wrong", "npm install again, which cost me an hour", "--right", "please pnpm install")
    append = ("page", "append", "runbooks/deploy")
    share = ("share", "github.com/acme/engine")  # else nothing would be recorded
    monday = _transcript(work, "monday", "npm install", "pnpm install", "use pnpm install here, we never use npm")
    tuesday = _transcript(work, "tuesday", "make test", "tox -e unit", "run tox -e unit here, we never use make test")
    return [
        Walk("mesh correct", (), first, again),
        Walk("mesh search", (first,), ("search", "npm"), ("search", "pnpm install")),
        Walk("mesh harvest, one transcript", (share,), ("harvest", monday), ("harvest", tuesday)),
        Walk(
            "mesh page append",
            (("page", "new", "runbooks/deploy", "--text", "# Deploy"),),
            (*append, "- stop the proxy first"),
            (*append, "- restart the proxy last"),
        ),
    ]


class _Place:
    """A person's folder, a checkout in it to work in, a home, and the profile that every Python started here loads."""

    def __init__(self, folder: str) -> None:
        self._checkout = _checkout(os.path.join(folder, "engine"))
        self._profile = Path(folder) / "profile"
        self._profile.mkdir()
        (self._profile / "sitecustomize.py").write_text(_PROFILE, encoding="utf-8")
        (self._profile / "root").write_text(ROOT, encoding="utf-8")
        self._environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C.UTF-8",
            "HOME": folder,
            "MESH_HOME": os.path.join(folder, "home"),
            "MESH_STATE": os.path.join(folder, "state"),
            "PYTHONPATH": os.pathsep.join((str(self._profile), ROOT)),
            "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", os.path.join(folder, "bytecode")),
        }

    def walk(self, walk: Walk, packages: Collection[str]) -> Crossed:
        """What the command crosses when it is run once more."""
        for number, words in enumerate((("init", "--name", "walker"), *walk.before, walk.warm)):
            self._mesh(words, f"walker:before-{number}")
        lines = [line.split(" ", 1) for line in self._mesh(walk.counted, "walker:counted")]
        processes: defaultdict[str, set[str]] = defaultdict(set)
        for process, path in lines:
            if path.split("/")[0] in packages:
                processes[path].add(process)
        if not processes:
            raise RuntimeError(f"{walk.what} called nothing of ours: was the profile loaded?")
        itself = lines[0][0]
        return Crossed(sorted(processes), sorted(path for path, found in processes.items() if itself not in found))

    def _mesh(self, words: tuple[str, ...], session: str) -> list[str]:
        """One command, in a session of its own; the lines of its profile, in the order in which they were written."""
        crossed = self._profile / "crossed"
        crossed.unlink(missing_ok=True)
        environ = self._environ | {"MESH_SESSION": session}
        ran([sys.executable, "-c", _COMMAND, *words], folder=self._checkout, environ=environ)
        lines = crossed.read_text(encoding="utf-8").splitlines()
        _wait_for_end({int(line.split(" ", 1)[0]) for line in lines}, str(self._profile))
        return lines


def _wait_for_end(processes: Collection[int], profile: str, seconds: float = 300) -> None:
    """A command must leave no process behind."""
    end = time.monotonic() + seconds
    while left := [process for process in processes if _runs(process, profile)]:
        if time.monotonic() > end:
            raise RuntimeError(f"these still run: {left}")
        time.sleep(0.05)


def _runs(process: int, profile: str) -> bool:
    """Whether it is there and still ours: its number may have been given to another. Only Linux can tell."""
    try:
        return profile.encode() in Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return False


def _checkout(folder: str) -> str:
    """A clone, as far as its name goes; git itself is not needed."""
    for name in ("objects", "refs"):
        os.makedirs(os.path.join(folder, ".git", name))
    config = '[remote "origin"]\n\turl = https://github.com/acme/engine.git\n'
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", config)):
        (Path(folder) / ".git" / name).write_text(text, encoding="utf-8")
    return folder


def _transcript(folder: str, name: str, wrong: str, right: str, reason: str) -> str:
    """A session as Claude Code writes it: a command that a person refused, with the right one, and a failure that was mended."""
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
        "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
    )
    turns: list[tuple[str, Any]] = [
        ("user", "Please get the web app ready and see that it works."),
        *_call("a", wrong, refused + reason, failed=True),
        *_call("b", right, "Done in 3s", failed=False),
        *_call("c", "pytest -q", f"Exit code 1\nModuleNotFoundError: No module named 'engine_{name}'", failed=True),
        *_call("d", f"PYTHONPATH={name} pytest -q", "12 passed in 0.41s", failed=False),
        ("assistant", [{"type": "text", "text": f"Done with {right}; the tests pass with PYTHONPATH={name}."}]),
    ]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.jsonl")
    began = time.time() - 86_400  # a finished session
    with open(path, "w", encoding="utf-8") as file:
        lines = (_line(name, number, began + number, *turn) for number, turn in enumerate(turns))
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def _call(number: str, command: str, answer: str, *, failed: bool) -> list[tuple[str, Any]]:
    asked = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": answer, "is_error": failed}
    return [("assistant", [asked]), ("user", [result])]


def _line(session: str, number: int, moment: float, role: str, content: object) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        usage = {"input_tokens": 5, "output_tokens": 7}
        message |= {"id": f"msg_{number}", "model": "claude-opus-4-5", "usage": usage}
    return {
        "type": role,
        "uuid": f"{session}-{number}",
        "parentUuid": f"{session}-{number - 1}" if number else None,
        "sessionId": session,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment)),
        "isSidechain": False,
        "cwd": "/home/ann/engine",
        "version": "2.1.109",
        "userType": "external",
        "message": message,
    }
