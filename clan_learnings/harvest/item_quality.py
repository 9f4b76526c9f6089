"""The quality of one-line items: do they have a subject, an action and evidence, are they a rule that others can follow, do they make sense outside of their session? Pure.

The gate asks for little and says what is missing; an item that passes may still be false. Items written by hand go through it too.
"""

from functools import lru_cache
from itertools import dropwhile

from clan_learnings.harvest.candidates import RULES, HarvestCandidate, Signal
from clan_learnings.harvest.items import QUESTION
from clan_learnings.records.matching_tokens import COMMON, GRAMMAR, NAME, STRICT, tokens
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


def placeless(candidate: HarvestCandidate, signal: Signal) -> str:
    """The words of a signal that speak of one place, where nobody knows which; empty if it may hold everywhere."""
    if signal.repo:
        return ""
    if candidate.is_edited:
        return one_place(candidate.right if candidate.family == RULES and candidate.right else candidate.text)
    return one_place(signal.item.right or signal.item.text)


AROUND = '.,;:!?"()[]*_\u201c\u201d\u2026'  # not an apostrophe: `don't` is a word


def said_words(text: str) -> list[str]:
    """The words of a text, in order."""
    words = (word.strip(AROUND) for word in text.lower().replace("\u2019", "'").split())
    return [word for word in words if word]


_CHARS = 600
_ENDS = (".", "!", "?", ";", "\u2026")
# Before what is said, and without weight.
_OPENING = word_set(
    "no nope not but and so well please actually just ok okay yes yeah sorry wait oh hey then also again you we should"
)
_WANTS = (("i", "want", "you", "to"), ("i", "need", "you", "to"), ("you", "need", "to"), ("you", "have", "to"), ("make", "sure", "to"),
    ("make", "sure", "you"), ("make", "sure", "that", "you"), ("i", "said"), ("i", "told", "you", "to"))  # fmt: skip
_FOR_EVER = (("from", "now", "on"), ("going", "forward"), ("in", "future"), ("in", "the", "future"), ("as", "a", "rule"), ("by", "convention"),
    ("remember", "to"), ("remember", "that"), ("keep", "in", "mind", "that"))  # fmt: skip
_DEMANDS = word_set("use avoid prefer")
_NOT = word_set("don't dont never")
_EVER = word_set("always never")
_MUST = word_set("must mustn't mustnt")
_SHOULD = word_set("should shouldn't shouldnt")
_NAMING = word_set("called named spelled spelt")
# Who does something where a report begins: `it never works`, `I never said`, `that always fails`.
_TELLERS = word_set("i i've it this that these those they he she which who what there")
_SEEN = word_set("this that these those there here")
_BEFORE_THAT = word_set("be is do use like to of not never for")  # then it is what is pointed at
_DONE = word_set("is are was were been had has have did does seen said got made went worked meant told")
_PLACES = word_set(
    "repo repository project codebase monorepo workspace package folder app organisation organization team"
)
_HELPERS = _DONE | _SHOULD | word_set("must can could will would")
_NO_VERBS = word_set("mind the a an again more in on at from with when")
_LOOKS = word_set("be stay look show have appear go come remain also only still")
_LEAST = 3  # words


def is_rule(text: str) -> bool:
    """Whether one of the sentences, or what stands between two commas of it, says what to do, or what never to."""
    return any(_is_directive(words, clause) for words, clause in _clauses(text[:_CHARS]))


def _clauses(text: str) -> list[tuple[list[str], str]]:
    """Sentences, and their parts between commas: words in small letters, and the text."""
    found: list[tuple[list[str], str]] = []
    for sentence in _cut(text, _ENDS):
        if sentence.rstrip(AROUND.replace("?", "") + "' ").endswith("?"):
            continue
        parts = _cut(sentence, (",", ":"))
        found += [(said_words(part), part) for part in (sentence, *(parts if len(parts) > 1 else ()))]
    return found


def _cut(text: str, marks: tuple[str, ...]) -> list[str]:
    """At words that end in a mark: `a.b` is one word."""
    parts: list[list[str]] = [[]]
    for word in text.split():
        parts[-1].append(word)
        if word.rstrip("\"')\u201d\u2019`").endswith(marks):
            parts.append([])
    return [" ".join(part) for part in parts if part]


def _is_directive(words: list[str], clause: str) -> bool:
    words, is_for_ever = _begun(words), False
    for phrase in (*_WANTS, *_FOR_EVER):
        if tuple(words[: len(phrase)]) == phrase:
            words, is_for_ever = words[len(phrase) :], is_for_ever or phrase in _FOR_EVER
    words = _begun(words)
    if len(words) < _LEAST - 1 or _points(words) or not _names(clause):
        return False
    return is_for_ever or _demands(words, clause) or _holds(words) or _replaces(words) or _is_told(words, clause)


