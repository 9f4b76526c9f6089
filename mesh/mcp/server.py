"""The MCP server: JSON-RPC messages in, one answer each. It keeps nothing between messages, so any process can answer any of them.

Both ways to begin are understood: the handshake (`initialize`) of today's agents, and requests that each name their version, as the
protocol has it since 2026. https://modelcontextprotocol.io/specification
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mesh.mcp.descriptions import (
    CONTEXT,
    HOT,
    INSTRUCTIONS,
    MARKDOWN,
    ONLY_READING,
    PROMPT,
    RESOURCES,
    TOOLS,
    correct_prompt,
)
from mesh.mcp.protocol import (
    FAILED,
    NO_METHOD,
    NO_VERSION,
    WRONG_PARAMS,
    ProtocolError,
    line_of,
    number_of,
    parsed,
    text_of,
)

if TYPE_CHECKING:
    from mesh.mcp.tools import Tools

NAME = "clan-mesh"
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # versions that begin with `initialize`
STATELESS = ("2026-07-28",)  # versions in which each request says which one it is of
_VERSION = "io.modelcontextprotocol/protocolVersion"  # where it says so
_SERVER = "io.modelcontextprotocol/serverInfo"
_KEPT = frozenset(  # answers that such a client may keep for a while: ours not
    {"prompts/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "tools/list"}
)
_LOG = logging.getLogger(__name__)


class Server:
    """What one caller may see and do."""

    def __init__(
        self,
        tools: Callable[[], Tools],
        *,
        version: str,
        categories: Callable[[], Sequence[str]],
        read_only: bool = False,
        is_bound: bool = False,
        is_whole: bool = False,
    ) -> None:
        """`tools`, `categories`: asked for when they are needed. `read_only`: no tool that writes, and no prompt that asks for one.

        `is_bound`: there is one repository, and none to choose. `is_whole`: announce all that each tool takes and answers.
        """
        self._tools = tools
        self._categories = categories
        self._is_bound = is_bound
        self._is_whole = is_whole
        self._offered = {tool.name: tool for tool in TOOLS if not (read_only and tool.writes)}
        self._prompts = [] if read_only else [PROMPT]
        self._about = {"name": NAME, "title": NAME, "version": version}
        self._instructions = ONLY_READING if read_only else INSTRUCTIONS
        self._methods: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "prompts/get": self._prompt,
            "prompts/list": lambda _: {"prompts": self._prompts},
            "resources/list": lambda _: {"resources": RESOURCES},
            "resources/read": self._resource,
            "resources/templates/list": lambda _: {"resourceTemplates": []},
            "server/discover": lambda _: {"supportedVersions": STATELESS} | self._abilities(),
            "tools/call": self._call,
            "tools/list": self._list,
        }

    def answer(self, line: bytes) -> bytes:
        """The answer to a message, as a line; empty if it needs none."""
        number = None
        try:
            message = parsed(line)
            number = number_of(message)
            if "method" not in message or "id" not in message:
                return b""  # a notification, or an answer to a question that we never ask
            return line_of(number, result=self._result(message))
        except ProtocolError as error:
            return line_of(number, error=error.error)
        except Exception:  # noqa: BLE001 (whatever it is, somebody waits)
            _LOG.exception("a message could not be answered")
            return line_of(number, error={"code": FAILED, "message": "failed unexpectedly; the reason is in the log"})

    def _result(self, message: Mapping[str, Any]) -> dict[str, Any]:
        name, given = message["method"], message.get("params", {})
        method = self._methods.get(name) if isinstance(name, str) else None
        if method is None:
            raise ProtocolError(NO_METHOD, "Method not found")
        if not isinstance(given, dict):
            raise ProtocolError(WRONG_PARAMS, "params must be an object")
        about = given.get("_meta")
        version = about.get(_VERSION) if isinstance(about, dict) else None
        if version is None:
            return method(given)
        if version not in STATELESS:
            raise ProtocolError(NO_VERSION, "Unsupported protocol version", supported=STATELESS, requested=version)
        kept = {"ttlMs": 0, "cacheScope": "private"} if name in _KEPT else {}
        return method(given) | kept | {"resultType": "complete", "_meta": {_SERVER: self._about}}

    def _initialize(self, given: Mapping[str, Any]) -> dict[str, Any]:
        version = text_of(given, "protocolVersion")
        spoken = version if version in HANDSHAKES else HANDSHAKES[-1]
        return {"protocolVersion": spoken, "serverInfo": self._about} | self._abilities()

    def _abilities(self) -> dict[str, Any]:
        return {"capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "instructions": self._instructions}

    def _list(self, _given: Mapping[str, Any]) -> dict[str, Any]:
        categories = self._categories() if self._is_whole else ()
        return {
            "tools": [
                tool.announced(categories, is_bound=self._is_bound, is_whole=self._is_whole)
                for tool in self._offered.values()
            ]
        }

    def _call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = text_of(given, "name"), given.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise ProtocolError(WRONG_PARAMS, "arguments must be an object")
        return self._tools().call(name, arguments, self._offered)

    def _resource(self, given: Mapping[str, Any]) -> dict[str, Any]:
        uri = text_of(given, "uri")
        if uri not in (CONTEXT, HOT):
            raise ProtocolError(WRONG_PARAMS, "there is no such resource", uri=uri)
        tools = self._tools()
        text = tools.context() if uri == CONTEXT else tools.hot()
        return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}

    def _prompt(self, given: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = text_of(given, "name"), given.get("arguments") or {}
        if name not in (prompt["name"] for prompt in self._prompts):
            raise ProtocolError(WRONG_PARAMS, "there is no such prompt", name=name)
        what = arguments.get("what", "") if isinstance(arguments, dict) else None
        if not isinstance(what, str):
            raise ProtocolError(WRONG_PARAMS, "what must be a text")
        content = {"type": "text", "text": correct_prompt(what)}
        return {"description": PROMPT["description"], "messages": [{"role": "user", "content": content}]}
