"""How fast search is in homes of several sizes: making the indexes, whole commands, a running sidecar asked over its socket.

What is measured runs in processes of its own. Questions are words of records that are there, rare and frequent ones.
"""

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from urllib.parse import urlencode

from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.learnings import REPOS, learnings
from bench.machine import MB, peak_bytes, resident_bytes
from bench.processes import Measures, Taken, in_turn, side, timed
from bench.quantiles import MS, quantile
from bench.recall_filling import fill_vectors
from bench.recall_home import Item
from bench.recall_judged import Question
from bench.recall_ways import behind, choose, peers, ready
from bench.sidecars import STATES, Sidecar, in_state, rest, running, until
from bench.table import Goal, Report, say
from clan_learnings.search.embedders.embedder import available, open_embedder
from mesh.app.client import ask

_COLD = Goal(5, most=True, ratio=True)
_WARM_AT = 100_000
_WARM, _HYBRID = Goal(5, most=True), Goal(15, most=True)
_QUESTIONS = 300
_WARM_UP = 30
_BARE = 15  # times the bare interpreter is timed before the questions, and as often after
_AGAIN = 4  # passes more, between which a busy second of the machine is over
_WORDS = (3, 7)
_TEN = 10  # answers, as many as are shown
_EMBEDDED = 512  # records whose vectors are made, for the speed of it
_READY_SECONDS = 1800.0
_WHERE: dict[str, list[str]] = {"in a repository": [], "everywhere": ["--all"]}  # the first as one would ask


def add_figures(report: Report, work: str, sizes: list[int], rounds: int, choice: str) -> None:
    """Everything about speed, size by size."""
    place = checkout(work)
    homes = {size: clan(work, size).home for size in sizes}
    for size, home in homes.items():
        say(f"{size:,} records: making the indexes from nothing")
        _add_indexing(report, size, home)
    _add_commands(report, place, homes, rounds)
    for size, home in homes.items():
        if size == _WARM_AT:  # with a million, FTS5 alone would take minutes
            _add_engines(report, size)
        _add_warm(report, size, home, "none", "keywords", _WARM)
    cache = os.path.join(work, "embedder")
    embedding = side(embedding_speed, choice=choice, cache=cache) if choice != "none" else {}
    if not embedding:
        report.notes.append("no embedder, so nothing is hybrid")
        return
    report.add("vectors made", "records/s", embedding["rate"])
    report.add("one question's vector, p50", "ms", embedding["question_ms"])
    for size, home in homes.items():
        say(f"{size:,} records: made-up vectors")
        filled = side(fill_vectors, home=home, choice=choice, cache=cache)
        report.add(f"{size:>9,}  vectors put into their index", "records/s", filled["rate"])
        _add_warm(report, size, home, choice, "hybrid", _HYBRID)
    report.notes += [
        f"warm: {_QUESTIONS} questions of {_WORDS[0]} to {_WORDS[1]} words, a connection each, as commands ask; everywhere, or in the repository of most records",
        "the ratio of a warm search is for comparing runs on machines of different speed; its goals are in milliseconds",
        "quickest: no answer is remembered, but tiers and readings of records are; what is left of a p95 without the machine's bad moments",
        "hybrid: the question's vector is made by the model; those of the records are made up, for making so many takes hours",
    ]


def questions(count: int) -> list[str]:
    """Words of records that a clan of any size has, the same in every run."""
    chance = random.Random(6)
    texts = _texts(1000)
    found: dict[str, None] = {}
    while len(found) < count:
        words = chance.choice(texts).split()
        if len(words) >= _WORDS[0]:
            found[" ".join(chance.sample(words, min(chance.randint(*_WORDS), len(words))))] = None
    return list(found)


def _texts(count: int) -> list[str]:
    """What the records of a clan say."""
    return [
        item.record.get("text")
        or f"{item.record.get('wrong', '')} {item.record.get('right', item.record.get('rule', ''))}"
        for item in learnings(count)
    ]


def _add_engines(report: Report, size: int) -> None:
    """The engines alone, for the same questions, everywhere: says what a millisecond of this machine is worth."""
    say(f"{size:,} records: plain engines")
    for what, took in side(engine_speed, size=size).items():
        report.add(f"{size:>9,}  {what}", "ms", took)


def engine_speed(size: int) -> Measures:
    """In a process of its own: ten rows of bare numbers, in the engine's own order, all words joined by OR."""
    items = [Item(str(number), text) for number, text in enumerate(_texts(size))]
    asked = [Question(text, ()) for text in questions(_WARM_UP + _QUESTIONS)]
    found: Measures = {}
    for name, answer in peers(items, _TEN).items():
        took = []
        for question in asked:
            begun = time.perf_counter()
            answer(question)
            took.append(time.perf_counter() - begun)
        for share in (0.5, 0.95):
            found[f"{name}, in a process of its own, p{share * 100:.0f}"] = MS * quantile(took[_WARM_UP:], share)
    return found


def _add_indexing(report: Report, size: int, home: str) -> None:
    fold = side(refill_keywords, home=home)
    report.add(f"{size:>9,}  keyword index of the database, from nothing", "records/s", size / fold["seconds"])
    found = side(index_words, home=home)
    report.add(f"{size:>9,}  the sidecar's own, from nothing", "records/s", size / found["seconds"])
    report.add(f"{size:>9,}  its folder", "MB", found["bytes"] / MB)


def refill_keywords(home: str) -> Measures:
    """In a process of its own: what `mesh index rebuild` does to the database."""
    from clan_learnings.search.keywords.word_table import reindex
    from mesh.store.database import Database

    database = Database(os.path.join(home, "mesh.db"))
    start = time.perf_counter()
    reindex(database)
    seconds = time.perf_counter() - start
    database.close()
    return {"seconds": seconds, "memory": peak_bytes()}


