"""Embeddings of a server: any address that answers `POST /embeddings` as OpenAI's does (Ollama, llama.cpp, vLLM, ...).

Blocking, for threads. The address is the user's, the answers are anybody's: bounded in time and size, checked number by number.
Records leave the machine this way, so nothing here is a default, redirects are not followed, and the key is never shown.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from clan_learnings.search.embedders.embedder import EmbeddingRefused, Rows
from clan_learnings.search.embedders.local_model import unit
from mesh.core.errors import Malformed, MeshError, RemoteError, UsageError

DIMENSIONS = 8192  # more than any model has
BATCH = 32
ANSWER_BYTES = BATCH * DIMENSIONS * 25 + 100_000  # a float takes 25 characters at most, with its comma


def parse_rows(body: bytes, count: int, dimensions: int | None) -> Rows:
    """The vectors of an answer of the OpenAI kind, in the order of the texts, each of length 1.

    `dimensions`: what they had before; None for the first time.
    """
    import numpy as np

    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed("the server's answer is no JSON") from error
    given = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(given, list) or len(given) != count:
        raise Malformed(f"the server's answer has not the {count} vectors that were asked for")
    rows: dict[int, list[float]] = {}
    for place, each in enumerate(given):
        index, vector = _vector(each, place)
        rows[index] = vector
    if set(rows) != set(range(count)):
        raise Malformed("the server's vectors are not numbered as the texts were")
    wanted = dimensions or len(rows[0])
    if any(len(vector) != wanted for vector in rows.values()):
        raise Malformed(f"the server's vectors have not {wanted} dimensions, as before")
    try:
        table = np.array([rows[number] for number in range(count)], np.float64)
    except (OverflowError, ValueError) as error:  # a whole number of a thousand digits
        raise Malformed("the server's vectors have numbers that are none") from error
    return np.stack([unit(row) for row in table])


def _vector(given: object, place: int) -> tuple[int, list[float]]:
    vector = given.get("embedding") if isinstance(given, dict) else None
    index = given.get("index", place) if isinstance(given, dict) else None
    if not isinstance(vector, list) or not 0 < len(vector) <= DIMENSIONS or type(index) is not int:
        raise Malformed("the server's answer has something that is no vector")
    if not set(map(type, vector)) <= {int, float}:
        raise Malformed("the server's vectors have something in them that is no number")
    return index, vector


KEY = "MESH_EMBEDDINGS_KEY"
_BYTES = 1_500  # about 400 pieces of English: models of this sort take 512, and some servers refuse what is longer
_FEW_CHARS = 60  # what a refused text is shortened to, before its refusal counts
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_REFUSED = frozenset({400, 413, 422})
_PLAIN = "a first text, to learn how many dimensions there are"


class RetryPolicy:
    """How long a caller waits. `pauses_seconds`: before each further attempt."""

    def __init__(self, seconds: float, pauses_seconds: tuple[float, ...] = ()) -> None:
        self.seconds = seconds
        self.pauses_seconds = pauses_seconds


# One text is a question, and somebody waits for its answer, which keywords can give, too; many are indexed in the background.
QUESTION = RetryPolicy(3.0)
BACKGROUND = RetryPolicy(60.0, (0.5, 2.0))
OPENING = RetryPolicy(10.0)  # whoever opens tries again later, and cannot be interrupted meanwhile
REST_SECONDS = 15.0  # after a failure, questions are not even tried for so long


class ServerAway(MeshError):
    """The server gave no readable answer now; it may later."""


_UNFIT = (EmbeddingRefused, Malformed)  # it may be a text's fault


class EmbeddingServer:
    """A model on a server; an `Embedder`. Opening it embeds one text, to learn how many dimensions there are."""

    def __init__(
        self,
        address: str,
        model: str,
        key: str = "",
        *,
        question: RetryPolicy = QUESTION,
        background: RetryPolicy = BACKGROUND,
        opening: RetryPolicy = OPENING,
    ) -> None:
        """`address` without `/embeddings`."""
        parts = urlsplit(address)
        self._host, self._port, self._path = parts.hostname or "", parts.port, f"{parts.path.rstrip('/')}/embeddings"
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._address = address
        self._model = model
        self._key = _checked_key(key, may_travel=self._tls is not None or self._host in _LOCAL)
        self._question, self._background = question, background
        self._rests_until = 0.0
        self._closed = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._dimensions: int | None = None
        first = self._patiently([_PLAIN], opening)
        self.dimensions = self._dimensions = first.shape[1]
        self.name = f"{address} {model} {self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Rows:
        """As in the protocol. A single text that cannot be embedded, though others can, raises `EmbeddingRefused`; among several it gets a row of zeros."""
        import numpy as np

        if len(texts) == 1:
            if time.monotonic() < self._rests_until:
                raise ServerAway(f"{self._address} did not answer a moment ago", "mesh index")
            return self._one(_sendable(texts[0]), self._question)
        rows = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [_sendable(text) for text in texts[start : start + BATCH]]
            rows[start : start + BATCH] = self._several(batch, self._background)
        return rows

    def close(self) -> None:
        """Ends the waiting of every thread that waits for the server."""
        self._closed.set()
        with self._lock:
            for each in self._open:
                _hang_up(each)

    def _one(self, text: str, patience: RetryPolicy) -> Rows:
        try:
            return self._shortened(text, patience)
        except _UNFIT as error:
            self._check(patience)
            raise EmbeddingRefused(f"{self._address} has no vector for a text", error.next_step) from error

    def _several(self, texts: Sequence[str], patience: RetryPolicy) -> Rows:
        try:
            return self._patiently(texts, patience)
        except _UNFIT:
            self._check(patience)
            return self._apart(texts, patience)

    def _apart(self, texts: Sequence[str], patience: RetryPolicy) -> Rows:
        """In ever smaller parts, the server being well: one odd record must not keep all others from being found."""
        import numpy as np

        try:
            return self._patiently(texts, patience) if len(texts) > 1 else self._shortened(texts[0], patience)
        except _UNFIT:
            half = len(texts) // 2
            if not half:
                return np.zeros((1, self.dimensions), np.float32)
            return np.concatenate([self._apart(part, patience) for part in (texts[:half], texts[half:])])

    def _shortened(self, text: str, patience: RetryPolicy) -> Rows:
        while True:
            try:
                return self._patiently([text], patience)
            except EmbeddingRefused:
                if len(text) < 2 * _FEW_CHARS:
                    raise
                text = text[: len(text) // 2]

    def _check(self, patience: RetryPolicy) -> None:
        """An error unless the server still takes a text that it has taken before."""
        try:
            self._patiently([_PLAIN], patience)
        except EmbeddingRefused as error:
            raise RemoteError(f"{error}, as it does with every text", error.next_step) from error

    def _patiently(self, texts: Sequence[str], patience: RetryPolicy) -> Rows:
        """With further attempts where one may help: not where the server answered something wrong."""
        for pause_seconds in (*patience.pauses_seconds, None):
            try:
                rows = self._once(texts, patience.seconds)
            except ServerAway:
                self._rests_until = time.monotonic() + REST_SECONDS
                if pause_seconds is None or self._closed.wait(pause_seconds):
                    raise
            else:
                self._rests_until = 0.0
                return rows
        raise AssertionError("the last attempt returns or raises")

    def _once(self, texts: Sequence[str], seconds: float) -> Rows:
        asked = {"model": self._model, "input": list(texts)}
        try:
            status, body = self._post(json.dumps(asked).encode(), seconds)
        except (OSError, http.client.HTTPException) as error:
            says = "closed" if self._closed.is_set() else _says(error)
            raise ServerAway(f"{self._address} cannot be reached: {says}", "start it, then: mesh index") from error
        if status in _BUSY:
            raise ServerAway(f"{self._address} answered {status}", "mesh index")
        if status in _REFUSED:
            raise EmbeddingRefused(f"{self._address} refused a text with {status}", _next_step(status))
        if status != http.client.OK:
            raise RemoteError(f"{self._address} answered {status} for the model {self._model}", _next_step(status))
        try:
            return parse_rows(body, len(texts), self._dimensions)
        except Malformed as error:
            raise Malformed(f"{self._address}: {error}", _next_step(status)) from error

    def _post(self, body: bytes, seconds: float) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection = (
            http.client.HTTPSConnection(self._host, self._port, timeout=seconds, context=self._tls)
            if self._tls
            else http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        )
        try:
            connection.connect()
            with self._watched(connection.sock, seconds):
                connection.request("POST", self._path, body, headers)
                with connection.getresponse() as answer:
                    return answer.status, _bounded(answer) if answer.status == http.client.OK else b""
        finally:
            connection.close()

    @contextmanager
    def _watched(self, link: socket.socket, seconds: float) -> Iterator[None]:
        """A timeout of a socket is for one byte; a server that sends one now and then would hold us for ever."""
        ends = time.monotonic() + seconds
        watch = threading.Timer(seconds, _hang_up, [link])
        watch.daemon = True
        with self._lock:
            if self._closed.is_set():
                raise OSError("closed")
            self._open.add(link)
        watch.start()
        try:
            yield
        finally:
            watch.cancel()
            with self._lock:
                self._open.discard(link)
            if time.monotonic() >= ends:
                raise TimeoutError


def _bounded(answer: http.client.HTTPResponse) -> bytes:
    """The body, if it is not larger than an answer can be."""
    told = answer.getheader("Content-Length", "")
    if answer.length is not None and answer.length > ANSWER_BYTES:
        raise Malformed(f"the server's answer has {told[:20]} bytes: too many", _next_step(answer.status))
    body = bytearray()
    while piece := answer.read1(65_536):
        body += piece
        if len(body) > ANSWER_BYTES:
            raise Malformed(f"the server's answer has more than {ANSWER_BYTES} bytes", _next_step(answer.status))
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)
    return bytes(body)


def _hang_up(link: socket.socket) -> None:
    with suppress(OSError):  # it ended by itself
        # Not TLS's own way, which another thread may be in the middle of.
        socket.socket.shutdown(link, socket.SHUT_RDWR)


def _sendable(text: str) -> str:
    """A text that every server takes: neither empty nor long, and UTF-8."""
    return text[:_BYTES].encode("utf-8", "replace")[:_BYTES].decode(errors="ignore").strip() or "-"


def _checked_key(key: str, *, may_travel: bool) -> str:
    key = key.strip()
    if key and not may_travel:
        raise UsageError(f"the key in {KEY} would travel in the open", "use an https:// address, or unset the key")
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in {KEY} has characters that no key has", f"set {KEY} again")
    return key


def _next_step(status: int) -> str:
    if status in (401, 403):
        return f"set {KEY}, then start the sidecar anew: mesh down, mesh up"
    return "check the address and the name of the model: mesh index use ADDRESS MODEL"


def _says(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(getattr(error, "strerror", None) or type(error).__name__)
