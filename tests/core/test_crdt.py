"""The three data types on their own: what each promises, in small examples."""

import pytest

import mesh
from mesh import GCounter, LWWRegister, ORSet

EMPTY: ORSet[str] = ORSet()
UNSET: LWWRegister[str] = LWWRegister()
ZERO: GCounter[str] = GCounter()


def test_the_types_are_importable_from_the_package() -> None:
    """They are loaded on first use; a name that is not there is an ordinary error."""
    assert mesh.ORSet is ORSet
    assert {"ORSet", "LWWRegister", "GCounter"} <= set(mesh.__all__)
    with pytest.raises(AttributeError, match="PNCounter"):
        _ = mesh.PNCounter


def test_a_concurrent_add_survives_a_remove() -> None:
    """A remove takes away what it has seen; the add it has not seen stays."""
    base = EMPTY.add("milk", 1)
    ann = base.remove("milk")
    ben = base.add("milk", 2)
    assert "milk" not in ann
    assert "milk" in ann.merge(ben)
    assert "milk" in ben.merge(ann)


def test_a_remove_reaches_everyone_who_had_seen_nothing_newer() -> None:
    """The tombstone travels, and the add that comes late is dead on arrival."""
    base = EMPTY.add("milk", 1)
    removed = base.remove("milk")
    assert "milk" not in removed.merge(base)
    tombstone: ORSet[str] = ORSet(removed=frozenset({1}))
    assert "milk" not in tombstone.merge(base)


def test_an_element_may_be_added_again_under_a_new_tag() -> None:
    """A removed tag stays removed, the element does not."""
    again = EMPTY.add("milk", 1).remove("milk").add("milk", 2)
    assert set(again) == {"milk"}
    assert len(again) == 1
    assert again.tags("milk") == {1, 2}
    assert "milk" not in again.remove("milk")


def test_removing_what_is_not_there_is_nothing() -> None:
    """An empty set stays as it was."""
    assert EMPTY.remove("milk") == ORSet()


def test_the_greatest_stamp_wins_and_the_writer_breaks_a_tie() -> None:
    """In either order of merging."""
    old = UNSET.set("old", 1, b"z")
    new = UNSET.set("new", 2, b"a")
    tie = UNSET.set("tie", 2, b"b")
    assert old.merge(new).value == new.merge(old).value == "new"
    assert new.merge(tie).value == tie.merge(new).value == "tie"


def test_a_late_write_with_an_early_stamp_changes_nothing() -> None:
    """Order of arrival does not count."""
    register = UNSET.set("new", 2, b"a")
    assert register.set("old", 1, b"z") == register
    assert UNSET.value is None


def test_a_counter_is_the_sum_of_its_slots() -> None:
    """Two that counted apart are added, the same slot seen twice is not."""
    ann = ZERO.add("ann", 2)
    ben = ZERO.add("ben").add("ben")
    both = ann.merge(ben)
    assert both.value == 4
    assert both.merge(ann).merge(ben).value == 4
    assert ann.add("ann").merge(both).value == 5


def test_a_counter_only_grows() -> None:
    """It refuses to be taken from, and an older state takes nothing back."""
    counter = ZERO.add("ann", 5)
    with pytest.raises(ValueError, match="only grows"):
        counter.add("ann", -1)
    assert counter.merge(GCounter({"ann": 3})).value == 5


def test_values_are_immutable_and_hashable() -> None:
    """They may be kept in sets and shared between threads."""
    counter, other = ZERO.add("a"), ZERO.add("a")
    assert len({counter, other}) == 1
    assert len({EMPTY.add("x", 1), EMPTY.add("x", 1)}) == 1
    with pytest.raises(TypeError):
        counter.slots["a"] = 9  # type: ignore[index]
    with pytest.raises(AttributeError):
        counter.slots = {}  # type: ignore[misc]


def test_the_types_can_be_made_with_their_parameter_written_out() -> None:
    """`ORSet[str]()` is how typed code makes an empty one."""
    assert ORSet[str]() == EMPTY
    assert LWWRegister[str]() == UNSET
    assert GCounter[str]() == ZERO
