"""Writing records: open the store, find out who writes, draft within one state of it, append, and answer.

A write has a request id, so that it happens once whichever way it takes: the store, a running node, or the queue. Text is
redacted on some of these ways and not on others, so requests are compared redacted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import REQUIRED
from clan_learnings.records.record import About, Note
from clan_learnings.records.shared_settings import KEY, SharedSettings
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.app import record_json
from mesh.app.caller import SHARED
from mesh.app.client import hand_over
from mesh.app.proposals import needed
from mesh.app.record_store import RecordStore
from mesh.app.snapshot import has_private, live_note
from mesh.core.draft import ID_BYTES, KEPT_SECONDS, Draft, Request, checked_id, content_of
from mesh.core.errors import HomeBusy, HomeError, HomePermissions, MeshError, UnknownId
from mesh.core.ids import digest
from mesh.store.home import open_home
from mesh.store.receipts import Receipt

if TYPE_CHECKING:
    from mesh.app.application import Application

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

        def write(store: RecordStore, about: About, pen: TextCleaner) -> dict[str, Any]:
            with self.memory(store) as memory:
                drafts, answer = make(memory, about, pen)
            is_bulk = self._application.is_bulk
            return (append(store, drafts, is_bulk=is_bulk) if drafts else {"state": "known"}) | answer

        kept = {} if is_change else self.kept_here(private=private)
        return self._write(write, said, private=private or bool(kept)) | kept

    def change(
        self, text: str, make: Callable[[Memory, Note, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]]
    ) -> dict[str, Any]:
        """Write what `make` drafts about the record of an id. No drafts: it stays as it is."""

        def write(store: RecordStore, pen: TextCleaner) -> dict[str, Any]:
            with self.record(store, text) as (memory, note):
                drafts, answer = make(memory, note, pen)
            state = "changed" if drafts else "unchanged"
            waiting = pending(append(store, drafts, is_bulk=self._application.is_bulk)) if drafts else {}
            with self.memory(store) as memory:
                return record_json.whole(memory, memory.note(note.tag) or note) | {"state": state} | answer | waiting

        return self.write_about(write)

    def write_once(
        self,
        kind: str,
        write: Callable[[RecordStore, About, TextCleaner, Request], dict[str, Any]],
        repeated: Callable[[RecordStore, Receipt], dict[str, Any]],
        told: dict[str, Any],
        *,
        private: bool,
    ) -> dict[str, Any]:
        """Write to the store, else through the node, else to a queue: an agent in a sandbox may reach only the last.

        The request is looked up before anything is drafted: what it has written itself would cover it.
        """
        seconds = self._application.retry_seconds
        told = identified(told, seconds)

        def write_new(store: RecordStore, about: About, pen: TextCleaner) -> dict[str, Any]:
            request = request_of(kind, told, about, seconds)
            earlier = store.earlier(request)
            if earlier is None:
                return write(store, about, pen, request)
            words_of(told, pen)
            pen.about(about)  # what was redacted then is reported again
            return repeated(store, earlier)

        try:
            return self._write(write_new, told, private=private)
        except (HomePermissions, HomeBusy) as error:
            if private:
                raise
            return self._hand_over(kind, told, error)

    def write_about(self, write: Callable[[RecordStore, TextCleaner], dict[str, Any]]) -> dict[str, Any]:
        """Write about the record of an id, among the shared records or the private ones."""
        home = self._application.home
        pen = TextCleaner(lambda: self._application.caller.categories)
        for private in (False, True) if has_private(home) else (False,):
            store = self._application.record_store(private=private)
            try:
                return write(store, pen) | {"redacted": pen.found}
            except UnknownId:
                if private or not has_private(home):
                    raise
            finally:
                store.close()
        raise AssertionError("the last try has answered or raised")

    def memory(self, store: RecordStore) -> AbstractContextManager[Memory]:
        """What is known, as one state: others write and erase meanwhile. Leave it before anything is written."""
        return store.memory(self._application.bound)

    @contextmanager
    def record(self, store: RecordStore, text: str) -> Iterator[tuple[Memory, Note]]:
        """The same, and the live record of an id."""
        with self.memory(store) as memory:
            yield memory, live_note(memory, memory.resolve(text), text)

    def kept_here(self, *, private: bool) -> dict[str, Any]:
        """What to report of a new record that is private because its repository says so; nothing if it is not."""
        why = "" if private else self._application.caller.why_unshared
        return {"kept_here": why} if why else {}

    def _write(
        self, write: Callable[[RecordStore, About, TextCleaner], dict[str, Any]], said: dict[str, Any], *, private: bool
    ) -> dict[str, Any]:
        application = self._application
        application.refuse_global(said)
        pen = TextCleaner(lambda: application.caller.categories)
        store = application.record_store(private=private)
        try:
            return write(store, application.about(store.own, said), pen) | {"redacted": pen.found}
        finally:
            store.close()

    def _hand_over(self, kind: str, told: dict[str, Any], error: HomeError) -> dict[str, Any]:

        application, pen = self._application, TextCleaner()
        about = application.about(_node_of(application.home), told)
        request = request_of(kind, told, about, application.retry_seconds)
        facts = pen.about(about).fields() | {"is_global": not about.repo}
        arguments = words_of(told, pen) | facts | fields_of(request)
        return hand_over(application.home, kind, arguments, error, application.bound) | {"redacted": pen.found}


def append(store: RecordStore, drafts: Sequence[Draft], *, is_bulk: bool = False) -> dict[str, Any]:
    """Append drafts; the answer says what they are recorded as, and whether they wait for somebody."""
    receipt = store.append(drafts, is_bulk=is_bulk)
    with store.memory() as memory:
        answer = record_json.recorded(memory, receipt)
        waits_for = _waits_for(memory, receipt.tags)
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
    try:
        return open_home(home).node
    except MeshError:  # not even that can be read: at least no two machines are one
        return os.uname().nodename.encode("utf-8", "surrogateescape")


def _waits_for(memory: Memory, tags: Sequence[bytes]) -> str:
    """Who has to agree before what was just written counts. Empty but in a guarded mesh, about records of others."""
    if not SharedSettings(memory.reader.fields(KEY)).is_guarded:
        return ""

    return needed(memory, tags)
