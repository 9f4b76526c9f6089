"""Whether words of a person object to what was just done. Looks at the words alone; who said what before is `corrections`' business.

English words, since that is what the rules were tried on. Each sign has a weight; with 2 of them words object. Some signs count
by themselves, some only if the model had just changed something: else they describe the world, or a wish.
"""

import re
from typing import NamedTuple

_CHARS = 700
_FENCE = re.compile(r"```.{0,4000}?(?:```|$)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\+ |- \[|\$ |➜|PS [A-Z]:|at .{1,80}\(|\S+:\d+:\d+).*$", re.MULTILINE)
_FILE = re.compile(r"'/[^'\n]{1,300}'")

# By itself: against the model, or what it said.
_AGAINST = re.compile(
    r"^(?:no|nope|nah|wrong|stop|wait|hold on|hmm+,? no|ugh|wtf|dude|omfg|omg)\b(?! (?:problem|worries|rush|need to worry|questions?|more\b|idea))"
    r"|^not (?:that|this|the|as|in|on|like|what|my|our|quite|really|exactly|correct|right|an?)\b|\bnot (?:[^.?!,]{1,50}),? but (?:the|a|an|in|on|as|to|with|this|that|my|our|rather)\b"
    r"|\b(?:that|this|it|which)(?:'?s| is| was) (?:\w+ )?(?:not (?!clear to me|needed|urgent)\w+|wrong|incorrect|misleading|too (?!late|early|bad|much to ask)\w+)|\bthat\W{0,2}s not\b"
    r"|\bnot (?:correct|right|what i|like that|as an?)\b|\bi (?:meant?|said|asked|told you|never|didn'?t (?:ask|say|want|mean)|don'?t (?:want|like|need|care))\b"
    r"|\byou (?:forgot|missed|didn'?t|did not|should(?:n'?t| not| have)|broke|messed|removed|deleted|ignored|keep|fucked|made (?:it|that|this) up|make it up|can undo|were supposed|are supposed|only did|just (?:broke|removed|deleted))\b"
    r"|\bwhy (?:did|are|would|have) you\b|\bwhy (?:didn'?t|aren'?t|don'?t|haven'?t) you\b|\bare you (?:\w+ing )?(?:sure|stupid|kidding|serious)\b|\b(?:have|did) you (?:make|made) (?:it|that|this) up\b"
    r"|\b(?:let'?s not|please don'?t|do not|don'?t (?:ever )?(?!know|have|see|worry|remember|recall|mind|understand|forget|care|think|t[h]?ink|want|need|like)\w+|stop \w+ing|instead of|revert|undo that|undo this|undo your|undo it|roll ?back)\b"
    r"|\bno need (?:for|to)\b|\bactually,? (?:it|that|the|no|we|i)\b|\bthe (?:issue|problem|point) (?:was|isn'?t|wasn'?t)\b|\bit doesn'?t mean\b",
    re.IGNORECASE,
)
# After a change: against what came of it.
_COMPLAINS = re.compile(
    r"\b(?:still|is|are|was|looks?|seems?|seem to be) (?:\w+ )?(?:not (?:right|correct|it\b|quite|how|supposed|working|showing|loading|good|enough)|wrong|incorrect|broken|off\b|too (?!late|early|bad)\w+)"
    r"|\b(?:doesn'?t|does not|didn'?t|did not|isn'?t|aren'?t|won'?t|can'?t|don'?t t[h]?ink .{1,60}) (?:\w+ )?(?:work|works|working|sound|look|seem|show|showing|load|loading|make sense|match|update|updates|adhere|compile|build|run|help|change|happen)\b"
    r"|\b(?:still|again) (?:not|fail\w*|broken|get(?:ting)?|see(?:ing)?|show\w*|look\w*|the same|doesn'?t|don'?t|wrong|happen\w*)\b|\b(?:broke|breaks|regress\w*|messed up|screwed up|fucked|explod\w+|blew up|crash(?:ed|es|ing)?)\b"
    r"|\bshould(?:n'?t| not| never)\b|\bmust(?:n'?t| not| never)\b|\bis actually\b|\bkill (?:that|this|it)\b|\bremove (?:that|this)\b|\bwe just (?:want|need) to\b|\brather than\b|\bnever \w+\b"
    r"|\b(?:(?:is|are|keeps?) failing|fails? (?:now|again|with)|now (?:fails|failing|broken)|i(?:'m| am)? (?:now |still )?(?:get|getting|seeing) (?:an? |this )?error)\b",
    re.IGNORECASE,
)
# With another sign, or after a change.
_WEAK = re.compile(
    r"\bshould\b|\bmust\b|\bneeds? to\b|\bhas to\b|\bsupposed to\b|\binstead\b|\btoo \w+\b|\bmissing\b|\bonly (?:show|see|do|have|get|work)\w*|\bis only\b|\bbut\b|\bfirst \w+ then\b|\bfirst .{1,40}\bthen\b"
    r"|\b(?:is|are) (?:empty|gone|cut off|duplicated)\b|\bnone of\b|^hmm+\b|\bremove (?:it|the)\b|\bmove (?:it|that|this)\b|\bmake (?:it|that|this)\b|\bkeep (?:it|that|the)\b|\bwe (?:don'?t|just) (?:want|need)\b"
    r"|\bactually\b|\bprefer\b|\bjust (?:use|do|remove|keep|list|want)\b|\brather\b|\bcompletely\b|\b(?:fix|change|correct) (?:that|this|it)\b|\b(?:sound|look|seem|is|are)s? (?:now )?(?:all )?the same\b|\bduplicat\w+|\bverbose\b|\bconcise\b|\bshorter\b|\bsimpl(?:er|ify)\b|\bno (?:\w+ ){1,4}(?:is|are)\b",
    re.IGNORECASE,
)
# Not about what was done: a new wish, a question, an answer.
_NEW = re.compile(
    r"^(?:ok(?:ay)?,? |yes,? |yeah,? |yep,? |sure,? |great,? |thanks,? |alright,? |perfect,? |nice,? |good,? |cool,? |and |now |also |next,? |then |please )*"
    r"(?:can (?:you|we)|fix (?:the|all|these|any)|could (?:you|we)|would you|let'?s(?! not)|implement|add|create|write|commit|push|run|open|log|make a|make an|show|explain|review|check|merge|release|publish|deploy|ship|start|continue|proceed|go ahead|do it|update|generate|list|search|find|help|delete|copy|install|set up|read|look at|think|tell me|what|how|when|where|who|which|does|do|is|are|was|were|did|should|shall|will|any)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:hmm+,? |ok,? |so,? |and |but |ah,? |oh,? |wait,? )?(?:what|how|when|where|who|which|does|do|is|are|was|were|did|should|shall|will|would|can|could|any|why)\b",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"^(?:yes|yeah|yep|yup|ok(?:ay)?|sure|thanks?|thank you|great|perfect|nice|good|cool|awesome|excellent|lgtm|looks good|works?|it works|that works|done|alright|right|exactly|correct|continue|proceed|go (?:on|ahead)|do it|please do|ship it|try again|retry|again|resume|next|hello|hi|hey|sorry,? continue|sorry)\b|.{0,40}\ball good\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"^(?:/?(?:exit|quit|clear|bye|compact|q)|i'?ll (?:take it|do it|handle|finish)|never ?mind|forget it)\b",
    re.IGNORECASE,
)
_CONCEDES = re.compile(
    r"^\W{0,4}(?:you(?:'re| are) (?:absolutely |completely |totally |quite |very )?(?:right|correct)|(?:i )?apologi[sz]e|apologies|my apologies|sorry|i'm sorry|my mistake|my bad|good catch|"
    r"i (?:misunderstood|misread|was wrong|made (?:an?|that))|no, i'm not sure|fair (?:point|enough)|oops|that was wrong)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{2,}")
_LONG = 120  # words; who writes more describes a task


class Words(NamedTuple):
    """What a prompt sounds like."""

    against: int  # weight of what objects by itself
    complaint: int  # of what objects to something that was just changed
    weak: int  # of what may do so
    is_agreement: bool
    is_farewell: bool
    is_new: bool  # it asks for something else
    is_question: bool
    size: int  # in words


def heard(text: str) -> Words:
    """What a person's words sound like. What is quoted or pasted does not count."""
    said = spoken(text)
    words = _WORD.findall(said)
    return Words(
        against=2 * min(len(_AGAINST.findall(said)), 2),
        complaint=2 * min(len(_COMPLAINS.findall(said)), 2),
        weak=min(len({found.lower() for found in _WEAK.findall(said)}), 3),
        is_agreement=bool(_AGREES.match(said)),
        is_farewell=bool(_FAREWELL.match(said)),
        is_new=bool(_NEW.match(said)),
        is_question=bool(_QUESTION.match(said)) or said.endswith("?"),
        size=len(words) if len(said) < _CHARS else len(_WORD.findall(text[: 20 * _CHARS])),
    )


def spoken(text: str) -> str:
    """What of a prompt is a person's sentence: no code, no quoted lines, no pasted output."""
    text = text.replace("\u2019", "'")[: 4 * _CHARS]
    text = _FILE.sub(" ", _QUOTED_LINE.sub(" ", _FENCE.sub(" ", text)))
    return " ".join(text.split())[:_CHARS]


def concedes(reply: str) -> bool:
    """Whether a model's answer begins by admitting something."""
    return bool(_CONCEDES.match(reply[:200].lstrip()))


def is_long(words: Words) -> bool:
    """Whether it is a description of work, rather than an objection."""
    return words.size > _LONG
