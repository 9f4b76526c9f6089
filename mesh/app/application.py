"""The application: every use case that command line, hooks, MCP server and local API share. Each answer is a plain dict.

Each use case is in a module of its own, loaded when it is called: importing this one costs next to nothing. Each call opens
what it needs and closes it, so an application can be kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mesh.app.caller import HERE, Caller, CallerSide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clan_learnings.records.memory import Memory
    from clan_learnings.records.record import About, Note
    from clan_learnings.redaction.text_cleaner import TextCleaner
    from clan_learnings.search.indexes import SearchIndexes
    from mesh.app.record_store import RecordStore
    from mesh.core.draft import Draft


class Application:
    """The use cases of one home, for one caller."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str],
        folder: str = "",
        *,
        agent: str = "",
        session: str = "",
        side: CallerSide | None = None,
        recall: SearchIndexes | None = None,
        store: RecordStore | None = None,
        retry_seconds: int = 0,
        bound: str | None = None,
        notes_openings: bool = True,
        is_bulk: bool = False,
        asks_node: bool = False,
    ) -> None:
        """`folder`: where the caller is; `side`: who finds out what is there, if not this process. `agent`, `session`: who it is, if that
        was given. `recall`: the indexes of a node. `store`: where a node writes shared records; others open the store of the home.

        `retry_seconds`: how long a write without a request id that repeats an earlier one counts as the same. `bound`: the
        only repository that can be read or written here, beside records that name none. `notes_openings`: whether opening a
        record keeps it longer. `is_bulk`: for an import, which leaves half the quota to live writes. `asks_node`: whether a
        running node is asked first for what it does faster or better; not for the node itself.
        """
        self.home = home
        self.caller = Caller(home, side or CallerSide(environ, folder), agent=agent, session=session)
        self.recall = recall
        self.retry_seconds = retry_seconds
        self.bound = bound
        self.is_bulk = is_bulk
        self._notes_openings = notes_openings
        self._asks_node = asks_node
        self._store = store

    def bound_to(self, repo: str) -> Application:
        """The same application for a caller that may read and write one repository only."""
        from copy import copy

        made = copy(self)
        made.bound = repo
        return made

    # Writing

    def discover(self, text: str, *, private: bool = False, anyway: bool = False, **said: Any) -> dict[str, Any]:
        """Record a discovery, unless a record covers it. `said`: facts about it, named like the options of the command.

        A `request_id` among them: repeating a request under its id returns the first answer, and adds nothing.
        """
        answer = None if private else self._write_at_node("discover", {"text": text, "anyway": anyway}, said)
        if answer is None:
            from mesh.app.record import discover

            answer = discover(self, text, private=private, anyway=anyway, **said)
        return answer

    def correct(
        self, wrong: str, right: str, *, pattern: str = "", source: str = "agent", private: bool = False, **said: Any
    ) -> dict[str, Any]:
        """Record a correction; the answer names its pattern, and that pattern's tier now. `said`: as in `discover`."""
        words = {"wrong": wrong, "right": right, "pattern": pattern, "source": source}
        answer = None if private else self._write_at_node("correct", words, said)
        if answer is None:
            from mesh.app.record import correct

            answer = correct(self, wrong, right, pattern=pattern, source=source, private=private, **said)
        return answer

    def move(self, text: str, slug: str) -> dict[str, Any]:
        """Count a correction under another pattern."""
        from mesh.app.record import move

        return move(self, text, slug)

    def edit(self, text: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Change fields of a record."""
        from mesh.app.record import edit

        return edit(self, text, changes)

    def retract(self, text: str, reason: str) -> dict[str, Any]:
        """Retract a record."""
        from mesh.app.record import retract

        return retract(self, text, reason)

    def write(
        self,
        make: Callable[[Memory, About, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]],
        *,
        private: bool = False,
        is_change: bool = False,
        **said: Any,
    ) -> dict[str, Any]:
        """Write what `make` drafts. It returns the drafts and what to add to the answer; no drafts: it is known already.

        `is_change`: of records that are there, so it is written where they are.
        """
        from mesh.app.store_writer import StoreWriter

        return StoreWriter(self).write(make, private=private, is_change=is_change, **said)

    def change(
        self, text: str, make: Callable[[Memory, Note, TextCleaner], tuple[Sequence[Draft], dict[str, Any]]]
    ) -> dict[str, Any]:
        """Write what `make` drafts about the record of an id. No drafts: it stays as it is."""
        from mesh.app.store_writer import StoreWriter

        return StoreWriter(self).change(text, make)

    # Reading

    def search(self, query: str, **asked: Any) -> dict[str, Any]:
        """Records that fit a question, best first, and pages that have its words. `asked`: as `mesh.app.search.search_records` takes it."""
        if self._asks_node:
            from mesh.app.client import request_search

            if self.bound is not None:
                self.refuse_others(asked.get("repo"))
            answer = request_search(self.caller, query, bound=self.bound, **asked)
            if answer is not None:
                return answer
        from mesh.app.search import search_records

        return search_records(self, query, **asked)

    def show(self, text: str) -> dict[str, Any]:
        """A record with all its fields."""
        from mesh.app.record_json import whole
        from mesh.app.snapshot import live_note, memory_with

        with memory_with(self.home, text, self.bound) as (memory, tag):
            found = whole(memory, live_note(memory, tag, text))
        self._note_opening(found["whole_id"])
        return found

    def why(self, text: str) -> dict[str, Any]:
        """Where a record comes from, and what became of it."""
        from mesh.app.record_history import history

        story = history(self.home, text, self.bound)
        self._note_opening(story["id"])
        return story

    def recent(
        self, *, count: int = 20, topic: str = "", repo: str | None = None, everywhere: bool = False
    ) -> dict[str, Any]:
        """The newest records of a scope, newest first; a thousand at most."""
        from mesh.app.context import recent

        return recent(self, count=count, topic=topic, repo=repo, everywhere=everywhere)

    def hot(self, *, repo: str | None = None, everywhere: bool = False) -> dict[str, Any]:
        """The HOT patterns of a scope, those of most sessions first."""
        from mesh.app.context import hot

        return hot(self, repo=repo, everywhere=everywhere)

    def context(self, **asked: Any) -> dict[str, Any]:
        """What a session is given at its start. `asked`: as `mesh.app.context.context` takes it."""
        from mesh.app.context import context

        return context(self, **asked)

    def index(self) -> dict[str, Any]:
        """The state of the search indexes."""
        from clan_learnings.search.index_files import index_state
        from mesh.app.snapshot import memory_of

        with memory_of(self.home) as memory:
            return index_state(self.home, memory.reader, self.recall)

    def ask(self, question: Callable[[Memory], dict[str, Any]]) -> dict[str, Any]:
        """The answer to any other question, from one snapshot."""
        from mesh.app.snapshot import memory_of

        with memory_of(self.home, recall=self.recall, bound=self.bound) as memory:
            return question(memory)

    # For the use cases

    def record_store(self, *, private: bool) -> RecordStore:
        """Where records are written. To be closed."""
        if self._store is not None and not private:
            return self._store
        from mesh.app.record_store import OpenedStore
        from mesh.store.home import open_home

        return OpenedStore(self.home, open_home(self.home).author(private=private))

    def scope(self, repo: str | None, *, everywhere: bool = False) -> str | None:
        """The repository that a question is about; None: all. A bound caller gets its own, and an error if it names another."""
        if self.bound is None:
            return None if everywhere else self.caller.scope(repo)
        self.refuse_others(repo)
        return self.bound

    def about(self, node: bytes, said: dict[str, Any]) -> About:
        """What a record says beside its words. A bound caller writes to one repository."""
        if self.bound is None:
            return self.caller.about(node, said)
        self.refuse_others(said.get("repo"))
        return self.caller.about(node, said | {"repo": self.bound, "is_global": False})

    def refuse_others(self, repo: str | None) -> None:
        """Raise an error if a bound caller names another repository."""
        if not repo or repo == HERE:
            return
        from clan_learnings.repository.remote_name import named_repo
        from mesh.core.errors import UsageError

        if named_repo(repo) != self.bound:
            raise UsageError(
                f"this is bound to {self.bound}, and {repo} is another repository",
                "leave repo out; for another repository the user has to start it without --repo, or with another",
            )

    def refuse_global(self, said: dict[str, Any]) -> None:
        """Raise an error if a bound caller writes what holds everywhere: that would be told in every repository."""
        if self.bound is None:
            return
        self.refuse_others(said.get("repo"))
        if said.get("is_global"):
            from mesh.core.errors import UsageError

            raise UsageError(
                f"this is bound to {self.bound}, so nothing is recorded for every repository",
                f"leave is_global out: it is recorded for {self.bound}",
            )

    def _write_at_node(self, kind: str, words: dict[str, Any], said: dict[str, Any]) -> dict[str, Any] | None:
        """A running node's answer to a write. Only with a request id: else what it does too late would be done twice."""
        if not self._asks_node or self.bound is not None or not said.get("request_id"):
            return None
        from mesh.app.client import REQUEST, request_write

        request = {name: said[name] for name in REQUEST if name in said}
        about = {name: value for name, value in said.items() if name not in REQUEST}
        return request_write(self.caller, kind, words | request, about)

    def _note_opening(self, record: str) -> None:
        if self._notes_openings:
            from clan_learnings.records.access_counts import note_opening

            note_opening(self.home, record)
