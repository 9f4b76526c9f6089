"""What bodies say: every kind there and back, and a reason for everything that is passed over."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.ids import signed_prefix
from mesh.core.limits import (
    HLC_MAX,
    LOG_CHARS,
    OPERATION_BYTES,
    SALT_BYTES,
    TAGS_PER_BODY,
    TEXT_CHARS,
    TOTAL_MAX,
    VALUE_DEPTH,
)
from mesh.core.operation import (
    ADD,
    COUNT,
    KIND_NAMES,
    PAGE,
    REMOVE,
    SET,
    Add,
    Body,
    Count,
    Ignored,
    Page,
    Remove,
    Set,
    counter_key,
    encode,
    fold_key,
    kind_of,
    parse,
    register_key,
)
from mesh.core.strict_msgpack import pack

SALT = bytes(range(SALT_BYTES))
HASH = bytes(32)
NOW = 1000


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


BODIES: list[Body] = [
    Add(NOW, "discoveries", {"text": "größer", "n": [1, 2.5, None, True, b"raw"], "deep": {"a": {"b": []}}}),
    Add(1, "a", {}),
    Add(NOW, "x" * LOG_CHARS, {"big": 2**64 - 1, "small": -(2**63)}),
    Remove([HASH], ""),
    Remove([bytes([n % 256, n // 256]) + bytes(30) for n in range(TAGS_PER_BODY)], "r" * TEXT_CHARS),
    Set(NOW, HASH, "field", None),
    Set(1, "key", "f" * TEXT_CHARS, {"any": ["value"]}),
    Set(NOW, "t" * TEXT_CHARS, "f", nested(VALUE_DEPTH)),
    Count("key", 1),
    Count("k" * TEXT_CHARS, TOTAL_MAX),
    Count("key", 7, HASH),
    Page(HASH, 0, [], b""),
    Page(HASH, 2**64 - 1, [b"12345678"] * 16, b"update" * 100),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_every_kind_is_read_back_as_it_was_written(body: Body) -> None:
    """Limits included: what is exactly at a limit is inside."""
    raw = encode(body, SALT)
    assert raw.startswith(SALT)
    assert parse(kind_of(body), NOW, raw) == body


def test_kinds_have_frozen_numbers() -> None:
    """A number is for ever."""
    assert KIND_NAMES == {1: "add", 2: "remove", 3: "set", 4: "count", 5: "page"}
    assert [kind_of(body) for body in (BODIES[0], BODIES[3], BODIES[5], BODIES[8], BODIES[11])] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("length", [0, 15, 17])
def test_a_salt_is_sixteen_bytes(length: int) -> None:
    """Anything else is our own mistake, not a peer's."""
    with pytest.raises(ValueError, match="16 bytes"):
        encode(BODIES[0], bytes(length))


