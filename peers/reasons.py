"""Why the system refused something, in its own words."""

import os
import socket
import ssl


def reason_of(error: OSError) -> str:
    """Asyncio tells the address in place of the reason, and keeps only its number. Empty if nothing was said."""
    if isinstance(error, ssl.SSLError | socket.gaierror):  # their numbers are not the system's
        return error.strerror or ""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or ""
