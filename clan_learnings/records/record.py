"""What a record says: names of logs and fields, the closed lists of values, and a record as it is read. Writes nothing.

Records come from anyone: a field read through `Note` has the right type, whatever was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesh.core.errors import UsageError
from mesh.store.reader import Entry

DISCOVERIES, CORRECTIONS, PATTERNS, SUPERSESSIONS = "discoveries", "corrections", "patterns", "supersessions"
LEARNINGS = "learnings"
LOGS = (DISCOVERIES, CORRECTIONS, PATTERNS, LEARNINGS)  # what people and agents read; supersessions only join patterns
KINDS = {
    DISCOVERIES: "discovery",
    CORRECTIONS: "correction",
    PATTERNS: "pattern",
    SUPERSESSIONS: "supersession",
    LEARNINGS: "learning",
}

CATEGORIES = (
    "build-errors",
    "test-failures",
    "api-patterns",
    "architecture-decisions",
    "performance-optimizations",
    "security-practices",
    "debugging-techniques",
    "tooling-configurations",
    "domain-knowledge",
)
SEVERITIES = ("low", "medium", "high", "critical")
SOURCES = ("human", "agent", "build", "self")
CONFIDENCE = {"human": 0.9, "agent": 0.8, "build": 0.8, "self": 0.8}  # what is believed of whom, if nothing is said
MEDIUM = "medium"

# What only harvested records have: when they were written (their stamp is their session's time), and whether a person let them in.
HARVESTED, CURATED = "harvested_ms", "curated"
BESIDE = "beside"  # of a harvested document: the whole id of the record it was made beside
OLD_NEWS_MS = 90 * 86_400_000

# What `mesh edit` may change. Who said it, in which session and by what right is not among it.
EDITABLE = frozenset(
    [
        "text",
        "wrong",
        "right",
        "rule",
        "topic",
        "tags",
        "category",
        "severity",
        "confidence",
        "evidence",
        "minutes_lost",
        "repo",
        "pattern",
    ]
)

# What only a learning has: a document in sections, what it is about, and how good it is.
SECTIONS = ("problem", "root_cause", "solution", "example", "prevention")
DOCUMENT = frozenset(("title", *SECTIONS, "related", "quality"))

TEXT_CHARS = 8000  # of a sentence for others to read; longer texts belong on a page
WORD_CHARS = 64  # topic, tag, category
TAGS = 16
EVIDENCE_CHARS = 2000
MINUTES = 100_000


class About:
    """What every record says beside its own words. Empty and None mean: not said."""

    __slots__ = (
        "agent",
        "category",
        "confidence",
        "evidence",
        "minutes_lost",
        "repo",
        "session",
        "severity",
        "tags",
        "topic",
    )

    def __init__(
        self,
        *,
        repo: str = "",
        agent: str = "",
        session: str = "",
        category: str = "",
        severity: str = "",
        confidence: float | None = None,
        topic: str = "",
        tags: Sequence[str] = (),
        evidence: str = "",
        minutes_lost: int | None = None,
    ) -> None:
        self.repo = repo
        self.agent = agent
        self.session = session
        self.category = category
        self.severity = severity
        self.confidence = confidence
        self.topic = topic
        self.tags = tags
        self.evidence = evidence
        self.minutes_lost = minutes_lost

    def fields(self) -> dict[str, Any]:
        """As they stand in a record: what was not said is left out, but for the repository, which scopes it."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        said["tags"] = list(self.tags)
        return {name: value for name, value in said.items() if name == "repo" or value not in (None, "", [])}


class Note:
    """A live record with its edits applied, read with suspicion."""

    __slots__ = ("log", "node", "record", "stamp", "tag")

    def __init__(self, entry: Entry, fields: Mapping[str, Any]) -> None:
        self.tag: bytes = entry.tag
        self.log: str = entry.log
        self.node: bytes = entry.node
        self.stamp: int = entry.at
        self.record: dict[str, Any] = entry.record
        if fields:
            record, is_document = entry.record, entry.log == LEARNINGS
            changed = {
                name: value
                for name, value in fields.items()
                if (name in EDITABLE and name in record | _OPTIONAL) or (is_document and name in DOCUMENT)
            }
            if changed:
                self.record = record | changed

    @property
    def at_ms(self) -> int:
        """When it was written; of what was harvested, when its session was."""
        return self.stamp >> 16

    @property
    def is_old_news(self) -> bool:
        """Whether it was harvested, by no person's decision, from a session so long ago that it makes nothing HOT by itself."""
        written = self.record.get(HARVESTED)
        return type(written) is int and written - self.at_ms > OLD_NEWS_MS and self.record.get(CURATED) is not True

    def word(self, field: str) -> str:
        """A field that is a text; empty if it is none."""
        value = self.record.get(field)
        return value if type(value) is str else ""

    @property
    def text(self) -> str:
        """The sentence to show; empty if the record has none."""
        if self.log == CORRECTIONS:
            return said_of(self.word("right"), self.word("wrong"))
        if self.log == SUPERSESSIONS:
            return f"{self.word('new')} in the place of {self.word('old')}"
        if self.log == LEARNINGS:
            title, way = self.word("title"), self.word("solution").strip().partition("\n")[0]
            return f"{title}: {way}" if title and way else title or way
        return self.word("rule") if self.log == PATTERNS else self.word("text")

    @property
    def repo(self) -> str:
        """Where it holds; empty: everywhere."""
        return self.word("repo")

    @property
    def session(self) -> str:
        """The session it counts for. A record without one counts for itself."""
        return self.word("session") or f"record:{self.tag.hex()}"

    @property
    def pattern(self) -> str:
        """The pattern it was counted under."""
        return self.word("pattern")

    @property
    def severity(self) -> str:
        """One of the four."""
        value = self.word("severity")
        return value if value in SEVERITIES else MEDIUM

    @property
    def confidence(self) -> float:
        """From 0 to 1."""
        value = self.record.get("confidence")
        if isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1:
            return float(value)
        return CONFIDENCE.get(self.word("source"), CONFIDENCE["agent"])

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        value = self.record.get("tags")
        return [tag for tag in value if type(tag) is str][:TAGS] if type(value) is list else []