STAMP, LOG, TAGS, TARGET, TOTAL = "stamped later", "not a log name", "not a list of tags", "not a target", "not a total"
MALFORMED: list[tuple[int, Any, str]] = [
    (ADD, [NOW, "log"], "an add has three fields"),
    (ADD, [NOW, "log", {}, 1], "an add has three fields"),
    (ADD, [NOW + 1, "log", {}], STAMP),
    (ADD, [0, "log", {}], STAMP),
    (ADD, [-1, "log", {}], STAMP),
    (ADD, [True, "log", {}], STAMP),
    (ADD, [1.0, "log", {}], STAMP),
    (ADD, ["1", "log", {}], STAMP),
    (ADD, [NOW, "", {}], LOG),
    (ADD, [NOW, "x" * (LOG_CHARS + 1), {}], LOG),
    (ADD, [NOW, "Upper", {}], LOG),
    (ADD, [NOW, "a/b", {}], LOG),
    (ADD, [NOW, "a\x00", {}], LOG),
    (ADD, [NOW, "é", {}], LOG),
    (ADD, [NOW, b"log", {}], LOG),
    (ADD, [NOW, ["l"], {}], LOG),
    (ADD, [NOW, "log", []], "not a record"),
    (ADD, [NOW, "log", None], "not a record"),
    (ADD, [NOW, "log", "text"], "not a record"),
    (ADD, [NOW, "log", {b"key": 1}], "not a record"),
    (ADD, [NOW, "log", {"k": float("nan")}], "not a record"),
    (ADD, [NOW, "log", {"k": float("-inf")}], "not a record"),
    (ADD, [NOW, "log", {"k": nested(VALUE_DEPTH)}], "not a record"),
    (ADD, [NOW, "log", {"k": {b"inner": 1}}], "not a record"),
    (REMOVE, [[HASH]], "a remove has two fields"),
    (REMOVE, [[], "r"], TAGS),
    (REMOVE, [[HASH] * (TAGS_PER_BODY + 1), "r"], TAGS),
    (REMOVE, [[HASH[:31]], "r"], TAGS),
    (REMOVE, [[HASH, "text"], "r"], TAGS),
    (REMOVE, [HASH, "r"], TAGS),
    (REMOVE, [{"a": HASH}, "r"], TAGS),
    (REMOVE, [[HASH], "r" * (TEXT_CHARS + 1)], "not a reason"),
    (REMOVE, [[HASH], None], "not a reason"),
    (REMOVE, [[HASH], b"r"], "not a reason"),
    (SET, [NOW, "k", "f"], "a set has four fields"),
    (SET, [NOW + 1, "k", "f", 1], STAMP),
    (SET, [0, "k", "f", 1], STAMP),
    (SET, [2**64 - 1, "k", "f", 1], STAMP),
    (SET, [NOW, "", "f", 1], TARGET),
    (SET, [NOW, HASH[:31], "f", 1], TARGET),
    (SET, [NOW, HASH + b"1", "f", 1], TARGET),
    (SET, [NOW, 7, "f", 1], TARGET),
    (SET, [NOW, "k" * (TEXT_CHARS + 1), "f", 1], TARGET),
    (SET, [NOW, "k", "", 1], "not a field"),
    (SET, [NOW, "k", "f" * (TEXT_CHARS + 1), 1], "not a field"),
    (SET, [NOW, "k", b"f", 1], "not a field"),
    (SET, [NOW, "k", "f", float("inf")], "not a value"),
    (SET, [NOW, "k", "f", {b"k": 1}], "not a value"),
    (SET, [NOW, "k", "f", nested(VALUE_DEPTH + 1)], "not a value"),
    (COUNT, ["k"], "a count has two or three fields"),
    (COUNT, ["k", 1, HASH, 1], "a count has two or three fields"),
    (COUNT, ["", 1], "not a key"),
    (COUNT, [b"k", 1], "not a key"),
    (COUNT, ["k" * (TEXT_CHARS + 1), 1], "not a key"),
    (COUNT, ["k", 0], TOTAL),
    (COUNT, ["k", -1], TOTAL),
    (COUNT, ["k", TOTAL_MAX + 1], TOTAL),
    (COUNT, ["k", True], TOTAL),
    (COUNT, ["k", 1.0], TOTAL),
    (COUNT, ["k", 1, None], "not an origin"),
    (COUNT, ["k", 1, b"short"], "not an origin"),
    (PAGE, [HASH, 1, b"u"], "a page has four fields"),
    (PAGE, [HASH[:31], 1, [], b"u"], "not a page update"),
    (PAGE, [HASH, 1, [], "text"], "not a page update"),
    (PAGE, [None, 1, [], b"u"], "not a page update"),
    (PAGE, [HASH, -1, [], b"u"], "not an epoch"),
    (PAGE, [HASH, True, [], b"u"], "not an epoch"),
    (PAGE, [HASH, 1, [b"1234567"], b"u"], "not a list of heads"),
    (PAGE, [HASH, 1, ["12345678"], b"u"], "not a list of heads"),
    (PAGE, [HASH, 1, [b"12345678"] * 17, b"u"], "not a list of heads"),
    (PAGE, [HASH, 1, None, b"u"], "not a list of heads"),
]


@pytest.mark.parametrize(("kind", "fields", "reason"), MALFORMED)
def test_a_malformed_body_is_ignored_with_its_reason(kind: int, fields: Any, reason: str) -> None:
    """The feed goes on; the reason is what a person will read."""
    parsed = parse(kind, NOW, SALT + pack(fields))
    assert isinstance(parsed, Ignored)
    assert reason in parsed.reason


