"""What harvesting keeps: the nearest by shared words as SQL would have them, errors told once, nothing left of what failed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clan_learnings.harvest.candidate_table import CandidateTable

WORDS = ["a", "b", "c", "d", "e", "f"]
HELD = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=40)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[CandidateTable]:
    with CandidateTable(str(tmp_path)) as candidates:
        yield candidates


def keep(kept: CandidateTable, name: str, words: list[str], family: str = "rule") -> None:
    kept.find_by(name, family, words)
    kept.put({"id": name}, family, "noticed", "")


def counted(held: dict[str, list[str]], words: list[str], most: int) -> list[str]:
    """The same the long way: by how many words they share, then by age."""
    shared = {name: len(set(own) & set(words)) for name, own in held.items()}
    return sorted((name for name in shared if shared[name]), key=lambda name: -shared[name])[:most]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HELD, st.lists(st.sampled_from(WORDS), max_size=6), st.integers(1, 8))
def test_nearest_are_those_that_share_most(tmp_path: Path, held: list[list[str]], words: list[str], most: int) -> None:
    """Of equal ones the oldest; whether the words were in memory before, or were added meanwhile, makes no difference."""
    with CandidateTable(str(tmp_path)) as kept:
        for row in list(kept.every()):
            kept.remove(row["id"])
        known: dict[str, list[str]] = {}
        for number, own in enumerate(held):
            name = f"{number:08}"
            keep(kept, name, own)
            known[name] = own
            if number % 5 == 4:
                assert kept.near("rule", words, most) == counted(known, words, most)
        assert kept.near("rule", words, most) == counted(known, words, most)
        assert kept.near("note", words, most) == []


def test_words_that_all_have_do_not_hide_the_nearest(kept: CandidateTable) -> None:
    """Where rare words decide, the common ones are not gone through; where they do not, they are."""
    for number in range(400):
        keep(kept, f"{number:08}", ["pytest", "-q", f"file{number % 40}", f"error{number % 9}"])
    found = kept.near("rule", ["pytest", "-q", "file7", "error7"], 24)
    assert found[0] == "00000007"
    assert len(found) == 24
    assert all(int(name) % 40 == 7 or int(name) % 9 == 7 for name in found)
    assert kept.near("rule", ["pytest", "-q", "never seen"], 3) == ["00000000", "00000001", "00000002"]


def test_one_that_gets_more_words_is_found_by_them(kept: CandidateTable) -> None:
    """Also an old one, and also if the list of that word was read before."""
    for number in range(3):
        keep(kept, f"{number:08}", ["pnpm"] if number else ["npm"])
    assert kept.near("rule", ["pnpm"], 9) == ["00000001", "00000002"]
    kept.find_by("00000000", "rule", ["pnpm", "npm"])
    assert kept.near("rule", ["pnpm"], 9) == ["00000000", "00000001", "00000002"]
    kept.remove("00000001")
    assert kept.near("rule", ["pnpm", "npm"], 9) == ["00000000", "00000002"]


def test_nothing_is_found_by_words_of_a_transaction_that_failed(kept: CandidateTable) -> None:
    """Neither in the file nor in memory."""
    keep(kept, "00000000", ["npm"])
    assert kept.near("rule", ["npm"], 9) == ["00000000"]

    def fail() -> None:
        with kept.writing():
            keep(kept, "00000001", ["npm"])
            assert kept.near("rule", ["npm"], 9) == ["00000000", "00000001"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert kept.near("rule", ["npm"], 9) == ["00000000"]


def test_error_is_told_of_both_sessions_and_then_of_each_further_one(kept: CandidateTable) -> None:
    """The first waits for the second; nobody's is told again because others have it."""
    said = [kept.note_error("exit code", f"codex:{number}", f"key{number}", {"at": number}) for number in range(4)]
    assert said == [[], [{"at": 0}, {"at": 1}], [{"at": 2}], [{"at": 3}]]
    kept.forget_errors("key1")
    kept.forget_errors("key2")
    kept.forget_errors("key3")
    assert kept.note_error("exit code", "codex:0", "key0", {"at": 5}) == []
    assert kept.note_error("exit code", "codex:7", "key7", {"at": 7}) == [{"at": 5}, {"at": 7}]
