"""The local API as an OpenAPI document, made from the table that checks its requests. Pure; nothing is served here."""

from typing import Any, NamedTuple

from clan_learnings.records.record import SEVERITIES, SOURCES
from mesh.core.draft import KEPT_SECONDS


class Parameter(NamedTuple):
    """One thing that a request may say."""

    sort: str  # of JSON: string, integer, number, boolean, array (of strings)
    sentence: str
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None  # of a number
    most: int | None = None
    is_filter: bool = False  # an empty one is a mistake: it would quietly filter nothing


class Endpoint(NamedTuple):
    """One request: what it does and what it may say."""

    sentence: str
    fields: dict[str, Parameter]


def _filter(sort: str, sentence: str) -> Parameter:
    return Parameter(sort, sentence, is_filter=True)


BOUND = "bound"
_BINDING = {
    BOUND: _filter(
        "string", "answer as if records that name another repository than this were not there; write under it"
    )
}
_ABOUT = {
    "topic": Parameter("string", "a short word to find it by"),
    "tags": Parameter("array", "more of them"),
    "category": Parameter("string", "build-errors, test-failures, ...; found by rule if it is not given"),
    "severity": Parameter("string", "how bad it is", choices=SEVERITIES),
    "confidence": Parameter("number", "0 to 1"),
    "evidence": Parameter("string", "where it can be seen"),
    "minutes_lost": Parameter("integer", "what it cost"),
    "repo": Parameter("string", "host/owner/name; without it the record is global"),
    "is_global": Parameter("boolean", "it holds everywhere"),
    "agent": Parameter("string", "who says it: claude-code, codex, gemini, ..."),
    "session": Parameter("string", "flavour:id; without it all of one agent's day in one repository is one session"),
    "private": Parameter("boolean", "it never leaves this home"),
    "request_id": Parameter(
        "string", "made up by the caller: who repeats the request under it adds nothing to what it did"
    ),
    "request_seconds": Parameter("integer", "for how long (default: 30 days)", least=1, most=KEPT_SECONDS),
} | _BINDING
_SCOPE = {
    "repo": Parameter("string", "only records of this repository and global ones; empty: global ones"),
    "everywhere": Parameter("boolean", "of all repositories"),
} | _BINDING

ENDPOINTS: dict[str, Endpoint] = {
    "POST /discover": Endpoint(
        "Record a discovery, unless a record covers it.",
        {
            "text": Parameter("string", "what was found out", required=True),
            "anyway": Parameter("boolean", "also if it is known"),
        }
        | _ABOUT,
    ),
    "POST /correct": Endpoint(
        "Record a correction; the answer says what it was counted under and what that makes of it.",
        {
            "wrong": Parameter("string", "what went wrong", required=True),
            "right": Parameter("string", "the right way", required=True),
            "pattern": Parameter("string", "the pattern it belongs to; found by its words if it is not given"),
            "source": Parameter("string", "who corrected", choices=SOURCES),
        }
        | _ABOUT,
    ),
    "GET /search": Endpoint(
        "Records that fit a question, best first.",
        {
            "query": Parameter("string", "the words", required=True),
            "limit": Parameter("integer", "at most so many", least=1, most=100),
            "category": _filter("string", "only of this category"),
            "tags": _filter("array", "only with one of these tags"),
            "agent": _filter("string", "only of this agent"),
            "author": _filter("string", "only of this node: its name, name·id, or id"),
            "since": _filter("string", "only from then on: 2026-11-16, 2026-11-16T10:00, 10:02, or how long ago: 30d"),
            "until": _filter("string", "only until then"),
            "tier": _filter("string", "only of this tier: HOT, WARM, BANK or ARCHIVE"),
            "archived": Parameter("boolean", "also what is in the archive"),
            "min_relevance": Parameter("number", "only what fits so well", least=0, most=1),
        }
        | _SCOPE,
    ),
    "GET /recent": Endpoint(
        "The newest records, the newest first.",
        {
            "count": Parameter("integer", "how many, up to 1,000"),
            "topic": Parameter("string", "only of this topic or tag"),
        }
        | _SCOPE,
    ),
    "GET /hot": Endpoint("The HOT patterns.", dict(_SCOPE)),
    "GET /context": Endpoint(
        "What a session is given at its start.",
        {
            "repo": Parameter("string", "the repository it works on; without it: global records"),
            "task": Parameter("string", "what it is about to do"),
            "agent": Parameter("string", "whose limits hold"),
            "max_chars": Parameter("integer", "at most so many characters"),
            "max_tokens": Parameter("integer", "at most so many tokens"),
            "min_confidence": Parameter("number", "leave out what is believed less"),
        }
        | _BINDING,
    ),
    "GET /show": Endpoint(
        "One record with all its fields; counts as an opening of it.",
        {"id": Parameter("string", "its id, or the beginning", required=True)} | _BINDING,
    ),
    "GET /why": Endpoint(
        "Where a record comes from; counts as an opening of it.",
        {"id": Parameter("string", "its id, or the beginning", required=True)} | _BINDING,
    ),
    "GET /index": Endpoint("How the search indexes stand.", {}),
    "GET /peers": Endpoint("Every member, as this node sees it.", {}),
    "GET /node": Endpoint("This node.", {}),
    "GET /invites": Endpoint("The invitations that are outstanding.", {}),
    "POST /invite": Endpoint(
        "Make an invitation.",
        {
            "uses": Parameter("integer", "for so many nodes"),
            "seconds": Parameter("integer", "for so long"),
            "role": Parameter("string", "writer, or reader: what a reader writes counts nowhere"),
            "ephemeral": Parameter("boolean", "for throw-away nodes, as of a CI job"),
        },
    ),
    "POST /withdraw": Endpoint("Take an invitation back.", {"id": Parameter("string", "its id", required=True)}),
    "POST /leave": Endpoint("Say goodbye to the mesh, and stop.", {}),
}
# These answer with something else than JSON.
STREAMS = {
    "GET /metrics": ("Counters, as Prometheus reads them.", "text/plain"),
    "GET /events": (
        "New records as they come, as server-sent events; Last-Event-ID goes on from there.",
        "text/event-stream",
    ),
}


