"""What the local API answers about records. Checks what was asked against the table of `openapi`, then asks the desk, off the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from clan_learnings.search.indexes import Recall
from mesh.core.errors import UsageError
from mesh.sidecar.desk import Desk
from mesh.sidecar.openapi import BOUND, CALLS, Call, Field
from mesh.sidecar.place import named_repo

Answer = Callable[[dict[str, Any]], Awaitable[Any]]
_TEXT_CHARS = 16_000


def record_routes(home: str, recall: Recall | None = None) -> dict[str, Answer]:
    """Method and path to the function that answers. Who asks, and where it is, must be said: our own surroundings mean nothing."""
    desk = Desk(home, {}, "/", recall=recall)
    asked: dict[str, Callable[[Desk, dict[str, Any]], dict[str, Any]]] = {
        "POST /discover": lambda desk, given: desk.discover(given.pop("text"), **given),
        "POST /correct": lambda desk, given: desk.correct(given.pop("wrong"), given.pop("right"), **given),
        "GET /search": lambda desk, given: desk.search(given.pop("query"), **_scoped(given)),
        "GET /recent": lambda desk, given: desk.recent(**_scoped(given)),
        "GET /hot": lambda desk, given: desk.hot(**_scoped(given)),
        "GET /context": lambda desk, given: desk.context(**({"repo": ""} | given)),
        "GET /index": lambda desk, _given: desk.index(),
        "GET /show": lambda desk, given: desk.show(given["id"]),
        "GET /why": lambda desk, given: desk.why(given["id"]),
    }
    return {route: _answer(desk, CALLS[route], function) for route, function in asked.items()}


def _answer(desk: Desk, call: Call, function: Callable[[Desk, dict[str, Any]], dict[str, Any]]) -> Answer:
    def asked(given: dict[str, Any]) -> dict[str, Any]:
        bound = given.pop(BOUND, None)
        return function(desk if bound is None else desk.bound_to(named_repo(bound)), given)

    async def answer(given: dict[str, Any]) -> Any:
        return await asyncio.to_thread(asked, checked(call, given))

    return answer


def _scoped(given: dict[str, Any]) -> dict[str, Any]:
    return {"repo": ""} | given if not given.get("everywhere") else given


def checked(call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, each thing of its sort. Queries have only texts, so numbers and truths are read from them."""
    unknown = sorted(set(given) - set(call.fields))
    if unknown:
        raise UsageError(f"there is no field {unknown[0]!r} here", f"one of: {', '.join(call.fields) or 'none'}")
    for name, field in call.fields.items():
        if field.required and not given.get(name):
            raise UsageError(f"{name} is missing: {field.sentence}", "see GET /openapi.json")
    return {name: _value(name, call.fields[name], value) for name, value in given.items()}


def _value(name: str, field: Field, value: Any) -> Any:
    if isinstance(value, list) and field.sort != "array":
        raise UsageError(f"{name} takes one value, not {len(value)}", "see GET /openapi.json")
    if isinstance(value, str) and field.sort != "string":
        value = _read(field.sort, value)
    good = {
        "string": isinstance(value, str) and len(value) <= _TEXT_CHARS,
        "integer": type(value) is int and abs(value) <= 10**9,
        "number": type(value) in (int, float),
        "boolean": type(value) is bool,
        "array": type(value) is list and len(value) <= 100 and all(isinstance(one, str) for one in value),
    }[field.sort]
    if not good:
        raise UsageError(f"{name} is no {field.sort}, or too long", "see GET /openapi.json")
    if field.is_filter and not any(part.strip() for part in value):
        raise UsageError(f"{name} is empty, so it would filter nothing", f"leave it out, or say {name}")
    if field.least is not None and field.most is not None and not field.least <= value <= field.most:
        raise UsageError(f"{name} is {value}", f"from {field.least} to {field.most}")
    return value


def _read(sort: str, text: str) -> Any:
    try:
        if sort == "integer":
            return int(text[:20])
        if sort == "number":
            return float(text[:40])
    except ValueError:
        return None
    if sort == "boolean":
        return {"true": True, "1": True, "false": False, "0": False, "": True}.get(text.lower())
    return [word.strip() for word in text.split(",") if word.strip()]
