"""An address of embeddings: a real server on this machine, well behaved and in every other way."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from clan_learnings.search.embedders import embedding_server  # noqa: E402
from clan_learnings.search.embedders.embedder import EmbeddingRefused, open_embedder  # noqa: E402
from clan_learnings.search.embedders.embedding_server import ANSWER_BYTES, KEY, EmbeddingServer, RetryPolicy, ServerAway  # noqa: E402
from mesh.core.errors import Malformed, MeshError, RemoteError, UsageError  # noqa: E402
from tests.clan_learnings.search.servers import (  # noqa: E402
    DIMENSIONS,
    Answer,
    Asked,
    certificate,
    data,
    raw,
    serving,
    status,
    vector,
    well,
)

SECRET = "sk-very-secret"
HASTY = RetryPolicy(0.3)
EAGER = RetryPolicy(300.0, (0.0, 0.0))


def opened(address: str, key: str = "") -> EmbeddingServer:
    return EmbeddingServer(address, "a-model", key, question=RetryPolicy(300.0), background=EAGER)


def expected(texts: list[str]) -> Any:
    rows = np.array([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_texts_are_embedded_in_batches_and_in_order() -> None:
    """However many texts and however the server orders its answer: row by row the right vector, of length 1."""
    texts = [f"text {number}" for number in range(70)]
    with serving() as server:
        model = open_embedder(f"{server.address} a-model", "", {})
        rows = model.embed(texts)
        assert rows.dtype == np.float32
        assert np.allclose(rows, expected(texts), atol=1e-6)
        assert np.allclose(model.embed(texts[:1]), expected(texts[:1]), atol=1e-6)
        assert model.embed([]).shape == (0, DIMENSIONS)
        assert model.name == f"{server.address} a-model {DIMENSIONS}"
    assert [len(asked.texts) for asked in server.asked] == [1, 32, 32, 6, 1]
    assert {asked.path for asked in server.asked} == {"/v1/embeddings"}
    assert {asked.body["model"] for asked in server.asked} == {"a-model"}


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """It comes from the environment, goes into one header, and is in no name and no message."""
    with serving(well, status(401)) as server:
        model = open_embedder(f"{server.address} a-model", "", {KEY: SECRET})
        with pytest.raises(RemoteError, match="401") as refused:
            model.embed(["a", "b"])
    assert server.asked[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert KEY in refused.value.next_step
    shown = f"{model.name} {refused.value} {refused.value.__cause__} {refused.value.next_step} {caplog.text}"
    assert SECRET not in shown


def test_without_a_key_none_is_sent() -> None:
    """Ollama needs none."""
    with serving() as server:
        opened(server.address)
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    """It could otherwise begin a header of its own."""
    with pytest.raises(UsageError, match="no key has") as refused:
        EmbeddingServer("https://embeddings.invalid/v1", "a-model", key)
    assert key not in str(refused.value)


def test_a_key_does_not_travel_in_the_open() -> None:
    """Without TLS it goes to this machine only."""
    with pytest.raises(UsageError, match="in the open"):
        EmbeddingServer("http://embeddings.invalid/v1", "a-model", SECRET)


def test_a_server_must_prove_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over TLS: one whose certificate nobody vouches for gets neither text nor key; a known one gets both, and no more time."""
    context, known = certificate(tmp_path)
    with serving(well, drip("body"), tls=context) as server:
        with pytest.raises(ServerAway, match="self-signed"):
            opened(server.address, SECRET)
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(known))
        model = EmbeddingServer(server.address, "a-model", SECRET, question=HASTY)
        assert server.asked[0].headers["Authorization"] == f"Bearer {SECRET}"
        with pytest.raises(ServerAway, match="no answer in time"):
            model.embed(["a question"])


def test_odd_texts_are_sent_in_a_form_that_servers_take() -> None:
    """Neither empty nor long, and without halves of characters."""
    texts = ["", " \n", "\ud800 half", "検" * 5000, "a" * 50_000, 'quotes " and \\']
    with serving() as server:
        assert opened(server.address).embed(texts).shape == (6, DIMENSIONS)
    sent = server.asked[1].texts
    assert sent[:3] == ["-", "-", "? half"]
    assert sent[3] == "検" * 500
    assert sent[4:] == ["a" * 1500, texts[-1]]


def flood(asked: Asked) -> None:
    """A body without a length, and without an end."""
    asked.send_response(200)
    asked.end_headers()
    while not asked.server.over.is_set():
        asked.wfile.write(b" " * 100_000)


