"""Model servers on loopback, in the four dialects that the clients speak. They play scripted turns and keep every request.

A turn is named in the prompt, `(task NAME)`. Which step of it comes next is counted from the calls in the request, so nothing is
remembered between requests: a client may repeat one, or ask from two sessions at once.
"""

import gzip
import html
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import zstandard

_TASK = re.compile(r"\(task ([a-z0-9-]+)\)")
_SUMMARY = "The user asked for things, and they were done."
_TOKENS = 1000  # that a request is said to have had
_PATIENCE_SECONDS = 60.0

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool as one client names it. `namespace`: Codex keeps the tools of a server in one."""

    tool: str
    arguments: Json
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What the model does next: it says something, or calls a tool. `tokens`: how full it says that its window is."""

    text: str = ""
    call: Call | None = None
    tokens: int = _TOKENS


_LAST = Step("All done.")


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was sent. `task`: named last in it; `has_tools`: it is a turn, not a title or a summary."""

    path: str
    body: Json
    task: str = ""
    calls: int = 0
    has_tools: bool = False
    text: str = field(default="", repr=False)

    @property
    def tools(self) -> str:
        """All that is said of tools in the place for them, and not in the conversation."""
        return "\n".join(_strings(self.body.get("tools"))) + "\n".join(_strings(self.body.get("system")))


class ModelServer:
    """All four dialects on one port."""

    def __init__(self) -> None:
        self._tasks: dict[str, Sequence[Step]] = {}
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        owner = self

        class Handler(_Handler):
            model = owner

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """No more requests."""
        self._server.shutdown()
        self._thread.join(_PATIENCE_SECONDS)
        self._server.server_close()

    def script(self, task: str, *steps: Step) -> None:
        """What the model does when a prompt names this task; after the last step it says that it is done."""
        self._tasks[task] = steps

    def turns(self, task: str) -> list[Request]:
        """What was sent for a task, in order, without what clients ask beside: titles, summaries, counts."""
        with self._lock:
            return [request for request in self._requests if request.task == task and request.has_tools]

    def all_requests(self) -> list[Request]:
        """Everything, in order."""
        with self._lock:
            return list(self._requests)

    def take(self, request: Request) -> Step:
        """Keep a request, and say what comes next."""
        with self._lock:
            self._requests.append(request)
        if not request.has_tools:
            return Step(_SUMMARY)
        steps = self._tasks.get(request.task, ())
        step = steps[request.calls] if request.calls < len(steps) else _LAST
        if step.tokens > _TOKENS:  # what comes after it is another conversation, in which it would be next again
            self._tasks[request.task] = [*steps[: request.calls], _LAST]
        return step


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        with suppress(BrokenPipeError, ConnectionResetError):
            if path.endswith("/messages"):
                self._anthropic(body)
            elif path.endswith("/responses"):
                self._responses(body)
            elif path.endswith("/responses/compact"):
                self._json({"output": [_responses_text("compacted", _SUMMARY, role="user", kind="input_text")]})
            elif path.endswith("/chat/completions"):
                self._chat(body)
            elif path.lower().endswith("generatecontent"):
                self._gemini(body, path)
            elif path.lower().endswith(("count_tokens", "counttokens")):
                self._json({"input_tokens": _TOKENS, "totalTokens": _TOKENS})
            else:
                self._json({})

    # The messages of Anthropic

    def _anthropic(self, body: Json) -> None:
        count = _Counted()
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                count.called(_kinds(message["content"]).count("tool_use"))
            else:
                count.read("\n".join(_texts(message["content"])))
        names = {tool.get("name") for tool in body.get("tools") or []}
        step = self.model.take(self._request(body, count, has_tools="Bash" in names))
        blocks: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
        if step.call:
            blocks.append(
                {
                    "type": "tool_use",
                    "id": f"toolu_{count.task}{count.calls}",
                    "name": step.call.tool,
                    "input": step.call.arguments,
                }
            )
        stop = "tool_use" if step.call else "end_turn"
        usage = {"input_tokens": step.tokens, "output_tokens": 1}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {"id": f"msg_{id(body)}", "type": "message", "role": "assistant", "model": body.get("model")}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            self._json(message | {"content": blocks, "stop_reason": stop})
            return
        self._begin()
        self._send("message_start", message=message)
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._send("content_block_start", index=index, content_block=empty)
            self._send("content_block_delta", index=index, delta=delta)
            self._send("content_block_stop", index=index)
        self._send("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 20})
        self._send("message_stop")

    # The responses of OpenAI

    def _responses(self, body: Json) -> None:
        count = _Counted()
        for item in body.get("input", []):
            if item.get("type") == "function_call":
                count.called(1)
            elif item.get("type") == "message" and item.get("role") == "user":
                count.read("\n".join(_texts(item.get("content"))))
        step = self.model.take(self._request(body, count, has_tools=bool(body.get("tools"))))
        self._begin()
        name = f"{count.task}{count.calls}-{id(body)}"
        self._send("response.created", response={"id": f"resp_{name}"})
        if step.call:
            item = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}", "name": step.call.tool}
            item["arguments"] = json.dumps(step.call.arguments)
            if step.call.namespace:
                item["namespace"] = step.call.namespace
        else:
            item = _responses_text(f"msg_{name}", step.text)
        self._send("response.output_item.added", output_index=0, item=item)
        self._send("response.output_item.done", output_index=0, item=item)
        usage = {"input_tokens": step.tokens, "input_tokens_details": None, "output_tokens": 10}
        usage |= {"output_tokens_details": None, "total_tokens": step.tokens + 10}
        self._send("response.completed", response={"id": f"resp_{name}", "usage": usage})

    # The chat completions of OpenAI, which many servers speak

    def _chat(self, body: Json) -> None:
        count = _Counted()
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                count.called(len(message.get("tool_calls") or ()))
            elif message["role"] == "user":
                count.read("\n".join(_texts(message.get("content"))))
        step = self.model.take(self._request(body, count, has_tools=bool(body.get("tools"))))
        usage = {"prompt_tokens": step.tokens, "completion_tokens": 5, "total_tokens": step.tokens + 5}
        made = {"id": f"chat_{id(body)}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
        said: Json = {"role": "assistant", "content": step.text or None}
        if step.call:
            called = {"name": step.call.tool, "arguments": json.dumps(step.call.arguments)}
            said["tool_calls"] = [
                {"index": 0, "id": f"call_{count.task}{count.calls}", "type": "function", "function": called}
            ]
        finish = "tool_calls" if step.call else "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": finish}
            self._json(made | {"object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self._begin()
        self._send("", **made, choices=[{"index": 0, "delta": said, "finish_reason": None}])
        self._send("", **made, choices=[{"index": 0, "delta": {}, "finish_reason": finish}], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    # What Google calls generating content

    def _gemini(self, body: Json, path: str) -> None:
        count = _Counted()
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            if content.get("role") == "user":
                count.read("\n".join(part.get("text", "") for part in parts))
            else:
                count.called(sum("functionCall" in part for part in parts))
        step = self.model.take(
            self._request(body, count, has_tools="run_shell_command" in json.dumps(body.get("tools")))
        )
        part: Json = {"text": step.text}
        if "responseMimeType" in (body.get("generationConfig") or {}):  # which model, and who speaks next
            part = {"text": json.dumps({"reasoning": "-", "next_speaker": "user", "model_choice": "flash"})}
        if step.call:
            part = {"functionCall": {"name": step.call.tool, "args": step.call.arguments, "id": f"call{count.calls}"}}
        usage = {"promptTokenCount": step.tokens, "candidatesTokenCount": 10, "totalTokenCount": step.tokens + 10}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        if "stream" in path:
            self._begin()
            self._send("", **answer)
        else:
            self._json(answer)

    # Bytes

    def _request(self, body: Json, count: "_Counted", *, has_tools: bool) -> Request:
        text = html.unescape("\n".join(_strings(body)))
        return Request(self.path, body, count.task, count.calls, has_tools=has_tools, text=text)

    def _body(self) -> Json:
        if self.headers.get("transfer-encoding", "") == "chunked":
            raw = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        match self.headers.get("content-encoding"):
            case "zstd":
                raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            case "gzip":
                raw = gzip.decompress(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:  # not a question to a model: reports of the client about itself
            return {}
        return body if isinstance(body, dict) else {}

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def _send(self, event: str, **data: object) -> None:
        named = {"type": event} if event else {}
        line = f"event: {event}\n" if event else ""
        self.wfile.write(f"{line}data: {json.dumps(named | data)}\n\n".encode())
        self.wfile.flush()


class _Counted:
    """How far a task has come in a conversation: the last one named, and the calls since."""

    def __init__(self) -> None:
        self.task = ""
        self.calls = 0

    def read(self, text: str) -> None:
        if named := _TASK.findall(text):
            self.task, self.calls = named[-1], 0

    def called(self, times: int) -> None:
        self.calls += times


def _responses_text(name: str, text: str, role: str = "assistant", kind: str = "output_text") -> Json:
    return {"type": "message", "id": name, "role": role, "content": [{"type": kind, "text": text}]}


def _texts(content: object) -> Iterator[str]:
    """The texts of a message, without results of tools."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part.get("text", "") for part in content if isinstance(part, Mapping) and "text" in part)


def _kinds(content: object) -> list[str]:
    return [part.get("type", "") for part in content] if isinstance(content, list) else []


def _strings(value: object) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
