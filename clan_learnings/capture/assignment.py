"""The task inside the words that benchmarks and issue solvers wrap around it. A person wrote the task; nobody typed the rest."""

_TAGS = ("issue_description", "pr_description", "problem_statement", "github_issue", "issue", "task")
_BETWEEN = (
    ("\nISSUE:\n", ("\nINSTRUCTIONS:",)),
    ("# Problem Statement\n", ("\nIMPORTANT:", "\n# ")),
    ("Please solve this issue: ", ("\n\nYou can execute bash commands", "\n\n## ")),
    ("Please solve the following issue:\n", ("\n\nYou can execute bash commands", "\n\n## ")),
)
_AFTERWARDS = ("\nINSTRUCTIONS:\n", "\n<instructions>", "\n# Task Instructions")


def assigned(text: str) -> str:
    """The task alone; the whole text if nothing is known to be around it."""
    for tag in _TAGS:
        start = text.find(f"<{tag}>")
        end = text.find(f"</{tag}>", start)
        if 0 <= start < end:
            return text[start + len(tag) + 2 : end].strip()
    for before, after in _BETWEEN:
        start = text.find(before)
        if start >= 0:
            return _until(text[start + len(before) :], after)
    return _until(text, _AFTERWARDS)


def _until(text: str, ends: tuple[str, ...]) -> str:
    places = [at for end in ends if (at := text.find(end)) >= 0]
    return text[: min(places)].strip() if places else text.strip()