@pytest.mark.parametrize("kind", sorted(KIND_NAMES))
def test_bodies_that_are_no_array_are_ignored(kind: int) -> None:
    """Whatever the kind: nothing behind the salt, a bare value, trailing bytes, a depth bomb, too long, too short."""
    for raw, reason in (
        (SALT, "not a msgpack value"),
        (SALT + pack({"a": 1}), "not an array"),
        (SALT + pack(None), "not an array"),
        (SALT + pack([]) + b"\x00", "not a msgpack value"),
        (SALT + b"\x91" * 60_000, "not a msgpack value"),
        (SALT + pack([b"x" * OPERATION_BYTES]), "wrong size"),
        (SALT[:15], "wrong size"),
        (b"", "wrong size"),
    ):
        parsed = parse(kind, NOW, raw)
        assert isinstance(parsed, Ignored)
        assert reason in parsed.reason


@pytest.mark.parametrize("kind", [0, 6, 77, 255])
def test_an_unknown_kind_is_ignored_whatever_it_holds(kind: int) -> None:
    """A later version may know it."""
    assert parse(kind, NOW, SALT + pack([1])) == Ignored(f"unknown kind {kind}")


@given(st.integers(0, 255) | st.sampled_from(sorted(KIND_NAMES)), st.integers(1, HLC_MAX), st.binary(max_size=200))
def test_reading_is_total_over_bytes(kind: int, hlc: int, raw: bytes) -> None:
    """Any bytes under any kind give an answer, and the answer a key or none."""
    parsed = parse(kind, hlc, raw)
    key = fold_key(parsed, HASH)
    assert key is None or -(2**63) <= key < 2**63


FIELDS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**64 - 1) | st.floats() | st.text(max_size=3) | st.binary(max_size=33),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=2) | st.binary(max_size=2), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(KIND_NAMES)), st.lists(FIELDS, min_size=1, max_size=5))
def test_reading_is_total_over_structures(kind: int, fields: list[Any]) -> None:
    """Well-formed arrays with anything in them give an answer too."""
    try:
        raw = SALT + pack(fields)
    except UnicodeError:
        return
    assert parse(kind, NOW, raw) is not None


@given(st.sampled_from(BODIES), st.data())
def test_reading_is_total_over_bodies_altered_anywhere(body: Body, data: st.DataObject) -> None:
    """Close to valid is where mistakes hide."""
    raw = bytearray(encode(body, SALT))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(SALT_BYTES, min(len(raw), 200) - 1))] = data.draw(st.integers(0, 255))
    parsed = parse(kind_of(body), NOW, bytes(raw))
    assert fold_key(parsed, HASH) is not None or isinstance(parsed, Remove | Ignored)


def test_all_operations_on_one_thing_share_its_key() -> None:
    """An element is found by its tag, a register by target and field, a counter by its key, a page by its id."""
    tag = b"\x05" * 32
    assert fold_key(BODIES[0], tag) == signed_prefix(tag)
    assert fold_key(Set(1, "k", "f", 1), tag) == fold_key(Set(9, "k", "f", 2), HASH) == register_key("k", "f")
    assert register_key("k", "f") != register_key("kf", "") != register_key(b"k" * 32, "f")
    assert fold_key(Count("k", 1), tag) == fold_key(Count("k", 2, HASH), HASH) == counter_key("k")
    assert fold_key(Page(tag, 1, [], b""), HASH) == signed_prefix(tag)
    assert fold_key(BODIES[3], tag) is None
    assert fold_key(Ignored("why"), tag) is None


def test_a_record_stamped_when_its_operation_is_counts_and_one_later_does_not() -> None:
    """The same bytes may count in one place of a feed and not in an earlier one."""
    raw = encode(Add(NOW, "log", {}), SALT)
    assert parse(ADD, NOW, raw) == Add(NOW, "log", {})
    assert isinstance(parse(ADD, NOW - 1, raw), Ignored)
