"""The node as a process, as far as its threads are concerned. What it does is tested where real ones run."""

import asyncio
import logging
from concurrent.futures import Future
from typing import Any

import pytest

from mesh.node.node import RunningNode


class Slow:
    """A store thread, and a table of cards, that answer when they are told to."""

    def __init__(self) -> None:
        self.future: Future[list[Any]] = Future()

    def all(self) -> list[Any]:
        return []

    def call(self, _function: object) -> "Future[list[Any]]":
        return self.future


def test_cards_that_are_read_when_the_node_has_stopped_are_nobodys(caplog: pytest.LogCaptureFixture) -> None:
    """A busy machine: who belongs has changed, the node is stopped, and its store thread answers after the loop was closed."""
    node = RunningNode.__new__(RunningNode)
    slow: Any = Slow()
    node._store_thread = node._card_table = slow
    node._loop = asyncio.new_event_loop()
    node.roster_changed()
    node._loop.close()
    with caplog.at_level(logging.DEBUG):
        slow.future.set_result([])
    assert caplog.records == []
