"""`mesh pattern`: patterns: a rule, the corrections counted under it, and what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from clan_learnings.agents.surroundings import require_person
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_drafts import (
    draft_alias,
    draft_approval,
    draft_archive,
    draft_pattern,
    draft_restoration,
    draft_supersession,
    draft_unalias,
    draft_wording,
)
from clan_learnings.records.recent_records import recent_patterns
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.app import record_json
from mesh.app.pattern import changed_pattern, whole_pattern
from mesh.cli.grammar import ALL, REPO, Given, Whole, WrongUsage, argument, command, option
from mesh.cli.home_option import quoted
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, say, tell
from mesh.cli.record_options import (
    ABOUT,
    application_of,
    from_stdin,
    missing_witnesses,
    occurrences,
    print_answer,
    record_facts,
    repo_name,
)
from mesh.cli.terminal import terminal
from mesh.core.display import number_of
from mesh.core.draft import Draft

Made = tuple[list[Draft], dict[str, Any]]

_REASON = option("--reason", metavar="TEXT", help="why")
_MOST = 200


@command(
    'mesh pattern add "retry uploads with a fresh token" --topic uploads',
    more="RULE is one sentence in quotes; - reads it from stdin.",
    may_be_empty=True,
)
@argument("rule", "RULE|-", may_be_empty=True)
@option("--name", metavar="NAME", help="its name (default: made of its words)")
@option("--wrong", metavar="TEXT", help="what it is to be done instead of")
@ABOUT
def add(given: Given) -> int:
    """Record it."""
    about = record_facts(given)
    rule, wrong = from_stdin(given.rule, given.word("wrong"))

    def make(memory: Memory, about: About, pen: TextCleaner) -> Made:
        everywhere = given.has("global")
        drafts, slug = draft_pattern(
            memory, rule, about, pen, slug=given.word("name"), wrong=wrong, everywhere=everywhere
        )
        return drafts, {"pattern": slug}

    answer = application_of(given).write(make, **about)
    return print_answer(given, answer, lambda told: put(f"{told['id']}  {plain(told['pattern'], 100)}"))


@command("mesh pattern list -n 5", is_filter=True, may_be_empty=True)
@REPO
@ALL
@option("-n", metavar="COUNT", type=Whole(1, _MOST), default=20, help=f"at most so many, up to {_MOST} (default: 20)")
def list_(given: Given) -> int:
    """List them."""
    application = application_of(given)
    scope = None if given.has("all") else application.caller.scope(given.repo)
    count = given.n

    def ask(memory: Memory) -> dict[str, Any]:

        found = recent_patterns(memory, scope, count)
        return {"repo": scope, "patterns": [record_json.pattern(memory, standing) for standing in found]}

    answer = application.ask(ask)
    if given.json:
        print_json(answer)
        return EXIT_OK
    for one in answer["patterns"]:
        counts = f"{number_of(one['sessions'], 'session')}, last {one['last']}"
        put(f"{plain(one['pattern'], 100)}  {one['tier']}  {counts}  {plain(one['rule'])}{_names(one)}")
    if not answer["patterns"]:
        where = "" if scope is None else f" in {repo_name(scope)}; --all looks in every repository"
        tell(f"there are no patterns{where}")
    return EXIT_OK


@command("mesh pattern show pnpm-not-npm", more="NAME may be the beginning of a name.", may_be_empty=True)
@argument("name", "NAME")
def show(given: Given) -> int:
    """Print it."""
    answer = application_of(given).ask(lambda memory: whole_pattern(memory, given.name))
    if given.json:
        print_json(answer)
        return EXIT_OK
    put(f"{plain(answer['pattern'], 100)}  {answer['tier']}")
    put(f"  rule      {plain(answer['rule'])}")
    if answer["wrong"]:
        put(f"  not       {plain(answer['wrong'])}")
    if answer["told"] and (answer["told"]["rule"], answer["told"]["wrong"]) != (answer["rule"], answer["wrong"]):
        wrong = f"; not {plain(answer['told']['wrong'])}" if answer["told"]["wrong"] else ""
        put(f"  told as   {plain(answer['told']['rule'])}{wrong}")
    if answer["topic"]:
        put(f"  topic     {plain(answer['topic'], 64)}")
    if len(answer["names"]) > 1:
        put(f"  names     {plain(', '.join(answer['names']), 1000)}")
    if answer["joined_by_one"]:
        put(f"  joined    by one machine alone, so not for HOT: {plain(', '.join(answer['joined_by_one']), 1000)}")
    put(f"  holds     in {repo_name(answer['scope'])}")
    put(f"  so far    {occurrences(answer)}; logged {number_of(answer['logged'], 'time')}, last {answer['last']}")
    if answer["approved"]:
        put("  approved  by an admin, in these words")
    if missing_witnesses(answer):
        say(f"  not HOT   {missing_witnesses(answer)}")
    if answer["archived"]:
        put(f"  archived  {plain(answer['archived'])}; sessions since then: {answer['sessions_since']}")
    for other in answer["in_its_place"]:
        put(f"  ended by  {plain(other['pattern'], 100)}: {plain(other['rule'])}")
    for other in answer["contradicts"]:
        put(f"  against   {plain(other['pattern'], 100)}: {plain(other['rule'])}; {plain(other['why'])}")
    for other in answer["not_agreed"]:
        words = f"{'' if other['field'] == 'rule' else 'not '}{plain(other['text'])}"
        put(f"  unagreed  {plain(other['by'])}, {other['at'][:10]}: {words}")
    for note in (*answer["records"], *answer["corrections"]):
        own = note["own_words"]
        words = plain(note["text"]) if own is None else f"{plain(own)}  (its own words)"
        put(f"  {note['id']}  {note['at'][:10]}  {plain(note['author'])}  {plain(note['session'], 60)}  {words}")
    if answer["left_out"]:
        tell(f"{answer['left_out']} older ones are not shown; --json has as many: mesh tail --log corrections has all")
    return EXIT_OK


@command('mesh pattern edit pnpm-not-npm --rule "pnpm install, never npm" --global', may_be_empty=True)
@argument("name", "NAME")
@option("--rule", metavar="TEXT", help="the rule, for all its names")
@option("--topic", metavar="WORD", help="what it is about")
@option("--global", help="it holds in every repository")
@option("--local", help="it holds where it was seen; everywhere, once that is two repositories")
def edit(given: Given) -> int:
    """Change it for all its names."""
    if given.has("global") and given.has("local"):
        raise WrongUsage("--global and --local exclude each other")
    everywhere = given.has("global") if given.has("global") or given.has("local") else None
    rule, topic = given.rule, given.topic
    return _write(
        given,
        "changed",
        lambda memory, _, pen: draft_wording(memory, given.name, pen, rule=rule, topic=topic, everywhere=everywhere),
    )


@command(
    'mesh pattern supersede pnpm-not-npm bun-not-pnpm --reason "we moved to bun"',
    more="To undo it: mesh retract ID, with the id it prints.",
    may_be_empty=True,
)
@argument("old", "OLD")
@argument("new", "NEW")
@_REASON
def supersede(given: Given) -> int:
    """End the old one."""
    old, new = given.old, given.new
    return _write(
        given,
        "superseded",
        lambda memory, about, pen: draft_supersession(memory, old, new, about, given.word("reason"), pen),
    )


@command(
    "mesh pattern alias pnpm-not-npm use-pnpm",
    more="Their corrections are counted together, under the older name.",
    may_be_empty=True,
)
@argument("name", "NAME")
@argument("other", "OTHER")
def alias(given: Given) -> int:
    """Join them."""
    one, other = given.name, given.other
    return _write(given, "joined", lambda memory, *_: draft_alias(memory, one, other))


@command("mesh pattern unalias use-pnpm", may_be_empty=True)
@argument("name", "NAME")
def unalias(given: Given) -> int:
    """Part them."""
    return _write(given, "parted", lambda memory, *_: draft_unalias(memory, given.name))


@command('mesh pattern archive pnpm-not-npm --reason "no more node in this repo"', may_be_empty=True)
@argument("name", "NAME")
@_REASON
@option("--undo", help="count it again as if it had not been")
def archive(given: Given) -> int:
    """End it, or take that back."""
    slug = given.name
    if given.has("undo"):
        return _write(given, "not archived any more", lambda memory, *_: draft_restoration(memory, slug))
    return _write(given, "archived", lambda memory, _, pen: draft_archive(memory, slug, given.word("reason"), pen))


@command(
    "mesh pattern approve pnpm-not-npm",
    more="It still takes as many sessions as any other. What is approved are words: who changes them later is not approved.",
    may_be_empty=True,
)
@argument("name", "NAME")
@option("--undo", help="take every admin's approval back")
def approve(given: Given) -> int:
    """Approve its words, or take that back."""
    undo = given.has("undo")
    terminal().require_own_process()  # whether a person types it, only the caller's own environment tells
    command = f"mesh pattern approve {quoted(given.name)}{' --undo' if undo else ''}"
    require_person(os.environ, "what is HOT by an admin's word", command)

    def make(memory: Memory, *_: object) -> Made:
        return draft_approval(memory, given.name, undo=undo)

    answer = application_of(given).write(make, is_change=True)

    def show(told: dict[str, Any]) -> None:
        put(f"{told['id']}  {'not approved any more' if undo else 'approved'}: {plain(told['pattern'], 100)}")
        if not undo:
            put(f"  rule  {plain(told['rule'])}")
            if told["wrong"]:
                put(f"  not   {plain(told['wrong'])}")

    return print_answer(given, answer, show)


def _write(given: Given, done: str, draft: Callable[[Memory, About, TextCleaner], list[Draft]]) -> int:
    """Write what concerns the pattern of the first word, and say how it stands then."""
    application = application_of(given)
    answer = application.write(lambda memory, about, pen: (draft(memory, about, pen), {"done": done}), is_change=True)
    if answer["counts"]:
        name = given.old if given.has("old") else given.name
        answer |= application.ask(lambda memory: changed_pattern(memory, name))
    return print_answer(given, answer, _print_written)


def _print_written(answer: dict[str, Any]) -> None:
    put(f"{answer['id']}  {'not yet ' if answer.get('proposed') else ''}{answer['done']}")
    if "pattern" in answer:
        put(f"  {plain(answer['pattern'], 100)}  {answer['tier']}  {occurrences(answer)}{_names(answer)}")
        put(f"  holds in {repo_name(answer['scope'])}")
        _print_not_told(answer)


def _print_not_told(answer: dict[str, Any]) -> None:
    """What was changed and is not in HOT: to write it was not enough."""
    if answer["tier"] != "HOT":
        return
    lacks = "not in HOT until another machine or an admin says the same"
    if answer["done"] == "joined" and answer["joined_by_one"]:
        put(f"  {lacks}: one pattern with {plain(', '.join(answer['joined_by_one']), 1000)}")
    if answer["done"] == "changed" and answer["not_told"] is not None:
        wrong = f"; not {plain(answer['wrong'])}" if answer["wrong"] else ""
        put(f"  {lacks}: {plain(answer['not_told'])}", f"  HOT says  {plain(answer['rule'])}{wrong}")


def _names(answer: dict[str, Any]) -> str:
    """The other names of a pattern."""
    others = ", ".join(name for name in answer["names"] if name != answer["pattern"])
    return f" (also {plain(others)})" if others else ""
