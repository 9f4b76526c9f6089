"""Ed25519 keys and signatures, through PyNaCl. No files here: `mesh.store.keyfile` keeps the seed.

nacl takes longer to import than a whole read command, so it is imported on first use.
"""

from __future__ import annotations

from typing import Any

from mesh.core.errors import Forged
from mesh.core.ids import KEY_BYTES, Feed, named_digest

SEED_BYTES = 32
SIGNATURE_BYTES = 64
_SECRET_BYTES = 64
_POINT = b"clan-mesh point 1"
_STATEMENT = b"clan-mesh statement 1"


class Identity:
    """A key pair: who a node is, or the root of a mesh."""

    __slots__ = ("_secret", "public")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError("a seed has 32 bytes")
        ffi, lib = _sodium()
        public, secret = ffi.new("unsigned char[]", KEY_BYTES), ffi.new("unsigned char[]", _SECRET_BYTES)
        if lib.crypto_sign_seed_keypair(public, secret, seed) != 0:
            raise RuntimeError("libsodium made no key")
        self.public, self._secret = bytes(ffi.buffer(public)), bytes(ffi.buffer(secret))

    def __repr__(self) -> str:  # never the secret, also in a traceback
        return f"Identity({self.public.hex()[:8]})"

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes the pair is made from: for TLS, which needs the key in a form of its own."""
        return self._secret[:SEED_BYTES]

    def sign(self, message: bytes) -> bytes:
        """64 bytes over the message."""
        ffi, lib = _sodium()
        signed = ffi.new("unsigned char[]", SIGNATURE_BYTES + len(message))
        if lib.crypto_sign(signed, ffi.NULL, message, len(message), self._secret) != 0:
            raise RuntimeError("libsodium made no signature")
        return bytes(ffi.buffer(signed, SIGNATURE_BYTES))


def _sodium() -> tuple[Any, Any]:
    """What `nacl.bindings` is made of, without the thirty modules that it loads: a command that writes signs once."""
    from nacl._sodium import ffi, lib

    ffi.init_once(lib.sodium_init, "libsodium")
    return ffi, lib


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the holder of `public` signed `message`. Total: bad lengths are just False."""
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import CryptoError

    try:
        crypto_sign_open(signature + message, public)
    except (CryptoError, ValueError):
        return False
    return len(signature) == SIGNATURE_BYTES


def point_message(mesh: bytes, feed: Feed, seq: int, head: bytes) -> bytes:
    """What an author signs to vouch for its chain up to `seq`."""
    return _POINT + mesh + feed.encode() + seq.to_bytes(8, "big") + head


def statement_message(mesh: bytes, payload: bytes) -> bytes:
    """What a signer signs to make a statement in this mesh and no other."""
    return _STATEMENT + mesh + payload


def require_point(mesh: bytes, feed: Feed, seq: int, head: bytes, signature: bytes) -> None:
    """Raise Forged unless the feed's own node vouches for this point of the chain."""
    if not verify(feed.node, point_message(mesh, feed, seq, head), signature):
        raise Forged(f"the signature of {feed} at {seq} does not hold")


def new_epoch(randomness: bytes) -> int:
    """A random epoch, never zero."""
    return int.from_bytes(named_digest(b"clan-mesh epoch1", randomness)[:8], "big") | 1
