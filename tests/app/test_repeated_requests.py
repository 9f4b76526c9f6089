"""One request, told again: whoever is asked, it is answered as the first time, and nothing is added."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records import spool
from mesh.app.application import Application
from mesh.app.record_store import OpenedStore
from mesh.core.draft import Request
from mesh.core.errors import HomeBusy, UsageError
from mesh.core.ids import parse_id
from mesh.store.author import Author
from mesh.store.erase_requests import erase
from mesh.store.home import Home, create_home, open_home
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt

DISCOVERY = "the gateway answers 405 on push"
CORRECTION: dict[str, Any] = {"wrong": "ran npm install", "right": "use pnpm install"}
NOW_MS = 1_790_000_000_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MESH_SPOOL", str(tmp_path / "queue"))
    return create_home(str(tmp_path / "home"), "alpha", now_ms=NOW_MS)


@pytest.fixture
def application(home: Home, tmp_path: Path) -> Application:
    return Application(home.path, {}, str(tmp_path))


def records(home: Home, *, private: bool = False) -> list[dict[str, Any]]:
    store = home.store(private=private)
    try:
        return [entry.record for entry in Reader(store.database.connection).tail(2**31)]
    finally:
        store.close()


def logged(application: Application, slug: str) -> int:
    from mesh.app.pattern import whole_pattern

    count: int = application.ask(lambda memory: whole_pattern(memory, slug))["logged"]
    return count


@pytest.mark.parametrize("anyway", [False, True])
def test_a_discovery_told_again_is_recorded_and_not_known(
    application: Application, home: Home, *, anyway: bool
) -> None:
    """What covers it is what it wrote itself."""
    first = application.discover(DISCOVERY, anyway=anyway, request_id="request-1")
    again = application.discover(DISCOVERY, anyway=anyway, request_id="request-1")
    assert (first["state"], first["repeated"]) == ("recorded", False)
    assert again == first | {"repeated": True}
    assert [record["text"] for record in records(home)] == [DISCOVERY]
    assert application.discover(DISCOVERY, request_id="request-2")["state"] == "known"


def test_a_correction_told_again_is_counted_once(application: Application, home: Home) -> None:
    """The answer has its pattern and how that stands now, of which the second telling was no part."""
    told = [
        application.correct(**CORRECTION, session=f"codex:{number}", request_id=f"request-{number}")
        for number in range(2)
    ]
    again = application.correct(**CORRECTION, session="codex:0", request_id="request-0")
    for name in ("id", "state", "pattern", "sureness", "tier"):
        assert again[name] == told[0][name]
    assert again["sessions"] == 2
    assert again["repeated"]
    assert [record["session"] for record in records(home)] == ["codex:0", "codex:1"]
    assert logged(application, again["pattern"]) == 2


def test_a_correction_that_was_moved_or_retracted_since_is_answered_as_it_stands(
    application: Application, home: Home
) -> None:
    """It is not written again, whatever became of it."""
    first = application.correct(**CORRECTION, request_id="request-1")
    application.move(first["id"], "pnpm-not-npm")
    assert application.correct(**CORRECTION, request_id="request-1")["pattern"] == "pnpm-not-npm"
    application.retract(first["id"], "test")
    retracted = application.correct(**CORRECTION, request_id="request-1")
    assert (retracted["id"], retracted["state"], retracted["sessions"]) == (first["id"], "recorded", None)
    author = home.author()
    (tag,) = [parse_id(application.why(first["id"])["id"])]
    erase(home, author, {tag: home.node}, "test")
    author.store.close()
    assert application.correct(**CORRECTION, request_id="request-1")["id"] == first["id"]
    assert records(home) == []


def test_a_node_that_is_no_member_yet_is_answered_too(home: Home, tmp_path: Path) -> None:
    """What counts nowhere yet is there all the same."""
    waiting = create_home(str(tmp_path / "waiting"), "beta", home.mesh)
    application = Application(waiting.path, {}, str(tmp_path))
    first = application.correct(**CORRECTION, request_id="request-1")
    again = application.correct(**CORRECTION, request_id="request-1")
    assert (again["id"], again["pattern"], again["counts"]) == (first["id"], first["pattern"], False)


@pytest.mark.parametrize(
    "other",
    [
        {"text": "something else"},
        {"anyway": True},
        {"severity": "high"},
        {"tags": ["git"]},
        {"confidence": 0.1},
    ],
)
def test_an_id_that_was_used_for_other_words_is_refused(
    application: Application, home: Home, other: dict[str, Any]
) -> None:
    """Nothing is written, and the error says what to do."""
    application.discover(DISCOVERY, request_id="request-1")
    with pytest.raises(UsageError, match="used before, for something else") as refused:
        application.discover(**({"text": DISCOVERY, "request_id": "request-1"} | other))
    assert "another id" in refused.value.next_step
    assert len(records(home)) == 1


def test_a_correction_under_the_id_of_a_discovery_is_refused(application: Application) -> None:
    """They are not the same, whatever they say."""
    application.discover(DISCOVERY, request_id="request-1")
    with pytest.raises(UsageError, match="for something else"):
        application.correct(**CORRECTION, request_id="request-1")


def test_where_and_by_whom_it_is_told_is_not_what_it_says(application: Application, home: Home, tmp_path: Path) -> None:
    """The sidecar finds that out in another way than the command."""
    first = application.discover(DISCOVERY, request_id="request-1")
    elsewhere = Application(home.path, {"MESH_SESSION": "codex:7"}, "/", agent="codex")
    again = elsewhere.discover(DISCOVERY, is_global=True, request_id="request-1")
    assert (again["id"], again["repeated"]) == (first["id"], True)
    assert len(records(home)) == 1


def test_a_text_is_the_same_with_its_secret_and_without(application: Application, home: Home) -> None:
    """One way takes it out before it is sent, another one after."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    first = application.discover(f"deploys fail with {secret}", topic="deploys", request_id="request-1")
    (record,) = records(home)
    assert secret not in record["text"]
    again = application.discover(record["text"], topic="deploys", request_id="request-1")
    assert (again["id"], again["repeated"]) == (first["id"], True)
    assert first["redacted"]
    whole = application.discover(f"deploys fail with {secret}", topic="deploys", request_id="request-1")
    assert whole["redacted"] == first["redacted"]