def document(version: str) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for route, call in ENDPOINTS.items():
        method, path = route.split(" ")
        paths.setdefault(path, {})[method.lower()] = _operation(method, call)
    for route, (sentence, kind) in STREAMS.items():
        method, path = route.split(" ")
        answer = {"description": "the stream", "content": {kind: {"schema": {"type": "string"}}}}
        paths.setdefault(path, {})[method.lower()] = {"summary": sentence, "responses": {"200": answer}}
    paths["/openapi.json"] = {
        "get": {"summary": "This description.", "responses": {"200": {"description": "OpenAPI 3.1"}}}
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "clan-mesh, the local API",
            "version": version,
            "description": "HTTP over the Unix socket sidecar.sock in the home, for its owner only.",
        },
        "servers": [{"url": "http://mesh", "description": "any host name: the socket is what counts"}],
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR}},
    }


_ERROR = {
    "type": "object",
    "required": ["error", "next"],
    "properties": {
        "error": {"type": "string", "description": "what happened"},
        "next": {"type": "string", "description": "the next command, if one helps"},
    },
}


def _operation(method: str, call: Endpoint) -> dict[str, Any]:
    made: dict[str, Any] = {
        "summary": call.sentence,
        "responses": {
            "200": {
                "description": "the answer",
                "content": {"application/json": {"schema": {"type": ["object", "array"]}}},
            },
            "400": {
                "description": "what is wrong, and the next step",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if method == "POST":
        needed = [name for name, field in call.fields.items() if field.required]
        schema: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: _schema(field) for name, field in call.fields.items()},
        }
        if needed:
            schema["required"] = needed
        made["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": schema}}}
    elif call.fields:
        made["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": field.required,
                "description": field.sentence,
                "schema": _schema(field),
            }
            for name, field in call.fields.items()
        ]
    return made


def _schema(field: Parameter) -> dict[str, Any]:
    made: dict[str, Any] = {"type": field.sort}
    if field.sort == "array":
        made["items"] = {"type": "string"}
    if field.is_filter:
        made["minItems" if field.sort == "array" else "minLength"] = 1
    if field.least is not None and field.most is not None:
        made |= {"minimum": field.least, "maximum": field.most}
    if field.choices:
        made["enum"] = list(field.choices)
    if field.sentence:
        made["description"] = field.sentence
    return made
