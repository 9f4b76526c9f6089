"""JSON-RPC as MCP uses it: a line as a message, and the errors of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

NOT_JSON, NO_REQUEST, NO_METHOD, WRONG_PARAMS, FAILED, NO_VERSION = -32700, -32600, -32601, -32602, -32603, -32022
# A pair, or half of one, or any other.
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


class ProtocolError(Exception):
    """A message that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error: dict[str, Any] = {"code": code, "message": message} | ({"data": data} if data else {})


def parsed(line: bytes) -> dict[str, Any]:
    """A message. Half of a pair of escapes, which is what is left of a cut emoji, becomes a replacement character."""
    try:
        text = line.decode()
        if "\\u" in text:
            text = _ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(NOT_JSON, "this is not JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(NO_REQUEST, "this is no message of JSON-RPC 2.0")
    return message


def number_of(message: Mapping[str, Any]) -> str | int | None:
    """What a message is called by who sent it."""
    number = message.get("id")
    if isinstance(number, bool) or not isinstance(number, str | int | None):
        raise ProtocolError(NO_REQUEST, "an id is a text or a whole number")
    return number


def text_of(params: Mapping[str, Any], name: str) -> str:
    """A parameter that has to be a text."""
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(WRONG_PARAMS, f"{name} must be a text")
    return value


def line_of(number: str | int | None, **said: dict[str, Any]) -> bytes:
    """An answer as it is sent."""
    return json.dumps({"jsonrpc": "2.0", "id": number} | said, separators=(",", ":")).encode() + b"\n"
