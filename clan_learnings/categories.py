"""The category of a record that gives none: by the words in it. A rule, not a judgement; `--category` says it better."""

from __future__ import annotations

from clan_learnings.records import CATEGORIES

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
