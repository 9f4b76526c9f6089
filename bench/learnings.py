"""What a clan of agents would have written: discoveries, corrections, patterns, by many sessions. Knows no store.

The same in every run. Most mistakes are made once or twice; a few hundred are made by everyone again and again, and become
HOT. Who makes them, and where, follows Zipf's law.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.notes import vocabulary, zipf
from clan_learnings.records.matching import slug_of
from clan_learnings.records.record import (
    CATEGORIES,
    CONFIDENCE,
    CORRECTIONS,
    DISCOVERIES,
    PATTERNS,
    SEVERITIES,
    SOURCES,
    SUPERSESSIONS,
)

_NAMES = ["api", "web", "billing", "ingest", "infra", "mobile", "docs"]
REPOS = tuple(f"github.com/clan/{_NAMES[at] if at < len(_NAMES) else f'service-{at}'}" for at in range(50))
MEMBERS = 7
OFTEN = 400  # lessons that many learn anew; all others are learned once or twice

_AGENTS = ("claude-code", "codex", "gemini")
_OPEN_SESSIONS = 12
_RECORDS_A_SESSION = (5, 40)
_WORDS_A_DISCOVERY = (14, 30)
_SHARE_OF_DISCOVERIES, _SHARE_OF_CORRECTIONS = 0.55, 0.40
_SHARE_OFTEN, _SHARE_AGAIN = 0.20, 0.25  # of corrections: a lesson of the many, or one that was learned once lately
_EVERYWHERE = 0.3  # of the lessons of the many: not bound to a repository
_LATELY = 500
# Wordings of one lesson that the matching takes for the same.
_WORDINGS = (
    ("used {bad} for {thing}", "use {good} for {thing}"),
    ("I used {bad} for the {thing}", "Always use {good} for the {thing} here"),
    ("using {bad} for {thing}", "please use {good} for {thing}, not {bad}"),
)


class Lesson(NamedTuple):
    """One mistake and its right way, in several wordings."""

    slug: str
    wordings: tuple[tuple[str, str], ...]


class Written(NamedTuple):
    """One record, before it is signed: by which member, at which share of all the time."""

    member: int
    moment: float
    log: str
    record: dict[str, Any]


class _Session(NamedTuple):
    member: int
    about: dict[str, Any]  # repo, agent, session
    records: int


class Lessons:
    """Every lesson there could be, by number; those under `OFTEN` are the ones of the many."""

    def __init__(self) -> None:
        words = vocabulary()
        first = words.index("server")  # before it are articles, verbs and the like
        self._things = words[first : first + 100]
        self._names = [word for word in words[200:] if word.isalpha()]

    def lesson(self, number: int) -> Lesson:
        """Always the same for a number. Neighbouring numbers have nothing in common."""
        count = len(self._names)
        bad = self._names[number * 7919 % count]
        good = self._names[(number * 104_729 + number // count + 1) % count]
        thing = self._things[number * 31 % len(self._things)]
        wordings = tuple(
            (wrong.format(bad=bad, thing=thing), right.format(bad=bad, good=good, thing=thing))
            for wrong, right in _WORDINGS
        )
        return Lesson(slug_of(*wordings[0]), wordings)


def learnings(count: int, seed: int = 1) -> Iterator[Written]:
    """So many records in the order of time, each made when it is asked for."""
    source = _Source(random.Random(seed))
    for number in range(count):
        yield source.next((number + 1) / count)


class _Source:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = vocabulary()
        self._word_weights = zipf(len(self._words))
        self._topics = self._words[60:160]
        self._repo_weights = zipf(len(REPOS))
        self._lessons = Lessons()
        self._often = [self._lessons.lesson(number) for number in range(OFTEN)]
        homes = ["" if chance.random() < _EVERYWHERE else self._repo() for _ in range(OFTEN)]
        # For each repository the lessons that are learned there, the most frequent first.
        self._local = {repo: [at for at in range(OFTEN) if homes[at] in ("", repo)] for repo in REPOS}
        self._local_weights = {repo: zipf(len(found)) for repo, found in self._local.items()}
        self._next_lesson = OFTEN
        self._lately: list[Lesson] = []
        self._ruled: set[str] = set()  # those that have a pattern record: none has two
        self._sessions = [self._session() for _ in range(_OPEN_SESSIONS)]

    def next(self, moment: float) -> Written:
        chance = self._chance
        at = chance.randrange(_OPEN_SESSIONS)
        session = self._sessions[at]
        left = session.records - 1
        self._sessions[at] = session._replace(records=left) if left else self._session()
        about = session.about | self._about()
        kind = chance.random()
        if kind < _SHARE_OF_DISCOVERIES:
            log, said = DISCOVERIES, self._discovery()
        elif kind < _SHARE_OF_DISCOVERIES + _SHARE_OF_CORRECTIONS:
            log, said = CORRECTIONS, self._correction(session.about["repo"])
        else:
            log, said = self._pattern()
        return Written(session.member, moment, log, about | said)

    def _discovery(self) -> dict[str, Any]:
        chance = self._chance
        length = chance.randint(*_WORDS_A_DISCOVERY)
        text = " ".join(chance.choices(self._words, cum_weights=self._word_weights, k=length))
        said: dict[str, Any] = {"text": text.capitalize() + "."}
        if chance.random() < 0.3:
            said["minutes_lost"] = chance.choice((15, 20, 30, 45, 60, 90, 120))
        return said

    def _correction(self, repo: str) -> dict[str, Any]:
        chance = self._chance
        kind = chance.random()
        wording, sureness = 0, 1.0
        if kind < _SHARE_OFTEN:
            here = chance.choices(self._local[repo], cum_weights=self._local_weights[repo])[0]
            lesson, wording, sureness = self._often[here], chance.randrange(len(_WORDINGS)), 0.99
        elif kind < _SHARE_OFTEN + _SHARE_AGAIN and self._lately:
            # Taken out: what was learned twice is not learned a third time, so it does not become HOT.
            lesson = self._lately.pop(chance.randrange(len(self._lately)))
        else:
            lesson = self._fresh()
            self._lately.append(lesson)
            del self._lately[:-_LATELY]
        wrong, right = lesson.wordings[wording]
        source = chance.choice(SOURCES)
        said = {"wrong": wrong, "right": right, "pattern": lesson.slug, "sureness": sureness, "source": source}
        return said | {"confidence": CONFIDENCE[source]}

    def _pattern(self) -> tuple[str, dict[str, Any]]:
        chance = self._chance
        lesson = chance.choice(self._lately if self._lately and chance.random() < 0.9 else self._often)
        if lesson.slug in self._ruled:
            lesson = self._fresh()
        wrong, right = lesson.wordings[0]
        if self._lately and chance.random() < 0.01:
            older = self._lately[0]
            return SUPERSESSIONS, {"old": older.slug, "new": lesson.slug, "reason": f"{right}, since the last release"}
        self._ruled.add(lesson.slug)
        return PATTERNS, {"pattern": lesson.slug, "rule": right, "wrong": wrong}

    def _fresh(self) -> Lesson:
        self._next_lesson += 1
        return self._lessons.lesson(self._next_lesson - 1)

    def _about(self) -> dict[str, Any]:
        chance = self._chance
        about: dict[str, Any] = {
            "category": chance.choice(CATEGORIES),
            "severity": chance.choices(SEVERITIES, (5, 10, 4, 1))[0],
            "confidence": 0.8 if chance.random() < 0.9 else 0.6,
            "topic": chance.choice(self._topics),
            "tags": chance.sample(self._topics, chance.randint(1, 3)),
        }
        if chance.random() < 0.05:
            about["repo"] = ""  # said to hold everywhere
        if chance.random() < 0.2:
            about["evidence"] = f"src/{chance.choice(self._topics)}.py:{chance.randint(1, 900)}"
        return about

    def _session(self) -> _Session:
        chance = self._chance
        agent = chance.choice(_AGENTS)
        about = {"repo": self._repo(), "agent": agent, "session": f"{agent}:{chance.getrandbits(64):016x}"}
        return _Session(chance.randrange(MEMBERS), about, chance.randint(*_RECORDS_A_SESSION))

    def _repo(self) -> str:
        return self._chance.choices(REPOS, cum_weights=self._repo_weights)[0]
