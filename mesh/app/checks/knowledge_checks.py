"""Problems with what the clan knows, and with how agents get at it. Reads only; each has its next step.

The state of the node itself is `doctor`'s.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from clan_learnings.agents.installer import Installation as Installed
from clan_learnings.agents.quiet import quiet_sentence, quiet_until
from clan_learnings.context.composition import compose, limits_for
from clan_learnings.context.harmless_lines import harmless
from clan_learnings.context.session_context import hot_lines
from clan_learnings.harvest.evidence_bar import SETTINGS as HARVEST
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_conflicts import PatternConflicts
from clan_learnings.records.patterns import Pattern
from clan_learnings.records.record import SUPERSESSIONS
from clan_learnings.records.shared_settings import CATEGORY, HOT_AT, HOT_NODES, QUIET, RECALL_WEIGHT, is_category
from clan_learnings.records.spool import POINTERS_BYTES
from clan_learnings.records.spool import SpoolState as Spool
from clan_learnings.repository.detection import find
from clan_learnings.repository.repository_settings import NAME
from clan_learnings.sessions.catalogue_rows import CatalogueCounts
from mesh.app import home_choice
from mesh.app.checks.node_checks import Problem
from mesh.app.proposals import proposals
from mesh.app.record_json import dispute, lacking
from mesh.core.ids import display_name
from mesh.core.moderation import GUARDED, MODERATION, OPEN, SETTINGS
from mesh.core.statement import ADMIN
from mesh.store.reader import PatternTally

HOT_TOKENS = 8_000  # what all HOT patterns together should stay under
_SHOWN = 20  # of each sort
_WORDS = 200  # characters of a rule, and of what was wrong
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine_knowledge(memory: Memory) -> Iterator[Problem]:
    """Patterns that contradict each other, that seem to be one, that one node made HOT alone; too much HOT."""
    rivals = PatternConflicts(memory)
    for pair in rivals.contradictions[:_SHOWN]:
        both = pair.one.slug if pair.one is pair.other else f"{pair.one.slug} and {pair.other.slug}"
        if pair.one is pair.other:
            step = f"mesh pattern show {pair.one.slug}, then move the wrong one: mesh correct --move ID --pattern OTHER"
        else:
            step = f"mesh pattern supersede OLD NEW, or mesh pattern archive one of them: mesh pattern show {pair.one.slug}"
        yield Problem("contradiction", f"{both}: {pair.why}", step)
    for pair in rivals.likely_aliases[:_SHOWN]:
        yield Problem(
            "likely aliases",
            f"{pair.one.slug} and {pair.other.slug} seem to be one pattern: {pair.why}",
            f"if so: mesh pattern alias {pair.one.slug} {pair.other.slug}",
        )
    yield from _supersessions(memory)
    yield from _hot(memory)


def examine_quiet(home: str, memory: Memory, now_ms: int) -> Iterator[Problem]:
    """Hooks that say nothing, as somebody wanted: else whoever misses what they say looks for a fault."""
    until = quiet_until(home, now_ms)
    if until is not None:
        yield Problem("quiet", quiet_sentence(until), "let them speak again: mesh quiet --off")
    if memory.settings.is_quiet:
        yield Problem(
            "quiet fleet",
            "the hooks of every node say nothing, as an admin has set",
            "let them speak again, as an admin: mesh settings quiet off",
        )


def examine_moderation(memory: Memory, own: bytes) -> Iterator[Problem]:
    """What waits for somebody to agree; and, for an admin, settings that others wrote, which do not count."""
    waiting = [item for item in proposals(memory, own) if item.node != own]
    if waiting:
        count = f"{len(waiting)} proposals wait" if len(waiting) > 1 else "a proposal waits"
        yield Problem(
            "proposals",
            f"{count} for somebody who agrees: changes to what others wrote",
            "see them: mesh proposals; then mesh proposals grant ID, or mesh proposals dismiss ID",
        )
    members = memory.reader.members()
    admins = {row.node for row in members if row.role == ADMIN and not row.is_revoked}
    if own not in admins:
        return
    now = memory.reader.fields(SETTINGS)
    for field, said in memory.reader.said_about(SETTINGS).items():
        last = max(said, key=lambda one: (one.at, one.tag))
        command = _command(field, last.value)
        if last.node not in admins and last.value != now.get(field) and command:
            kept = _command(field, now[field]) if field in now else ""
            yield Problem(
                "setting without effect",
                f"{display_name(memory.name_of(last.node), last.node)}, which is no admin, has set {field} to {last.value!r};"
                " only what admins set counts",
                f"if it is to be so: {command}" + (f"; if not: {kept}" if kept else "; else leave it"),
            )


def _command(field: str, value: object) -> str:
    """What sets a setting; empty if it is none that we know, or no value that it can have."""
    if field.startswith(CATEGORY):
        name = field.removeprefix(CATEGORY)
        return f"mesh settings category {name}{'' if value else ' --remove'}" if is_category(name) else ""
    if field == QUIET:
        return f"mesh settings quiet {'on' if value else 'off'}" if type(value) is bool else ""
    names = {HOT_AT: "hot-at", HOT_NODES: "hot-nodes", RECALL_WEIGHT: "recall-weight", MODERATION: MODERATION}
    name = (names | {internal: name for name, (internal, _) in HARVEST.items()}).get(field, "")
    is_plain = type(value) in (int, float) or value in (OPEN, GUARDED)
    return f"mesh settings {name} {value}" if name and is_plain else ""


def _supersessions(memory: Memory) -> Iterator[Problem]:
    written = [
        (first, second, memory.reader.short_id(entry.tag))
        for entry in memory.reader.newest(SUPERSESSIONS, 1000)
        if type(first := entry.record.get("old")) is str and type(second := entry.record.get("new")) is str
    ]
    for old in memory.patterns.superseded()[:1000]:
        names = memory.patterns.names(old)
        new = memory.patterns.superseded_by(names)
        if len(new) > 1:
            ids = [f"{number} ({second})" for first, second, number in written if first in names][:4]
            yield Problem(
                "concurrent supersessions",
                f"{old} was superseded by {' and by '.join(new[:4])}",
                f'keep one, take the others back: mesh retract ID --reason "the other one"; ids: {", ".join(ids)}',
            )
    for first, second, number in written:
        if memory.patterns.closes_circle(first, second):
            yield Problem(
                "supersession circle",
                f"{second} in the place of {first} would close a circle, and does not count",
                f'mesh retract {number} --reason "a circle"',
            )


def _hot(memory: Memory) -> Iterator[Problem]:
    hot = memory.hot(None)
    yield from _unwitnessed(memory)
    for item in [item for item in hot if item.nodes == 1 and _is_unasked(memory)][:_SHOWN]:
        who = display_name(memory.reader.names().get(item.note.node, ""), item.note.node)
        yield Problem(
            "promoted by one node",
            f"{item.slug} is HOT by the word of {who} alone ({item.sessions} sessions)",
            f"look at it: mesh pattern show {item.slug}; if it is wrong: mesh pattern archive {item.slug}",
        )
    whole = compose(hot_lines(memory, hot), (), (), None, limits=limits_for("", 10**9, 10**9), repo="", call="")
    if whole.tokens > HOT_TOKENS:
        weakest = ", ".join(item.slug for item in hot[::-1][:5])
        yield Problem(
            "HOT over budget",
            f"{len(hot)} HOT patterns take about {whole.tokens:,} tokens; {HOT_TOKENS:,} is what agents can take in",
            f"archive what is known by now, beginning with: {weakest} (mesh pattern archive NAME)",
        )


def _is_unasked(memory: Memory) -> bool:
    """Whether one of several nodes can make something HOT, and nobody is asked."""
    return len(memory.reader.names()) > 1 and not memory.witnesses.are_needed


def _unwitnessed(memory: Memory) -> Iterator[Problem]:
    """What one machine has needed often enough, as it was HOT until this mesh had three."""
    is_admin = memory.reader.own in memory.witnesses.admins
    for found in list(memory.unwitnessed(None))[:_SHOWN]:
        approve = f"mesh pattern approve {found.slug}"
        yield Problem(
            "too few witnesses",
            f"{found.slug} is not HOT: {_lacks(memory, found)}",
            f"look at it: mesh pattern show {found.slug}; to keep it: {approve if is_admin else f'ask an admin to run {approve}'}",
        )


def _lacks(memory: Memory, found: Pattern | PatternTally) -> str:
    told = lacking(memory, found.slug)
    if told["disputed"]:
        words = memory.words(found)
        first = f'; approved would be "{harmless(words[1], _WORDS)}"' if words is not None else ""
        return f"{dispute(told['disputed'])}{first}; another rule: mesh pattern edit {found.slug} --rule TEXT"
    return (
        f"{found.sessions} sessions needed it, on {told['witnesses']} of the {told['witnesses_needed']} machines that it"
        f" takes in a mesh of three or more; only there it is told{_words(memory, found)}"
    )


def _words(memory: Memory, found: Pattern | PatternTally) -> str:
    """What a pattern says, and who wrote it."""
    words = memory.words(found)
    if words is None:
        return ""
    note, rule, wrong = words
    said = f"{harmless(rule, _WORDS)}, not {harmless(wrong, _WORDS)}" if wrong else harmless(rule, _WORDS)
    return f'. It says "{said}"; {display_name(memory.name_of(note.node), note.node)} wrote it'


def examine_agents(installed: list[Installed], now: float) -> Iterator[Problem]:
    """Hooks that are missing, old, doubled or silent."""
    for state in installed:
        complaint = state.complaint(now)
        if complaint is not None:
            yield Problem(complaint.sort, complaint.sentence, complaint.next_step)


def examine_search(state: Mapping[str, Any]) -> Iterator[Problem]:
    """An embedder that somebody has chosen, and that does not work. `state`: of the indexes, as `mesh index` tells it."""
    choice, usable = state["embedder"]["choice"], state["embedder"]["usable"]
    if choice in ("auto", "none") or (usable and (state["sidecar"] is None or state["by"] != "keywords")):
        return
    said = state["says"] if usable else f"keywords only: {state['embedder']['says']}"
    sentence, _, step = said.partition("; next: ")
    yield Problem(
        "no vectors", f"search has no use of {choice}: {sentence}", step or "mesh index, and the log of the sidecar"
    )


def examine_capture(counts: CatalogueCounts) -> Iterator[Problem]:
    """Sessions of which something was lost, or is not looked at yet."""
    if counts.lost:
        yield Problem(
            "captured sessions lost",
            f"{counts.lost} raw sessions had to go for room before anything was made of them",
            "give them more room: mesh capture --budget 4G,8G; what agents still have: mesh capture",
        )
    if counts.unanalysed:
        yield Problem(
            "captured, not analysed",
            f"of {counts.unanalysed} captured sessions no digest was made yet",
            "mesh capture makes them, or says what is in the way",
        )


def examine_spool(spool: Spool) -> Iterator[Problem]:
    """What waits to be read or taken in, and what could not be."""
    if spool.dropped or spool.bytes > POINTERS_BYTES * 9 // 10:
        yield Problem(
            "spool full",
            f"the list of transcripts to read has {spool.bytes / 1e6:.0f} of {POINTERS_BYTES / 1e6:.0f} MB; {spool.dropped} were left out",
            f"a running sidecar reads it: mesh up --detach; to be rid of it: rm -r {spool.folder}",  # with the count of what was left out
        )
    if spool.queued:
        yield Problem(
            "queued writes",
            f"{spool.queued} queued writes wait to be taken in",
            "the next session start of an agent takes them in; or now: echo '{}' | mesh hook SessionStart",
        )
    if spool.rejected:
        yield Problem(
            "rejected writes",
            f"{spool.rejected} queued writes could not be taken in and were put aside; why stands in hook.log in the home",
            f"look at them, then delete them: rm -r {' '.join(filter(os.path.exists, spool.aside))}",
        )


def examine_homes(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Lines of the list of homes that cannot be used: records would go to the wrong team, or nowhere."""
    path = home_choice.config_path(environ)
    for problem in home_choice.problems(path, environ):
        yield Problem("list of homes", problem, f"mend {path}, or see what it says: mesh homes")


