"""Where agents and people ask and tell: what commands, the MCP server and the local API share. Every answer is a plain dict.

Composes the notebook with a home. Each call opens what it needs and closes it: a desk can be kept as long as one likes.
"""

from __future__ import annotations

import os

from clan_learnings.repository.remote_name import named_repo
from mesh.app import record_json
from mesh.app.caller import HERE, Caller
from mesh.app.quick_client import request_search
from mesh.app.snapshot import has_private, memory_of, memory_with, private_of
from mesh.core.errors import HomeBusy, HomePermissions, MeshError, UnknownId, UsageError
from mesh.core.stdlib_substitutes import block

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from clan_learnings.records.memory import Memory
    from clan_learnings.records.record import About, Note
    from clan_learnings.redaction.text_cleaner import TextCleaner
    from clan_learnings.search.indexes import SearchIndexes
    from mesh.core.draft import Draft, Request
    from mesh.core.errors import HomeError
    from mesh.store.author import Author
    from mesh.store.receipts import Receipt

    Reading = Callable[[], AbstractContextManager[Memory]]
    Finding = Callable[[], AbstractContextManager[tuple[Memory, Note]]]


_LISTED = 1000  # a sidecar answers from memory


class Application:
    """One home, seen from one place."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str] = os.environ,
        folder: str = "",
        *,
        agent: str = "",
        session: str = "",
        recall: SearchIndexes | None = None,
        retry_seconds: int = 0,
        bound: str | None = None,
        notes_openings: bool = True,
        is_bulk: bool = False,
    ) -> None:
        """`folder`: where the caller is. `agent`, `session`: who it is, if that was said. `recall`: the indexes of a sidecar.

        `retry_seconds`: for so long a telling without a request id that says the same again is the same one. `bound`: the only
        repository that is asked and told about here, whatever a call names; records that name none are told too.
        `notes_openings`: whether a record that is opened stays longer for it. `is_bulk`: for an import, which leaves half the
        quota to what is written live.
        """
        self.home = home
        self._recall = recall
        self._retry_seconds = retry_seconds
        self.bound = bound
        self._notes_openings = notes_openings
        self._is_bulk = is_bulk
        self.place = Caller(home, environ, folder, agent=agent, session=session)

    def bound_to(self, repo: str) -> Application:
        """The same desk for who may ask and tell about one repository only."""
        from copy import copy

        made = copy(self)
        made.bound = repo
        return made

    # Telling

    def discover(self, text: str, *, private: bool = False, anyway: bool = False, **said: Any) -> dict[str, Any]:
        """Record a discovery, unless a record covers it. `said`: what is known of it, as the options of the command.

        `request_id` among that: whoever says the same again under the same id is answered, and nothing is added.
        """
        from clan_learnings.records.notebook import draft_discovery
        from mesh.app.record_json import recorded

        def write(author: Author, reading: Reading, about: About, pen: TextCleaner, request: Request) -> dict[str, Any]:
            with reading() as memory:
                drafts, hit = draft_discovery(memory, text, about, pen)
                if hit is not None and not anyway:
                    earlier = author.earlier(request)  # another process may have been quicker, and be what covers it
                    if earlier is not None:
                        return answer(author, earlier)
                    known = record_json.shown(memory, hit.note)
                    return {"state": "known", "id": known["id"], "covered_by": known, "sureness": round(hit.score, 2)}
            return answer(author, author.append(drafts, request))

        def answer(author: Author, receipt: Receipt) -> dict[str, Any]:
            return recorded(author, receipt) | {"covered_by": None, "repeated": receipt.repeated}

        kept = self._kept_here(private=private)
        told = {"text": text, "anyway": anyway} | said
        return self._tell_once("discover", write, answer, told, private=private or bool(kept)) | kept

    def correct(
        self, wrong: str, right: str, *, pattern: str = "", source: str = "agent", private: bool = False, **said: Any
    ) -> dict[str, Any]:
        """Record a correction, and say what it was counted under and what that makes of it. `said`: as in `discover`."""
        from clan_learnings.records.notebook import draft_correction
        from mesh.app.record_json import counted_before, recorded

        def write(author: Author, reading: Reading, about: About, pen: TextCleaner, request: Request) -> dict[str, Any]:
            with reading() as memory:
                drafts, found = draft_correction(memory, wrong, right, about, pen, pattern=pattern, source=source)
                before = record_json.count(memory, found.slug)
            receipt = author.append(drafts, request)
            if receipt.repeated:
                return repeated(author, receipt)
            return counted(author, receipt, lambda memory: record_json.counted(memory, found, before))

        def repeated(author: Author, receipt: Receipt) -> dict[str, Any]:
            return counted(author, receipt, lambda memory: counted_before(author, memory, receipt.tags[0]))

        def counted(author: Author, receipt: Receipt, count: Callable[[Memory], dict[str, Any]]) -> dict[str, Any]:
            with self._reading(author) as memory:
                answer = recorded(author, receipt) | count(memory) | {"repeated": receipt.repeated}
            return answer | record_json.PRIVATE if private or kept else answer

        kept = self._kept_here(private=private)
        told = {"wrong": wrong, "right": right, "pattern": pattern, "source": source} | said
        return self._tell_once("correct", write, repeated, told, private=private or bool(kept)) | kept

    def move(self, text: str, slug: str) -> dict[str, Any]:
        """Count a correction under another pattern."""
        from clan_learnings.records.notebook import draft_move, named_pattern

        def write(author: Author, finding: Finding, _pen: TextCleaner) -> dict[str, Any]:
            with finding() as (memory, note):
                before, found = record_json.count(memory, slug), named_pattern(memory, slug, "moved by hand")
            answer = _append(author, draft_move(note, slug))
            with self._reading(author) as memory:
                told = record_json.counted(memory, found, before)
                return answer | {"id": memory.reader.short_id(note.tag), "from": note.pattern} | told

        return self._change(text, write)

    def edit(self, text: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Change fields of a record."""
        from clan_learnings.records.notebook import draft_edit

        def write(author: Author, finding: Finding, pen: TextCleaner) -> dict[str, Any]:
            with finding() as (memory, note):
                drafts = draft_edit(memory, note, changes, pen)
            told = _waits(_append(author, drafts))
            with self._reading(author) as memory:
                return record_json.whole(memory, memory.note(note.tag) or note) | told

        return self._change(text, write)

    def retract(self, text: str, reason: str) -> dict[str, Any]:
        """Take a record back."""
        from clan_learnings.records.notebook import draft_retraction

        def write(author: Author, finding: Finding, pen: TextCleaner) -> dict[str, Any]:
            with finding() as (memory, note):
                shown, before = record_json.shown(memory, note), record_json.count(memory, note.pattern)
                documents = _documents_beside(memory, note)
            told = _waits(_append(author, draft_retraction(note, reason, pen)))
            with self._reading(author) as memory:
                sessions, hot = record_json.count(memory, note.pattern)
            counts = {"sessions": sessions, "was_hot": before[1], "is_hot": hot, "documents": documents}
            return shown | counts | told

        return self._change(text, write)

    def write(
        self,
        make: Callable[[Memory, About, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]],
        *,
        private: bool = False,
        is_change: bool = False,
        **said: Any,
    ) -> dict[str, Any]:
        """Anything else: `make` drafts it and says what to answer, given what is known and who we are. No draft: it is known.

        `is_change`: of what is there already, so it goes where that is.
        """

        def write(author: Author, reading: Reading, about: About, pen: TextCleaner) -> dict[str, Any]:
            with reading() as memory:
                drafts, answer = make(memory, about, pen)
            return (_append(author, drafts, is_bulk=self._is_bulk) if drafts else {"state": "known"}) | answer

        kept = {} if is_change else self._kept_here(private=private)
        return self._tell(write, said, private=private or bool(kept)) | kept

    def change(
        self, text: str, make: Callable[[Memory, Note, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]]
    ) -> dict[str, Any]:
        """Anything else about a record that is there. No draft: it stays as it is."""

        def write(author: Author, finding: Finding, pen: TextCleaner) -> dict[str, Any]:
            with finding() as (memory, note):
                drafts, answer = make(memory, note, pen)
            state = "changed" if drafts else "unchanged"
            told = _waits(_append(author, drafts, is_bulk=self._is_bulk)) if drafts else {}
            with self._reading(author) as memory:
                return record_json.whole(memory, memory.note(note.tag) or note) | {"state": state} | answer | told

        return self._change(text, write)

    # Asking

    def show(self, text: str) -> dict[str, Any]:
        """A record with all its fields."""
        with memory_with(self.home, text, self.bound) as (memory, tag):
            found = record_json.whole(memory, _live(memory, tag, text))
        self._note_opening(found["whole_id"])
        return found

    def search(
        self,
        query: str,
        *,
        repo: str | None = None,
        everywhere: bool = False,
        limit: int = 10,
        min_relevance: float = 0.0,
        **asked: Any,
    ) -> dict[str, Any]:
        """Records that fit a question, best first, and pages that have its words. `asked`: filters, as `asked.filters` takes them."""
        from mesh.app.search import searched

        if not query.strip():
            raise UsageError("nothing to search for", 'like this: mesh search "405 on push"')
        own = lambda: self.place.categories  # noqa: E731 (only looked up if it is needed)
        if self._recall is not None:
            self._recall.prepare(query)
        with memory_of(self.home, recall=self._recall, bound=self.bound) as memory:
            scope = self._scope(repo, everywhere=everywhere)
            return searched(memory, query, scope, own, limit=limit, min_relevance=min_relevance, **asked)

    def recent(
        self, *, count: int = 20, topic: str = "", repo: str | None = None, everywhere: bool = False
    ) -> dict[str, Any]:
        """The newest records of a scope, the newest first; a thousand at most."""
        from clan_learnings.records.recent_records import recent

        with memory_of(self.home, recall=self._recall, bound=self.bound) as memory:
            scope = self._scope(repo, everywhere=everywhere)
            return {
                "repo": scope,
                "records": [
                    record_json.shown(memory, note) for note in recent(memory, scope, min(count, _LISTED), topic)
                ],
            }

    def hot(self, *, repo: str | None = None, everywhere: bool = False) -> dict[str, Any]:
        """The HOT patterns of a scope, those of most sessions first."""
        with memory_of(self.home, recall=self._recall, bound=self.bound) as memory:
            scope = self._scope(repo, everywhere=everywhere)
            hot, here = (
                [record_json.hot_item(memory, item) for item in items]
                for items in (memory.hot(scope), memory.seen_here(scope))
            )
            needed = memory.witnesses.needed
            return {
                "repo": scope,
                "hot_at": memory.settings.hot_at,
                "witnesses_needed": needed,
                "hot": hot,
                "seen_here": here,
            }

    def context(
        self,
        *,
        repo: str | None = None,
        task: str = "",
        agent: str = "",
        max_chars: int | None = None,
        max_tokens: int | None = None,
        min_confidence: float | None = None,
    ) -> dict[str, Any]:
        """What a session is given at its start."""
        from clan_learnings.context.session_context import session_context

        # By keywords alone, also where there are vectors: the same bytes on every node in step.
        with memory_of(self.home, bound=self.bound) as memory, private_of(self.home, self.bound) as private:
            made = session_context(
                memory,
                private,
                repo=self._scope(repo) or "",
                task=task,
                agent=agent or self.place.agent,
                max_chars=max_chars,
                max_tokens=max_tokens,
                min_confidence=min_confidence,
            )
        return {name: getattr(made, name) for name in ("text", "digest", "tokens", "chars", "left_out", "is_too_small")}

    def why(self, text: str) -> dict[str, Any]:
        """Where a record comes from, and what became of it."""
        from mesh.app.record_history import history

        story = history(self.home, text, self.bound)
        self._note_opening(story["id"])
        return story

    def index(self) -> dict[str, Any]:
        """How the search indexes stand."""
        from clan_learnings.search.index_files import index_state

        with memory_of(self.home) as memory:
            return index_state(self.home, memory.reader, self._recall)

    def ask(self, question: Callable[[Memory], dict[str, Any]]) -> dict[str, Any]:
        """Any other question, within one snapshot."""
        with memory_of(self.home, recall=self._recall, bound=self.bound) as memory:
            return question(memory)

    # Inside

    def _scope(self, repo: str | None, *, everywhere: bool = False) -> str | None:
        """The repository that a question is about; None: all. Who is bound may say what it likes, but for another one's name."""
        if self.bound is None:
            return None if everywhere else self.place.scope(repo)
        self._refuse_others(repo)
        return self.bound

    def _about(self, node: bytes, said: dict[str, Any]) -> About:
        """What a record says beside its words. Who is bound writes under one repository."""
        if self.bound is None:
            return self.place.about(node, said)
        self._refuse_others(said.get("repo"))
        return self.place.about(node, said | {"repo": self.bound, "is_global": False})

    def _refuse_others(self, repo: str | None) -> None:
        if repo and repo != HERE and named_repo(repo) != self.bound:
            raise UsageError(
                f"this is bound to {self.bound}, and {repo} is another repository",
                "leave repo out; for another repository the user has to start it without --repo, or with another",
            )

    def _refuse_global(self, said: dict[str, Any]) -> None:
        """Before anything is looked up: what holds everywhere is told in every repository."""
        if self.bound is None:
            return
        self._refuse_others(said.get("repo"))
        if said.get("is_global"):
            raise UsageError(
                f"this is bound to {self.bound}, so nothing is recorded for every repository",
                f"leave is_global out: it is recorded for {self.bound}",
            )

    def _note_opening(self, record: str) -> None:
        if self._notes_openings:
            from clan_learnings.records.access_counts import note_opening

            note_opening(self.home, record)

    def _kept_here(self, *, private: bool) -> dict[str, Any]:
        """What to say of a new record that is private because its repository wants it so; nothing if it is not."""
        why = "" if private else self.place.why_unshared
        return {"kept_here": why} if why else {}

    def _tell(
        self,
        write: Callable[[Author, Reading, About, TextCleaner], dict[str, Any]],
        said: dict[str, Any],
        *,
        private: bool,
    ) -> dict[str, Any]:
        """Open what is written to, and find out who writes."""
        from clan_learnings.redaction.text_cleaner import TextCleaner

        self._refuse_global(said)
        pen = TextCleaner(lambda: self.place.categories)
        author = self._author(private=private)
        try:
            about = self._about(author.store.own or b"", said)
            recall = None if private else self._recall
            return write(author, lambda: self._reading(author, recall), about, pen) | {"redacted": pen.found}
        finally:
            author.store.close()

    def _tell_once(
        self,
        kind: str,
        write: Callable[[Author, Reading, About, TextCleaner, Request], dict[str, Any]],
        repeated: Callable[[Author, Receipt], dict[str, Any]],
        told: dict[str, Any],
        *,
        private: bool,
    ) -> dict[str, Any]:
        """The store, else the sidecar, else a queue: an agent in a sandbox may reach only the last. Once, whichever way it goes.

        Looked up before anything is drafted, too: what this very request has written covers it.
        """
        from mesh.app.store_writer import identified, request_of, words_of

        told = identified(told, self._retry_seconds)

        def write_once(author: Author, reading: Reading, about: About, pen: TextCleaner) -> dict[str, Any]:
            request = request_of(kind, told, about, self._retry_seconds)
            earlier = author.earlier(request)
            if earlier is None:
                return write(author, reading, about, pen, request)
            words_of(told, pen)
            pen.about(about)  # what was taken out then is said again
            return repeated(author, earlier)

        try:
            return self._tell(write_once, told, private=private)
        except (HomePermissions, HomeBusy) as error:
            if private:
                raise
            return self._hand_over(kind, told, error)

    def _hand_over(self, kind: str, told: dict[str, Any], error: HomeError) -> dict[str, Any]:
        from clan_learnings.redaction.text_cleaner import TextCleaner
        from mesh.app.client import hand_over
        from mesh.app.store_writer import fields_of, request_of, words_of

        pen = TextCleaner()
        about = self._about(_node_of(self.home), told)
        request = request_of(kind, told, about, self._retry_seconds)
        facts = pen.about(about).fields() | {"is_global": not about.repo}
        arguments = words_of(told, pen) | facts | fields_of(request)
        return hand_over(self.home, kind, arguments, error, self.bound) | {"redacted": pen.found}

    def _change(self, text: str, write: Callable[[Author, Finding, TextCleaner], dict[str, Any]]) -> dict[str, Any]:
        """Change a record that is there, among the shared ones or the private ones."""
        from clan_learnings.redaction.text_cleaner import TextCleaner

        pen = TextCleaner(lambda: self.place.categories)
        for private in (False, True) if has_private(self.home) else (False,):
            author = self._author(private=private)
            try:
                return write(author, lambda: self._finding(author, text), pen) | {"redacted": pen.found}  # noqa: B023
            except UnknownId:
                if private or not has_private(self.home):
                    raise
            finally:
                author.store.close()
        raise AssertionError("the last try has answered or raised")

    @block
    def _reading(self, author: Author, recall: SearchIndexes | None = None) -> Iterator[Memory]:
        """What is known, as one state: others write and erase meanwhile. To be left before anything is written."""
        from clan_learnings.records.memory import Memory
        from clan_learnings.records.mute_list import read_muted
        from mesh.store.reader import Reader

        with author.store.database.savepoint():
            reader = Reader(author.store.database.connection, own=author.store.own)
            finder = None if recall is None else recall.finder(reader)
            yield Memory(reader, muted=read_muted(self.home), finder=finder, bound=self.bound)

    @block
    def _finding(self, author: Author, text: str) -> Iterator[tuple[Memory, Note]]:
        """The same, and the live record of an id."""
        with self._reading(author) as memory:
            yield memory, _live(memory, memory.resolve(text), text)

    def _author(self, *, private: bool) -> Author:
        from mesh.store.home import open_home

        return open_home(self.home).author(private=private)


