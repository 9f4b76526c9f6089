"""A stand-in for `systemctl --user` where there is no user manager: a real process that reads real units. No test lives here.

It does what the tests need and as systemd's manual says: it knows only units that were there at the last daemon-reload, gives a
service an almost empty environment, and expands quotes, `%%` and `$$`. What it was asked is kept in `calls`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = "systemctl"


def stand_in(folder: Path) -> Path:
    """A folder to put first in the PATH, with the program in it."""
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / PROGRAM).write_text(f"#!{sys.executable}\n{Path(__file__).read_text()}")
    (binaries / PROGRAM).chmod(0o755)
    return binaries


def calls(folder: Path) -> list[str]:
    """What it was asked to do, questions left out."""
    file = folder / "bin" / "calls"
    return file.read_text().splitlines() if file.exists() else []


def words_of(line: str, *, dollars: bool) -> list[str]:
    """A line of a unit, cut into words: double quotes, backslashes, `%%`, and `$$` after the first word."""
    words: list[str] = []
    word, quoted, escaped = "", False, False
    for char in line + " ":
        if escaped:
            word, escaped = word + char, False
        elif char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char == " " and not quoted:
            words.append(word)
            word = ""
        else:
            word += char
    assert not quoted
    words = [word.replace("%%", "%") for word in words]
    return [word.replace("$$", "$") if dollars and at else word for at, word in enumerate(words)]


def settings(unit: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]


def main() -> int:
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    units = os.path.join(os.environ["HOME"], ".config", "systemd", "user")
    action, *rest = [word for word in sys.argv[1:] if word not in ("--user", "--no-block")]
    names = [word for word in rest if not word.startswith("-")]
    state_file = os.path.join(here, "state")
    state: dict[str, dict[str, object]] = {"units": {}, "processes": {}}
    if os.path.exists(state_file):
        with open(state_file) as file:
            state = json.load(file)
    if action == "show-environment":
        return 0
    if action == "show":
        answers = {"--property=UnitPath": f"/etc/systemd/user {units}"}
        process = state["processes"].get(names[0]) if names else None
        answers["--property=MainPID"] = str(process if is_alive(process) else 0)
        print(answers[rest[0]])
        return 0
    with open(os.path.join(here, "calls"), "a") as file:
        file.write(f"{action} {' '.join(rest)}".strip() + "\n")
    if action == "daemon-reload":
        state["units"] = {}
        for name in os.listdir(units) if os.path.isdir(units) else []:
            if name.endswith(".service"):
                with open(os.path.join(units, name)) as file:
                    state["units"][name] = file.read()
    else:
        (name,) = names
        unit = state["units"].get(name)
        if not isinstance(unit, str):
            print(f"Failed to {action} unit: Unit file {name} does not exist.", file=sys.stderr)
            return 1
        wants = os.path.join(units, "default.target.wants", name)
        if action == "enable" and not os.path.islink(wants):
            os.makedirs(os.path.dirname(wants), exist_ok=True)
            os.symlink(os.path.join(units, name), wants)
        if action == "disable":
            os.unlink(wants)
        if action in ("restart", "disable"):
            stop(state["processes"].pop(name, None))
        if action in ("start", "restart") and not is_alive(state["processes"].get(name)):
            state["processes"][name] = start(unit)
    with open(f"{state_file}.{os.getpid()}", "w") as file:
        json.dump(state, file)
    os.replace(file.name, state_file)  # whole: another call may be reading it
    return 0


def is_alive(process: object) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked for yet does not."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def start(unit: str) -> int | None:
    if not all(os.path.exists(path.replace("%%", "%")) for path in settings(unit, "ConditionPathExists")):
        return None
    environ = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    for line in settings(unit, "Environment"):
        for word in words_of(line, dollars=False):
            name, _, value = word.partition("=")
            environ[name] = value
    (command,) = settings(unit, "ExecStart")
    process = subprocess.Popen(
        words_of(command, dollars=True),
        env=environ,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return process.pid


def stop(process: object) -> None:
    if isinstance(process, int) and is_alive(process):
        os.kill(process, signal.SIGTERM)
        while is_alive(process):
            time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
