"""What tests of the sidecar's indexes share: a notebook, a server of embeddings, followers that do not wait."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.search import index_thread
from tests.clan_learnings.records.notebooks import Notebook
from tests.clan_learnings.search.servers import Server, serving


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower looks and commits at once."""
    monkeypatch.setattr(index_thread, "_COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(index_thread, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(index_thread, "_AGAIN_SECONDS", 0.05)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    made = Notebook(tmp_path)
    yield made
    made.author.store.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made
