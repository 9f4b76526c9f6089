"""Learnings for tests: one that passes the gate, and any that hypothesis can think of."""

from typing import Any

from hypothesis import strategies as st

from clan_learnings.documents.learning import Learning

GOOD = Learning(
    title="Uploads fail with 403 after an hour",
    problem="`deploy upload` fails with 403 Forbidden once the build has taken longer than an hour.\n\n```\n403 Forbidden\n```",
    root_cause="The token of the registry is valid for an hour.",
    solution="Fetch a new token right before the upload:\n\n```\ndeploy login --fresh\n```",
    example="Not:\n\n    deploy upload\n\nBut:\n\n    deploy login --fresh && deploy upload",
    prevention="Call `deploy login --fresh` in the script that uploads.",
    related=("https://example.org/tokens", "scripts/upload.sh"),
    category="build-errors",
    severity="high",
    tags=("uploads", "token"),
    repo="github.com/acme/api",
    session="codex:s1",
    source="agent",
    evidence="codex:s1, line 12",
    confidence=0.8,
    quality=0.96,
    at_ms=1_763_337_600_000,
)

LINES = st.sampled_from(
    [
        "", " ", "\t", "# a", "## Problem", "\\## Problem", "\\\\## related:", "## SOLUTION ##", " ## Example", "---", "...",
        "<!-- clan-mesh rendered v1 -->", "<!-- /clan-mesh rendered -->", "- a", "```", "```sh", "````", "~~~", "\\```", "  ```", "a\r", "b\x0bc", "\u2028", "é\u200b字",
        "\x1b[31mred", "id: x", "\ufeff", "x" * 50, "\\", "#", "##",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES | st.text(max_size=30), max_size=6).map("\n".join)
WORDS = st.text(max_size=30) | st.sampled_from(
    [
        "yes",
        "null",
        "- a",
        "a: b",
        "a # b",
        '"',
        "'it''s'",
        "[a, b]",
        "2026-11-16",
        "1e5",
        "a, b",
        "~",
        "@x",
        "\\",
        "{}",
    ]
)
FRACTIONS = st.none() | st.floats(0, 1)


def learnings() -> st.SearchStrategy[Learning]:
    """Any, tidied."""
    told: dict[str, Any] = dict.fromkeys(("problem", "root_cause", "solution", "example", "prevention"), TEXTS)
    told |= dict.fromkeys(("title", "repo", "session", "source", "agent", "topic", "evidence"), WORDS)
    return st.builds(
        Learning,
        related=st.lists(WORDS | LINES, max_size=4).map(tuple),
        tags=st.lists(WORDS, max_size=4).map(tuple),
        category=st.sampled_from(["build-errors", "", "../../x", "a b"]),
        severity=st.sampled_from(["low", "medium", "high", "critical"]),
        confidence=FRACTIONS,
        quality=FRACTIONS,
        minutes_lost=st.none() | st.integers(0, 100_000),
        at_ms=st.none() | st.integers(0, 1 << 45),
        **told,
    ).map(Learning.tidy)
