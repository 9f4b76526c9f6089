"""`mesh tail`: the newest records. Agents run this at every start, so it imports next to nothing."""

from __future__ import annotations

import os

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.recent_records import recent
from clan_learnings.records.record import LOGS, Note
from mesh.cli.grammar import Given, Whole, command, option
from mesh.cli.output import plain, print_json, put, when
from mesh.cli.record_options import application_of
from mesh.cli.terminal import terminal
from mesh.core.errors import UsageError
from mesh.core.ids import display_name
from mesh.store.reader import Entry, Reader, open_reading, read_errors

_MOST = 999_999
_MOST_OF_NODE = 1000  # the node answers others too


@command(
    "mesh tail -n 5 --log discoveries", more="Of all repositories, the newest last.", is_filter=True, may_be_empty=True
)
@option("-n", metavar="COUNT", type=Whole(1, _MOST), default=20, help="how many (default: 20)")
@option("--topic", metavar="WORD", help="only those with this topic or tag")
@option(
    "--repo", metavar="REPO", help="only those of this repository and those that hold everywhere; . is where we are"
)
@option("--log", metavar="LOG", help="of one log only")
@option("--private", help="the private records instead of the shared ones")
def main(given: Given) -> int:
    """Print them, oldest of them first."""
    count = given.n
    if count > _MOST_OF_NODE:
        terminal().require_own_process()
    home, private, log = given.home, given.has("private"), given.log
    lines: list[str] = []
    rows: list[object] = []
    with read_errors(home, private=private):
        reader = open_reading(home, private=private)
        reader.connection.execute("BEGIN")  # one snapshot, whatever is erased meanwhile
        names = reader.names()
        found = _newest(reader, home, count, given)
        for entry in found:
            time, fields = when(entry.at >> 16), reader.fields(entry.tag)
            author = display_name(names.get(entry.node, ""), entry.node)
            record = entry.record | fields
            identity = reader.short_id(entry.tag)
            if given.json:
                rows.append({"id": identity, "log": entry.log, "at": time, "author": author, "record": record})
            else:
                text = Note(entry, fields).text or record.get("text") or record
                lines.append(f"{identity}  {time[:16]}  {entry.log}  {author}  {plain(text)}")
        if log is not None and not found and log not in reader.logs():
            raise UsageError(f"there is no log {log!r} with records in it", "see which there are: mesh status")
        reader.connection.close()  # an erase waits for us, and whoever reads what we print may take long
    for row in rows:
        print_json(row)
    put(*lines)
    return 0


def _newest(reader: Reader, home: str, count: int, given: Given) -> list[Entry]:
    """The records to show, oldest first. Only a filter, or something muted, needs more than the store."""
    log = given.log
    if not given.has("repo") and not given.has("topic"):
        if not os.path.exists(os.path.join(home, "muted")):
            return reader.tail(count, log)
        return _unmuted(reader, home, count, log)

    scope = application_of(given).caller.scope(given.word("repo")) if given.has("repo") else None
    memory = Memory(reader, muted=read_muted(home))
    notes = recent(memory, scope, count, given.word("topic"), LOGS if log is None else (log,))
    return [entry for note in reversed(notes) if (entry := reader.entry(note.tag)) is not None]


def _unmuted(reader: Reader, home: str, count: int, log: str | None) -> list[Entry]:
    """The newest that are not hidden here: what was read is more than enough, or it is read again, and more of it."""
    memory = Memory(reader, muted=read_muted(home))
    looked_at = count
    while True:
        looked_at *= 4
        entries = reader.tail(looked_at, log)
        kept = [entry for entry in entries if not memory.is_muted(memory.read(entry))]
        if len(kept) >= count or len(entries) < looked_at:
            return kept[-count:]