def examine_repository(folder: str, environ: Mapping[str, str]) -> Iterator[Problem]:
    """The file of the repository we are in: a name that nobody confirms, what cannot be understood, what is unknown."""
    found = find(folder, environ)
    if found.unconfirmed:
        yield Problem(
            "repository not confirmed",
            found.warning,
            f"if you know that it belongs there: mesh trust-repo {quote(found.root)}; else take the line out of the file",
        )
    if found.file.remark:
        yield Problem(
            "file of the repository",
            f"{NAME}: {found.file.remark}",
            f"mend {os.path.join(found.root, NAME)}, or leave it to a newer clan-mesh",
        )
    if found.file.problem:
        name = found.identity or "this repository"
        yield Problem(
            "file of the repository",
            f"{found.file.problem}; until then records are of {name}",
            f"mend {os.path.join(found.root, NAME)}",
        )


def examine_files(home: str) -> Iterator[Problem]:
    """A home, or a key in it, that others on this machine can read."""
    for name in ("", "node.key", "root.key", "recovery.key", "mesh.db", "private.db"):
        path = os.path.join(home, name) if name else home
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            continue
        if stat.S_IMODE(mode) & _OTHERS:
            yield Problem(
                "open to others", f"{path} can be read or written by others on this machine", f"chmod go-rwx {path}"
            )
