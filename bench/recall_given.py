"""Any judged set: two JSONL files, items and queries, answered by our search and scored like our own set. Reads with suspicion.

Items are `{"id", "text", "ts"}`, queries `{"query", "relevant": [ids]}`; `repo` and, for queries, `kind` may be there too.
"""

import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.recall_filling import make_vectors
from bench.recall_home import Item, write_home
from bench.recall_judged import Question
from bench.recall_quality import ALL, Asked, as_json, ask, key_of, table
from bench.recall_ways import peers, ready, ways_of
from bench.table import say
from clan_learnings.records.record import TEXT_CHARS

_MS_FROM, _US_FROM = 1e11, 1e14  # a number of seconds, milliseconds or microseconds: none of them is of the year 5000
_DIGITS = 30
_SAY_SECONDS = 10.0


class Given:
    """What was read, what could not be used as it is, and in the end what was found."""

    def __init__(self, items: str, queries: str) -> None:
        self.notes: list[str] = []
        self.items = self._read_items(items)
        self.questions = self._read_questions(queries, {item.id for item in self.items})
        self.asked = Asked((), {}, {})

    def run(self, work: str, choice: str, *, with_peers: bool = True) -> None:
        """Write a home in the work folder and ask it every question in every way. `choice`: the embedder."""
        home = os.path.join(work, "recall-given")
        shutil.rmtree(home, ignore_errors=True)
        say(f"writing {len(self.items):,} records")
        ids = write_home(home, self.items)
        say(f"making {len(self.items):,} vectors")
        make_vectors(home, choice, os.path.join(work, "embedder"), _Told(len(self.items)))
        with ready(home, choice) as recall:
            self.notes.append(f"indexes of the sidecar: {recall.status().get('says', '')}")
            with ways_of(home, ids, recall, archived=True) as ours:
                ways = peers(self.items) | ours if with_peers else ours
                self.asked = ask(ways, self.questions, {})

    def render(self) -> str:
        """The table and the notes."""
        times = [f"{way}: {middle:.1f} / {tail:.1f} ms" for way, (middle, tail) in self.asked.times.items()]
        notes = [*self.notes, f"a question in this process, p50 / p95: {'; '.join(times)}"]
        return "\n".join([table("kind", self.asked.rows()), *(f"  * {note}" for note in notes)])

    def value(self) -> dict[str, Any]:
        """The same as JSON."""
        found = as_json(self.asked.rows())
        whole = found.pop(ALL)
        return {
            "items": len(self.items),
            "queries": whole.pop("questions"),
            "ways": whole,
            "by_kind": found,
            "milliseconds": {
                key_of(way): {"p50": round(p50, 3), "p95": round(p95, 3)}
                for way, (p50, p95) in self.asked.times.items()
            },
            "notes": self.notes,
        }

    def _read_items(self, path: str) -> list[Item]:
        found: dict[str, Item] = {}
        cut = timeless = 0
        for where, row in _rows(path):
            name, text = _id(where, row.get("id", row.get("_id"))), row.get("text")
            if not isinstance(text, str):
                raise SystemExit(f"{where}: the item has no text")
            if name in found:
                raise SystemExit(f"{where}: the id {name} is there twice")
            at_ms = _at_ms(row.get("ts"))
            cut += len(text) > TEXT_CHARS
            timeless += at_ms is None
            fields = {"repo": row["repo"]} if isinstance(row.get("repo"), str) else {}
            found[name] = Item(name, text, at_ms, fields=fields)
        if not found:
            raise SystemExit(f"{path}: there are no items in it")
        if cut:
            self.notes.append(f"{cut:,} texts were cut at {TEXT_CHARS:,} characters, the most a record has")
        if timeless:
            self.notes.append(f"{timeless:,} items have no time that can be read: they are as new as the newest")
        return list(found.values())

    def _read_questions(self, path: str, known: set[str]) -> list[Question]:
        found = []
        unjudged = unknown = 0
        for where, row in _rows(path):
            text = row.get("query", row.get("text"))
            if not isinstance(text, str):
                raise SystemExit(f"{where}: there is no query")
            relevant = _relevant(where, row.get("relevant"))
            if not relevant:
                unjudged += 1
                continue
            unknown += len(relevant - known)
            kind, repo = row.get("kind"), row.get("repo")
            found.append(
                Question(
                    text,
                    tuple(sorted(relevant)),
                    kind if isinstance(kind, str) else "",
                    repo if isinstance(repo, str) else None,
                )
            )
        if not found:
            raise SystemExit(f"{path}: there are no queries with relevant ids in it")
        if unjudged:
            self.notes.append(f"{unjudged:,} queries without relevant ids were left out")
        if unknown:
            self.notes.append(f"{unknown:,} relevant ids are of no item; they count as not found")
        return found


class _Told:
    """Progress, now and then."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        """So many are done."""
        if time.monotonic() - self._last > _SAY_SECONDS:
            self._last = time.monotonic()
            say(f"{done:,} of {self._whole:,}")


def _rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}:{number}"
                    try:
                        row = json.loads(line)
                    except ValueError as error:
                        raise SystemExit(f"{where}: this is no JSON: {error}") from None
                    if not isinstance(row, dict):
                        raise SystemExit(f"{where}: this is no object")
                    yield where, row
    except OSError as error:
        raise SystemExit(f"{path} cannot be read: {error.strerror}") from None


def _id(where: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SystemExit(f"{where}: an id must be a text or a number")
    return str(value)


def _relevant(where: str, value: object) -> set[str]:
    """A list of ids; or, as some sets have it, ids with how relevant they are."""
    if isinstance(value, dict):
        return {str(name) for name, grade in value.items() if isinstance(grade, int | float) and grade > 0}
    if value is None or not isinstance(value, Sequence) or isinstance(value, str):
        raise SystemExit(f"{where}: relevant must be a list of ids")
    return {_id(where, one) for one in value}


def _at_ms(value: object) -> int | None:
    """A time: a number, a date, or a date and time; what is without a zone is in UTC."""
    if isinstance(value, str):
        text = value.strip()
        if text.isascii() and text.isdigit() and len(text) > len("20261116"):
            return _milliseconds(int(text[:_DIGITS]))
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            return None
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _milliseconds(value)
    return None


def _milliseconds(number: float) -> int | None:
    if not math.isfinite(number):
        return None
    size = abs(number)
    return int(number / 1000 if size >= _US_FROM else number if size >= _MS_FROM else number * 1000)
