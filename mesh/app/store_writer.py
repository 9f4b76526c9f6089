"""Writing records: open the store, find out who writes, draft within one state of it, append, and answer.

A write has a request id, so that it happens once whichever way it takes: the store, a running node, or the queue. Text is
redacted on some of these ways and not on others, so requests are compared redacted.
"""

from __future__ import annotations

import os

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.notebook import REQUIRED
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.app import record_json
from mesh.app.caller import SHARED
from mesh.app.snapshot import has_private, live_note
from mesh.core.draft import ID_BYTES, KEPT_SECONDS, Request, checked_id, content_of
from mesh.core.errors import HomeBusy, HomePermissions, MeshError, UnknownId
from mesh.core.ids import digest
from mesh.core.stdlib_substitutes import block
from mesh.store.reader import Reader

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from clan_learnings.records.record import Note
    from clan_learnings.search.indexes import SearchIndexes
    from mesh.app.application import Application
    from mesh.core.draft import Draft
    from mesh.core.errors import HomeError
    from mesh.store.author import Author
    from mesh.store.receipts import Receipt

    OpenMemory = Callable[[], AbstractContextManager[Memory]]
    OpenRecord = Callable[[], AbstractContextManager[tuple[Memory, Note]]]

WORDS = ("text", "anyway", "wrong", "right", "pattern", "source")