def _node_of(home: str) -> bytes:
    """Whose home it is, for the session of a caller that has none: a write on a detour counts as it would have directly."""
    from mesh.store.home import open_home

    try:
        return open_home(home).node
    except MeshError:  # not even that can be read: at least no two machines are one
        return os.uname().nodename.encode("utf-8", "surrogateescape")


def _append(author: Author, drafts: Sequence[Draft], *, is_bulk: bool = False) -> dict[str, Any]:
    from mesh.app.record_json import recorded

    receipt = author.append(drafts, is_bulk=is_bulk)
    answer = recorded(author, receipt)
    waits_for = _waits_for(author, receipt.tags)
    return answer | {"proposed": answer["id"], "waits_for": waits_for} if waits_for else answer


def _waits_for(author: Author, tags: Sequence[bytes]) -> str:
    """Who has to say the same before what was just written counts. Empty but in a guarded mesh, about what others wrote."""
    from clan_learnings.records.memory import Memory
    from clan_learnings.records.shared_settings import KEY, SharedSettings
    from mesh.store.reader import Reader

    reader = Reader(author.store.database.connection)
    if not SharedSettings(reader.fields(KEY)).is_guarded:
        return ""
    from mesh.app.proposals import needed

    with author.store.database.savepoint():
        return needed(Memory(reader), tags)


def _waits(answer: dict[str, Any]) -> dict[str, Any]:
    """What of an answer says that somebody has to agree."""
    return {name: answer[name] for name in ("proposed", "waits_for") if name in answer}


def _live(memory: Memory, tag: bytes, text: str) -> Note:
    note = memory.note(tag)
    if note is None:
        raise UsageError(f"{text} is not live any more", f"see what became of it: mesh why {text}")
    return note


def _documents_beside(memory: Memory, note: Note) -> list[str]:
    """The ids of learning documents that were harvested beside a record, and say the same."""
    from clan_learnings.records.record import HARVESTED

    if HARVESTED not in note.record:
        return []
    from clan_learnings.documents.drafts import documents_beside

    return [memory.reader.short_id(found.tag) for found in documents_beside(memory, note.tag, note.record)]


class AskingDesk(Application):
    """Not for the sidecar itself: it would ask itself."""

    def search(self, query: str, **asked: Any) -> dict[str, Any]:
        """Records that fit a question, best first."""
        if self.bound is not None:
            self._refuse_others(asked.get("repo"))
        return request_search(self.home, self.place, query, bound=self.bound, **asked) or super().search(query, **asked)
