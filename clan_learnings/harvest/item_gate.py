"""The quality gate of one-line items: a subject, an action, evidence, and nothing that only its own session understands. Pure.

It asks for little and says what is missing; what passes it may still be false. What a person wrote by hand comes here too.
"""

from clan_learnings.harvest.candidates import RULES, Candidate
from clan_learnings.harvest.directives import said_words
from clan_learnings.harvest.items import QUESTION
from clan_learnings.records.matching_tokens import COMMON, GRAMMAR, NAME, STRICT, tokens
from clan_learnings.records.matching_words import word_set

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


def problems(candidate: Candidate) -> tuple[str, ...]:
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


def _has_action(candidate: Candidate, words: list[str]) -> bool:
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
