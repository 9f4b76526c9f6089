"""`mesh learnings add` and `edit`: a document from options, a file, stdin, or an editor."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from shlex import split
from typing import Any

from clan_learnings.documents.folder import FILE_BYTES
from clan_learnings.documents.learning import Learning, learning_from, learning_of, slug_of
from clan_learnings.documents.learning_markdown import Parsed, parsed, rendered
from clan_learnings.records.record import LEARNINGS
from mesh.app import learnings
from mesh.app.application import Application
from mesh.app.snapshot import memory_with
from mesh.cli.grammar import CommaList, Fraction, Given, Whole, WrongUsage, argument, command, option, options
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import plain, print_json, put, tell, tell_proposed, tell_taken_out
from mesh.cli.record_options import ABOUT, PRIVATE, application_of, print_answer, record_facts
from mesh.core.errors import UsageError
from mesh.core.ids import text_id

SECTIONS = options(
    option("--title", metavar="TEXT", help="one line (default: the first of the problem)"),
    option("--problem", metavar="TEXT", help="what happened, with the error; required"),
    option("--root-cause", metavar="TEXT", help="why it happened"),
    option("--solution", metavar="TEXT", help="what helps; required"),
    option("--example", metavar="TEXT", help="how that looks"),
    option("--prevention", metavar="TEXT", help="how it need not happen again"),
    option("--related", metavar="A,B", type=CommaList(), default="", help="links, files, ids of records, with commas"),
)
_TEXTS = ("title", "problem", "root_cause", "solution", "example", "prevention")
_FACTS = ("topic", "category", "severity", "evidence")


@command(
    'mesh learnings add --title "Uploads fail after an hour" --problem "..." --solution "..."',
    more="FILE is Markdown, as `export` writes it, or a JSON object of the fields; - reads it from stdin. Options come before it.\n"
    "It needs a problem and a solution, 200 characters in all; an example and how to prevent it make it better.",
    may_be_empty=True,
)
@argument("file", "[FILE|-]", required=False)
@SECTIONS
@ABOUT
@PRIVATE
def add(given: Given) -> int:
    """Record one."""
    about = record_facts(given)
    learning, has_repo = _from_file(given.file) if given.file else (Learning(), False)
    texts: dict[str, Any] = {name: given.word(name) for name in _TEXTS if given.has(name)}
    if given.has("related"):
        texts["related"] = tuple(given.related)
    learning = replace(learning, **texts)
    # What an option says comes before what the file says.
    options: dict[str, Any] = {
        name: "" for name in ("category", "severity", "topic", "evidence", "agent", "session") if given.has(name)
    }
    options |= {"tags": ()} if given.has("tags") else {}
    options |= {name: None for name in ("confidence", "minutes_lost") if given.has(name)}
    learning = replace(learning, **options)
    if has_repo and not given.has("repo") and not given.has("global"):
        about |= {"repo": learning.repo or None, "is_global": not learning.repo}
    answer = learnings.add(application_of(given), learning, private=given.has("private"), **about)
    code = print_answer(given, answer, _print_added)
    if not given.json:
        for remark in answer["remarks"]:
            tell(f"  it could be better: {plain(remark)}")
    return code


def _print_added(answer: dict[str, Any]) -> None:
    if answer["state"] == "known":
        put(f"{answer['id']}  known already: nothing was added")
    else:
        put(
            f"{answer['id']}  {plain(answer['category'], 64)}  quality {answer['quality']:.2f}  {plain(answer['title'])}"
        )


@command(
    'mesh learnings edit 7k3qmzpa --prevention "log in right before the upload"',
    more="Without options it opens in VISUAL or EDITOR.",
    may_be_empty=True,
)
@argument("record", "ID")
@SECTIONS
@option("--topic", metavar="WORD", help="what it is about")
@option("--tags", metavar="A,B", type=CommaList(), default="", help="all of its tags, with commas")
@option("--category", metavar="NAME", help="one of the mesh's categories")
@option("--severity", metavar="LEVEL", help="low, medium, high or critical")
@option("--confidence", metavar="C", type=Fraction(), help="how sure it is, from 0 to 1")
@option("--quality", metavar="Q", type=Fraction(), help="how good it is, from 0 to 1 (default: worked out anew)")
@option("--evidence", metavar="TEXT", help="where it can be seen")
@option("--minutes-lost", metavar="N", type=Whole(0, 100_000), help="what it has cost")
@option("--repo", metavar="REPO", help="the repository it holds in; . is where we are")
@option("--global", help="it holds in every repository")
@option("--file", metavar="FILE", help="the whole document from a file; - reads it from stdin")
def edit(given: Given) -> int:
    """Change one."""
    # `--repo` says what the document is to say, not which of several teams' homes it is in.
    application = Application(given.home_of(""), os.environ)
    changes = _changes(given, application)
    if given.has("file"):
        changes = _by_file(given.word("file")) | changes
        answer = learnings.change(application, given.record, changes)
    elif changes:
        answer = learnings.change(application, given.record, changes)
    else:
        answer = _in_editor(application, given.record)
    if given.json:
        print_json(answer)
    elif answer["fields"]:
        put(f"{answer['id']}  changed: {', '.join(answer['fields'])}")
    else:
        put(f"{answer['id']}  unchanged, nothing was written")
    tell_taken_out(answer["redacted"])
    return EXIT_WAITING if tell_proposed(answer) else EXIT_OK


def _changes(given: Given, application: Application) -> dict[str, Any]:
    changes: dict[str, Any] = {name: given.word(name) for name in (*_TEXTS, *_FACTS) if given.has(name)}
    for name in ("tags", "related"):
        if given.has(name):
            changes[name] = tuple(getattr(given, name))
    for name in ("confidence", "quality"):
        if given.has(name):
            changes[name] = getattr(given, name)
    if given.has("minutes_lost"):
        changes["minutes_lost"] = given.minutes_lost
    if given.has("global") and given.has("repo"):
        raise WrongUsage("--repo and --global exclude each other")
    if given.has("global"):
        changes["repo"] = ""
    elif given.has("repo"):
        changes["repo"] = application.caller.scope(given.word("repo"))
    return changes


def _by_file(path: str) -> dict[str, Any]:
    parsed = _parsed(_read(path), path)
    return {name: getattr(parsed.learning, name) for name in parsed.changed()}


def _in_editor(application: Application, text: str) -> dict[str, Any]:
    """In VISUAL or EDITOR. Whatever happens, what was typed is in the record or in a file that is named."""
    from mesh.cli.page_edit import EditorFile

    with memory_with(application.home, text) as (memory, tag):
        note = memory.note(tag)
        if note is None or note.log != LEARNINGS:
            raise UsageError(f"{text} is no live learning", "list them: mesh learnings list --all")
        learning, whole = learning_of(note), text_id(tag)
    draft = EditorFile(application.home, slug_of(learning.title), rendered(learning, whole))
    try:
        draft.let_edit(_editor(text))
        parsed = _parsed(draft.text(), "the text")
        changes = {name: getattr(parsed.learning, name) for name in parsed.changed()}
        if changes.get("repo"):
            changes["repo"] = application.caller.scope(changes["repo"])
        return learnings.change(application, whole, changes)
    except BaseException:
        draft.rescue()
        raise
    finally:
        draft.remove()


def _editor(text: str) -> list[str]:

    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not command.strip():
        if not sys.stdin.isatty():
            raise UsageError(
                "there is no terminal for an editor",
                f"name what to change: mesh learnings edit {plain(text, 60)} --help",
            )
        command = "vi"
    try:
        return split(command)
    except ValueError as error:
        raise UsageError(f"the editor {command!r} cannot be read: {error}", "set VISUAL or EDITOR anew") from error


def _from_file(path: str) -> tuple[Learning, bool]:
    """A document from a file, and whether that says where it holds."""
    text = _read(path)
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{_named(path)} is not JSON: {error}", "mend it, or give Markdown") from error
        return learning_from(value), "repo" in value
    parsed = _parsed(text, path)
    return parsed.learning, "repo" in parsed.said


def _parsed(text: str, path: str) -> Parsed:

    found = parsed(text)
    if found is None:
        raise UsageError(
            f"{_named(path)} has neither a problem nor a solution",
            "headings are `## Problem` and `## Solution`; to see one: mesh learnings show ID",
        )
    for problem in found.problems:
        tell(f"mesh: {_named(path)}: {plain(problem)}")
    return found


def _read(path: str) -> str:

    try:
        if path == "-":
            data = sys.stdin.buffer.read(FILE_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{_named(path)} cannot be read: {error.strerror}", "name a file, or - for stdin") from error
    if len(data) > FILE_BYTES:
        raise UsageError(
            f"{_named(path)} is too long for a learning", "shorten it, or make it a page: mesh page new NAME"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{_named(path)} is not UTF-8 text", "convert it: iconv -t UTF-8") from error


def _named(path: str) -> str:
    return "stdin" if path == "-" else plain(path, 200)
