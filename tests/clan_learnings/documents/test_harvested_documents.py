"""Documents beside what a harvest has recorded: one a candidate, none with a secret, none twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.documents.drafts import learnings
from clan_learnings.documents.harvested_documents import A_RUN, write_documents
from clan_learnings.documents.learning import Learning, learning_of
from clan_learnings.harvest.candidates import HarvestCandidate, Signal
from clan_learnings.records.record import LEARNINGS
from clan_learnings.sessions.catalogue_rows import DigestRow
from mesh.store.erase_requests import erase
from tests.clan_learnings.documents.test_assembly import DIGEST, FAILURES, FIX, KEY, REASON, RULE
from tests.clan_learnings.records.notebooks import Notebook
from tests.interrupting import interrupted_author

SESSION = DigestRow(
    1, "codex:s1", DIGEST.as_json(), [one.as_json() for one in (REASON, FIX, RULE)], "key1", "/t/1.jsonl"
)
SIGNAL = Signal("codex:s1", "codex", "github.com/acme/api", FIX, at_ms=5_000, record="a" * 52, key="key1")
CANDIDATE = HarvestCandidate("c1", "fix", "build-errors", FIX.text, FIX.wrong, FIX.right, "recorded", signals=(SIGNAL,))


class Catalogue:
    """Some sessions."""

    def __init__(self, *sessions: DigestRow) -> None:
        self._sessions = sessions

    def digests(self, after: int = 0) -> Iterator[DigestRow]:
        return iter(self._sessions)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    made = Notebook(tmp_path)
    yield made
    made.author.store.close()


def documented(book: Notebook, candidate: HarvestCandidate = CANDIDATE, session: DigestRow = SESSION) -> list[str]:
    told = write_documents(book.author, Catalogue(session), [candidate], book.now_ms)
    return [one["title"] for one in told]


def kept(book: Notebook) -> list[Learning]:
    return [learning_of(note) for note in learnings(book.memory(), None)]


def test_what_was_recorded_gets_a_document(book: Notebook) -> None:
    """With the session's own time, its repository, and the words of the candidate."""
    better = CANDIDATE._replace(text="Run installer lock before installer ci when the lockfile is out of date.")
    assert documented(book, better) == [better.text]
    (made,) = kept(book)
    assert (made.title, made.at_ms, made.repo, made.session, made.agent) == (
        better.text,
        5_000,
        "github.com/acme/api",
        "codex:s1",
        "codex",
    )
    assert (made.root_cause, made.prevention) == (REASON.text, RULE.text)


def test_there_is_one_document_however_often_it_is_asked_for(book: Notebook) -> None:
    """Of one place in a session, and of one title."""
    documented(book)
    assert documented(book) == []
    assert (
        documented(book, CANDIDATE._replace(id="c2", text="Something else about the lockfile and the installer.")) == []
    )
    other = SESSION._replace(session="codex:s2", key="key2", digest=DIGEST._replace(session="codex:s2").as_json())
    assert documented(book, CANDIDATE._replace(signals=(SIGNAL._replace(session="codex:s2", key="key2"),)), other) == []
    assert len(kept(book)) == 1


def test_nothing_is_documented_that_is_not_recorded(book: Notebook) -> None:
    """It waits for a person, or its repository is not shared."""
    assert documented(book, CANDIDATE._replace(signals=(SIGNAL._replace(record=""),))) == []
    assert documented(book, CANDIDATE._replace(signals=(SIGNAL._replace(is_redacted=True),))) == []
    assert documented(book, CANDIDATE._replace(signals=())) == []
    assert documented(book, CANDIDATE, SESSION._replace(key="other")) == []


def test_nothing_with_a_secret_is_documented(book: Notebook) -> None:
    """Also if it stood in the error and not in the sentence, or was redacted long before."""
    for error in (f"denied for {KEY}", "denied for [redacted: github token]"):
        dirty = DIGEST._replace(failures=[FAILURES[2]._replace(error=error)])
        assert documented(book, session=SESSION._replace(digest=dirty.as_json())) == []
    assert kept(book) == []


def test_what_makes_no_good_document_makes_none(book: Notebook) -> None:
    """A question, a fact, a digest that cannot be read, too little to tell."""
    fact = FIX._replace(kind="fact")
    assert documented(book, CANDIDATE._replace(signals=(SIGNAL._replace(item=fact),))) == []
    assert documented(book, session=SESSION._replace(digest={"failures": 7})) == []
    poor = DIGEST._replace(failures=[], corrections=[], files=[])
    bare = FIX._replace(wrong="", right="")
    assert (
        documented(
            book,
            CANDIDATE._replace(signals=(SIGNAL._replace(item=bare),)),
            SESSION._replace(digest=poor.as_json(), items=[]),
        )
        == []
    )


def test_a_sentence_of_one_session_is_enough_where_nothing_failed(book: Notebook) -> None:
    """A document would only repeat it; what several sessions say is worth one."""
    calm = SESSION._replace(digest=DIGEST._replace(failures=[]).as_json())
    assert documented(book, session=calm) == []
    second = SIGNAL._replace(session="codex:s2", record="")
    assert documented(book, CANDIDATE._replace(signals=(SIGNAL, second)), calm) == [FIX.text]


def test_a_run_writes_so_many_and_no_more(book: Notebook) -> None:
    """A first harvest of years does not fill the mesh with documents."""
    sessions, candidates = [], []
    for number in range(A_RUN + 5):
        name, key = f"codex:n{number}", f"key{number}"
        sessions.append(SESSION._replace(session=name, key=key, digest=DIGEST._replace(session=name).as_json()))
        signal = SIGNAL._replace(session=name, key=f"{key}#model")
        text = f"When installer {number} says that the lockfile is out of date, run installer lock first."
        candidates.append(CANDIDATE._replace(id=f"c{number}", text=text, signals=(signal,)))
    assert len(write_documents(book.author, Catalogue(*sessions), candidates, book.now_ms)) == A_RUN


def test_a_document_that_is_erased_while_others_are_looked_at_is_only_not_there(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    documented(book)

    def written(due: str) -> tuple[list[str], list[str]]:
        other = book.add(LEARNINGS, title="another one", problem="of nobody", repo=SIGNAL.repo)

        def erased() -> None:
            author = book.home.author(clock=lambda: book.now_ms)
            erase(book.home, author, {other: book.home.node}, "test")
            author.store.close()

        asked = interrupted_author(book.author, due, erased)
        found = documented(book)
        book.author.store.database.connection.exec_trace = None
        return found, asked

    found, questions = written("")
    assert found == []
    assert len(questions) > 1
    for due in questions:
        found, asked = written(due)
        assert found == []
        assert due in asked