def said_of(right: str, wrong: str) -> str:
    """The sentence that a correction amounts to."""
    return f"{right} (not: {wrong})" if wrong else right


def written_under(entry: Entry) -> str:
    """The pattern that a record was counted under when it was written, whatever became of that; empty if under none."""
    value = entry.record.get("pattern")
    return value if type(value) is str else ""


_OPTIONAL = dict.fromkeys(("topic", "tags", "category", "severity", "confidence", "evidence", "minutes_lost", "repo"))


def required_text(value: str, what: str, example: str) -> str:
    """A sentence of a person or an agent, as it can be kept."""
    text = value.strip()
    if not text:
        raise UsageError(f"{what} is empty", f"like this: {example}")
    if len(text) > TEXT_CHARS:
        raise UsageError(
            f"{what} has {len(text)} characters; at most {TEXT_CHARS} are kept in one record",
            "say it in a sentence, and where the rest is with --evidence",
        )
    return text


def one_of(value: str, allowed: Iterable[str], what: str, more: str = "") -> str:
    """A value of a closed list; the error lists the right ones."""
    known = list(allowed)
    if value and value not in known:
        raise UsageError(f"{value!r} is no {what}", f"{what} is one of: {', '.join(known)}{more}")
    return value


def checked(about: About, categories: Iterable[str]) -> About:
    """The same, if every value can be kept as it is."""
    one_of(about.category, categories, "category", "; to add one to this mesh: mesh settings category NAME")
    one_of(about.severity, SEVERITIES, "severity")
    if len(about.agent) > WORD_CHARS or not about.agent.isprintable():
        raise UsageError(
            "an agent's name is a short text of one line", f"at most {WORD_CHARS} characters: --agent codex"
        )
    for what, word in (("topic", about.topic), *(("tag", tag) for tag in about.tags)):
        if len(word) > WORD_CHARS or "\n" in word or (what == "tag" and not word):
            raise UsageError(f"a {what} is a short text of one line", f"at most {WORD_CHARS} characters")
    if len(about.tags) > TAGS:
        raise UsageError(f"{len(about.tags)} tags are too many", f"at most {TAGS}")
    if about.confidence is not None and not 0 <= about.confidence <= 1:
        raise UsageError(f"{about.confidence} is no confidence", "from 0 to 1, like: --confidence 0.8")
    if about.minutes_lost is not None and not 0 <= about.minutes_lost <= MINUTES:
        raise UsageError(f"{about.minutes_lost} minutes cannot be", "whole minutes, like: --minutes-lost 20")
    if len(about.evidence) > EVIDENCE_CHARS:
        raise UsageError(
            "the evidence is too long", f"at most {EVIDENCE_CHARS} characters: say where it is, like a file or a link"
        )
    return about


# Each word speaks for one category. Of equally many the category that stands first wins.
_WORDS = {
    "test-failures": "test tests testing pytest jest vitest junit unittest fixture fixtures mock mocks assertion assert flaky coverage snapshot e2e playwright",
    "build-errors": "build builds compile compiles compiler compilation linker make cmake gradle maven webpack bundler tsc cargo rustc gcc undefined-symbol wheel dependency dependencies lockfile install installs npm pnpm yarn pip poetry",
    "security-practices": "secret secrets password token tokens credential credentials tls certificate csrf xss injection sanitize encrypt permission permissions vulnerability cve auth authentication",
    "performance-optimizations": "slow slower fast faster latency throughput performance cache caching memory leak cpu profile profiler optimise optimize batch n+1 index indexes",
    "debugging-techniques": "debug debugger debugging trace traceback stacktrace breakpoint log logs logging reproduce bisect strace gdb pdb",
    "api-patterns": "api endpoint request response http rest graphql grpc webhook header headers status 400 401 403 404 405 409 422 429 500 502 503 client sdk pagination",
    "architecture-decisions": "architecture layer layers module modules boundary service services monolith microservice design pattern interface coupling dependency-injection",
    "tooling-configurations": "config configuration configure setting settings env environment editor linter lint ruff eslint prettier docker compose ci pipeline workflow hook hooks git branch rebase push commit makefile",
}
_CATEGORY = {word: name for name, words in _WORDS.items() for word in words.split()}
_TRIMMED = ".,:;!?()[]{}\"'`"


def category_of(text: str) -> str:
    """The category most words speak for; domain knowledge if none does."""
    votes: dict[str, int] = {}
    for raw in text.lower().split():
        found = _CATEGORY.get(raw.strip(_TRIMMED))
        if found is not None:
            votes[found] = votes.get(found, 0) + 1
    if not votes:
        return CATEGORIES[-1]
    return min(votes, key=lambda name: (-votes[name], CATEGORIES.index(name)))
