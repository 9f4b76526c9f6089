"""Our entries in an agent's settings: hooks, servers and rules, added to a text and removed from it. Opens no file.

Every edit is checked: the new text must say what the old one said, plus or minus our entries. An edit that would change anything else
is refused. All edits may be repeated.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from clan_learnings.agents import jsonc

SERVER = "clan-mesh"
_PROGRAM = "mesh"
_NONE: Mapping[str, str] = MappingProxyType({})


class CannotEdit(Exception):
    """The text must be left as it is; the message says why."""


def put_hooks(text: str, wanted: dict[str, dict[str, Any]], matchers: Mapping[str, str] = _NONE) -> str:
    """Put one handler for each event. An existing one in another form is updated in place.

    A matcher is set where a handler is new. Afterwards it is the person's: who widens or narrows it means it. So it is with the
    repository that our hooks are bound to: whoever bound one means all, and an installation sets none free.
    """
    wanted = _bound(wanted, _hook_binding(text))
    for event in [*_hook_events(text), *wanted]:
        handler = wanted.get(event)
        for group, place in reversed(_our_hooks(text, event)):
            node = _at(text, ("hooks", event, group, "hooks", place))
            is_surplus = handler is None or len(_our_hooks(text, event)) > 1
            if is_surplus:
                text = _take_hook(text, event, group, place)
            elif node.value != handler:
                text = _checked(
                    text, ("hooks", event, group, "hooks", place), handler, jsonc.replace(text, node, handler)
                )
        if handler is not None and not _our_hooks(text, event):
            matcher = {"matcher": matchers[event]} if event in matchers else {}
            text = append(text, ("hooks", event), {**matcher, "hooks": [handler]})
    return text


def take_hooks(text: str) -> str:
    """Without our handlers, and without what held nothing else."""
    for event in _hook_events(text):
        for group, place in reversed(_our_hooks(text, event)):
            text = _take_hook(text, event, group, place)
    return text


def hook_home(text: str) -> str | None:
    """The home that our hooks name, empty for the default one; None if we have no hook there."""
    command = next(filter(is_our_command, _texts(value_at(text, ("hooks",)))), None)
    return None if command is None else home_in(shlex.split(command))


def home_in(words: Sequence[str]) -> str:
    """The home that a command line names; empty if it names none."""
    return words[words.index("--home") + 1] if "--home" in words[:-1] else ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def put_server(text: str, values: dict[str, Any], path: Sequence[str] = ("mcpServers",)) -> str:
    """Our MCP server. Of one that is there only what we have to say is changed: a person may have added to it."""
    server = (*path, SERVER)
    present = value_at(text, server)
    if present is None:
        return put(text, server, values)
    if not is_our_server(present):
        raise CannotEdit(f"it has another server named {SERVER}")
    for key, value in with_binding(values, present).items():
        text = put_value(text, (*server, key), value)
    return text


def take_server(text: str, path: Sequence[str] = ("mcpServers",)) -> str:
    """Without our MCP server."""
    server = (*path, SERVER)
    return take(text, server) if is_our_server(value_at(text, server)) else text


def put_items(text: str, path: Sequence[str], items: Sequence[str]) -> str:
    """Texts that a list must hold."""
    for item in items:
        present = value_at(text, path)
        if not isinstance(present, list) or item not in present:
            text = append(text, path, item)
    return text


def take_items(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> str:
    """A list without those of its items that are ours."""
    present = value_at(text, path)
    for index in reversed(range(len(present) if isinstance(present, list) else 0)):
        if is_ours(present[index]):
            text = take(text, (*path, index))
    return text


def with_binding(values: dict[str, Any], present: dict[str, Any]) -> dict[str, Any]:
    """What we say of our server, with the options by which a person has bound the one that is there."""
    return values | {"args": [*values["args"], *_binding(present["args"])]}


def _bound(wanted: dict[str, dict[str, Any]], binding: list[str]) -> dict[str, dict[str, Any]]:
    if not binding:
        return wanted
    end = f" {shlex.join(binding)}"
    return {event: handler | {"command": handler["command"] + end} for event, handler in wanted.items()}


def _hook_binding(text: str) -> list[str]:
    for event in _hook_events(text):
        for group, place in _our_hooks(text, event):
            found = _binding(shlex.split(value_at(text, ("hooks", event, group, "hooks", place, "command"))))
            if found:
                return found
    return []


def _binding(words: Sequence[Any]) -> list[str]:
    """The words of our command line that only a person adds: `--repo R` and `--read-only`."""
    found: list[str] = []
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == "--read-only":
            found.append(word)
        elif word == "--repo" and isinstance(following, str):
            found += [word, following]
        elif isinstance(word, str) and word.startswith("--repo="):
            found += ["--repo", word.removeprefix("--repo=")]
    return found


def is_our_command(command: object) -> bool:
    """Whether a command line runs our hook, wherever it is installed."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    return len(words) > 2 and os.path.basename(words[0]) == _PROGRAM and words[1] == "hook"


def is_our_server(server: object) -> bool:
    """Whether an MCP server is the one that we would register."""
    if not isinstance(server, dict):
        return False
    arguments = server.get("args")
    return (
        isinstance(server.get("command"), str)
        and os.path.basename(server["command"]) == _PROGRAM
        and isinstance(arguments, list)
        and arguments[:1] == ["mcp"]
    )


