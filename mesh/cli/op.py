"""`mesh op`: the replicated types, operated by hand."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clan_learnings.redaction import SecretCount, describe, redact_value
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.output import plain, print_json, put, tell, tell_taken_out, when
from mesh.core.clock import milliseconds
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.store.author import Author
from mesh.store.home import open_home
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt

PRIVATE = option("--private", help="among the private records, which never leave this home by themselves")


@command('mesh op add discoveries "HTTP 405 on push means branch protection"')
@argument("log", "LOG", "the log's name: a-z 0-9 . _ -")
@argument("text", "[TEXT]", "the record's text; - for stdin", may_be_empty=True, required=False)
@option("--record", metavar="JSON", help="a whole record, as a JSON object, instead of a text")
@option("--lines", help="one record a line of stdin, all in one transaction")
@PRIVATE
def add(given: Given) -> int:
    """Add it, or several."""
    if sum((given.text is not None, given.record is not None, given.lines)) != 1:
        raise WrongUsage("give a TEXT, or --record, or --lines")
    if given.lines:
        records = [{"text": line.rstrip("\n")} for line in sys.stdin if line.strip()]
    elif given.record is not None:
        records = [_json_object(given.record)]
    else:
        records = [{"text": sys.stdin.read().rstrip("\n") if given.text == "-" else given.text}]
    return _write(given, [NewRecord(given.log, record) for record in records])


@command('mesh op remove 7k3qmzpa --reason "no longer true"')
@argument("ids", "ID...", "records to remove", nargs=-1, required=True)
@option("--reason", metavar="TEXT", may_be_empty=True, default="", help="why")
@PRIVATE
def remove(given: Given) -> int:
    """Remove what was seen."""
    return _write(given, lambda reader: [Removal(tuple(map(reader.resolve, given.ids)), given.reason)])


@command("mesh op set 7k3qmzpa severity high")
@argument("target", "ID", "a record's id; with --key the name of a key")
@argument("field", "FIELD")
@argument("value", "VALUE", "JSON, or else a text", may_be_empty=True)
@option("--key", help="ID names a key, not a record")
@PRIVATE
def set_(given: Given) -> int:
    """Assign a value."""
    return _write(
        given,
        lambda reader: [
            Assignment(given.target if given.key else reader.resolve(given.target), given.field, _value(given.value))
        ],
    )


@command("mesh op count opened --by 2")
@argument("key", "KEY")
@option("--by", metavar="N", type=int, default=1, help="how much (default: 1)")
@PRIVATE
def count(given: Given) -> int:
    """Count on."""
    if given.by < 1:
        raise WrongUsage("a counter only grows: --by takes 1 or more")
    return _write(given, [Increment(given.key, given.by)])


@command("mesh op list discoveries")
@argument("log", "[LOG]", "one log (default: all)", required=False)
@PRIVATE
def list_(given: Given) -> int:
    """List them, oldest first."""
    with _reading(given) as reader:
        found = [("" if given.json else reader.short_id(entry.tag), entry) for entry in reader.tail(2**31, given.log)]
    for name, entry in found:
        if given.json:
            print_json(
                {
                    "id": text_id(entry.tag),
                    "log": entry.log,
                    "at": when(milliseconds(entry.at)),
                    "author": text_id(entry.node),
                    "record": entry.record,
                }
            )
        else:
            put(f"{name}  {entry.log}  {plain(entry.record.get('text', entry.record))}")
    return 0


@command("mesh op get 7k3qmzpa")
@argument("target", "ID", "a record's id; with --key the name of a key")
@option("--key", help="ID names a key, not a record")
@PRIVATE
def get(given: Given) -> int:
    """Show what is there."""
    with _reading(given) as reader:
        if given.key:
            answer = values = reader.fields(given.target)
        else:
            tag = reader.resolve(given.target)
            entry, fields = reader.entry(tag), reader.fields(tag)
            if entry is None:
                raise UsageError(
                    f"{given.target} is not live any more", f"see what became of it: mesh why {given.target}"
                )
            answer = {"id": text_id(tag), "log": entry.log, "record": entry.record, "fields": fields}
            values = entry.record | fields
    print_json(answer) if given.json else _print_fields(values)
    return 0


@command("mesh op total opened")
@argument("key", "KEY")
@PRIVATE
def total(given: Given) -> int:
    """Show it."""
    with _reading(given) as reader:
        total = reader.total(given.key)
    print_json({"key": given.key, "total": total}) if given.json else put(str(total))
    return 0


@contextmanager
def _reading(given: Given) -> Iterator[Reader]:
    """One snapshot, whatever is erased meanwhile. To be left before anything is printed: an erase waits for it."""
    home = open_home(given.home)
    if given.private:
        home.require_private()
    store = home.store(private=given.private)
    try:
        with store.database.savepoint():
            yield Reader(store.database.connection)
    finally:
        store.close()


def _write(
    given: Given, drafts: list[Draft] | list[NewRecord] | list[Increment] | Callable[[Reader], list[Draft]]
) -> int:
    author = open_home(given.home).author(private=given.private)
    reader = Reader(author.store.database.connection)
    found: dict[str, int] = {}
    clean = [_without_secrets(draft, found) for draft in (drafts(reader) if callable(drafts) else drafts)]
    receipt = author.append(clean)
    _tell(given, author, receipt)
    tell_taken_out(describe(SecretCount(*item) for item in sorted(found.items())))
    return 0


def _without_secrets(draft: Draft, found: dict[str, int]) -> Draft:
    """The same draft, whatever of it is text redacted; what was found is counted."""
    match draft:
        case NewRecord(log, record):
            return NewRecord(_clean(log, found), _clean(record, found))
        case Removal(tags, reason):
            return Removal(tags, _clean(reason, found))
        case Increment(key, amount):
            return Increment(_clean(key, found), amount)
        case Assignment(target, field, value):
            ((name, kept),) = _clean({field: value}, found).items()  # a value is judged by the name it stands under
            return Assignment(target if isinstance(target, bytes) else _clean(target, found), name, kept)
    return draft


def _clean(value: Any, found: dict[str, int]) -> Any:
    clean, findings = redact_value(value)
    for finding in findings:
        found[finding.sort] = found.get(finding.sort, 0) + finding.count
    return clean


def _tell(given: Given, author: Author, receipt: Receipt) -> None:
    if given.json:
        print_json(
            {
                "ids": [text_id(tag) for tag in receipt.tags],
                "feed": str(receipt.feed),
                "seq": receipt.first,
                "counts": receipt.counts,
                "new_epoch": receipt.new_epoch or None,
            }
        )
    else:
        reader = Reader(author.store.database.connection)
        for tag in receipt.tags:
            put(reader.short_id(tag))
    if not receipt.counts:
        tell(
            "kept, but it counts only once this node is admitted",
            f"  next: where the root key is: mesh admit {text_id(receipt.feed.node)}",
        )
    if receipt.new_epoch:
        tell(f"a new feed was opened, because {receipt.new_epoch}; nothing is lost by that")


def _print_fields(values: dict[str, Any]) -> None:
    for field, value in values.items():
        put(f"{plain(field)}: {plain(value)}")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"--record is not JSON: {error}", 'give an object, like: --record \'{"text": "..."}\''
        ) from error
    if not isinstance(value, dict):
        raise UsageError("--record is not a JSON object", 'give an object, like: --record \'{"text": "..."}\'')
    return value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
