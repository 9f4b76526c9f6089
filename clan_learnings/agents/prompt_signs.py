# ruff: noqa: RUF001 (words of other languages, and signs that terminals print)
"""What a person's prompt may be to the agent: an objection, a rule that holds from now on, or neither. Looks at the words alone.

It only locates: the agent, who has the whole conversation, decides whether there is anything to record. So the rules are about how
people object and give standing orders, in the main languages of prompts, and not about what they talk about:

- A *rule* says that something holds beyond this task: "from now on", "remember", "always" and "never" before what is to be done.
- A *strong* objection says so by itself: it begins with a no, refers to what was said before, blames, takes something back.
- A *weak* one states that something is not as it should be. It counts in a statement, and not in a question or in a task, where it describes the world or a wish.
"""

import re
from enum import StrEnum

from clan_learnings.sessions.prompt_text import typed


class PromptSign(StrEnum):
    """What a prompt may be."""

    NONE = ""
    OBJECTION = "objection"
    RULE = "rule"


_CHARS = 4000  # of a prompt that are looked at
_LINES, _ABOVE, _BELOW = 8, 3, 2  # of more lines than that most were pasted; people write above them, or below
_WORDS = 90  # who writes more describes a task: only its first and its last sentence can object
_LEAST_WORDS = 2  # of an objection that says something; a bare no answers a question
_STATEMENT_WORDS = 45  # of a sentence that states what is wrong
_CODE_SHARE = 0.55  # of a line's characters that are letters or blanks, at least, if a person wrote it

