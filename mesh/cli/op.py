"""`mesh op`: the replicated types, operated by hand."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clan_learnings.redaction import SecretCount, describe, redact_value
from mesh.cli.arguments import Parser, any_text, parser
from mesh.cli.output import plain, print_json, put, tell, tell_taken_out, when
from mesh.cli.subcommands import chosen
from mesh.core.clock import milliseconds
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.store.author import Author
from mesh.store.home import open_home
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt

# name: sentence, example
MEMBERS = {
    "add": ("Add a record to a log (OR-Set).", 'mesh op add discoveries "HTTP 405 on push means branch protection"'),
    "remove": (
        "Remove records that were seen (OR-Set); a concurrent add stays.",
        'mesh op remove 7k3qmzpa --reason "no longer true"',
    ),
    "set": ("Set a field of a record, or of a key (LWW-Register).", "mesh op set 7k3qmzpa severity high"),
    "count": ("Count something (G-Counter).", "mesh op count opened --by 2"),
    "list": ("List the live records of a log.", "mesh op list discoveries"),
    "get": ("Show a record with its fields, or the fields of a key.", "mesh op get 7k3qmzpa"),
    "total": ("Show a counter's value.", "mesh op total opened"),
}


def main(argv: list[str]) -> int:
    """Run `mesh op MEMBER ...`."""
    found = chosen("op", "Drive the replicated types by hand.", MEMBERS, "add", argv)
    if isinstance(found, int):
        return found
    name, rest = found
    sentence, example = MEMBERS[name]
    arguments = parser(f"op {name}", example, sentence)
    arguments.add_argument(
        "--private", action="store_true", help="among the private records, which never leave this home by themselves"
    )
    return _RUN[name](arguments, rest)


def _add(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("log", metavar="LOG", help="the log's name: a-z 0-9 . _ -")
    arguments.add_argument("text", metavar="TEXT", type=any_text, nargs="?", help="the record's text; - for stdin")
    arguments.add_argument("--record", metavar="JSON", help="a whole record, as a JSON object, instead of a text")
    arguments.add_argument("--lines", action="store_true", help="one record a line of stdin, all in one transaction")
    given = arguments.parse_args(argv)
    if sum((given.text is not None, given.record is not None, given.lines)) != 1:
        arguments.error("give a TEXT, or --record, or --lines")
    if given.lines:
        records = [{"text": line.rstrip("\n")} for line in sys.stdin if line.strip()]
    elif given.record is not None:
        records = [_json_object(given.record)]
    else:
        records = [{"text": sys.stdin.read().rstrip("\n") if given.text == "-" else given.text}]
    return _write(given, [NewRecord(given.log, record) for record in records])


def _remove(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("ids", metavar="ID", nargs="+", help="records to remove")
    arguments.add_argument("--reason", type=any_text, default="", help="why")
    given = arguments.parse_args(argv)
    return _write(given, lambda reader: [Removal(tuple(map(reader.resolve, given.ids)), given.reason)])


def _set(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("target", metavar="ID", help="a record's id; with --key the name of a key")
    arguments.add_argument("field", metavar="FIELD")
    arguments.add_argument("value", metavar="VALUE", type=any_text, help="JSON, or else a text")
    arguments.add_argument("--key", action="store_true", help="ID names a key, not a record")
    given = arguments.parse_args(argv)
    return _write(
        given,
        lambda reader: [
            Assignment(given.target if given.key else reader.resolve(given.target), given.field, _value(given.value))
        ],
    )


def _count(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("key", metavar="KEY")
    arguments.add_argument("--by", type=int, default=1, metavar="N", help="how much (default: 1)")
    given = arguments.parse_args(argv)
    if given.by < 1:
        arguments.error("a counter only grows: --by takes 1 or more")
    return _write(given, [Increment(given.key, given.by)])


def _list(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("log", metavar="LOG", nargs="?", help="one log (default: all)")
    given = arguments.parse_args(argv)
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


def _get(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("target", metavar="ID", help="a record's id; with --key the name of a key")
    arguments.add_argument("--key", action="store_true", help="ID names a key, not a record")
    given = arguments.parse_args(argv)
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


def _total(arguments: Parser, argv: list[str]) -> int:
    arguments.add_argument("key", metavar="KEY")
    given = arguments.parse_args(argv)
    with _reading(given) as reader:
        total = reader.total(given.key)
    print_json({"key": given.key, "total": total}) if given.json else put(str(total))
    return 0


_RUN: dict[str, Callable[[Parser, list[str]], int]] = {
    "add": _add,
    "remove": _remove,
    "set": _set,
    "count": _count,
    "list": _list,
    "get": _get,
    "total": _total,
}


@contextmanager
def _reading(given: Any) -> Iterator[Reader]:
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
    given: Any, drafts: list[Draft] | list[NewRecord] | list[Increment] | Callable[[Reader], list[Draft]]
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


def _tell(given: Any, author: Author, receipt: Receipt) -> None:
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
