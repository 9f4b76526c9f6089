"""Objections: whether the words of a person object to what was just done. Looks at the words alone; `corrections` looks at what happened before.

English words, since that is what the rules were tried on; of other languages only how they say no. Each sign has a weight; with 2 of them words object. Some signs count
by themselves, some only if the model had just changed something: else they describe the world, or a wish.
"""

import re
from typing import NamedTuple

_CHARS = 700
_PASTED, _ABOVE, _BELOW = 10, 4, 2  # lines of a prompt
_EARLY = 40  # characters within which an objection says what a prompt is
_BEFORE = 80  # characters before a complaint that may make it a condition
_FENCE = re.compile(r"```.{0,4000}?(?:```|$)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\+ |- \[|\$ |➜|PS [A-Z]:|at .{1,80}\(|\S+:\d+:\d+).*$", re.MULTILINE)
_FILE = re.compile(r"'/[^'\n]{1,300}'")

_LITERAL = re.compile(r"\"[^\"\n]{1,300}\"|`[^`\n]{1,300}`")  # names and texts to be used, not said

# By itself: against the model, or what it said.
_AGAINST = re.compile(
    r"^(?:nein|falsch|das stimmt nicht|non\b|c'est faux|pas ça|não|incorrecto|está mal|nie\b|hay\u0131r|yanl\u0131ş|нет\b|неправильно|не так|不是|不对|不要|错了|違う|違います|いや|아니)|"
    r"^(?:no|nope|nah|wrong|stop|wait|hold on|hmm+,? no|ugh|wtf|dude|omfg|omg)\b"
    r"(?!,? (?:problem|worries|rush|need to worry|questions?|more\b|idea|thanks|thank you|that'?s (?:all|fine|it\b|ok|good)|it'?s (?:all|fine|ok|good)|all good))"
    r"|^not (?:that|this|the|as|in|on|like|what|my|our|quite|really|exactly|correct|right|sure (?:that|this|it|about)|an?)\b"
    r"|\bnot (?:[^.?!,]{1,50}),? but (?:the|a|an|in|on|as|to|with|this|that|my|our|rather)\b|(?<!or)(?<!why)(?<!if),? not (?:an? |the |in |on |to |with )?[\w./'@:-]{2,40}[.!]?$"
    r"|\b(?:that|this|it|which)(?:'?s| is| was) (?:\w+ )?(?:not (?!clear to me|needed|urgent)\w+|wrong|incorrect|misleading|overkill|pointless|unnecessary|(?:an? )?(?:ugly )?hack|too (?!late|early|bad|much to ask)\w+)|\bthat\W{0,2}s not\b|\b(?:this|that|it) isn'?t\b"
    r"|\bnot (?:correct|right|what i|like that|as an?)\b|\bmakes? no sense\b|\b(?:the )?other way (?:a?round)\b|\b(?:was|were) meant\b|, not (?:[\w./'@:-]{1,40} ?){1,4}[.!]?$|\bunrelated to\b|\bover-?(?:kill|engineered|complicated)\b"
    r"|\bi (?:\w+ly )?(?:meant?|said|asked|wanted|already (?:said|told|asked)|told you|never|didn'?t (?:ask|say|want|mean)|don'?t (?:want|like|need|care)|want the opposite|(?:would|'d) (?:rather|prefer))\b|\bi'd (?:rather|prefer)\b|\bas i said\b|\bwe (?:don'?t|do not|never) (?:want|need|use|do|have|support)\b"
    r"|\byou (?:forgot|forget|missed|didn'?t|did not|should(?:n'?t| not| have)|broke|messed|removed|deleted|ignored|keep|fucked|made (?:it|that|this) up|make it up|can undo|were supposed|are supposed|only \w+|misunderstood|(?:\w+) the wrong|just (?:broke|removed|deleted))\b"
    r"|\bwhy (?:did|are|would|have) you\b|\bwhy (?:didn'?t|aren'?t|don'?t|haven'?t) you\b|\bare you (?:\w+ing )?(?:sure|stupid|kidding|serious)\b|\b(?:have|did) you (?:make|made) (?:it|that|this) up\b|\b(?:can|could) you (?:please )?(?:not|stop|follow|stick|respect|reuse|keep (?:it|the))\b|\b(?:did|have) you (?:even|actually)\b|^again,|\b(?:let'?s|can (?:we|you)|could (?:we|you)) (?:just )?(?:use|do|have|make|keep|call|put|go with)\b.{1,60}\binstead\b"
    r"|\b(?:let'?s not|please don'?t|do not|don'?t (?:ever )?(?!know|have|see|worry|remember|recall|mind|understand|forget|care|think|t[h]?ink|want|need|like|get|commit yet|you)\w+|stop \w+ing|instead of|revert|undo that|undo this|undo your|undo it|roll ?back)\b"
    r"|\bno need (?:for|to)\b|\bactually,? (?:it|that|the|no|we|i)\b|\bthe (?:issue|problem|point) (?:was|isn'?t|wasn'?t)\b(?! that i\b)|\b(?:that|this|it) (?:won'?t|wouldn'?t|doesn'?t|does not|can'?t) (?:mean|work|explain|help|make|fix|solve|happen|apply|match|change|do)\b|\bi don'?t (?:think|believe|agree)\b(?! (?:i|so\b))"
    r"|\byou(?:'re| are) (?:looking at|using|mixing|confusing|missing|assuming|testing|editing|misunderstanding|wrong|ignoring)\b|\byou (?:misread|misunderstand|confuse|already (?:tried|did|said|asked|have))\b|\b(?:that|this|it)(?:'s| is) (?:outdated|obsolete|out of date|irrelevant|the wrong)\b"
    r"|^(?:please )?(?:skip|forget|ignore)\b(?! it\b)|\bthere(?:'s| is| are) no\b(?! (?:hurry|rush|need|deadline|problem|limit|preference|way))",
    re.IGNORECASE,
)
# After a change: against what came of it.
_COMPLAINS = re.compile(
    r"\b(?:still|is|are|was|looks?|seems?|seem to be) (?:\w+ )?(?:not (?:right|correct|it\b|quite|how|supposed|working|showing|loading|good|enough)|wrong|incorrect|broken|off\b|missing|gone|red\b|empty|misaligned|cut off|useless|duplicated|too (?!late|early|bad)\w+)"
    r"|\b(?:doesn'?t|does not|didn'?t|did not|won'?t) (?!matter|need|have|want|mind|know|exist)\w+|\b(?:isn'?t|aren'?t|can'?t) (?:\w+ )?(?:work|working|sound|look|seem|show|showing|load|loading|match|update|compile|build|run|happen|there|right|correct|see|find|click|open)\w*|\bdon'?t t[h]?ink .{1,60} (?:works?|right|correct)\b"
    r"|\b(?:still|again) (?:not|fail\w*|broken|get(?:ting)?|see(?:ing)?|show\w*|look\w*|the same|doesn'?t|don'?t|wrong|happen\w*)\b|\b(?:is|are) still\b|\bsame (?:error|issue|problem|result|thing)\b|\b(?:broke|breaks|regress\w*|messed up|screwed up|fucked|explod\w+|blew up|crash(?:ed|es|ing)?)\b"
    r"|\bnothing (?:happens|changed|happened|works|shows)\b|\b(?:no|any) (?:effect|difference|change)\b|\bwrong (?:file|branch|repo|place|name|order|version|one|way|direction|folder|colou?r)\b|^wrong\b"
    r"|\bshould(?:n'?t| not| never| be(?! (?:good|fine|ok|okay|ready|done|enough|possible|safe|easy))| go| stay| use| have| look)\b|\bmust(?:n'?t| not| never| be)\b|\bis actually\b|\bkill (?:that|this|it)\b|\bremove (?:that|this)\b|\bput (?:it|that|this|them) back\b|\bwe just (?:want|need) to\b|\brather than\b|\bnever \w+\b|\binstead\b"
    r"|\b(?:it'?s|is) (?:called|spelled|named)\b|\bthere'?s already\b|\balready (?:have|exists?|had)\b|^(?:please )?use (?:the|our|a|an)\b|^but (?!what|how|can|could|why)|^too \w+|\bno emojis?\b"
    r"|\b(?:(?:is|are|keeps?) failing|fails? (?:now|again|with)|now (?:fails|failing|broken)|i(?:'m| am)? (?:now |still )?(?:get|getting|seeing) (?:an? |this )?error)\b",
    re.IGNORECASE,
)
_COMPLAINS_OF_FORM = re.compile(
    r"\b(?:has|have|needs?) to be\b|(?<!we )(?<!i )(?<!you )(?<!also )(?<!will )(?<!might )(?<!may )\bneeds? (?:to|the|a|an)\b|\bi(?:'d| would)? expect(?:ed)?\b|\bshould(?:'ve| have)\b|\bnothing (?:is|was)\b|\bduplicat\w+|\b(?:looks?|is|are|sounds?|seems?|works?) the same\b"
    r"|\bfails? (?:on|when|for|in)\b|\bit fails\b|\b(?:swapped|mixed up|confused|mistaken|misread|hard-?coded)\b|\b(?:garbage|nonsense|rubbish|horrible|terrible|ugly|awful|weird|strange|confusing|unreadable|messy|slower|worse)\b"
    r"|\bis (?:optional|required|mandatory|deprecated|generated|private|read-?only|reserved|unused)\b|\bwe (?:agreed|decided|already|always|use|call|said)\b|\bwe'?re (?:on|using)\b|\bour (?:convention|style|standard)\b"
    r"|^(?:but |hm+,? |so |and )?you(?:'re|'ve| are| have)? (?!right|welcome|the best|done|ready)(?:\w+ed|\w+ing|put|made|wrote|left|lost|took|chose|forgot)\b"
    r"|^(?:please )?(?:leave|only|just|keep|stick|use|put|avoid|write it)\b(?! (?:wondering|curious|checking|asking|a question|me know|fyi|in mind|going|up))"
    r"|\b(?:overlaps?|flickers?|jumps?|freezes?|hangs?|lags?|leaks?|disappear\w*|vanish\w*|flaky|huge|tiny|lost|stuck|blank|blurry|typos?|restore)\b|\bstill (?!need|want|have|think|thinking|waiting|working on|possible|ok|fine|open|to\b)\w+|^why is \S+ (?:changed|gone|missing|there|here|still|now|removed|empty)\b|\bno such\b|\b(?:doesn'?t|does not) exist\b|\bwrong\b|\bi(?:'m| am)? (?:get|getting|got|see|seeing)\b.{0,40}(?:error|exception|traceback|warning)|\b(?:you|we) (?:can'?t|cannot)\b|\ba lot of\b|\balso (?:match|includ|show|return|print|delet|remov|chang)\w+|\bwould (?:delete|break|overwrite|remove|lose|leak|expose|crash)\b"
    r"|\byou (?:just )?(?:added|wrote|created|changed|made|removed|introduced)\b|\bi want the (?:new|old|same|other|original|first|second)\b|\bshould (?:only|also)\b|^(?:ok|okay|nice|good|great|fine|cool|looks good|close|almost|nearly)[,.]? but\b|\bno (?!problem|idea|worries|need|more|matter|longer|one|way|doubt|rush|hurry|thanks|thank)[\w-]+[.!]?$"
    r"|\bnow (?:all|the|it|everything|nothing|every|there)\b(?! same).{0,40}\b(?:is|are|has|have|does|do|gets?|looks?|shows?|says?)\b",
    re.IGNORECASE,
)
# A rhetorical question: something is not as it was expected. After a change.
_DOUBTS = re.compile(
    r"^(?:wait,? |hmm+,? |but |ok,? but )?(?:why (?:is|are|does|did|do|would|should) (?:this|there|it|that|these|they|we)\b|why not (?:just )?(?:use|do|have|call|make|put|keep)\b|what happened to|where did|shouldn'?t (?:this|that|it|we|the|they)|isn'?t (?:this|that|it|the)|aren'?t (?:these|they|the|we)|doesn'?t (?:this|it|that)|wasn'?t)\b",
    re.IGNORECASE,
)
# What a condition says is part of a wish, and no complaint.
_SUPPOSED = re.compile(
    r"\b(?:if|when|whenever|where|case|which|who|so that|unless|until|page that|script that)\b[^.!?]{0,60}$",
    re.IGNORECASE,
)
# With another sign, or after a change.
_WEAK = re.compile(
    r"\bshould\b|\bmust\b|\bneeds? to\b|\bhas to\b|\bsupposed to\b|\btoo \w+\b|\bmissing\b|\bonly (?:show|see|do|have|get|work)\w*|\bis only\b|\bbut\b|\bfirst \w+ then\b|\bfirst .{1,40}\bthen\b"
    r"|\bnone of\b|^hmm+\b|\bremove (?:it|the)\b|\bmove (?:it|that|this)\b|\bmake (?:it|that|this)\b|\bkeep (?:it|that|the)\b|\bwe (?:don'?t|just) (?:want|need)\b"
    r"|\bactually\b|\bprefer\b|\bjust (?:use|do|remove|keep|list|want)\b|\brather\b|\bcompletely\b|\b(?:fix|change|correct) (?:that|this|it)\b|\b(?:sound|look|seem|is|are)s? (?:now )?(?:all )?the same\b|\bduplicat\w+|\bverbose\b|\bconcise\b|\bshorter\b|\bsimpl(?:er|ify)\b|\bno (?:\w+ ){1,4}(?:is|are)\b",
    re.IGNORECASE,
)
# Not about what was done: a new wish, a question, an answer.
_NEW = re.compile(
    r"^(?:ok(?:ay)?,? |yes,? |yeah,? |yep,? |sure,? |great,? |thanks,? |alright,? |perfect,? |nice,? |good,? |cool,? |and |now |also |next,? |then |please )*"
    r"(?:can (?:you|we)|could (?:you|we)|fix (?:the|all|these|any)|would you|let'?s(?! not)|next|we (?:also )?(?:need|want) (?:to|an?|some)|implement|add|create|write|commit|push|run|open|log|make a|make an|make the|make sure|show|explain|review|check|merge|release|publish|deploy|ship|start|continue|proceed|go ahead|do it|do the same|update|generate|list|search|find|help|delete|copy|install|set up|bump|read|look at|think|tell me|what|how|when|where|who|which|does|do|is|are|was|were|did|should(?!'ve| have)|shall|will|any|test|here is|here are|summarize)\b|^.{0,200}\bplease (?:implement|add|create|build)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:hmm+,? |ok,? |so,? |and |but |ah,? |oh,? |wait,? )?(?:what|how|when|where|who|which|does|do|is|are|was|were|did|should(?!'ve| have)|shall|will|would|can|could|any|why)\b",
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
_TAG = re.compile(r", (?:right|correct|yes|yeah|no|ok)\s?\?", re.IGNORECASE)  # asks whether both mean the same
_CANNOT = re.compile(
    r"\b(?:only (?:supports?|allows?|accepts?)|can(?:'|\u2019)?t|cannot|not (?:possible|supported|available)|isn(?:'|\u2019)t (?:possible|supported|available)|(?:doesn(?:'|\u2019)t|does not) (?:support|allow|exist)|no way to|unable to)\b",
    re.IGNORECASE,
)
_CAN = re.compile(
    r"\bi (?:was able to|could|can|managed to|just did|did it)\b|\bit (?:does|is possible|can|works)\b|\bworks for me\b|\bthere is (?:a way|an? \w+ for)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:error|failed|fail|failing)\b.{0,60}(?:exit(?:ed)? (?:code|with)|task failed)|exit(?:ed with)? (?:code|status) [1-9]|^(?:FAIL|FAILED|ERROR|error|fatal)\b|Traceback \(most|: error\b|\berror TS\d|task failed",
    re.MULTILINE,
)
_SHOWN = 3  # lines from which on a prompt may hold what a program printed
_WORD = re.compile(r"[^\W_]{2,}")
_LONG = 120  # words; who writes more describes a task


class ObjectionSigns(NamedTuple):
    """The signs of an objection in a prompt."""

    against: int  # weight of what objects by itself
    complaint: int  # of what objects to something that was just changed
    weak: int  # of what may do so
    is_agreement: bool
    is_farewell: bool
    is_new: bool  # it asks for something else
    is_question: bool
    asks: bool  # it ends with a question mark
    confirms: bool  # it asks whether it has understood
    size: int  # in words


def objection_signs(text: str) -> ObjectionSigns:
    """The signs of an objection in a person's words. Quoted and pasted text does not count."""
    said = spoken(text)
    spoken_only = _LITERAL.sub(" _ ", said)
    against = [found.start() for found in _AGAINST.finditer(spoken_only)]
    complaints = [
        at
        for found in (*_COMPLAINS.finditer(spoken_only), *_COMPLAINS_OF_FORM.finditer(spoken_only))
        if not _SUPPOSED.search(spoken_only[max(0, (at := found.start()) - _BEFORE) : at])
    ]
    has_doubt = bool(_DOUBTS.match(spoken_only))
    is_early = has_doubt or any(at < _EARLY for at in against)  # then the rest is the reason, and no new wish
    return ObjectionSigns(
        against=2 * min(len(against), 2),
        complaint=2 * min(len(complaints) + has_doubt, 2),
        weak=min(len({found.lower() for found in _WEAK.findall(spoken_only)}), 3),
        is_agreement=bool(_AGREES.match(said)),
        is_farewell=bool(_FAREWELL.match(said)),
        is_new=bool(_NEW.match(said)) and not is_early,
        is_question=(bool(_QUESTION.match(said)) or said.endswith("?")) and not is_early,
        asks=said.endswith("?"),
        confirms=bool(_TAG.search(said)),
        size=len(_WORD.findall(said)) if len(said) < _CHARS else len(_WORD.findall(text[: 20 * _CHARS])),
    )


def spoken(text: str) -> str:
    """What of a prompt is a person's sentence: no code, no quoted lines, no pasted output."""
    text = text.replace("\u2019", "'")[: 4 * _CHARS]
    text = _FILE.sub(" ", _QUOTED_LINE.sub(" ", _FENCE.sub(" ", text)))
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _PASTED:  # most of it is what a program printed; people write above it, or below
        lines = lines[:_ABOVE] + lines[-_BELOW:]
    return " ".join(" ".join(lines).split())[:_CHARS]


def concedes(reply: str) -> bool:
    """Whether a model's answer begins by admitting something."""
    return bool(_CONCEDES.match(reply[:200].lstrip()))


def contradicts(said: str, reply: str) -> bool:
    """Whether a person did what the model said cannot be done."""
    return bool(_CANNOT.search(reply[:2000])) and bool(_CAN.search(said[:_CHARS]))


def shows_failure(text: str) -> bool:
    """Whether a prompt holds what a failed check printed."""
    return text.strip().count("\n") >= _SHOWN - 1 and bool(_FAILED.search(text[: 20 * _CHARS]))


def is_long(words: ObjectionSigns) -> bool:
    """Whether it is a description of work, rather than an objection."""
    return words.size > _LONG
