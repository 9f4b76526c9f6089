"""What answers of the MCP server are lists of: a record, one that was found, a rule, a page; each as data, and as a line. Pure.

Every text passes `mcp_bounds`, as in `mcp_answers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from clan_learnings.agents.mcp_bounds import Given, name_of, number_of, text_of


@dataclass(frozen=True)
class Cited:
    """One record, in few words."""

    id: str
    log: str
    text: str
    repo: str
    at: str
    author: str
    tier: str
    own_words_differ: bool

    @classmethod
    def of(cls, given: Given) -> Cited:
        """From what the desk says of a record."""
        names = {name: name_of(given, name) for name in ("id", "log", "repo", "at", "author", "tier")}
        return cls(text=text_of(given, "text"), own_words_differ=given.get("own_words") is not None, **names)

    def line(self) -> str:
        """The text, where it comes from, and the id to ask on with."""
        about = [self.log, self.tier, self.repo or "every repository", self.author, self.at[:10]]
        about += ["its own words differ"] if self.own_words_differ else []
        return f"{self.text} ({', '.join(word for word in about if word)}) [{self.id}]"


@dataclass(frozen=True)
class Hit(Cited):
    """A record that was found, and why."""

    relevance: float
    why: str
    age_days: int
    alike: int

    @classmethod
    def of(cls, given: Given) -> Hit:
        """From what the desk says of a record that it found."""
        found = given.get("relevance")
        relevance = round(float(found), 2) if isinstance(found, int | float) else 0.0
        return cls(
            relevance=relevance,
            why=text_of(given, "why"),
            age_days=number_of(given, "age_days"),
            alike=number_of(given, "also"),
            **vars(Cited.of(given)),
        )

    def line(self) -> str:
        """With how many others say the same, how well it fits and why."""
        alike = f" (+{self.alike} alike)" if self.alike else ""
        about = [f"relevance {self.relevance:.2f}", self.why, f"{counted(self.age_days, 'day')} old"]
        return f"{super().line()}{alike}; {', '.join(word for word in about if word)}"


@dataclass(frozen=True)
class Rule:
    """A rule that holds because several sessions ran into the same mistake."""

    id: str
    pattern: str
    rule: str
    wrong: str
    sessions: int
    nodes: int
    last: str
    repo: str

    @classmethod
    def of(cls, given: Given) -> Rule:
        """From what the desk says of a HOT pattern."""
        return cls(
            id=name_of(given, "id"),
            pattern=name_of(given, "pattern"),
            rule=text_of(given, "rule"),
            wrong=text_of(given, "wrong"),
            sessions=number_of(given, "sessions"),
            nodes=number_of(given, "nodes"),
            last=name_of(given, "last"),
            repo=name_of(given, "repo"),
        )

    def line(self) -> str:
        """The rule first."""
        wrong = f"; not {self.wrong}" if self.wrong else ""
        seen = f"{counted(self.sessions, 'session')}, {counted(self.nodes, 'node')}, last {self.last[:10]}"
        return f"{self.rule}{wrong}; {seen}; [{self.id}]"


@dataclass(frozen=True)
class Page:
    """A page that has the words of a question."""

    name: str
    text: str

    @classmethod
    def of(cls, given: Given) -> Page:
        """From what the desk says of a page that it found."""
        return cls(name=name_of(given, "name"), text=text_of(given, "line"))

    def line(self) -> str:
        """The line that says most, and how to read on."""
        return f"{self.text} (page; the rest: mesh page show {self.name})"


def counted(number: int, what: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
