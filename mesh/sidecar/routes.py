"""What the local API answers to which request. Checks what was asked; the node and its front door do the rest."""

import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from clan_learnings.search.indexes import Recall
from mesh import __version__
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.core.statement import INVITED
from mesh.sidecar.door import FrontDoor
from mesh.sidecar.openapi import document
from mesh.sidecar.requests import record_routes
from mesh.store.home import Home
from peers.proto.engine import Engine

_MOST_USES = 10_000
_MOST_SECONDS = 30 * 86_400


class AskedNode(Protocol):
    """The node, as far as the API asks it."""

    home: Home
    recall: Recall
    addresses: tuple[str, ...]

    @property
    def engine(self) -> Engine:
        """Gossip's engine."""
        ...

    def peers(self) -> dict[str, Any]:
        """Every member."""
        ...

    async def leave(self) -> bool:
        """Say goodbye for good."""
        ...


def routes(node: AskedNode, door: FrontDoor) -> dict[str, Callable[[dict[str, Any]], Awaitable[Any]]]:
    """Method and path to the function that answers."""

    async def peers(_given: dict[str, Any]) -> Any:
        return node.peers()

    async def about(_given: dict[str, Any]) -> Any:
        root = node.engine.root.hex()
        return {"pid": os.getpid(), "root": root, "addresses": list(node.addresses), "version": __version__}

    async def invite(given: dict[str, Any]) -> Any:
        uses, seconds = given.get("uses", 1), given.get("seconds", 3600)
        if type(uses) is not int or not 0 < uses <= _MOST_USES:
            raise UsageError(f"an invitation is good for 1 to {_MOST_USES} nodes", "mesh invite --uses 5")
        if type(seconds) is not int or not 0 < seconds <= _MOST_SECONDS:
            raise UsageError("an invitation lasts a second to thirty days", "mesh invite --expires 2h")
        named = given.get("role", "writer"), given.get("ephemeral", False)
        if type(named[0]) is not str or type(named[1]) is not bool or named not in INVITED:
            raise UsageError("an invitation is for a writer or a reader", "mesh invite --role reader --ephemeral")
        role = INVITED[named]
        token = await door.invite(uses, seconds, role)
        return {
            "token": token.encode(),
            "id": token.invite_id.hex(),
            "expires_ms": token.expires_ms,
            "uses": uses,
            "role": role,
            "addresses": list(token.addresses),
        }

    async def invites(_given: dict[str, Any]) -> Any:
        return [
            {
                "id": item.id.hex(),
                "expires_ms": item.expires_ms,
                "uses": item.uses,
                "uses_left": left,
                "role": item.role,
            }
            for item, left in await door.outstanding()
        ]

    async def withdraw(given: dict[str, Any]) -> Any:
        try:
            invitation = bytes.fromhex(str(given.get("id", "")))
        except ValueError:
            invitation = b""
        if not await door.withdraw(invitation):
            raise UsageError("there is no such invitation", "see those that are outstanding: mesh invite --list")
        return {"withdrawn": True}

    async def leave(_given: dict[str, Any]) -> Any:
        return {"node": text_id(node.home.node), "told": await node.leave()}

    async def described(_given: dict[str, Any]) -> Any:
        return document(__version__)

    return record_routes(node.home.path, node.recall) | {
        "GET /openapi.json": described,
        "GET /peers": peers,
        "GET /node": about,
        "POST /invite": invite,
        "GET /invites": invites,
        "POST /withdraw": withdraw,
        "POST /leave": leave,
    }
