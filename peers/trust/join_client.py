"""Joining a mesh with a token, as a newcomer: dial, check, request. What is said and checked is `join_protocol`."""

import asyncio
import os
import ssl
from collections.abc import Callable
from contextlib import suppress

from mesh.core.errors import Forged, MeshError, RemoteError, UsageError
from mesh.core.identity import Identity
from peers.transport.link import reason_of
from peers.trust.join_listener import receive, send
from peers.trust.join_protocol import (
    AGAIN,
    ANSWER_BYTES,
    GREETING_BYTES,
    NONCE_BYTES,
    Joined,
    JoinRefusal,
    Newcomer,
    OtherVersion,
)
from peers.trust.join_token import JoinToken, split_address
from peers.trust.tls import join_client_context, peer_leaf

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0  # a large mesh sends megabytes


class JoinRefused(UsageError):
    """The mesh has answered, and does not let this node in."""


async def join(token: JoinToken, identity: Identity, name: str, asking: Callable[[], None] = lambda: None) -> Joined:
    """Become a member: each address of the token is tried until one answers as the token's mesh.

    `asking`: called before the request is sent. From then on the mesh may count this key as a member's, whatever is heard of it.
    """
    problems: list[MeshError] = []
    for address in token.addresses:
        try:
            answer = await _ask(address, Newcomer(token, identity, name, os.urandom(NONCE_BYTES)), asking)
        except MeshError as error:
            problems.append(error)
            continue
        if isinstance(answer, JoinRefusal):  # the mesh itself has spoken
            raise JoinRefused(f"the mesh does not let this node in: {answer.reason}", AGAIN)
        return answer
    raise _most_telling(problems)


async def _ask(address: str, newcomer: Newcomer, asking: Callable[[], None]) -> Joined | JoinRefusal:
    host, port = split_address(address)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                host,
                port,
                ssl=join_client_context(),
                server_hostname="",
                ssl_handshake_timeout=CONNECT_SECONDS,
                ssl_shutdown_timeout=1.0,
            )
    except ssl.SSLEOFError as error:  # closed unheard, as the join port does with who has failed too often
        raise _unreachable(address, EOFError()) from error
    except ssl.SSLError as error:
        raise _stranger(address, "it does not speak our protocol") from error
    except (OSError, EOFError) as error:
        raise _unreachable(address, error) from error
    try:
        return await _talk(address, newcomer, reader, writer, asking)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _talk(
    address: str,
    newcomer: Newcomer,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    asking: Callable[[], None],
) -> Joined | JoinRefusal:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            greeting = await receive(reader, GREETING_BYTES)
        request = newcomer.greeted(greeting, peer_leaf(writer.get_extra_info("ssl_object")))
    except OtherVersion as error:
        raise Forged(f"the node at {address} cannot let this one in: {error}", error.next_step) from error
    except RemoteError as error:
        raise _stranger(address, str(error), error.next_step) from error
    except (OSError, EOFError) as error:
        raise _unreachable(address, error) from error
    asking()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await send(writer, request)
            answer = await receive(reader, ANSWER_BYTES)
    except (OSError, EOFError) as error:
        raise UsageError(
            f"the node at {address} does not take this invitation: it was withdrawn, or given out by another node; or its answer was lost",
            f"repeat it within a minute: a lost answer is given again; or {AGAIN}",
        ) from error
    try:
        return newcomer.answered(answer)
    except RemoteError as error:
        raise _stranger(address, str(error), error.next_step) from error


def _stranger(address: str, why: str, next_step: str = "") -> Forged:
    return Forged(f"who answers at {address} is not who gave out this invitation: {why}", next_step or AGAIN)


def _unreachable(address: str, error: BaseException) -> MeshError:
    said = reason_of(error) if isinstance(error, OSError) else ""
    reason = said or ("no answer" if isinstance(error, TimeoutError) else "it hung up")
    return MeshError(
        f"nobody at {address} can be reached: {reason}",
        f"see that the node that invited you is up and reachable from here, and repeat; or {AGAIN}",
    )


def _most_telling(problems: list[MeshError]) -> MeshError:
    """That our invitation is not taken says more than a stranger, a stranger more than silence."""
    for kind in (UsageError, Forged):
        for problem in problems:
            if isinstance(problem, kind):
                return problem
    return problems[0]
