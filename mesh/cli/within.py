"""One command run inside another, for its answer: the same code that a person's call runs, and nothing printed twice."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any


def answer(command: Callable[[list[str]], int], words: list[str]) -> Any:
    """What a command answers with `--json`. Its errors are raised, its words for people go to stderr as always."""
    kept = io.StringIO()
    with redirect_stdout(kept):
        command([*words, "--json"])
    return json.loads(kept.getvalue().splitlines()[-1])
