"""Why the system refused something: its own words, whoever raised the error."""

import errno
import os
import socket
import ssl

import pytest

from peers.transport.link import reason_of


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 7947)"), os.strerror(errno.ECONNREFUSED)),
        (OSError(errno.EHOSTUNREACH, ""), os.strerror(errno.EHOSTUNREACH)),
        (
            ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"),
            "[SSL: WRONG_VERSION_NUMBER] wrong version number",
        ),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (socket.gaierror(8, "nodename nor servname provided"), "nodename nor servname provided"),
        (OSError("Multiple exceptions"), ""),
        (TimeoutError(), ""),
    ],
)
def test_the_reason_is_the_systems(error: OSError, said: str) -> None:
    """Not the address once more, and not another library's number."""
    assert reason_of(error) == said
