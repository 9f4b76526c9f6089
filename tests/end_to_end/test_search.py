"""Search with a sidecar beside it: commands, agents and programs get one answer, whoever finds it; what is opened is counted."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from mesh.app.client import ask
from mesh.core.errors import UsageError
from tests.end_to_end.commands import asked, done, mesh
from tests.end_to_end.fleet import Sidecar, sidecars


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One sidecar with some records, searched by keywords."""
    made = Sidecar(tmp_path_factory.mktemp("node") / "node", listen=None).init()
    Path(made.home, "embedder").write_text("none\n")
    for text, category in (
        ("the gateway host answers HTTP_405 on push", "api-patterns"),
        ("the gateway build needs src/auth/token.ts first", "build-errors"),
        ("ECONNREFUSED from the cache means it restarts", "debugging-techniques"),
    ):
        done(made.home, "discover", text, "--category", category, "--tags", "net", "--agent", "codex")
    with sidecars(made):
        yield made.up()


def test_a_command_finds_the_same_by_the_sidecar_and_without_it(
    node: Sidecar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same records in the same order."""
    questions = (
        "gateway",
        "HTTP_405 push",
        "cache --tags net --agent codex --since 1d --tier warm",
        "gatway",
        "zeppelin",
    )
    by_sidecar = [asked(node.home, "search", *question.split()) for question in questions]
    monkeypatch.setenv("MESH_SOCKET", str(tmp_path / "nobody-listens-here"))
    by_itself = [asked(node.home, "search", *question.split()) for question in questions]
    for one, other in zip(by_sidecar, by_itself, strict=True):
        assert [found["id"] for found in one["results"]] == [found["id"] for found in other["results"]]
        assert (one["repo"], one["by"]) == (other["repo"], other["by"]) == ("", "keywords")


def test_a_wrong_value_is_told_as_without_a_sidecar(node: Sidecar) -> None:
    """By the command itself, which knows more of where it stands."""
    finished = mesh(node.home, "search", "gateway", "--category", "frob")
    assert finished.returncode == 1
    assert "category is one of: build-errors" in finished.stderr


def test_a_program_may_ask_with_every_filter(node: Sidecar) -> None:
    """Over the socket, in a query, and wrong ones get the right ones."""
    author = asked(node.home, "status")["node"][:12]
    where = f"/search?query=gateway&category=build-errors&tags=net,other&agent=codex&author={author}&since=1d&until=0s"
    more = "&limit=5&tier=WARM&archived=true&min_relevance=0.01&everywhere=true"
    (found,) = ask(node.home, "GET", where + more)["results"]
    assert found["text"].endswith("src/auth/token.ts first")
    for wrong in ("category=frob", "author=frob", "since=frob", "tier=frob", "min_relevance=7", "limit=x", "frob=1"):
        with pytest.raises(UsageError):
            ask(node.home, "GET", f"/search?query=gateway&{wrong}")


def test_a_program_is_told_what_cannot_be(node: Sidecar) -> None:
    """Empty filters, counts out of range, a thing said twice, a question without a word: none is passed over in silence."""
    for wrong, sentence in (
        ("author=", "author is empty"),
        ("tags=,%20,", "tags is empty"),
        ("tier=lukewarm", "'lukewarm' is no tier"),
        ("limit=0", "limit is 0"),
        ("limit=101", "limit is 101"),
        ("query=b", "query takes one value, not 2"),
    ):
        with pytest.raises(UsageError, match=sentence):
            ask(node.home, "GET", f"/search?query=gateway&{wrong}")
    assert "no letter and no digit" in ask(node.home, "GET", "/search?query=%F0%9F%9A%80")["says"]
    assert len(ask(node.home, "GET", "/search?query=gateway&repo=&tags=no&tags=net")["results"]) == 2


def test_a_long_question_is_answered(node: Sidecar) -> None:
    """In the address or as JSON, in any script; what is too long even so is said, and the log has no trace of it."""
    long = "gateway " + "\U0001f680" * 15_000
    for where, body in ((f"/search?query={quote(long)}", None), ("/search", {"query": long})):
        assert len(ask(node.home, "GET", where, body)["results"]) == 2
    with pytest.raises(UsageError, match="query is no string, or too long"):
        ask(node.home, "GET", f"/search?query={'gateway+' * 2_500}")
    with pytest.raises(UsageError, match="the request is too long"):
        ask(node.home, "GET", "/search", {"query": "gateway " * 50_000})
    with pytest.raises(UsageError):
        ask(node.home, "GET", f"/search?query={'gateway+' * 50_000}")
    log = node.log.read_text()
    assert "Traceback" not in log
    assert "gateway" not in log


def test_status_and_index_say_what_the_sidecar_searches_with(node: Sidecar) -> None:
    """In a line, and in full."""
    assert "search    keywords only: " in done(node.home, "status", "--verbose")
    state = asked(node.home, "index")
    assert state["keywords"]["records"] == 3
    assert state["sidecar"] is not None
    assert state["by"] == "keywords"


def test_what_was_opened_is_counted_when_the_sidecar_stops(tmp_path: Path) -> None:
    """By commands and over the socket; what was only found is not."""
    made = Sidecar(tmp_path / "node", listen=None).init()
    identity = asked(made.home, "discover", "the gateway host answers on 8443")["id"]
    with sidecars(made):
        made.up()
        done(made.home, "search", "gateway")
        done(made.home, "context", "--task", "the gateway")
        whole = asked(made.home, "show", identity)["whole_id"]
        done(made.home, "why", identity)
        ask(made.home, "GET", f"/show?id={identity}")
        key = f"opened:{whole}:{time.strftime('%Y-%m', time.gmtime())}"
        assert done(made.home, "op", "total", key).strip() == "0"
        done(made.home, "down")
    assert done(made.home, "op", "total", key).strip() == "3"
