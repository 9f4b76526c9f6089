"""The Markdown files: patterns by topic, corrections by day, and the context of a session. Returns texts, writes no files.

Record text is untrusted: it becomes one line of a list or a heading of ours, and nothing in it can become anything else. Ids have a
fixed length: the shortest unique prefix would depend on what this node alone holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from clan_learnings.context.harmless_lines import harmless
from clan_learnings.context.injected_mark import FILE_CLOSING, FILE_OPENING
from clan_learnings.records.record import LEARNINGS, Note
from clan_learnings.render.listed_patterns import ListedPattern, Listing
from clan_learnings.render.memory_file import NOTICE, compose
from clan_learnings.render.record_lines import when, whole_id

ID_CHARS = 12  # 60 bits: two of a million records begin alike once in a few million meshes
UNDER_HEADING = 5  # so that `grep -A5 TOPIC` shows them
MEMORY_CHARS = 8000
_TOPIC_CHARS = 64
_MORE = " (more)"
_NOTHING = "(empty)"
_HOW_TO_EDIT = "To change a note: `mesh edit ID`, `mesh retract ID`."
_EDITS = f"Rendered from the mesh: what is changed here by hand is lost. {_HOW_TO_EDIT}"


def patterns(listing: Listing) -> str:
    """All that are listed, under their topics: those with HOT ones first, under each the HOT ones first."""
    topics: dict[str, tuple[str, list[str]]] = {}
    for rules, is_hot in ((listing.hot, True), (listing.others, False)):
        for rule in rules:
            heading = topic_of(rule.topic)
            topics.setdefault(heading.lower(), (heading, []))[1].append(_rule(rule, is_hot=is_hot))
    parts = [[NOTICE, _EDITS, f"{_counted(len(listing.hot), 'HOT pattern')} first, then those seen last, by topic."]]
    for heading, lines in topics.values():
        parts.append([f"## {heading}", *lines[:UNDER_HEADING]])
        if lines[UNDER_HEADING:]:
            parts.append([f"## {heading}{_MORE}", *lines[UNDER_HEADING:]])
    if listing.is_cut:
        parts.append(["Patterns seen longer ago are left out: `mesh pattern list`, `mesh search WORDS`."])
    return _file(parts)


def corrections(notes: Sequence[Note], told: Callable[[Note], tuple[str, str]], *, is_cut: bool) -> str:
    """The newest, under their days, newest first. `told`: what is right and what was wrong, as it is shown."""
    parts = [[NOTICE, _EDITS, f"The newest {_counted(len(notes), 'correction')}, by day."]]
    day = ""
    for note in notes:
        if when(note.at_ms)[:10] != day:
            day = when(note.at_ms)[:10]
            parts.append([f"## {day}"])
        right, not_so = told(note)
        wrong = f"; not {text}" if (text := _text(not_so)) else ""
        about = ", ".join(part for part in (_name(note.pattern), _name(note.repo) or "everywhere") if part)
        own = "" if right == note.word("right") else "; its own words differ"
        parts[-1].append(f"- {_text(right) or _NOTHING}{wrong}; {about}{own} {_id(note.tag)}")
    if is_cut:
        parts.append(["Older ones are left out: `mesh search WORDS`."])
    return _file(parts)


def memory(hot: Sequence[ListedPattern], discoveries: Iterable[Note], counts: Mapping[str, int]) -> str:
    """What a session would be given if it could belong to every repository: the lower half of a file.

    It is bounded; what is kept by hand above it is not ours to cut.
    """
    said = ", ".join(_counted(counts[log], kind) for log, kind in _KINDS)
    said += f", {_counted(counts[LEARNINGS], 'learning')}" if counts.get(LEARNINGS) else ""
    head = [NOTICE, _HOW_TO_EDIT, f"{said}; {_counted(len(hot), 'HOT pattern')}."]
    room = MEMORY_CHARS - len(compose("", _half([head, _HOW]))) - len(_LEFT_OUT.format(len(hot))) - 2
    groups: dict[str, list[str]] = {}
    shown = 0
    for rule in hot:
        heading = f"## HOT in {_name(rule.repo) or 'some repository'}" if rule.repo else "## HOT everywhere"
        line = _rule(rule, is_hot=True, with_repo=False)
        cost = len(line) + 1 + (0 if heading in groups else len(heading) + 2)
        if cost > room:
            break
        room -= cost
        shown += 1
        groups.setdefault(heading, [heading]).append(line)
    parts = [
        head,
        *(groups[heading] for heading in sorted(groups, key=lambda name: (name != "## HOT everywhere", name))),
    ]
    if shown < len(hot):
        parts.append([_LEFT_OUT.format(len(hot) - shown)])
    newest = ["## Newest discoveries"]
    room -= len(newest[0]) + 2
    for note in discoveries:
        line = f"- {_text(note.word('text')) or _NOTHING}; {when(note.at_ms)[:10]} {_id(note.tag)}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        newest.append(line)
    if len(newest) > 1:
        parts.append(newest)
    return _half([*parts, _HOW])


_KINDS = (("discoveries", "discovery"), ("corrections", "correction"), ("patterns", "pattern record"))
_LEFT_OUT = "Left out for room: {} HOT (`mesh hot`)."
_HOW = [
    "## How to use this",
    '- When you were wrong, before your next reply: `mesh correct --wrong "WHAT YOU DID" --right "WHAT TO DO INSTEAD"`',
    '- When you found something out that is written nowhere: `mesh discover "WHAT YOU FOUND"`',
    "- To look for more: `mesh search WORDS`, or grep in discoveries.jsonl, patterns.jsonl and archive/ beside this file.",
    "- Rules by topic: `grep -A5 TOPIC patterns.md`; what went wrong lately: corrections.md",
]


def topic_of(text: str) -> str:
    """A topic as it stands in a heading."""
    heading = _text(text, _TOPIC_CHARS).strip("#").strip()
    while heading.lower().endswith(_MORE.strip()):
        heading = heading[: -len(_MORE.strip())].rstrip()
    return heading or "other"


def _rule(rule: ListedPattern, *, is_hot: bool, with_repo: bool = True) -> str:
    """`rule; not wrong; N sessions, M nodes, last date`, where it holds, and the id of the newest record."""
    wrong = f"; not {text}" if (text := _text(rule.wrong)) else ""
    counts = f"{_counted(rule.sessions, 'session')}, {_counted(rule.nodes, 'node')}, last {when(rule.last_ms)[:10]}"
    about = [*(["HOT"] if is_hot and with_repo else []), *([_name(rule.repo)] if rule.repo and with_repo else [])]
    return f"- {_text(rule.rule) or _NOTHING}{wrong}; {', '.join([counts, *about])} {_id(rule.tag)}"


def _text(text: str, limit: int = 300) -> str:
    """One harmless line; no link, reference or definition either."""
    made = harmless(text, limit)
    for after in ("(", "[", ":"):
        made = made.replace("]" + after, "] " + after)
    return made


def _name(text: str) -> str:
    """A repository or a slug: only what those are made of."""
    return "".join(char for char in text[:200] if char.isascii() and (char.isalnum() or char in "./-_:+~"))


def _id(tag: bytes) -> str:
    return f"[{whole_id(tag)[:ID_CHARS]}]"


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count} {what}s"


def _file(parts: Iterable[Iterable[str]]) -> str:
    """Our mark, the parts with an empty line between them, our mark."""
    return f"{FILE_OPENING}\n\n{_half(parts)}"


def _half(parts: Iterable[Iterable[str]]) -> str:
    """The same without the mark at the beginning."""
    return "\n\n".join([*("\n".join(part) for part in parts), FILE_CLOSING]) + "\n"
