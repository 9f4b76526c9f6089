"""Keys and signatures: who signed what, in which mesh, for which feed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Forged
from mesh.core.identity import (
    SIGNATURE_BYTES,
    Identity,
    new_epoch,
    point_message,
    require_point,
    statement_message,
    verify,
)
from mesh.core.ids import Feed
from tests.worlds import seed

ANN, BEN = Identity(seed(1)), Identity(seed(2))


def test_a_seed_makes_the_same_key_every_time() -> None:
    """The key pair is a function of the seed alone, and of nothing else."""
    assert Identity(seed(1)).public == ANN.public
    assert ANN.public != BEN.public
    assert Identity(seed(1)).sign(b"x") == ANN.sign(b"x")


def test_a_signature_holds_for_its_key_and_message_only() -> None:
    """Another key, another message or an altered bit and it does not."""
    signature = ANN.sign(b"message")
    assert len(signature) == SIGNATURE_BYTES
    assert verify(ANN.public, b"message", signature)
    assert not verify(BEN.public, b"message", signature)
    assert not verify(ANN.public, b"massage", signature)
    for position in range(SIGNATURE_BYTES):
        altered = bytearray(signature)
        altered[position] ^= 1
        assert not verify(ANN.public, b"message", bytes(altered))


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=130))
def test_verifying_is_total(public: bytes, message: bytes, signature: bytes) -> None:
    """Any lengths give an answer, and made-up bytes never the answer yes."""
    assert verify(public, message, signature) is False
    assert verify(ANN.public, message, signature) is False


def test_a_signature_moved_into_the_message_is_none() -> None:
    """The two are told apart by length, not by where one ends in their concatenation."""
    signature = ANN.sign(b"message")
    assert not verify(ANN.public, signature + b"message", b"")
    assert not verify(ANN.public, b"message"[1:], signature + b"m")
    assert not verify(ANN.public, signature[40:] + b"message", signature[:40])


@pytest.mark.parametrize("public", [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f", b"\xff" * 32])
def test_a_key_of_small_order_vouches_for_nothing(public: bytes) -> None:
    """Such keys have signatures that hold for every message."""
    for signature in (bytes(64), public + bytes(32), b"\x01" + bytes(63)):
        assert not verify(public, b"anything", signature)


def test_a_signature_has_one_form() -> None:
    """Adding the group order to its scalar would be a second signature; it does not hold."""
    order = 2**252 + 27742317777372353535851937790883648493
    signature = ANN.sign(b"message")
    scalar = int.from_bytes(signature[32:], "little") + order
    assert not verify(ANN.public, b"message", signature[:32] + scalar.to_bytes(32, "little"))


def test_a_point_is_signed_for_one_mesh_feed_number_and_hash() -> None:
    """Change any of them and the signature is forged."""
    mesh, feed, head = bytes(32), Feed(ANN.public, 7), b"\x02" * 32
    signature = ANN.sign(point_message(mesh, feed, 3, head))
    require_point(mesh, feed, 3, head, signature)
    for wrong in (
        (b"\x01" * 32, feed, 3, head),
        (mesh, Feed(ANN.public, 8), 3, head),
        (mesh, Feed(BEN.public, 7), 3, head),
        (mesh, feed, 4, head),
        (mesh, feed, 3, b"\x03" * 32),
    ):
        with pytest.raises(Forged, match="does not hold"):
            require_point(*wrong, signature)


def test_points_and_statements_are_signed_in_different_words() -> None:
    """No point can be shown as a statement, nor the other way round."""
    feed = Feed(ANN.public, 7)
    point = point_message(bytes(32), feed, 1, bytes(32))
    assert not point.startswith(statement_message(b"", b""))
    assert not statement_message(bytes(32), b"").startswith(b"clan-mesh point")


def test_the_secret_is_not_in_the_words_for_an_identity() -> None:
    """A traceback may show an identity."""
    assert repr(ANN) == f"Identity({ANN.public.hex()[:8]})"
    assert seed(1).hex() not in repr(ANN)


@given(st.binary(max_size=64))
def test_an_epoch_is_never_zero_and_fits_eight_bytes(randomness: bytes) -> None:
    """Zero stands for no epoch in a revocation's heads."""
    assert 0 < new_epoch(randomness) < 2**64
