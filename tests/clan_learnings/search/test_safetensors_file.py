"""Weights from a file that anybody may have written."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy")

from clan_learnings.search.embedders.safetensors_file import TensorFile  # noqa: E402
from mesh.core.errors import Malformed  # noqa: E402
from tests.clan_learnings.search.models import packed  # noqa: E402

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
GOOD = packed({"first": VALUES, "second": -VALUES})


def with_header(header: object, body: bytes = bytes(24)) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def told(**changes: Any) -> dict[str, Any]:
    return {"first": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}}


def test_tensors_are_read_by_name() -> None:
    """Each is what was written, and can be changed without changing the other."""
    weights = TensorFile(io.BytesIO(GOOD))
    assert weights.names() == {"first", "second"}
    assert (weights.read("second", 2, 3) == -VALUES).all()
    weights.read("first", 2, 3)[:] = 9
    assert (weights.read("first", 2, 3) == VALUES).all()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 8,
        b"\xff" * 16,
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{\xff",
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
        with_header({}),
        with_header({"first": None}),
        with_header({"first": [1, 2]}),
        with_header(told(dtype="I64")),
        with_header(told(dtype=["F32"])),
        with_header(told(shape=[3, 2])),
        with_header(told(shape=[2, True])),
        with_header(told(shape="23")),
        with_header(told(data_offsets=[0, 23])),
        with_header(told(data_offsets=[1, 25])),
        with_header(told(data_offsets=[24, 0])),
        with_header(told(data_offsets=[-24, 0])),
        with_header(told(data_offsets=[0, 10**30])),
        with_header(told(), bytes(23)),
        with_header(told(), b"\xff" * 24),
    ],
)
def test_what_breaks_the_format_is_malformed(data: bytes) -> None:
    """Nothing outside the file is read, and nothing that is no number is given."""
    with pytest.raises(Malformed):
        TensorFile(io.BytesIO(data)).read("first", 2, 3)


@given(at=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), length=st.integers(0, len(GOOD)))
def test_any_changed_byte_and_any_cut_is_malformed_or_harmless(at: int, byte: int, length: int) -> None:
    """A tensor of the shape that was asked for, of numbers, or one kind of error."""
    data = (GOOD[:at] + bytes([byte]) + GOOD[at + 1 :])[:length]
    try:
        read = TensorFile(io.BytesIO(data)).read("first", 2, 3)
    except Malformed:
        return
    assert read.shape == (2, 3)
    assert np.isfinite(read).all()
