"""What is asked of vectors, wherever they are: the protocol between a finder and whoever keeps them. No numbers are worked out here."""

import hashlib
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import NamedTuple, Protocol

from clan_learnings.records.record import Note

_TEXT_CHARS = 1_000  # of a record: what it is about stands at its beginning
_VERSION_BYTES = 16
_REPOS = 0xFFFFFFFE  # numbers from 1, as many as a scope can have


class NearRecord(NamedTuple):
    """A record that has a vector, of which text that was made, and how near it is to a question."""

    tag: bytes
    version: bytes
    cosine: float


Near = list[NearRecord] | None  # None: no vector of the question can be had now


class Meaning(Protocol):
    """Vectors of records, and an embedder for questions. For any thread."""

    @property
    def name(self) -> str:
        """Of what made them: every embedder has cosines of its own."""
        ...

    def begin(self, text: str, count: int, scopes: Collection[int] | None) -> Future[Near]:
        """Have the nearest to a question looked for, while who asked does something else."""
        ...

    def nearest(self, text: str, count: int, scopes: Collection[int] | None) -> Near:
        """The nearest to a question, best first; only of these scopes."""
        ...

    def cosines(self, text: str, tags: Sequence[bytes]) -> Near:
        """How near each of these is that has a vector."""
        ...


def text_of(note: Note) -> str:
    """What a vector is made of."""
    topic = note.word("topic")
    return (f"{topic}: {note.text}" if topic else note.text)[:_TEXT_CHARS]


def version_of(text: str, repo: str) -> bytes:
    """Names a text and where it holds: another one needs another vector."""
    return hashlib.blake2b(f"{repo_number(repo)} {text}".encode(), digest_size=_VERSION_BYTES).digest()


@lru_cache(1024)  # asked for each candidate of each question
def repo_number(repo: str) -> int:
    """The scope of a repository's vectors: 0 for what holds everywhere. Two may have the same, once in some thousand millions."""
    return 1 + int.from_bytes(hashlib.blake2b(repo.encode(), digest_size=8).digest()) % _REPOS if repo else 0