def _begun(words: list[str]) -> list[str]:
    """From the first word that has weight on."""
    return list(dropwhile(_OPENING.__contains__, words))


def _demands(words: list[str], clause: str) -> bool:
    """Use, avoid, prefer, don't: of a thing that has a name, not of `the block` that is on the screen."""
    first, second = words[0], words[1]
    is_not = first in _NOT or (first, second) == ("do", "not")
    if first in _DEMANDS or (first == "only" and second in _DEMANDS) or (is_not and second not in _DONE | _NO_VERBS):
        is_named = "`" in clause or any(token.kind == STRICT for token in tokens(clause))
        return "the" not in words or first == "never" or is_named
    return False


def _holds(words: list[str]) -> bool:
    """Always, never, must: what is asked for, not what was seen."""
    for at, word in enumerate(words[:-1]):
        before, after = words[at - 1] if at else "", words[at + 1]
        if before in _TELLERS or (at > 1 and words[at - 2] in _TELLERS and before in _HELPERS):
            continue
        if word in _MUST and at and after not in ("have", "be"):
            return True
        if word in _MUST and at and len(words) > at + 2:
            return after == "be"
        if word in _EVER and before not in _DONE and _is_base(after):
            return True
    return False


def _is_told(words: list[str], clause: str) -> bool:
    """`parseDate() should return None`: of a thing of code, what it does. What should be bigger, or elsewhere, is seen on a screen."""
    if len(words) < _LEAST or words[1] not in _SHOULD or not _is_base(words[2]) or words[2] in _LOOKS:
        return False
    written = next((word for word in clause.split() if word.lower().strip(AROUND) == words[0]), "")
    inside = written.strip(AROUND)
    return any(sign in written for sign in "`()_") or (inside[1:] != inside[1:].lower() and inside != inside.upper())


def _is_base(verb: str) -> bool:
    """Use, run, commit; not uses, ran, committed."""
    return (
        verb not in _DONE | _NO_VERBS
        and verb.isalpha()
        and not verb.endswith("ed")
        and (not verb.endswith("s") or verb.endswith("ss"))
    )


def _replaces(words: list[str]) -> bool:
    """One thing instead of another; a name, and not another one."""
    joined = f" {' '.join(words)} "
    if any(f" {said} " in joined for said in ("instead of", "rather than", "in place of")):
        return words[0] not in ("instead", "rather") and words[-1] not in ("of", "than")
    is_named = any(word in _NAMING for word in words)
    return is_named and (" not " in joined or " isn't " in joined)


def _points(words: list[str]) -> bool:
    """Whether something in it can be seen in its own session only. `it` is fine after what it stands for."""
    if any(word in _SEEN and not _is_joint(words, at) for at, word in enumerate(words)):
        return True
    return words[0] in ("it", "it's", "they", "its") or (words[0] in _NOT | _DEMANDS and words[-1] in ("it", "them"))


def _is_joint(words: list[str], at: int) -> bool:
    """`an error that the caller shows`, `remember that`; `in this repo`, which says where and not what."""
    if words[at] == "that":
        return 0 < at < len(words) - 1 and words[at - 1] not in _BEFORE_THAT
    if words[at] == "here":
        return at > 1 and at == len(words) - 1
    place = words[at + 1] if at + 1 < len(words) else ""
    return words[at] == "this" and words[at - 1 : at] == ["in"] and place in _PLACES


def _names(clause: str) -> bool:
    """Whether it has an object: a thing that has a name of its own."""
    return any(token.kind in (NAME, STRICT) for token in tokens(clause))


LEAST_CHARS, MOST_CHARS = 12, 300  # a context cuts a line at 300
_LEAST_WORDS = 3
_MARK = "[redacted:"