WRONG: dict[str, Answer] = {
    "no JSON": raw(b"<html>"),
    "no text": raw(b"\xff\xfe\x00"),
    "nothing": raw(b""),
    "endless depth": raw(b"[" * 200_000),
    "no table": raw(b"[1, 2]"),
    "no data": raw(b'{"error": "none"}'),
    "data is no list": raw(b'{"data": {"0": [1]}}'),
    "too few": data(lambda rows: rows[1:]),
    "too many": data(lambda rows: [*rows, rows[0]]),
    "one twice": data(lambda rows: [rows[0], rows[0]]),
    "counted from one": data(lambda rows: [{**row, "index": row["index"] + 1} for row in rows]),
    "counted in words": data(lambda rows: [{**row, "index": "0"} for row in rows]),
    "no vector": data(lambda rows: rows[0].pop("embedding") and None),
    "an empty one": data(lambda rows: rows[0].update(embedding=[])),
    "another length": data(lambda rows: rows[0]["embedding"].append(1.0)),
    "all of another length": data(lambda rows: [row["embedding"].append(1.0) for row in rows] and None),
    "a row that is none": data(lambda rows: [rows[0], None]),
    "not a number": data(lambda rows: rows[0]["embedding"].__setitem__(3, float("nan"))),
    "endless": data(lambda rows: rows[0]["embedding"].__setitem__(3, float("inf"))),
    "too large to square": data(lambda rows: rows[0]["embedding"].__setitem__(3, 1e300)),
    "too large to hold": data(lambda rows: rows[0]["embedding"].__setitem__(3, 10**400)),
    "five thousand digits": raw(b'{"data": [{"embedding": [' + b"9" * 5000 + b"]}]}"),
    "words": data(lambda rows: rows[0]["embedding"].__setitem__(3, "1.5")),
    "truths": data(lambda rows: rows[0]["embedding"].__setitem__(3, True)),
    "lists": data(lambda rows: rows[0]["embedding"].__setitem__(3, [1.0])),
    "zeros": data(lambda rows: rows[0].update(embedding=[0.0] * DIMENSIONS)),
    "text in base64": data(lambda rows: rows[0].update(embedding="AAAA")),
    "huge, and says so": lambda asked: asked.send(b"", headers={"Content-Length": "100000000"}),
    "huge, in silence": flood,
    "moved": status(302, {"Location": "http://127.0.0.1:9/v1/embeddings"}),
    "not found": status(404),
    "forbidden": status(403),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_answer_is_refused_at_once(how: str) -> None:
    """It is an error in words, after one look whether it is the texts' fault, and the next good answer is taken."""
    with serving(well, WRONG[how]) as server:
        model = opened(server.address)
        with pytest.raises(RemoteError) as wrong:
            model.embed(["a", "b"])
        assert wrong.value.next_step
        assert len(server.asked) <= 3
        server.answers[:] = [well]
        assert np.allclose(model.embed(["a", "b"]), expected(["a", "b"]), atol=1e-6)


@pytest.mark.parametrize("how", ["no JSON", "zeros", "not found", "data is no list"])
def test_a_server_that_is_wrong_from_the_start_is_not_opened(how: str) -> None:
    """The first text shows it."""
    with serving(WRONG[how]) as server, pytest.raises(RemoteError):
        opened(server.address)


def test_no_more_is_read_than_an_answer_can_have() -> None:
    """A hundred million bytes end after the few that vectors may take."""
    with serving(well, WRONG["huge, in silence"]) as server:
        model = opened(server.address)
        with pytest.raises(Malformed, match=str(ANSWER_BYTES)):
            model.embed(["a", "b"])


def cut(asked: Asked) -> None:
    """Half an answer."""
    asked.send(b'{"data": [', headers={"Content-Length": "1000"})
    asked.close_connection = True


def chunk_cut(asked: Asked) -> None:
    """A chunk that is shorter than it says, and no last one."""
    asked.send(b"ff\r\nabc", headers={"Transfer-Encoding": "chunked"})
    asked.close_connection = True


def hang_up(asked: Asked) -> None:
    """No answer at all."""
    asked.close_connection = True


def no_http(asked: Asked) -> None:
    """Something else is listening there."""
    asked.wfile.write(b"SSH-2.0-OpenSSH\r\n")
    asked.close_connection = True


def silence(asked: Asked) -> None:
    """A server that thinks for ever."""
    asked.server.over.wait()


def drip(part: str) -> Answer:
    """A byte now and then, so that no wait for the next one ever is too long."""

    def answer(asked: Asked) -> None:
        if part == "body":
            asked.send_response(200)
            asked.end_headers()
        else:
            asked.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
        while not asked.server.over.wait(0.02):
            asked.wfile.write(b" ")

    return answer


AWAY: dict[str, Answer] = {
    "busy": status(503),
    "too many requests": status(429, headers={"Retry-After": "86400"}),
    "broken": status(500),
    "cut": cut,
    "cut in chunks": chunk_cut,
    "hangs up": hang_up,
    "no HTTP": no_http,
}


@pytest.mark.parametrize("how", AWAY)
def test_what_may_pass_is_tried_again_a_few_times(how: str) -> None:
    """In the background, two failures are overcome; a third is an error."""
    with serving(well, AWAY[how], AWAY[how], well, AWAY[how]) as server:
        model = opened(server.address)
        assert np.allclose(model.embed(["a", "b"]), expected(["a", "b"]), atol=1e-6)
        with pytest.raises(ServerAway) as away:
            model.embed(["a", "b"])
        assert away.value.next_step
    assert len(server.asked) == 1 + 3 + 3


@pytest.mark.parametrize("answer", [silence, drip("body"), drip("header")], ids=["silent", "drips", "drips headers"])
def test_a_slow_server_is_left_when_the_time_is_over(answer: Answer) -> None:
    """The whole answer has its time, not each byte of it."""
    with serving(well, answer) as server:
        model = EmbeddingServer(server.address, "a-model", question=HASTY)
        with pytest.raises(ServerAway, match="no answer in time"):
            model.embed(["a question"])


def test_a_question_is_tried_once_and_then_not_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody waits for it, and keywords can answer: a server that is away costs one attempt, not one a search."""
    with serving(well, status(503), well) as server:
        model = opened(server.address)
        for _ in range(3):
            with pytest.raises(ServerAway):
                model.embed(["a question"])
        assert len(server.asked) == 2
        model.embed(["in the", "background"])  # works, so the server is back
        assert np.allclose(model.embed(["a question"]), expected(["a question"]), atol=1e-6)
        monkeypatch.setattr(embedding_server, "REST_SECONDS", 0.0)
        server.answers[:] = [status(503), well]
        with pytest.raises(ServerAway):
            model.embed(["a question"])
        assert np.allclose(model.embed(["a question"]), expected(["a question"]), atol=1e-6)


def picky(takes: Callable[[str], bool]) -> Answer:
    return lambda asked: well(asked) if all(map(takes, asked.texts)) else asked.send({"error": "input too long"}, 400)


def test_one_text_that_is_refused_does_not_keep_the_others_out() -> None:
    """A text that is too long for the server is shortened, the others are embedded as they are."""
    texts = [f"text {number}" for number in range(20)] + ["long " * 200]
    with serving(picky(lambda text: len(text) < 300)) as server:
        rows = opened(server.address).embed(texts)
    kept = ("long " * 200).strip()[: 999 // 2 // 2]
    assert np.allclose(rows, expected([*texts[:20], kept]), atol=1e-6)


def spoiled(asked: Asked) -> None:
    """As it should be, but for a text that makes the model overflow."""
    rows = [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked.texts)]
    asked.send(
        {
            "data": [
                row | {"embedding": [float("nan")] * DIMENSIONS} if "poison" in text else row
                for text, row in zip(asked.texts, rows, strict=True)
            ]
        }
    )


def empty(asked: Asked) -> None:
    """As it should be, but for a text that the model makes nothing of."""
    rows = [vector(text) if "poison" not in text else [0.0] * DIMENSIONS for text in asked.texts]
    asked.send({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]})


@pytest.mark.parametrize("answer", [picky(lambda text: "poison" not in text), spoiled, empty])
def test_a_text_of_which_no_vector_can_be_had_costs_no_other_one(answer: Answer) -> None:
    """Its row is zeros; asked for alone, it is refused."""
    texts = [f"text {number}" for number in range(40)]
    texts[17] = "poison " * 3
    with serving(answer) as server:
        model = opened(server.address)
        rows = model.embed(texts)
        with pytest.raises(EmbeddingRefused, match=server.address):
            model.embed(texts[17:18])
    assert not rows[17].any()
    assert np.allclose(np.delete(rows, 17, 0), expected(texts[:17] + texts[18:]), atol=1e-6)
    assert len(server.asked) < 25


def test_a_server_that_refuses_everything_is_soon_believed() -> None:
    """That is no text's fault."""
    with serving(well, status(400)) as server:
        model = opened(server.address)
        for texts in (["long " * 200] * 32, ["short"]):
            with pytest.raises(RemoteError, match="every text") as refused:
                model.embed(texts)
            assert not isinstance(refused.value, EmbeddingRefused)
    assert len(server.asked) < 6


def test_nobody_there_is_said_with_a_next_step() -> None:
    """The port is closed: the error names the address, and what to do."""
    with serving() as server:
        address = server.address
    with pytest.raises(ServerAway, match=address) as away:
        opened(address)
    assert away.value.next_step


def test_closing_ends_a_call_that_waits() -> None:
    """A sidecar that stops does not wait for a server that thinks."""
    waits = threading.Event()

    def thinking(asked: Asked) -> None:
        waits.set()
        silence(asked)

    with serving(well, thinking) as server:
        model = EmbeddingServer(server.address, "a-model", background=RetryPolicy(100.0, (100.0,)))
        errors: list[MeshError] = []

        def ask() -> None:
            try:
                model.embed(["a", "b"])
            except MeshError as error:
                errors.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        assert waits.wait(300)
        model.close()
        thread.join(300)
        assert not thread.is_alive()
        assert "closed" in str(errors[0])
        with pytest.raises(ServerAway, match="closed"):
            model.embed(["after", "it"])


def test_several_threads_may_ask_at_once() -> None:
    """Each gets the vectors of its own texts."""
    with serving() as server:
        model = opened(server.address)
        found: dict[int, Any] = {}

        def ask(number: int) -> None:
            found[number] = model.embed([f"text {number}", f"other {number}"])

        threads = [threading.Thread(target=ask, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            assert np.allclose(found[number], expected([f"text {number}", f"other {number}"]), atol=1e-6)