_FENCE = re.compile(r"```.{0,4000}?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|`[^`\n]{1,300}`|“[^”\n]{1,300}”|'(?=[/~])[^'\n]{1,300}'")
_PASTED_LINE = re.compile(
    r"\s*(?:[>|+$➜❯#{}\[\]]|-{3}|\d{4}-\d\d-\d\d|\d\d:\d\d|at \S+ ?\(|File \"|\S+[.:]\d+:\d+|[A-Za-z.]*(?:Error|Exception|Warning): |PS [A-Z]:|\s{4})"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*(?=[^\s.])|\n+|;\s+")
_WORD = re.compile(r"[^\W_]+")

_FILLERS = (
    r"(?:(?:ok(?:ay)?|oh|ah|uh|uhm?|hm+|well|so|and|but|sorry|please|pls|dude|man|my dude|hey|yeah|yes|bro)\b[,.! …]*)*"
)

_LASTS = (
    r"\b(?:from now on|from here on|going forward|(?:in|for) (?:the )?future\b(?! (?:work|release|version))|next time\b|as a (?:general )?rule\b|for future reference"
    r"|(?:every|each|any) ?time you\b|whenever you\b|(?:our|the) (?:convention|policy|standard|house rule|team rule) (?:here )?is\b|by convention\b)"
    rf"|^{_FILLERS}(?:(?:you (?:should|must|have to) )?remember\b(?!,? (?:when|how|where|what|if|me)\b)(?:[:,]| (?:that|to|we|this|the|it)\b)|(?:keep|bear) in mind\b|note (?:to self|for (?:later|next))|memori[sz]e\b|don'?t forget(?: that|:|.* when))"
    r"|\b(?:ab (?:jetzt|sofort)|künftig|in zukunft|von jetzt an|merk dir|denk dr?an|niemals|nie wieder"
    r"|désormais|dorénavant|à partir de maintenant|à l'avenir|souviens-toi|retiens|n'oublie pas"
    r"|a partir de ahora|de ahora en adelante|en el futuro|recuerda (?:que|siempre)|nunca (?:más|uses|hagas|toques)|siempre (?:usa|utiliza|ejecuta|haz)|la próxima vez"
    r"|a partir de agora|daqui em diante|lembre-se|lembra que|sempre (?:use|rode|faça)|nunca (?:use|faça|mexa)"
    r"|d'ora in poi|ricorda(?:ti)? (?:che|di)|bundan (?:sonra|böyle)|her zaman|asla|unutma"
    r"|od teraz|zapamiętaj|nigdy nie|на будущее|впредь|отныне|с этого момента|в следующий раз|запомни|никогда не)\b"
    r"|^(?:bitte )?(?:immer|nie|toujours|sempre|siempre|nunca|zawsze|всегда)\b"
    r"|每次.{1,20}都|从现在(?:开始|起)|以后(?:都|请|要|不|别)|记住|请记得|永远不要|总是要|千万不要|今後|これから(?:は|も)|以降は|覚えて(?:おいて|ください)|必ず|絶対に|앞으로|기억해|항상|절대"
)
# "Always" and "never" as an order: at the beginning of a clause, or after "you must". "It always fails" describes.
_ORDERS = (
    rf"(?:^{_FILLERS}|[,:–—-] |\b(?:please|you|should|must|shall|to|and|but|then|or) )(?:always|never)\b,? (?!mind\b|ever (?:been|seen)\b|been\b|had\b|was\b|were\b|has\b|have\b|seen\b|saw\b|heard\b|got\b|did\b|does\b|is\b|a\b|an\b|the\b|\w+ed\b|\w+[^s]s\b)[a-z]"
    r"|, (?:always|never)[.!]*$|\b(?:we|our team) (?:always|never) \w+|\b(?:in|for) (?:this|our) (?:repo(?:sitory)?|project|code ?base|team|company)\b,? we\b|\bwe \w+ .{1,60}\bin (?:this|our) (?:repo(?:sitory)?|project|code ?base|team|company)\b|\bdon'?t ever\b|\b(?:must|should|shall|may|can) (?:never|always|under no circumstances)\b|\b(?-i:NEVER|ALWAYS)\b"
)
_SEES_TO_IT = rf"^{_FILLERS}(?:make sure\b|i want you to\b)"

_NO = (
    rf"^{_FILLERS}(?:"
    r"(?:no|nope|nah)\b(?!,? (?:problem|worries|rush|hurry|thanks?\b|thank you|questions?\b|more\b|idea|doubt|need to (?:worry|rush|apologi)|big deal|preference|opinion|offen[cs]e|matter|that'?s (?:all|fine|it\b|ok|good|great)|it'?s (?:all|fine|ok|good)|all good|go (?:on|ahead)|i (?:don'?t|haven'?t|didn'?t|am|will|can|do)\b|not yet|one\b))"
    r"|(?:wrong|incorrect|false)\b(?!-)|not (?!sure|bad|yet|now\b|urgent|necessarily|only|a (?:problem|big deal)|that (?:i|it matters|urgent)|too (?:bad|shabby))\w+"
    r"|(?:stop|halt)(?=[,.!]|$| \w+ing\b| it\b| that\b| this\b)|wait(?=[,.!…?]|$| what| no\b| why| that| this| you)(?!,? not yet)|hold on\b|(?:i|you) (?:mean|meant)\b|actually\b(?!,? (?:can|could|let'?s|let me|would|yes|never ?mind|i (?:think|have|wonder)))"
    r"|nein\b|falsch\b|stopp?\b(?=[,!])|halt\b(?=[,!])|nicht (?:so|das|die|der|den)\b|das (?:stimmt|passt|geht|ist) (?:so )?(?:nicht|falsch)|non\b(?=[,!.]| pas| ce)|c'est (?:faux|pas)|ce n'est pas|pas (?:ça|comme|celui|celle)|no es\b|está mal|eso no|así no|incorrecto|não\b|está errado|errado|sbagliato|non è|nie\b[,!]|to nie|źle\b|hayır\b|yanlış|öyle değil|нет\b|неправильно|не так|не то\b"
    r"|不是|不对|不要|别|错了|不行|不应该|違う|違います|ちがう|そうじゃな|いや[、,]|아니|틀렸"
    r")"
)
_STRONG = (
    r"\b(?:as|like) i (?:already |just )?(?:said|told|mentioned|asked|wrote)\b|(?<!why )(?<!what )(?<!that )\bi (?:(?:already|just|specifically|explicitly|clearly|literally) )*(?:said|told you|asked (?:you|for)|meant|never (?:said|asked|wanted)|didn'?t (?:ask|say|want|mean)|(?:don'?t|do not) (?:want|need|like|care (?:about|for))|wanted)\b(?! to (?:ask|know|see|check|say|thank))"
    # Blame.
    r"|\byou (?:(?:just|also|still|again|completely|totally|even|only) )*(?:forgot|forget|missed|broke|break|ignored|ignore|misunderst\w+|misread|overwrote|skipped|messed|fucked|screwed|keep \w+ing|didn'?t|did not|shouldn'?t|should not|should(?:'ve| have)|weren'?t|aren'?t|were (?:supposed|told|asked)|are (?:not|supposed|wrong|missing|mixing|confus\w+|ignoring|assuming|misunderst\w+)|don'?t (?:need to|have to|understand|get))\b"
    r"|\byou(?:'re| are) (?:guessing|hallucinating|overthinking|making (?:it|that|this|things|stuff) up)\b|\byou'?re (?:wrong|missing|mixing|confus\w+|ignoring|assuming|misunderst\w+|not\b)|\bwhy (?:on earth |the hell )?(?:did|are|would|do|have) you\b(?! (?:think|suggest|recommend|prefer)\b)|\b(?:why )?(?:didn'?t|haven'?t) (?:you|i (?:say|tell|ask))\b|\bare you (?:\w+ing )?(?:kidding|serious|stupid|blind|joking)\b|\bwho (?:told|asked) you\b|\b(?:have|did) you (?:just )?ma[dk]e (?:it|that|this) up\b"
    r"|\bi think (?:it|this|that|the|they|these|those)\b.{0,40}\b(?:should|must|is supposed|needs to)\b"
    r"|\bthat(?:'s| is| was|\S{1,3}s) (?:\w+ )?(?:not\b(?! (?:a problem|bad|urgent|needed|important))|wrong|incorrect|nonsense|bullshit|backwards)|\bthis is (?:not|wrong|incorrect|nonsense)\b|\b(?:the )?other way (?:a?round)\b|\bmakes? no sense\b|\bdoesn'?t make (?:any )?sense\b|\b(?:is|are|was|were) actually\b|\bnot what i\b"
    r"|\b(?:wtf|w\.t\.f|ffs|jfc|fucking|fucked|goddamn|what the (?:fuck|hell|heck))\b|^should(?:n'?t)? (?:be|have|not)\b|^(?:way |much |a bit |far )?too (?!bad\b|late\b)\w+|^again,|\b(?:that|this|it)(?:'s| is| looks| sounds) (?:still |way |far |much |a bit )*too (?!bad\b|late\b|early\b)\w+|(?<!do )\bwe already (?:have|use|do|support)\b|\bthere(?:'s| is) already\b|\bno need for\b"
    r"|\bich (?:sagte|habe (?:doch )?gesagt|meinte|wollte)\b|\bwie (?:schon )?gesagt\b|\bdu (?:hast|solltest) .{0,40}(?:vergessen|nicht|falsch)\b|\bje t'?ai (?:déjà )?dit\b|\bcomme je l'ai dit\b|\bte (?:dije|he dicho)\b|\bcomo (?:dije|te dije|eu disse)\b|\beu (?:já )?disse\b|\bя (?:же )?(?:сказал|говорил|просил)\w*|\btu as oublié\b|\b(?:está|é|es|esta) (?:errado|mal|incorrecto|equivocado)\b|\b(?:immer noch|noch immer) (?:nicht|kein)|\bmarche toujours pas\b|\bsigue (?:sin|fallando)\b|\bainda não\b|\bnon \w+ ancora\b|\bнеправильно\b|\bвс[её] (?:ещё|еще|равно) не\b|\bhâlâ?\b.{0,20}m[ıiuü]yor|\bhala\b.{0,20}m[ıiuü]yor|这样不对|还是不|为什么.{0,10}(?:删|改|去)|まだ.{0,10}(?:ない|ません)|그게 아니|아직도?.{0,8}안 |我(?:说过|说的是|不是说|让你)|你(?:忘了|弄错|搞错|理解错)|言った(?:でしょ|よね|はず)|말했잖"
)
_TAKES_BACK = (
    r"^(?:\W*\w+\W+){0,6}(?:undo|revert|roll ?back) (?:that|this|it|your|the last|those|these|all)\b|\bput (?:it|that|this|them|\w+ \w+) back\b|\bchange (?:it|that|this) back\b"
    r"|\b(?:like|as) (?:(?:it|this|that|they|we|you) )?(?:(?:was|were|had (?:it|this|that)?) ?)?before\b|\bthe way (?:it|this|that|they) (?:was|were)\b|\blike (?:that|this) again\b"
    r"|\b(?:remove|kill|drop|get rid of) (?:that|this|these|those)\b(?! (?:\w+ ){2,})|\bi (?:undid|reverted|rolled back|had to (?:undo|revert|fix))\b"
)
# One thing and not another, and a thing in the place of another. A short order of this form corrects; in a long one it is part of the task.
_CONTRAST = r"(?<!or)(?<!why)(?<!if)(?:,|(?<=^use )\S+) (?:and )?not (?:an? |the |in |on |to |with |by |from |via )?[\w./'@:_-]{2,40}(?: [\w./'@:_-]+){0,2}[.!]?$|(?<!m )(?<!am )(?<!sure )\bnot (?!sure\b|\d)(?:[^.?!,]{1,40}),? but (?:the|a|an|in|on|as|to|with|this|that|my|our|rather)\b|\b(?:use|do|call|put|run|keep|make|write|take|try|need|want)\b.{1,60}\b(?:instead(?! of)|rather than)\b|^(?:please )?(?:use|i want) .{1,60} instead of\b|^(?:rather|instead)\b"
_FORBIDS = rf"^{_FILLERS}(?:(?:can|could) you (?:please )?(?:not|stop)\b|let'?s not\b|do ?n[o']?t\b(?! (?:worry|bother|hesitate|know|have|see|think|understand|remember|you|we|i|it|forget)\b)|do not\b|stop \w+ing\b|no (?!one\b|longer\b|more\b)[\w-]+(?: [\w-]+)?!)"

_NOT = r"(?:(?:is|are|was|were|does|do|did|has|have|wo|would|ca|could|should|must)(?:n'?t| not)|cannot|will not|can not|(?<=it)'s not|(?<=they)'re not)"
_WEAK = (
    rf"(?<!\bi )(?<!\bwe )(?<!\bif )\b{_NOT}\b(?! (?:sure|need|matter|mind|know|urgent|required|worry|bother|forget|hesitate)\b)"
    r"|\bi (?:don'?t|do not|can'?t) (?:t[h]?ink|believe|see|agree|get (?:any|the))\b(?! so\b)|\bwe (?:don'?t|do not|never|didn'?t) (?:want|need|use|do|have|support)\b"
    r"|\bstill\b(?! (?:need|want|have|to do|todo|open|possible|ok|fine|good|works|waiting|working on|thinking)\b)|\b(?:happen|fail|br[eo]ak|broke|crash|hang|same|wrong|error)\w*(?: \w+)? again\b|\b(?:only|just) (?:show|display|work|list|return|handle|see|use)\w*|\bnot (?:everything|all|every|any|working|quite|right|correct|enough|like|as)\b|^(?:no|none|nothing)\b.{1,60}\b(?:is|are|was|were|has|have|works?|happens?|shows?|loads?)\b|\bnone of the\b|\bnothing (?:happens|changed|works|shows|is|was)\b"
    r"|\bthere(?:'s| is| are) no\b(?! (?:rush|hurry|need|problem|doubt|preference))|^(?:please )?(?:keep|leave) (?:the|that|this|it|my|our|those|these)\b"
    r"|\byou(?:'ve| have)? (?:just )?(?!mentioned|suggested|proposed|offered|showed|described|asked|need)(?:\w+ed|made|put|wrote|left|took|lost|chose|ran)\b"
    r"|\b(?:is|are|was|were|looks?|seems?|sounds?|feels?|got|gets?|went|keeps?|it'?s|that'?s|they'?re) (?:\w+ )?(?:wrong|broken|failing(?! (?:tests?|jobs?|checks?)\b)|missing|empty|gone|off|incorrect|misleading|ugly|weird|duplicated|unreadable|misaligned|outdated|overkill|useless|worse|too \w+|now \w+er|the same|same)\b"
    r"|\b(?:sounds?|looks?) (?:all )?the same\b|\b(?:fails|crash(?:es|ed)?|broke|breaks|exploded|blew up|explodes|regressed|vanished|disappeared)\b|\bwrong (?:file|branch|repo|place|name|order|version|one|way|direction|folder|colou?r)\b|\bsame (?:error|issue|problem|result|thing)\b"
    r"|(?<!\bwhat )(?<!\bi )(?<!\bwe )(?<!\bthat )(?<!\byou )\b(?:should|must|needs? to|has to|have to|ought to|supposed to)\b(?! (?:we|i|be (?:good|fine|ok|okay|enough|ready|possible|easy|safe|done)|work\b|do\b))|\bi(?:'d| would)? expect(?:ed)?\b|\b(?:it|this|that) (?:now |just |only )?(?:shows|says|throws|gives|returns|prints|hangs|freezes)\b|\bbut (?:it|the|this|that|now) .{0,60}\b(?:says|shows|is|are|does|gives|returns)\b"
)
_CONDITION = r"\b(?:if|when|whether|unless|until|so that|in case|to make sure|because|since|so (?:it|we|i|they|that)|that's why|this is why)\b[^,.!?]{0,80}$"

_AGREES = r"^(?:yes|yeah|yep|yup|ok(?:ay)?|sure|thanks?|thank you|great|perfect|nice|good|cool|awesome|excellent|lgtm|looks good|alright|right|exactly|correct|done|fine)\b[,.! ]*"
_PRAISES = r"^(?:great|perfect|nice|good|cool|awesome|excellent|lgtm|looks good|thanks?|thank you)\b(?!.{0,30}\b(?:but|however|except)\b)"
_THANKS = r"\bthanks?(?: (?:you|a lot|so much))?\W*$"
_HOW = r"^(?:and |so |ok,? )?(?:how|what'?s?|where|which)\b"
_ASKS_FOR = (
    r"^(?:(?:now|also|and|then|next|so|please|pls|first|finally|again|just|go ahead and|let'?s see|hmm+|maybe|alright|ok(?:ay)?)\b[,: …]*)*"
    r"(?:(?:can|could|would|will|should|shall|may|might) (?:you|we|i)\b|let'?s\b(?! not)|let me\b|lets\b|i(?:'d| would)? (?:like|need|want) (?:you|to|an?|the|some)\b|i'?ll\b|i'?m (?:going|trying|looking|working|getting)|we (?:also |still |just |now )*(?:need|want|should|have to)\b(?! not\b)|we'?(?:ll|re going)\b|help\b|here(?:'s| is| are)\b|there(?:'s| is) (?:an?|another) (?:\w+ )?(?:bug|issue|ticket|problem)\b|the (?:\w+ )?(?:ticket|spec|story|task|requirements?)\b|how about|what about"
    r"|(?:add|analy[sz]e|apply|audit|build|bump|change|check|clean|close|commit|compare|configure|continue|convert|copy|create|debug|define|delete|deploy|describe|design|document|draft|edit|enable|evaluate|explain|extend|extract|find|fix|format|generate|get|give|go|implement|improve|include|install|investigate|list|log|look|make|merge|migrate|move|open|optimi[sz]e|plan|port|prepare|proceed|propose|publish|pull|push|put|read|refactor|release|remove|rename|replace|research|resume|retry|review|rewrite|run|scaffold|search|send|set|show|simplify|split|start|summari[sz]e|switch|tag|tell|test|think|translate|try|turn|update|upgrade|use|validate|verify|wire|work|wrap|write)\b(?! (?:is|are|was|has|does|doesn|should|must|isn|still|now|only|fails|failed|never)))"
)
_ASKS = r"^(?:(?:hm+|ok(?:ay)?|so|and|but|ah|oh|also|well|now|just)\b[, …]*)*(?:what|how|when|where|who|which|whose|why|does|do|did|is|are|was|were|will|would|should|shall|can|could|may|has|have|any|anything|am)\b"
# A question that is none: something is not as expected.
_RHETORICAL = rf"^(?:hm+|well|ok(?:ay)?|yes|yeah)?[, .]*but (?!what\b|how\b|can\b|could\b|where\b|when\b|which\b|first\b|yes\b|ok)|^{_FILLERS}(?:(?:shouldn'?t|isn'?t|aren'?t|doesn'?t|wasn'?t|didn'?t|don'?t|won'?t) (?:this|that|it|we|the|they|these|you)\b|why (?:is|are|does|did|do|was) (?:it|this|that|there|the|these|they)\b.{{0,80}}\b(?:still|again|now|not|gone|missing|empty|changed|removed|deleted)\b|why (?:not|isn'?t|doesn'?t|aren'?t|didn'?t|wasn'?t|don'?t)\b|what happened to\b|where did .{{1,40}} go\b)"


def sign_of(prompt: str) -> PromptSign:
    """What a prompt may be, by its words. Text that no person typed is nothing."""
    sentences = spoken_sentences(prompt)
    if not sentences:
        return PromptSign.NONE
    if any(_is_rule(sentence) for sentence in sentences):
        return PromptSign.RULE
    return PromptSign.OBJECTION if _objects(sentences) else PromptSign.NONE


def is_typed(prompt: str) -> bool:
    """Whether a person typed any of it: no notification, wrapper of a command, queue of the agent, or JSON."""
    text = typed(prompt[:_CHARS])
    return bool(text) and not text.startswith(("{", "[{", "<"))


def spoken_sentences(prompt: str) -> list[str]:
    """The sentences that a person typed, without code, quotations and pasted output."""
    if not is_typed(prompt):
        return []
    text = typed(prompt[:_CHARS]).replace("\u2019", "'")
    lines = [line for line in _FENCE.sub("\n", text).splitlines() if line.strip()]
    if len(lines) > _LINES:
        lines = lines[:_ABOVE] + lines[-_BELOW:]
    said = [_QUOTED.sub(" _ ", line).strip() for line in lines if _is_written(line)]
    return [part.strip() for line in said for part in _SENTENCE.split(line) if _WORD.search(part)]


def _is_written(line: str) -> bool:
    """Whether a person may have written a line, rather than a program."""
    if _PASTED_LINE.match(line):
        return False
    plain = sum(char.isalpha() or char == " " for char in line)
    return plain >= _CODE_SHARE * len(line)


def _is_rule(sentence: str) -> bool:
    if sentence.endswith("?") or len(_WORD.findall(sentence)) > _STATEMENT_WORDS:
        return False
    if _search(_LASTS, sentence):
        return True
    is_wish = bool(_match(_ASKS_FOR, sentence)) and not _match(
        _SEES_TO_IT, sentence
    )  # of what is to be made, it says how it behaves
    return not is_wish and bool(_search(_ORDERS, sentence))


def _objects(sentences: list[str]) -> bool:
    is_praised = bool(_match(_PRAISES, sentences[0]) or _search(_THANKS, sentences[-1]))
    agreement = _match(_AGREES, sentences[0])
    if agreement:
        rest = sentences[0][agreement.end() :]
        sentences = [rest, *sentences[1:]] if _WORD.search(rest) else sentences[1:]
    words = sum(len(_WORD.findall(sentence)) for sentence in sentences)
    if words < _LEAST_WORDS and " ".join(sentences).isascii():
        return False
    first = sentences[0]
    if words > _WORDS:
        return any(_match(_NO, each) or _search(_STRONG, each) for each in (first, sentences[-1]))
    if any(_is_strong(each) for each in sentences[:3]):
        return True
    if _match(_RHETORICAL, first) or (_search(_CONTRAST, first) and not first.endswith("?")):
        return True
    if is_praised or _match(_ASKS_FOR, first) or _is_question(first) or _match(_HOW, sentences[-1]):
        return False
    return any(_states_wrong(sentence) for sentence in sentences[:3] if not _match(_ASKS_FOR, sentence))


def _is_strong(sentence: str) -> bool:
    if _match(_NO, sentence) or _search(_STRONG, sentence) or _match(_FORBIDS, sentence):
        return True
    return bool(_search(_TAKES_BACK, sentence)) and not _match(_HOW, sentence)


def _states_wrong(sentence: str) -> bool:
    if _is_question(sentence) or len(_WORD.findall(sentence)) > _STATEMENT_WORDS:
        return False
    return any(
        not _search(_CONDITION, sentence[: found.start()]) for found in re.finditer(_WEAK, sentence, re.IGNORECASE)
    )


def _is_question(sentence: str) -> bool:
    return sentence.endswith("?") or bool(_match(_ASKS, sentence))


def _search(pattern: str, text: str) -> re.Match[str] | None:
    """`re` keeps what it has compiled. Compiled here, these patterns would take every hook as long as Python takes to start."""
    return re.search(pattern, text, re.IGNORECASE)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.match(pattern, text, re.IGNORECASE)