# Words with which a sentence says what is done, or what is so. Roots; endings are taken off.
_ACTIONS = word_set(
    """
    use run call set add make write read keep put move remove delete drop avoid prefer pass fail need require take give get return
    print show mean wait install build compile test check verify start stop open close create update change edit rename replace
    import export commit push pull merge rebase fetch clone format lint deploy configure enable disable quote escape pin
    is are was were be been has have had do does did must should can cannot may will would shall contain hold expect exist
    belong work break crash hang raise throw throws match ignore skip include exclude accept reject refuse allow deny forbid
    support provide send receive load save store cache log report find look see search sort split join convert parse encode decode
    begin end depend follow follows lead cause happen appear become stay remain leave live lie stand name named call define declare
    handle catch retry try repeat redo undo revert restore point ask answer say tell know count wrap bind mount map ship
    generate produce yield emit render draw play bump upgrade downgrade lock unlock sign resolve launch invoke execute switch
    """
)
_ENDINGS = ("ing", "ied", "ies", "ed", "es", "s", "d", "n't")
# A person's words to an agent that are no rule: what such an answer begins with, reports of what happened, swearing.
_YIELDING = word_set("no nope not but and so well please actually just hm hmm ok okay yes yeah yep sorry wait oh ah")
_TALK = word_set("dude omg omfg wtf lol thanks nice great cool stop undo")
_FIRST = word_set("i i'm i've i'd i'll me my")
_WISHES = word_set("want wanted need prefer said told meant use like")
_SYMPTOMS = word_set("still failing broken crashed exploded")
_COARSE = word_set("shit shitty damn hell crap")
_COARSER = ("fuck", "fuckin", "bullshit")
_CLOSING = ".!\"'\u201d\u2019)\u2026 "
_TOLD_CHARS = 240
_SHORT = 3  # words that may be nothing but a name
_POINTING = word_set("it this that these those they he she there")


def problems(candidate: HarvestCandidate) -> tuple[str, ...]:
    """What is missing or wrong, in words; nothing if it may pass."""
    text = candidate.text.strip()
    found = []
    if not LEAST_CHARS <= len(text) <= MOST_CHARS:
        found.append(f"it has {len(text)} characters; a line has {LEAST_CHARS} to {MOST_CHARS}")
    if not text.isprintable():
        found.append("it is not one plain line")
    said = tokens(text)
    words = [token for token in said if token.kind in (GRAMMAR, COMMON, NAME, STRICT)]
    if len(words) < _LEAST_WORDS:
        found.append("it is too short to be understood elsewhere")
    if not any(token.kind in (NAME, STRICT) for token in said):
        found.append("no subject: it names no tool, file, error or thing")
    elif words and words[0].raw in _POINTING and sum(token.kind in (NAME, STRICT) for token in said) < 2:
        found.append("no subject: it points at what only its own session knows")
    if not _has_action(candidate, [token.raw for token in words]):
        found.append("no action: it says neither what to do nor what is so")
    told = candidate.right.strip() if candidate.family == RULES else ""
    if candidate.kind == QUESTION or text.rstrip(_CLOSING).endswith("?") or _asks(told):
        found.append("it is a question: somebody has to answer it")
    if told and not candidate.is_edited:
        found += _talk(told)
    if not any(signal.session and signal.item.line > 0 for signal in candidate.signals):
        found.append("no evidence: no line of a session shows it")
    return tuple(found)


def bears_mark(*texts: str) -> bool:
    """Whether a secret stood in one of these that was taken out."""
    return any(_MARK in text for text in texts)


def _asks(told: str) -> bool:
    """Whether one of the sentences is a question."""
    return any(word.rstrip(_CLOSING).endswith("?") for word in told.split())


def _talk(told: str) -> list[str]:
    """What makes a person's words in one session no rule for others, until somebody puts them better."""
    words = said_words(told)
    found = []
    if len(told) > _TOLD_CHARS:
        found.append(f"what is right takes {len(told)} characters; a rule has at most {_TOLD_CHARS}")
    opening = next((word for word in words if word not in _YIELDING), "")
    is_report = opening in _FIRST and not any(word in _WISHES for word in words[:4])
    if opening in _TALK or opening in _POINTING or is_report or not _SYMPTOMS.isdisjoint(words):
        found.append("it is talk of its own session: a rule says what to do or what is so")
    if not _COARSE.isdisjoint(words) or any(word.startswith(_COARSER) for word in words):
        found.append("it is not in words to hand on")
    return found


def _has_action(candidate: HarvestCandidate, words: list[str]) -> bool:
    if candidate.family == RULES and candidate.right.strip():
        said = [token for token in tokens(candidate.right) if token.kind in (GRAMMAR, COMMON, NAME, STRICT)]
        # A command, a path or a name is what to do instead; words have to say so.
        if len(said) <= _SHORT or any(token.kind == STRICT or not token.raw.isalpha() for token in said):
            return True
        words = [token.raw for token in said]
    return any(word in _ACTIONS or any(_root(word, end) in _ACTIONS for end in _ENDINGS) for word in words)


def _root(word: str, ending: str) -> str:
    if not word.endswith(ending):
        return ""
    root = word.removesuffix(ending)
    if root in _ACTIONS:
        return root
    if len(root) > 2 and root[-1] == root[-2]:  # stopped, running
        return root[:-1]
    return root + ("y" if ending in ("ied", "ies") else "e")