class StoreWriter:
    """Writes to the home of an application, for its caller."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def write(
        self,
        make: Callable[[Memory, About, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]],
        *,
        private: bool = False,
        is_change: bool = False,
        **said: Any,
    ) -> dict[str, Any]:
        """Write what `make` drafts, given what is known and who writes. No drafts: it is known already."""

        def write(author: Author, reading: OpenMemory, about: About, pen: TextCleaner) -> dict[str, Any]:
            with reading() as memory:
                drafts, answer = make(memory, about, pen)
            is_bulk = self._application.is_bulk
            return (append(author, drafts, is_bulk=is_bulk) if drafts else {"state": "known"}) | answer

        kept = {} if is_change else self.kept_here(private=private)
        return self._write(write, said, private=private or bool(kept)) | kept

    def change(
        self, text: str, make: Callable[[Memory, Note, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]]
    ) -> dict[str, Any]:
        """Write what `make` drafts about the record of an id. No drafts: it stays as it is."""

        def write(author: Author, finding: OpenRecord, pen: TextCleaner) -> dict[str, Any]:
            with finding() as (memory, note):
                drafts, answer = make(memory, note, pen)
            state = "changed" if drafts else "unchanged"
            waiting = pending(append(author, drafts, is_bulk=self._application.is_bulk)) if drafts else {}
            with self.reading(author) as memory:
                return record_json.whole(memory, memory.note(note.tag) or note) | {"state": state} | answer | waiting

        return self.write_about(text, write)

    def write_once(
        self,
        kind: str,
        write: Callable[[Author, OpenMemory, About, TextCleaner, Request], dict[str, Any]],
        repeated: Callable[[Author, Receipt], dict[str, Any]],
        told: dict[str, Any],
        *,
        private: bool,
    ) -> dict[str, Any]:
        """Write to the store, else through the node, else to a queue: an agent in a sandbox may reach only the last.

        The request is looked up before anything is drafted: what it has written itself would cover it.
        """
        seconds = self._application.retry_seconds
        told = identified(told, seconds)

        def write_new(author: Author, reading: OpenMemory, about: About, pen: TextCleaner) -> dict[str, Any]:
            request = request_of(kind, told, about, seconds)
            earlier = author.earlier(request)
            if earlier is None:
                return write(author, reading, about, pen, request)
            words_of(told, pen)
            pen.about(about)  # what was redacted then is reported again
            return repeated(author, earlier)

        try:
            return self._write(write_new, told, private=private)
        except (HomePermissions, HomeBusy) as error:
            if private:
                raise
            return self._hand_over(kind, told, error)

    def write_about(
        self, text: str, write: Callable[[Author, OpenRecord, TextCleaner], dict[str, Any]]
    ) -> dict[str, Any]:
        """Write about the record of an id, among the shared records or the private ones."""
        home = self._application.home
        pen = TextCleaner(lambda: self._application.caller.categories)
        for private in (False, True) if has_private(home) else (False,):
            author = self._application.author(private=private)
            try:
                return write(author, lambda: self._finding(author, text), pen) | {"redacted": pen.found}  # noqa: B023
            except UnknownId:
                if private or not has_private(home):
                    raise
            finally:
                author.store.close()
        raise AssertionError("the last try has answered or raised")

    @block
    def reading(self, author: Author, recall: SearchIndexes | None = None) -> Iterator[Memory]:
        """What is known, as one state: others write and erase meanwhile. Leave it before anything is written."""
        with author.store.database.savepoint():
            reader = Reader(author.store.database.connection, own=author.store.own)
            finder = None if recall is None else recall.finder(reader)
            muted = read_muted(self._application.home)
            yield Memory(reader, muted=muted, finder=finder, bound=self._application.bound)

    def kept_here(self, *, private: bool) -> dict[str, Any]:
        """What to report of a new record that is private because its repository says so; nothing if it is not."""
        why = "" if private else self._application.caller.why_unshared
        return {"kept_here": why} if why else {}

    def _write(
        self,
        write: Callable[[Author, OpenMemory, About, TextCleaner], dict[str, Any]],
        said: dict[str, Any],
        *,
        private: bool,
    ) -> dict[str, Any]:
        application = self._application
        application.refuse_global(said)
        pen = TextCleaner(lambda: application.caller.categories)
        author = application.author(private=private)
        try:
            about = application.about(author.store.own or b"", said)
            recall = None if private else application.recall
            return write(author, lambda: self.reading(author, recall), about, pen) | {"redacted": pen.found}
        finally:
            author.store.close()

    def _hand_over(self, kind: str, told: dict[str, Any], error: HomeError) -> dict[str, Any]:
        from mesh.app.client import hand_over

        application, pen = self._application, TextCleaner()
        about = application.about(_node_of(application.home), told)
        request = request_of(kind, told, about, application.retry_seconds)
        facts = pen.about(about).fields() | {"is_global": not about.repo}
        arguments = words_of(told, pen) | facts | fields_of(request)
        return hand_over(application.home, kind, arguments, error, application.bound) | {"redacted": pen.found}

    @block
    def _finding(self, author: Author, text: str) -> Iterator[tuple[Memory, Note]]:
        """What is known, and the live record of an id."""
        with self.reading(author) as memory:
            yield memory, live_note(memory, memory.resolve(text), text)


def append(author: Author, drafts: Sequence[Draft], *, is_bulk: bool = False) -> dict[str, Any]:
    """Append drafts; the answer says what they are recorded as, and whether they wait for somebody."""
    receipt = author.append(drafts, is_bulk=is_bulk)
    answer = record_json.recorded(author, receipt)
    waits_for = _waits_for(author, receipt.tags)
    return answer | {"proposed": answer["id"], "waits_for": waits_for} if waits_for else answer


def pending(answer: dict[str, Any]) -> dict[str, Any]:
    """What of an answer says that others have to agree."""
    return {name: answer[name] for name in ("proposed", "waits_for") if name in answer}


def words_of(told: Mapping[str, Any], pen: TextCleaner) -> dict[str, Any]:
    """The words of a record, cleaned."""
    words = {name: told[name] for name in WORDS if name in told}
    for name, (what, example) in REQUIRED.items():
        if name in words:
            words[name] = pen.sentence(words[name], what, example)
    return words


def identified(told: dict[str, Any], retry_seconds: int) -> dict[str, Any]:
    """What was told, with a request id: a new one if it has none and is not compared by its content."""
    if told.get("request_id") or retry_seconds:
        return told
    return told | {"request_id": os.urandom(ID_BYTES).hex()}


def request_of(kind: str, told: Mapping[str, Any], about: About, retry_seconds: int) -> Request:
    """The request, known by its id, else by its content: the same content within `retry_seconds` is the same request."""
    pen = TextCleaner()  # what it redacts is reported by the write itself
    facts = pen.about(About(**{name: getattr(about, name) for name in SHARED}))
    content = content_of(kind, words_of(told, pen) | facts.fields())
    if told.get("request_id"):
        return Request(checked_id(told["request_id"]), content, told.get("request_seconds") or KEPT_SECONDS)
    place = ascii([about.session, about.repo]).encode()
    return Request(digest(place + content).hex(), content, retry_seconds)


def fields_of(request: Request) -> dict[str, Any]:
    """A request as fields of a message."""
    brief = {"request_seconds": request.seconds} if request.seconds != KEPT_SECONDS else {}
    return {"request_id": request.id} | brief


def _node_of(home: str) -> bytes:
    """Whose home it is, for the session of a caller that has none: a queued write counts as it would have directly."""
    from mesh.store.home import open_home

    try:
        return open_home(home).node
    except MeshError:  # not even that can be read: at least no two machines are one
        return os.uname().nodename.encode("utf-8", "surrogateescape")


def _waits_for(author: Author, tags: Sequence[bytes]) -> str:
    """Who has to agree before what was just written counts. Empty but in a guarded mesh, about records of others."""
    from clan_learnings.records.shared_settings import KEY, SharedSettings

    reader = Reader(author.store.database.connection)
    if not SharedSettings(reader.fields(KEY)).is_guarded:
        return ""
    from mesh.app.proposals import needed

    with author.store.database.savepoint():
        return needed(Memory(reader), tags)
