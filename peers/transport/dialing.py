"""Trying the addresses of a node, each with a head start over the next (RFC 8305). Knows no kind of transport."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from peers.transport.links import DialFailed, Link

ADDRESSES = 16  # of one node; more are not tried: the list comes from elsewhere

AnyLink = TypeVar("AnyLink", bound=Link)


class NoWay(Exception):
    """One address did not lead to the node; the text says why."""


async def first_link(
    node: bytes,
    addresses: Sequence[str],
    attempt: Callable[[str], Awaitable[AnyLink]],
    next_address_seconds: float,
) -> AnyLink:
    """The first link an attempt gives; the attempts that came too late are undone. Raises DialFailed."""
    failures: dict[str, str] = {}
    untried = list(dict.fromkeys(addresses))[:ADDRESSES]
    running: dict[asyncio.Task[AnyLink], str] = {}
    chosen: AnyLink | None = None
    try:
        while chosen is None and (untried or running):
            if untried:
                address = untried.pop(0)
                running[asyncio.ensure_future(_run(attempt, address))] = address
            done, _ = await asyncio.wait(
                running, timeout=next_address_seconds if untried else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in sorted(done, key=list(running).index):  # of two at once the earlier address counts
                if isinstance(task.exception(), NoWay):
                    failures[running.pop(task)] = str(task.exception())
                elif chosen is None:
                    chosen = task.result()
                    del running[task]
    finally:
        try:
            await _undo(running)
        except asyncio.CancelledError:
            if chosen is not None:
                await chosen.close("no longer wanted")
            raise
    if chosen is None:
        raise DialFailed(node, failures)
    return chosen


async def _run(attempt: Callable[[str], Awaitable[AnyLink]], address: str) -> AnyLink:
    return await attempt(address)


async def _undo(running: dict[asyncio.Task[AnyLink], str]) -> None:
    for task in running:
        task.cancel()
    for outcome in await asyncio.gather(*running, return_exceptions=True):
        if not isinstance(outcome, BaseException):
            await outcome.close("another address was faster")