def put(text: str, path: Sequence[str | int], value: Any) -> str:
    """A text with a member more; objects around it are made where they are missing."""
    text = text if text.removeprefix("\ufeff").strip() else text + "{}\n"
    for depth in range(len(path)):
        parent = _at(text, path[:depth])
        if parent.kind != "object":
            raise CannotEdit(f"{_name(path[:depth])} is not an object")
        key = str(path[depth])
        if parent.get(key) is None:
            for outer in reversed(path[depth + 1 :]):
                value = {str(outer): value}
            return _checked(text, path[: depth + 1], value, jsonc.add(text, parent, key, value))
    raise CannotEdit(f"{_name(path)} is there already")


def put_value(text: str, path: Sequence[str | int], value: Any) -> str:
    """A text that says this at a place, whatever stood there."""
    node = _find(text, path)
    if node is None:
        return put(text, path, value)
    return text if node.value == value else _checked(text, path, value, jsonc.replace(text, node, value))


def append(text: str, path: Sequence[str | int], item: Any) -> str:
    """A text with an item more at the end of a list; the list is made where it is missing."""
    node = _find(text, path)
    if node is None:
        return put(text, path, [item])
    if node.kind != "array":
        raise CannotEdit(f"{_name(path)} is not a list")
    return _checked(text, (*path, len(node.entries)), item, jsonc.add(text, node, "", item))


def take(text: str, path: Sequence[str | int]) -> str:
    """A text without a member or an item, and without the containers that are empty then."""
    expected = parsed(text).value
    holder = expected
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    while True:
        places = [n for n, entry in enumerate(_at(text, path[:-1]).entries) if path[-1] in (entry.key, n)]
        for index in reversed(places):
            text = jsonc.remove(text, _at(text, path[:-1]), index)
        parent = _at(text, path[:-1])
        if len(path) == 1 or text[parent.start + 1 : parent.end - 1].strip():
            break
        path = path[:-1]
    return _said(text, expected, _full)


def _take_hook(text: str, event: str, group: int, place: int) -> str:
    handlers = _at(text, ("hooks", event, group, "hooks"))
    if len(handlers.entries) == 1:  # the group was for us alone, whatever matcher it has
        return take(text, ("hooks", event, group))
    return take(text, ("hooks", event, group, "hooks", place))


def parsed(text: str) -> jsonc.JsonValue:
    """The tree of a settings file, whose outermost value must be an object. An empty file is one."""
    try:
        root = jsonc.parse(text if text.removeprefix("\ufeff").strip() else "{}")
    except jsonc.InvalidJson as error:
        raise CannotEdit(f"it is not JSON: {error}") from error
    if root.kind != "object":
        raise CannotEdit("its outermost value is not an object")
    return root


def is_empty(text: str) -> bool:
    """Whether nothing is said in a text, not even in a comment."""
    return not text.removeprefix("\ufeff").strip() or "".join(text.removeprefix("\ufeff").split()) == "{}"


def _hook_events(text: str) -> list[str]:
    hooks = value_at(text, ("hooks",))
    if hooks is not None and not isinstance(hooks, dict):
        raise CannotEdit("hooks is not an object")
    return list(hooks or {})


def _our_hooks(text: str, event: str) -> list[tuple[int, int]]:
    """Where our handlers of an event stand: the group's number, and the handler's in it."""
    groups = value_at(text, ("hooks", event))
    if not isinstance(groups, list):
        return []
    return [
        (number, place)
        for number, group in enumerate(groups)
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for place, handler in enumerate(group["hooks"])
        if isinstance(handler, dict) and is_our_command(handler.get("command"))
    ]


def _find(text: str, path: Sequence[str | int]) -> jsonc.JsonValue | None:
    node: jsonc.JsonValue | None = parsed(text)
    for step in path:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.entries[step].node if step < len(node.entries) else None
        else:
            node = node.get(step) if node.kind == "object" else None
    return node


def _at(text: str, path: Sequence[str | int]) -> jsonc.JsonValue:
    node = _find(text, path)
    assert node is not None
    return node


def value_at(text: str, path: Sequence[str | int]) -> Any:
    """What stands at a place; None if nothing does."""
    node = _find(text, path)
    return None if node is None else node.value


def _checked(before: str, path: Sequence[str | int], value: Any, after: str) -> str:
    """The new text, if it says what the old one said with one value set."""
    expected = parsed(before).value
    inner = expected
    for step in path[:-1]:
        inner = inner[step]
    if isinstance(inner, list) and path[-1] == len(inner):
        inner.append(value)
    else:
        inner[path[-1]] = value
    return _said(after, expected)


def _said(text: str, expected: Any, shape: Callable[[Any], Any] = lambda value: value) -> str:
    try:
        said = jsonc.parse(text).value
    except jsonc.InvalidJson:
        said = None
    # As text, so that 1, 1.0 and true are told apart.
    if json.dumps(shape(said), sort_keys=True) != json.dumps(shape(expected), sort_keys=True):
        raise CannotEdit("it is written in a way that we cannot edit safely")
    return text


def _full(value: Any) -> Any:
    """A value without its empty lists and objects, which may be removed with what they held."""
    if isinstance(value, dict):
        return {key: full for key, inner in value.items() if (full := _full(inner)) not in ({}, [])}
    if isinstance(value, list):
        return [full for inner in value if (full := _full(inner)) not in ({}, [])]
    return value


def _name(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path)) or "its outermost value"
