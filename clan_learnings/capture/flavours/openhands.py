"""OpenHands: runs of its benchmarks and its issue resolver (an instance a line), exported trajectories, events of its SDK.

Each instance is a session of its own, named by
the instance and by how it began: other models solve the same one. Times have no zone and are taken as UTC.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from clan_learnings.capture.draft import Draft, dollars_of, opening_id
from clan_learnings.capture.events import Session
from clan_learnings.capture.openhands_events import Telling, is_event
from clan_learnings.capture.source import Source
from clan_learnings.capture.values import count_of, list_of, object_of, text_of

NAME = "openhands"
_MAX_EVENTS = 200_000
_INSTANCE = {"instance_id", "instance", "issue", "instruction", "test_result"}


def recognises(source: Source) -> bool:
    """Whether there are instances with a history of events, or events themselves."""
    if any(_is_instance(record.value) or is_event(record.value) for record in source.head):
        return True
    document = source.document()
    value = document.value if document else None
    return _is_instance(value) or any(map(is_event, list_of(value)[:5]))


def read(source: Source) -> Iterator[Session]:
    """One session for each instance; events alone are one."""
    document = source.document()
    if document is not None and isinstance(document.value, list):
        yield _events(source, ((part.line, object_of(part.value)) for part in document.elements()))
    elif document is not None and _is_instance(document.value):
        yield _instance(source, document.line, document.value)
    elif any(_is_instance(record.value) for record in source.head):
        for line, value in source.records():
            if _is_instance(value):
                yield _instance(source, line, value)
            else:
                source.skip("a record that is no instance")
    else:
        yield _events(source, source.records())


def _instance(source: Source, line: int, value: dict[str, Any]) -> Session:
    draft = Draft(NAME)
    issue, instance = object_of(value.get("issue")), object_of(value.get("instance"))
    metadata, metrics = object_of(value.get("metadata")), object_of(value.get("metrics"))
    repository = text_of(instance.get("repo")) or "/".join(
        filter(None, (text_of(issue.get("owner")), text_of(issue.get("repo"))))
    )
    if repository.count("/") == 1 and "://" not in repository:
        draft.remote = f"https://github.com/{repository}"
    draft.title = text_of(issue.get("title"))
    draft.model = text_of(object_of(metadata.get("llm_config")).get("model")) or text_of(
        object_of(metadata.get("llm")).get("model")
    )
    history = list_of(value.get("history"))[:_MAX_EVENTS]
    # The oldest files hold pairs of an action and what came of it.
    events = [event for entry in history for event in (entry if isinstance(entry, list) else [entry])]
    telling = Telling(draft)
    for event in events:
        if not telling.tell(line, object_of(event)):
            source.skip("an event of a sort that is not known")
    tokens = object_of(metrics.get("accumulated_token_usage"))
    cached = count_of(tokens.get("cache_read_tokens"))
    cost = dollars_of(metrics.get("accumulated_cost"))
    draft.spend(
        max(count_of(tokens.get("prompt_tokens")) - cached, 0), count_of(tokens.get("completion_tokens")), cached, cost
    )
    number = issue.get("number")
    name = text_of(value.get("instance_id")) or text_of(instance.get("instance_id"))
    name = name or (f"{repository}#{number}" if isinstance(number, int) else "")
    opening = opening_id(draft.model, *telling.begins)
    draft.id = f"{name}-{opening}" if name else opening
    return draft.session(source.skipped)


def _events(source: Source, records: Iterable[tuple[int, dict[str, Any]]]) -> Session:
    draft = Draft(NAME)
    telling = Telling(draft)
    for line, value in records:
        if not telling.tell(line, value):
            source.skip("an event of a sort that is not known")
    draft.id = draft.id or opening_id(*telling.begins)
    return draft.session(source.skipped)


def _is_instance(value: Any) -> bool:
    found = object_of(value)
    entries = list_of(found.get("history"))[:3]
    events = [entry[0] if isinstance(entry, list) and entry else entry for entry in entries]
    known = any(is_event(event) or {"action", "observation"} & object_of(event).keys() for event in events)
    return bool(_INSTANCE & found.keys()) and (known or ("history" in found and "instance_id" in found and not entries))
