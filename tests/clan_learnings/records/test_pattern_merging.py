"""When the second look is taken, and at what: in one process, with other nodes' feeds made by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clan_learnings.records import pattern_merging as module
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_merging import FILE, PatternMerging
from mesh.core.draft import NewRecord
from mesh.core.errors import QuotaReached
from mesh.core.operation import Add
from mesh.core.statement import Member, sign
from mesh.store.author import Author
from mesh.store.home import Home, create_home
from mesh.store.reader import open_reading
from mesh.store.store import wall_clock
from tests.worker.appending import appending
from tests.worlds import Chain, Clan

OURS = ("os.path.join was used for paths", "prefer pathlib.Path to os.path.join")
THEIRS = ("used os.path.join", "use pathlib.Path")
UNLIKE = ("pushed with --force", "push with --force-with-lease")


class Mesh:
    """A home, and another member of its mesh."""

    def __init__(self, folder: Path) -> None:
        self.home: Home = create_home(str(folder / "home"), "own")
        root = self.home.root_identity()
        clan = Clan(42)
        clan.mesh = self.home.mesh
        other = clan.node(1)
        author = self.home.author()
        author.merge_statements([sign(self.home.mesh, root, Member(root.public, 1, other.public, "other")).encode()])
        author.store.close()
        self._chain = Chain(clan, other)

    def write(self, words: tuple[str, str], slug: str, session: str = "codex:1") -> None:
        """Our correction, under a pattern of its own."""
        author = self.home.author()
        author.append([NewRecord("corrections", self._record(words, slug, session))])
        author.store.close()

    def arrive(self, words: tuple[str, str], slug: str, *, hours: int = 1) -> None:
        """A correction that the other member wrote so long ago."""
        before = self._chain.links[-1].hlc if self._chain.links else 0
        stamp = max(before + 1, (wall_clock() - hours * 3_600_000) << 16)
        self._chain.add(Add(stamp, "corrections", self._record(words, slug, "codex:other")), stamp)
        author = self.home.author()
        author.merge_ranges([self._chain.encoded(len(self._chain.links))])
        author.store.close()

    def names(self, slug: str) -> set[str]:
        """All names of a pattern."""
        reader = open_reading(self.home.path)
        try:
            return set(Memory(reader).patterns.names(slug))
        finally:
            reader.connection.close()

    def _record(self, words: tuple[str, str], slug: str, session: str) -> dict[str, str]:
        return {"wrong": words[0], "right": words[1], "pattern": slug, "repo": "", "session": session}


class Rested(PatternMerging):
    """One that has always rested enough."""

    def __init__(self, home: Home) -> None:
        self._looks = 0
        super().__init__(home, appending(home), lambda: 1000.0 * self._looks)

    def look(self, breathe: Callable[[], None] = lambda: None) -> int:
        self._looks += 1
        return super().look(breathe)


def is_owed(look: PatternMerging) -> bool:
    return look.is_owed


def test_our_younger_name_is_joined_to_an_older_one_that_arrives(tmp_path: Path) -> None:
    """Once: a second look at the same finds nothing to do."""
    mesh = Mesh(tmp_path)
    look = Rested(mesh.home)
    mesh.write(OURS, "ours")
    assert look.look() == 0
    mesh.arrive(THEIRS, "theirs")
    assert look.look() == 1
    assert mesh.names("ours") == {"ours", "theirs"}
    assert look.look() == 0


def test_a_record_whose_pattern_is_no_text_stops_no_look(tmp_path: Path) -> None:
    """Anybody may write one; the names beside it are joined all the same."""
    mesh = Mesh(tmp_path)
    look = Rested(mesh.home)
    mesh.write(OURS, "ours")
    look.look()
    mesh.arrive(THEIRS, ["no", "text"])  # type: ignore[arg-type]
    mesh.arrive(THEIRS, "theirs")
    assert look.look() == 1
    assert mesh.names("ours") == {"ours", "theirs"}


def test_an_older_name_of_ours_is_left_to_the_other_founder(tmp_path: Path) -> None:
    """Only the founder of the younger one joins."""
    mesh = Mesh(tmp_path)
    mesh.write(OURS, "ours")
    mesh.arrive(THEIRS, "theirs", hours=-1)  # stamped later
    assert PatternMerging(mesh.home, appending(mesh.home)).look() == 0


def test_nothing_is_compared_unless_others_have_written_the_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither our own corrections nor unlike ones of others cost more than a glance."""
    mesh = Mesh(tmp_path)
    look = Rested(mesh.home)
    mesh.write(OURS, "ours")
    look.look()

    def never(*_: object) -> None:
        raise AssertionError("it looked at everything")

    with monkeypatch.context() as patch:
        patch.setattr(module, "draft_merges", never)
        assert look.look() == 0
        mesh.write(UNLIKE, "ours-too", "codex:2")
        mesh.arrive(("called datetime.utcnow()", "use datetime.now(UTC)"), "theirs")
        assert look.look() == 0
        mesh.arrive(THEIRS, "alike")
        with pytest.raises(AssertionError, match="everything"):
            look.look()
    assert look.look() == 1


def test_after_a_start_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """What arrived meanwhile is compared; without the file, or with a broken one, everything is."""
    mesh = Mesh(tmp_path)
    mesh.write(OURS, "ours")
    PatternMerging(mesh.home, appending(mesh.home)).look()
    assert (Path(mesh.home.path) / FILE).exists()
    mesh.arrive(THEIRS, "theirs")
    assert PatternMerging(mesh.home, appending(mesh.home)).look() == 1
    (Path(mesh.home.path) / FILE).write_text("{")
    assert PatternMerging(mesh.home, appending(mesh.home)).look() == 0


def test_a_look_that_took_long_is_followed_by_a_rest(tmp_path: Path) -> None:
    """What arrives in the rest is owed, and looked at when it is over."""
    mesh = Mesh(tmp_path)
    mesh.write(OURS, "ours")
    now = [0.0]
    look = PatternMerging(mesh.home, appending(mesh.home), lambda: now[0])

    def slow() -> None:
        now[0] += 1.0

    look.look(slow)
    mesh.arrive(THEIRS, "theirs")
    assert look.look() == 0
    assert not is_owed(look)
    now[0] += 1000
    assert is_owed(look)
    assert look.look() == 1
    assert not is_owed(look)


def test_a_look_whose_names_may_not_be_written_now_is_owed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, nothing is compared over and over meanwhile, and the names are joined when they may be."""
    mesh = Mesh(tmp_path)
    now = [0.0]
    look = PatternMerging(mesh.home, appending(mesh.home), lambda: now[0])
    mesh.write(OURS, "ours")
    look.look()
    now[0] += 10
    mesh.arrive(THEIRS, "theirs")
    with monkeypatch.context() as full:
        full.setattr(Author, "append", refuse)
        for _ in range(10):
            assert look.look() == 0
            now[0] += 5
        now[0] += 600
        assert is_owed(look)
        assert look.look() == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    now[0] += 700
    assert look.look() == 1
    assert mesh.names("ours") == {"ours", "theirs"}


def refuse(*_: object, **__: object) -> None:
    raise QuotaReached("this node has written as much as it may by now")
