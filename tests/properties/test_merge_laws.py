"""The laws of merging, for each data type: commutative, associative, idempotent, and its own promise."""

from hypothesis import given
from hypothesis import strategies as st

from mesh import GCounter, LWWRegister, ORSet

ELEMENTS = st.sampled_from("abc")
TAGS = st.integers(0, 9)


@st.composite
def sets(draw: st.DrawFn) -> ORSet[str]:
    """A set made by adds and removes, its tags possibly those of another's."""
    made: ORSet[str] = ORSet()
    for element, tag, adds in draw(st.lists(st.tuples(ELEMENTS, TAGS, st.booleans()), max_size=8)):
        made = made.add(element, tag) if adds else made.remove(element)
    return made


@st.composite
def registers(draw: st.DrawFn) -> LWWRegister[tuple[int, bytes]]:
    """A register whose value is a function of stamp and writer, as a writer that is unique to a write makes it."""
    made: LWWRegister[tuple[int, bytes]] = LWWRegister()
    for stamp, writer in draw(st.lists(st.tuples(st.integers(1, 5), st.binary(max_size=1)), max_size=5)):
        made = made.set((stamp, writer), stamp, writer)
    return made


@st.composite
def counters(draw: st.DrawFn) -> GCounter[str]:
    """A counter with some slots, each counted several times."""
    made: GCounter[str] = GCounter()
    for slot, amount in draw(st.lists(st.tuples(ELEMENTS, st.integers(0, 5)), max_size=8)):
        made = made.add(slot, amount)
    return made


@given(sets(), sets(), sets())
def test_merging_sets_obeys_the_laws(a: ORSet[str], b: ORSet[str], c: ORSet[str]) -> None:
    """Order, grouping and repetition of OR-Set merges do not matter."""
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(a) == a
    assert a.merge(b).merge(b) == a.merge(b)
    assert a.merge(ORSet()) == a


@given(registers(), registers(), registers())
def test_merging_registers_obeys_the_laws(
    a: LWWRegister[tuple[int, bytes]], b: LWWRegister[tuple[int, bytes]], c: LWWRegister[tuple[int, bytes]]
) -> None:
    """Order, grouping and repetition of LWW-Register merges do not matter."""
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(a) == a
    assert a.merge(b).merge(b) == a.merge(b)
    assert a.merge(LWWRegister()) == a


@given(counters(), counters(), counters())
def test_merging_counters_obeys_the_laws(a: GCounter[str], b: GCounter[str], c: GCounter[str]) -> None:
    """Order, grouping and repetition of G-Counter merges do not matter, and equal counters hash alike."""
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(a) == a
    assert a.merge(b).merge(b) == a.merge(b)
    assert a.merge(GCounter()) == a
    assert hash(a.merge(b)) == hash(b.merge(a))


@given(sets(), sets(), ELEMENTS)
def test_an_add_wins_over_every_remove_that_has_not_seen_it(a: ORSet[str], b: ORSet[str], element: str) -> None:
    """One side removes, the other adds under a tag of its own: the element is there after any merge."""
    base = a.merge(b)
    removed, added = base.remove(element), base.add(element, "a tag nobody else uses")
    assert element not in removed
    assert element in removed.merge(added)
    assert element in added.merge(removed)
    assert element not in added.merge(removed).remove(element)


@given(st.lists(st.tuples(st.integers(1, 9), st.binary(max_size=2)), min_size=1))
def test_of_all_writes_the_greatest_wins(writes: list[tuple[int, bytes]]) -> None:
    """In whatever order they arrive."""
    made: LWWRegister[tuple[int, bytes]] = LWWRegister()
    for write in writes:
        made = made.merge(LWWRegister(write, *write))
    backwards: LWWRegister[tuple[int, bytes]] = LWWRegister()
    for write in reversed(writes):
        backwards = backwards.set(write, *write)
    assert made == backwards
    assert made.value == max(writes)


@given(counters(), counters())
def test_a_merged_counter_is_the_sum_of_the_greatest_slots_and_never_less(a: GCounter[str], b: GCounter[str]) -> None:
    """Nothing counted is lost or counted twice."""
    merged = a.merge(b)
    slots = {*a.slots, *b.slots}
    assert merged.value == sum(max(a.slots.get(slot, 0), b.slots.get(slot, 0)) for slot in slots)
    assert max(a.value, b.value) <= merged.value <= a.value + b.value


@given(counters(), ELEMENTS, st.integers(0, 9))
def test_counting_adds_exactly_that_much(counter: GCounter[str], slot: str, amount: int) -> None:
    """Locally, and after meeting the state before."""
    grown = counter.add(slot, amount)
    assert grown.value == counter.value + amount
    assert grown.merge(counter) == grown
