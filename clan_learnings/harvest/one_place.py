"""Whether words hold for one place only: this project, here, a path. Of a session whose repository nobody knows, they hold nowhere else. Pure."""

from functools import lru_cache

from clan_learnings.harvest.candidates import RULES, Candidate, Signal
from clan_learnings.records.matching_words import word_set

_AROUND = ".,;:!?\"'`()[]{}<>*_\u201c\u201d\u2018\u2019\u2026"
_AROUND_PATHS = _AROUND.replace(".", "")
_NEAR = word_set("this our the these your my")
_THIS_PLACE = word_set("repo repos repository project codebase monorepo workspace checkout worktree")
_THIS = word_set("this our")  # of what there are many: the branch may be any, this one is not
_PARTS = word_set(
    "package app application service branch folder directory module component file code library team company"
)
_HERE = word_set("here")
# Paths that are the same on every machine, or nobody's.
_ANYWHERE = ("/usr/", "/etc/", "/dev/", "/bin/", "/sbin/", "/tmp/", "/proc/", "/var/", "/opt/", "/sys/", "/lib/", "~/.")  # noqa: S108 (only compared)
_PLACE_CHARS, _PATH_CHARS = 1200, 60


@lru_cache(512)  # the same rule, as many sessions say it
def one_place(text: str) -> str:
    """The words that tell of one place; empty if none do."""
    given = text[:_PLACE_CHARS].split()
    words = [word.strip(_AROUND).lower() for word in given]
    for at, word in enumerate(words):
        if word in _HERE:
            return word
        before = words[at - 1] if at else ""
        if (word in _THIS_PLACE and before in _NEAR) or (word in _PARTS and before in _THIS):
            return f"{before} {word}"
        path = given[at].strip(_AROUND_PATHS)
        if is_path(path):
            return path[:_PATH_CHARS]
    return ""


def is_path(word: str) -> bool:
    """Whether it names a file or folder of one checkout: `./x`, `src/app.ts`, `~/work/api`; not `and/or`, no address, no package."""
    if "/" not in word or "://" in word or word.startswith(("@", "-", *_ANYWHERE)) or word.strip("./") == "":
        return False
    if word.startswith(("./", "../", "~/", "/")):
        return len(word) > 2 and word.count("/") > word.startswith("/")
    parts = word.rstrip(".,").split("/")
    is_host = "." in parts[0] and not parts[0].startswith(".")  # github.com/acme/api names its place itself
    return not is_host and (len(parts) > 2 or "." in parts[-1].strip(".") or word.endswith("/"))


def placeless(candidate: Candidate, signal: Signal) -> str:
    """The words of a signal that speak of one place, where nobody knows which; empty if it may hold everywhere."""
    if signal.repo:
        return ""
    if candidate.is_edited:
        return one_place(candidate.right if candidate.family == RULES and candidate.right else candidate.text)
    return one_place(signal.item.right or signal.item.text)