def index_words(home: str) -> Measures:
    """In a process of its own: the indexes that a sidecar makes, without vectors."""
    folder = os.path.join(home, "recall")
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    with ready(home, "none"):
        seconds = time.perf_counter() - start
    size = sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(folder) for name in names)
    return {"seconds": seconds, "memory": peak_bytes(), "bytes": size}


def embedding_speed(choice: str, cache: str) -> Measures:
    """In a process of its own: the model alone, on one thread. Nothing if there is none."""
    if not available(choice)[0]:
        return {}
    embedder = open_embedder(choice, cache, os.environ)
    texts = [str(item.record["text"]) for item in learnings(2 * _EMBEDDED) if "text" in item.record][:_EMBEDDED]
    embedder.embed(texts[:32])
    before = resident_bytes()
    start = time.perf_counter()
    for at in range(0, len(texts), 32):
        embedder.embed(texts[at : at + 32])
    seconds = time.perf_counter() - start
    took = []
    for text in questions(60):
        begun = time.perf_counter()
        embedder.embed([text])
        took.append(time.perf_counter() - begun)
    return {"rate": len(texts) / seconds, "question_ms": MS * quantile(took, 0.5), "memory": before}


def _add_commands(report: Report, place: Checkout, homes: dict[int, str], rounds: int) -> None:
    """`mesh search` as a whole process, in a checkout and everywhere, in turn with the bare interpreter."""
    medians: dict[str, dict[str, Taken]] = {}
    for home in homes.values():
        choose(home, "none")
    for state in STATES:
        with in_state(state, homes.values()):
            say(f"`mesh search` with its sidecar {state}, {rounds} rounds of {len(homes)} sizes")
            ways: dict[str, Callable[[], float | None]] = {"": partial(timed, [sys.executable, "-c", "pass"])}
            for size, home in homes.items():
                for where, options in _WHERE.items():
                    ways[f"{size} {where}"] = partial(_command, place, home, options, cycle(questions(_QUESTIONS)))
            medians[state] = in_turn(ways, rounds)
    for size in homes:
        for state in STATES:
            for where in _WHERE:
                ours, bare = medians[state][f"{size} {where}"], medians[state][""]
                goal = _COLD if state == "stopped" else None
                report.add(f"{size:>9,}  mesh search, {where}, sidecar {state}", "ms", ours.wall, bare.wall, goal)
                report.add(f"{size:>9,}  the same, processor", "ms", ours.processor, bare.processor)


def _command(place: Checkout, home: str, options: list[str], texts: Iterator[str]) -> float:
    return place.mesh(["search", *options, *next(texts).split()], home)[0]


def _add_warm(report: Report, size: int, home: str, choice: str, what: str, goal: Goal) -> None:
    """A sidecar that has all its indexes, asked over its socket."""
    say(f"{size:,} records: a running sidecar, {what}")
    choose(home, choice)
    with running(home) as sidecar:
        until(
            "the indexes are ready",
            lambda: not behind(_recall(sidecar), wants_vectors=choice != "none"),
            _READY_SECONDS,
            0.2,
        )
        rest(sidecar)
        texts = questions(2 * (_WARM_UP + _QUESTIONS))  # none twice: a sidecar remembers the vectors of questions
        for where, scope in (("everywhere", {"everywhere": "true"}), ("in a repository", {"repo": REPOS[0]})):
            for _ in range(_WARM_UP):
                _asked(sidecar, texts.pop(), scope)
            asked = [texts.pop() for _ in range(_QUESTIONS)]
            bares = _bare()
            before = sidecar.processor()
            took = [_asked(sidecar, text, scope) for text in asked]
            after = sidecar.processor()
            bare = MS * quantile(bares + _bare(), 0.5)
            used = None if before is None or after is None else MS * (after - before) / _QUESTIONS
            bound = goal if size == _WARM_AT else None
            report.add(f"{size:>9,}  warm, {what}, {where}, p50", "ms", MS * quantile(took, 0.5), bare)
            report.add(f"{size:>9,}  warm, {what}, {where}, p95", "ms", MS * quantile(took, 0.95), bare, bound)
            report.add(f"{size:>9,}  the same, processor of the sidecar, mean", "ms", used)
            if choice == "none":  # of a question that was asked before, a sidecar knows the vector
                quickest = took
                for _ in range(_AGAIN):
                    again = [_asked(sidecar, text, scope) for text in asked]
                    quickest = [min(pair) for pair in zip(quickest, again, strict=True)]
                quiet = MS * quantile(quickest, 0.95)
                report.add(f"{size:>9,}  the same, quickest of {_AGAIN + 1} passes, p95", "ms", quiet)
        for which, memory in (("", sidecar.memory()), (", without mapped files", sidecar.own_memory())):
            figure = None if memory is None else memory / MB
            report.add(f"{size:>9,}  memory of the sidecar, {what}{which}", "MB", figure)


def _bare() -> list[float]:
    return [timed([sys.executable, "-c", "pass"]) for _ in range(_BARE)]


def _asked(sidecar: Sidecar, text: str, scope: dict[str, str]) -> float:
    path = "/search?" + urlencode({"query": text, "limit": 10} | scope)
    start = time.perf_counter()
    ask(sidecar.home, "GET", path)
    return time.perf_counter() - start


def _recall(sidecar: Sidecar) -> dict[str, object]:
    """How its indexes stand."""
    return dict(ask(sidecar.home, "GET", "/index")["sidecar"])
