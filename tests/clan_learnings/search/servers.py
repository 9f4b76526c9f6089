"""A real server of embeddings on this machine, which answers as OpenAI's would, or in any wrong way it is told to."""

import datetime as dt
import hashlib
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DIMENSIONS = 64
_BEGINNING = 5  # of a word, for want of a stemmer
Answer = Callable[["Asked"], None]


def vector(text: str) -> list[float]:
    """A vector that depends on the text alone, and is not of length 1; the more long words two have, the nearer they are."""
    words = [word.strip(".,:;") for word in text.casefold().split()]
    drawn = [(len(word) ** 2, hashlib.sha512(word[:_BEGINNING].encode()).digest()) for word in words if word]
    drawn = drawn or [(1, hashlib.sha512(text.encode()).digest())]
    return [sum(weight * (each[place] - 127.5) for weight, each in drawn) for place in range(DIMENSIONS)]


class Asked(BaseHTTPRequestHandler):
    """One request; an `Answer` writes to it what it likes."""

    server: "Server"

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.texts: list[str] = self.body["input"]
        self.server.asked.append(self)
        self.server.answers.pop(0)(self) if len(self.server.answers) > 1 else self.server.answers[0](self)

    def send(self, body: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Nothing on stderr."""


class Server(ThreadingHTTPServer):
    """Gives its answers one after the other, the last one for ever."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answers: tuple[Answer, ...], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self._scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.over = threading.Event()

    @property
    def address(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *args: object) -> None:
        """A client that hangs up is what is tested."""


@contextmanager
def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A running server."""
    server = Server(answers or (well,), tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def well(asked: Asked) -> None:
    """As it should be, in an order of its own."""
    rows = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(asked.texts)]
    asked.send({"object": "list", "data": rows[::-1], "model": asked.body["model"], "usage": {}})


def leaning(embed: Callable[[list[str]], Any]) -> Answer:
    """The vectors of another model, but all of them in one corner of the space, as some models have it."""

    def answer(asked: Asked) -> None:
        rows = [{"index": at, "embedding": [*map(float, row), 1.0]} for at, row in enumerate(embed(asked.texts))]
        asked.send({"data": rows})

    return answer


def status(number: int, headers: dict[str, str] | None = None) -> Answer:
    """A status and no vectors."""
    return lambda asked: asked.send({"error": "no"}, number, headers)


def data(change: Callable[[list[dict[str, Any]]], object]) -> Answer:
    """An answer in which the list of vectors is changed; what `change` gives is sent in its place, if it gives something."""

    def answer(asked: Asked) -> None:
        rows: list[dict[str, Any]] = [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked.texts)]
        changed = change(rows)
        asked.send({"data": rows if changed is None else changed})

    return answer


def raw(body: bytes) -> Answer:
    """These bytes as the body."""
    return lambda asked: asked.send(body)


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS for this machine, and the file of its certificate, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "embeddings")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(secret)
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context, folder / "certificate.pem"