@pytest.mark.parametrize("given", ["", None])
def test_without_an_id_every_telling_is_a_new_one(application: Application, home: Home, given: Any) -> None:
    """Who wants it twice gets it twice."""
    for _ in range(2):
        application.discover(DISCOVERY, anyway=True, request_id=given)
    assert len(records(home)) == 2


def test_an_id_that_cannot_be_one_is_refused(application: Application, home: Home) -> None:
    """Before anything is written."""
    with pytest.raises(UsageError, match="cannot be a request id"):
        application.discover(DISCOVERY, request_id="two words")
    assert records(home) == []


def test_private_records_are_written_once_too(application: Application, home: Home) -> None:
    """In their own database."""
    first = application.discover(DISCOVERY, private=True, request_id="request-1")
    assert application.discover(DISCOVERY, private=True, request_id="request-1")["id"] == first["id"]
    corrected = [application.correct(**CORRECTION, private=True, request_id="request-2") for _ in range(2)]
    assert {answer["tier"] for answer in corrected} == {"PRIVATE"}
    assert len(records(home, private=True)) == 2
    assert records(home) == []


def test_two_who_pass_the_first_look_together_write_once(
    application: Application, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and writing another process may write: in the transaction it is looked up again."""
    other = Application(home.path, {}, str(tmp_path))
    real = Author.append

    def append(author: Author, *given: Any) -> Any:
        monkeypatch.setattr(Author, "append", real)
        other.correct(**CORRECTION, request_id="request-1")
        return real(author, *given)

    monkeypatch.setattr(Author, "append", append)
    answer = application.correct(**CORRECTION, request_id="request-1")
    assert answer["repeated"]
    assert answer["sessions"] == 1
    assert logged(application, answer["pattern"]) == 1
    assert len(records(home)) == 1


def test_who_is_overtaken_between_looking_and_drafting_says_recorded_too(
    application: Application, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What covers the discovery is the same request, written by another process a moment ago."""
    other = Application(home.path, {}, str(tmp_path))
    real = Author.earlier

    def earlier(author: Author, request: Request) -> Receipt | None:
        monkeypatch.setattr(Author, "earlier", real)
        found = real(author, request)
        other.discover(DISCOVERY, request_id="request-1")
        return found

    monkeypatch.setattr(Author, "earlier", earlier)
    assert application.discover(DISCOVERY, request_id="request-1")["state"] == "recorded"
    assert len(records(home)) == 1


# The queue


def queued(application: Application, monkeypatch: pytest.MonkeyPatch, **told: Any) -> dict[str, Any]:
    """Tell something that can only be queued; returns what the file says."""

    def refused(**_: object) -> None:
        raise HomeBusy("another process has it", "wait")

    with monkeypatch.context() as now:
        now.setattr(application, "record_store", refused)
        answer = application.discover(**told)
    assert answer["state"] == "queued"
    arguments: dict[str, Any] = json.loads(Path(answer["queued_in"]).read_text())["arguments"]
    return arguments


def test_a_queued_write_that_is_taken_in_twice_is_there_once(
    application: Application, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took it in first was killed before the file was gone."""
    assert len(queued(application, monkeypatch, text=DISCOVERY, anyway=True)["request_id"]) == 32
    answers = []
    for _ in range(2):
        (write,) = spool.take(home.path, 10)
        answers.append(application.discover(**write.arguments))
        write.later()
    assert [answer["repeated"] for answer in answers] == [False, True]
    assert [record["text"] for record in records(home)] == [DISCOVERY]


def test_a_write_that_is_queued_though_it_went_through_is_there_once(
    application: Application, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sidecar had it, with its secret; the queue has it without."""
    text = "deploys fail with ghp_" + "a1B2c3D4e5F6" * 3
    application.discover(text, anyway=True, tags=["ci"], confidence=0.7, request_id="0f" * 16)
    arguments = queued(
        application, monkeypatch, text=text, anyway=True, tags=["ci"], confidence=0.7, request_id="0f" * 16
    )
    assert arguments["request_id"] == "0f" * 16
    assert "ghp_" not in json.dumps(arguments)
    (write,) = spool.take(home.path, 10)
    assert application.discover(**write.arguments)["repeated"]
    assert len(records(home)) == 1


# Calls without an id, as the MCP server takes them


class Clocked(Application):
    """An application that knows retries, at a time that a test says."""

    now_ms = NOW_MS

    def record_store(self, *, private: bool) -> OpenedStore:
        return OpenedStore(self.home, open_home(self.home).author(private=private, clock=lambda: self.now_ms))


def clocked(home: Home, session: str = "codex:1") -> Clocked:
    return Clocked(home.path, {}, "/", agent="codex", session=session, retry_seconds=60)


def test_the_same_call_within_a_minute_is_a_retry(home: Home) -> None:
    """Also of a server that was started anew; after a minute it is another call."""
    first = clocked(home).discover(DISCOVERY, anyway=True)
    for after_ms, repeated in ((59_999, True), (60_000, False)):
        later = clocked(home)
        later.now_ms += after_ms
        answer = later.discover(DISCOVERY, anyway=True)
        assert (answer["repeated"], answer["id"] == first["id"]) == (repeated, repeated)
    assert len(records(home)) == 2


@pytest.mark.parametrize("other", [{"severity": "high"}, {"repo": "github.com/acme/api"}, {"session": "codex:2"}])
def test_another_call_is_no_retry(home: Home, other: dict[str, Any]) -> None:
    """Other words, another repository or another session: it counts."""
    first = clocked(home).correct(**CORRECTION)
    session = other.pop("session", "codex:1")
    assert clocked(home, session).correct(**CORRECTION, **other)["id"] != first["id"]


def test_a_call_with_an_id_is_one_for_longer_than_a_minute(home: Home) -> None:
    """Its id says more than what it says."""
    first = clocked(home).discover(DISCOVERY, anyway=True, request_id="request-1")
    later = clocked(home)
    later.now_ms += 29 * 86_400_000
    assert later.discover(DISCOVERY, anyway=True, request_id="request-1")["id"] == first["id"]
    assert clocked(home).discover(DISCOVERY, anyway=True, request_id="request-2")["id"] != first["id"]


def test_a_retry_that_has_to_wait_is_one_for_a_minute_only(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue says for how long: a call of the next day says the same and is another."""
    arguments = queued(clocked(home), monkeypatch, text=DISCOVERY, anyway=True)
    assert arguments["request_seconds"] == "60"
    (write,) = spool.take(home.path, 10)
    assert not clocked(home).discover(**write.arguments)["repeated"]
    assert clocked(home).discover(DISCOVERY, anyway=True)["repeated"]
    next_day = clocked(home)
    next_day.now_ms += 86_400_000
    assert not next_day.discover(DISCOVERY, anyway=True)["repeated"]
    assert os.listdir(os.environ["MESH_SPOOL"])
