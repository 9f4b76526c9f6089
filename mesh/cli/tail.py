"""`mesh tail`: the newest records. Agents run this at every start, so it imports next to nothing."""

import os
import sys

from mesh.core.errors import UsageError
from mesh.core.ids import display_name
from mesh.store.reading import open_reading, read_errors

HELP = """usage: mesh tail [-n COUNT] [--log LOG] [--private] [--home DIR] [--json]

Show the newest records, the newest last.

options:
  -n COUNT    how many (default: 20)
  --log LOG   of one log only
  --private   the private records instead of the shared ones
  --home DIR  the node's home folder (default: MESH_HOME, else ~/.clan-mesh)
  --json      one JSON object a line

example:
  mesh tail -n 5 --log discoveries"""


def main(argv: list[str]) -> int:
    """Print them, oldest of them first."""
    home = os.environ.get("MESH_HOME") or os.path.expanduser("~/.clan-mesh")
    count, log, as_json, private = 20, None, False, False
    rest = iter(argv)
    for word in rest:
        if word in ("-h", "--help"):
            print(HELP)
            return 0
        if word == "--json":
            as_json = True
        elif word == "--private":
            private = True
        elif word in ("-n", "--log", "--home"):
            value = next(rest, None)
            if value is None or (word == "-n" and not (value.isascii() and value.isdigit() and 0 < len(value) < 7)):
                return _usage(f"{word} needs {'a number from 1 to 999999' if word == '-n' else 'a value'}")
            if word == "-n":
                count = int(value)
            elif word == "--log":
                log = value
            else:
                home = value
        else:
            return _usage(f"what is {word!r}?")
    if count == 0:
        return _usage("-n needs a number from 1 to 999999")
    _print(home, count, log, as_json=as_json, private=private)
    return 0


def _print(home: str, count: int, log: str | None, *, as_json: bool, private: bool) -> None:
    from mesh.cli.output import plain, print_json, when

    with read_errors(home, private=private):
        reader = open_reading(home, private=private)
        reader.connection.execute("BEGIN")  # one snapshot, whatever is erased meanwhile
        names = reader.names()
        for entry in reader.tail(count, log):
            time, fields = when(entry.at >> 16), reader.fields(entry.tag)
            if as_json:
                print_json(
                    {
                        "id": reader.short_id(entry.tag),
                        "log": entry.log,
                        "at": time,
                        "author": display_name(names.get(entry.node, ""), entry.node),
                        "record": entry.record | fields,
                    }
                )
            else:
                record = entry.record | fields
                text = record.get("text", record)
                print(
                    f"{reader.short_id(entry.tag)}  {time[:16]}  {entry.log}  {display_name(names.get(entry.node, ''), entry.node)}  {plain(text)}"
                )
        if log is not None and log not in reader.logs():
            raise UsageError(f"there is no log {log!r} with records in it", "see which there are: mesh status")


def _usage(problem: str) -> int:
    print(f"mesh tail: {problem}\n  next: mesh tail --help", file=sys.stderr)
    return 2
