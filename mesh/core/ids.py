"""Hashes and the names made from them: mesh, feed, tag, and their text forms. No signatures here.

Text forms are lower-case base32 without padding, so that any prefix of an id is an id a person can type.
"""

from _blake2 import blake2b  # what hashlib hands out, without its import of OpenSSL: every command starts here
from collections import namedtuple

from mesh.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    class _Feed(NamedTuple):
        node: bytes
        epoch: int

else:  # typing takes longer to import than `mesh tail` has in all
    _Feed = namedtuple("_Feed", ("node", "epoch"))  # noqa: PYI024

HASH_BYTES = 32
KEY_BYTES = 32
ID_CHARS = 52
_COPY = "copy it whole, as --json shows it"
_LIST = "records: mesh tail; nodes: mesh peers"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_VALUE = {char: index for index, char in enumerate(_ALPHABET)}


def digest(data: bytes) -> bytes:
    """Plain blake2b-256, as the operation chain uses it."""
    return blake2b(data, digest_size=HASH_BYTES).digest()


def named_digest(purpose: bytes, data: bytes) -> bytes:
    """blake2b-256 personalised by purpose, so that no hash can stand in for one of another purpose."""
    return blake2b(data, digest_size=HASH_BYTES, person=purpose).digest()


class Feed(_Feed):
    """One append-only sequence: a node's key, and the epoch it was opened under."""

    __slots__ = ()

    def encode(self) -> bytes:
        """The 40 bytes that stand for this feed wherever it is hashed or sent."""
        return self.node + self.epoch.to_bytes(8, "big")

    def __str__(self) -> str:
        return f"{short(self.node)}/{self.epoch:016x}"


def mesh_id(root_key: bytes, recovery_key: bytes) -> bytes:
    """A mesh is named by its two founding public keys."""
    return named_digest(b"clan-mesh mesh 1", root_key + recovery_key)


def private_mesh_id(mesh: bytes) -> bytes:
    """Private feeds are signed under another mesh id: no public store can take one by mistake."""
    return named_digest(b"clan-mesh priv 1", mesh)


def first_prev(mesh: bytes, feed: Feed) -> bytes:
    """What the first operation of a feed chains to: a chain can't be moved to another mesh or feed."""
    return named_digest(b"clan-mesh feed 1", mesh + feed.encode())


def tag_of(node: bytes, body_hash: bytes) -> bytes:
    """The identity of a record: its author and its bytes, wherever in the author's feeds it stands."""
    return blake2b(node + body_hash, digest_size=HASH_BYTES, person=b"clan-mesh tag 1").digest()


def signed_prefix(data: bytes) -> int:
    """The first 8 bytes as SQLite's signed integer: an index of 9 bytes an entry instead of 33."""
    return int.from_bytes(data[:8], "big", signed=True)


def text_id(data: bytes) -> str:
    """Base32 of 32 bytes: 52 characters."""
    number = int.from_bytes(data, "big") << 4  # 256 bits to 260, a multiple of five
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(255, -1, -5))


def short(data: bytes, chars: int = 5) -> str:
    """The first characters of the text form. Lists show many of them: no more than these are worked out."""
    bits = 5 * chars
    number = int.from_bytes(data[: (bits + 7) // 8], "big") >> -bits % 8
    return "".join([_ALPHABET[(number >> shift) & 31] for shift in range(bits - 5, -1, -5)])


def parse_id(text: str, what: str = "id") -> bytes:
    """The 32 bytes of a whole text id."""
    number, _ = prefix_bounds(text, what)
    if len(text) != ID_CHARS:
        raise UsageError(f"{text!r} is not a whole {what}: {ID_CHARS} characters of a-z and 2-7 are needed", _COPY)
    if number & 15:  # 52 characters hold 260 bits; the last four are padding
        raise UsageError(f"{text!r} is not a {what}: its last character is wrong", _COPY)
    return (number >> 4).to_bytes(HASH_BYTES, "big")


def prefix_bounds(text: str, what: str = "id") -> tuple[int, int]:
    """The least and greatest 260-bit number whose text form starts with `text`."""
    if not text or len(text) > ID_CHARS or any(char not in _VALUE for char in text):
        raise UsageError(f"{text!r} is not a {what}: ids are made of the characters a-z and 2-7", _LIST)
    number = 0
    for char in text:
        number = number << 5 | _VALUE[char]
    missing = 5 * (ID_CHARS - len(text))
    return number << missing, (number + 1 << missing) - 1


def display_name(name: str, node: bytes) -> str:
    """How people see a node. Its name comes from elsewhere, and is one line and nothing but a name."""
    shown = name[:64]
    if not shown.isalnum() or not shown.isascii():
        from mesh.core.display import harmless_line  # not for hooks, which name nobody

        shown = " ".join(harmless_line(shown).split())
    return f"{shown or 'node'}·{short(node)}"


def fitting(text: str, names: "Mapping[bytes, str]", *, least: int = 1) -> list[bytes]:
    """The nodes that what a person typed stands for: by their whole id, else by name, else by how their id begins.

    `names`: of the nodes to choose from. `least`: so many characters are the beginning of an id.
    """
    start = text.lower()
    whole = [node for node in names if text_id(node) == start]
    named = [node for node, name in names.items() if text and text in (name, display_name(name, node))]
    begun = [node for node in names if len(text) >= least and text_id(node).startswith(start)]
    return sorted(whole or named or begun)
