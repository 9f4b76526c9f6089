"""The promises of docs/PROMISES.md: each names the tests that watch it, and those are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_WATCHED = re.compile(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)")


def promises() -> list[str]:
    """The numbered list, item by item."""
    text = (ROOT / "docs" / "PROMISES.md").read_text(encoding="utf-8")
    section = text.split("# What it promises", 1)[1].split("\n## ", 1)[0]
    return re.split(r"(?m)^(?=\d+\. \*\*)", section)[1:]


def test_each_of_the_twelve_promises_names_a_test_that_exists() -> None:
    """A promise that nothing watches is advertising."""
    assert len(promises()) == 12
    for promise in promises():
        watched = _WATCHED.findall(promise)
        assert watched, promise
        for name, path in watched:
            assert re.search(rf"(?m)^(?:async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8")), name


def test_every_test_that_security_names_exists() -> None:
    """The page says who can do what to whom: each line has a test that fails if it is not so."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8")))
    assert len(named) > 20
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert {name for name in named if not re.search(rf"(?m)^(?:async )?def {name}\(", sources)} == set()
