"""The course of a session, worked out once for everybody who asks: events without our own text, attempts, failures. No opinions."""

from typing import NamedTuple

from clan_learnings.sessions.attempts import Attempt, attempts_in
from clan_learnings.sessions.events import Event, Session
from clan_learnings.sessions.failures import Mended, failures_in
from clan_learnings.sessions.injected_by_us import Ours, theirs


class Course(NamedTuple):
    """What happened."""

    session: Session
    events: list[Event]
    attempts: list[Attempt]
    failures: list[Mended]
    ours: Ours  # what we told it

    @classmethod
    def of(cls, session: Session) -> "Course":
        """Of a session as its transcript tells it."""
        events, ours = theirs(session.events)
        attempts = attempts_in(events)
        return cls(session, events, attempts, failures_in(attempts, events), ours)
