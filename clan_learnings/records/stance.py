"""What a correction is for and against: every token with its stance, read from negation, contrast and order.

The wrong way is against what it names, the right way is for it, and a negation reverses that: "used npm => use pnpm", "npm must not be
used => pnpm" and "=> use pnpm, not npm" are all for pnpm and against npm. What stands on both sides is context. "A before B" says
which comes first; with a negation, or as the wrong way, it says the opposite. No comparing here, and no vocabulary beyond grammar.
Pure, one pass. Everyday commands import this.
"""

from clan_learnings.records.matching_tokens import COMMA, GRAMMAR, STOP_MARK, MatchingToken, tokens
from clan_learnings.records.matching_words import word_set

# The stances of a token, as bits, for it may be named several times: what it is for or against, what comes first and
# what later, whether it was stated rather than given as a reason, and whether by the right way.
FOR, AGAINST, FIRST, LATER, STATED, RULE = 1, 2, 4, 8, 16, 32

_BE = word_set("is are was were be been being get gets got")
_DUTY = frozenset(("should", "must", "shall", "ought", "may"))
_HELP = _BE | _DUTY | word_set("do does did can could will would might has have had")
# "use A instead of B": the word, and the word that has to follow it.
_CONTRAST = {"instead": "of", "rather": "than", "opposed": "to", "lieu": "of", "place": "of"}
# What was not done though it should have been, or should not be left undone.
_OMIT = word_set(
    """forgot forget forgets forgetting forgotten omit omits omitted omitting skip skips skipped skipping miss missed
    missing lack lacks lacked lacking neglect neglected neglecting"""
)
_FORBID = word_set("avoid avoids avoiding refrain forbid forbids ban prohibit disallow")
_FORBIDDEN = word_set("forbidden banned prohibited disallowed deprecated avoided discouraged unsupported")
_CHOOSING = word_set("prefer prefers preferred preferring choose chose pick favor favour")
_REPLACING = word_set(
    """replace replaces replaced replacing swap swapped swapping switch switched switching change changed changing
    convert converted converting rename renamed renaming migrate migrated migrating"""
)
_REPLACED_BY = frozenset(("with", "by", "to", "into", "for"))
_REACH = 10  # words between "replace" and its "with", or in a list
_REASON = frozenset(("because", "since", "otherwise", "due"))
_BREAKS = _REASON | {"but", "where", "whereas", "although", "though"}
_ORDER = {"before": True, "until": True, "after": False}
# A comma ends a clause, unless a list goes on after it; these begin a clause in any case.
_LISTING = frozenset(("or", "nor"))
_OPENING = word_set(
    """use run call make get set put add create write keep remove delete fix read let do always only please it we you
    they this these that there i ask open close commit push pass install build deploy test check start stop just
    prefer choose pick return store move edit update import export generate regenerate go wait instead import"""
)


class _Clause:
    """The tokens since the last end of a clause, each with its sign."""

    __slots__ = ("base", "before", "chosen", "items", "lead", "order_at", "reason", "replacing", "sign")

    def __init__(self, sign: int) -> None:
        self.items: list[tuple[MatchingToken, int]] = []
        self.base = sign
        self.sign = sign
        self.reason = False
        self.chosen = False
        self.replacing = False
        self.order_at = -1
        self.before = True
        self.lead = -1

    def turn(self, *, whole: bool) -> None:
        """Negate what follows, or the clause as a whole."""
        if whole:
            self.items = [(token, -sign) for token, sign in self.items]
        self.sign = -self.sign

    def decree(self, sign: int, *, whole: bool) -> None:
        """Say what follows, or the whole clause, for good or ill, whichever side it stands on."""
        if whole:
            self.items = [(token, sign) for token, _ in self.items]
        self.sign = sign

    def close(self, into: dict[str, int], kept: dict[str, MatchingToken]) -> None:
        """Note the stance of every token."""
        items = self.items
        split = self.order_at
        early = self.before
        if split == 0:  # "before A, B": B comes first
            split, early = self.lead, not early
        ordered = 0 < split < len(items)
        if ordered:
            main = items[split:] if self.lead > 0 else items[:split]
            early ^= any(sign < 0 for _, sign in main)
        for at, (token, sign) in enumerate(items):
            bits = FOR | AGAINST if sign == 0 else FOR if sign > 0 or ordered else AGAINST
            if ordered:
                bits |= FIRST if (at < split) == early else LATER
            if not self.reason:
                bits |= STATED | RULE if self.base > 0 else STATED
            kept.setdefault(token.text, token)
            into[token.text] = into.get(token.text, 0) | bits


def read_stances(text: str, base: int, into: dict[str, int], kept: dict[str, MatchingToken]) -> list[MatchingToken]:
    """Add the tokens of one text and their stances; `base` is 1 for the right way and -1 for the wrong one.

    Returns the tokens as they stand in the text.
    """
    clause = _Clause(base)
    stream = tokens(text)
    words = [token.raw for token in stream]
    for at, token in enumerate(stream):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if token.kind == STOP_MARK or token.raw in _BREAKS:
            clause.close(into, kept)
            clause = _Clause(base)
            clause.reason = token.raw in _REASON
        elif token.kind == COMMA:
            if clause.order_at == 0 and clause.lead < 0:
                clause.lead, clause.sign = len(clause.items), base
            elif not _LISTING.isdisjoint(words[at + 1 : at + _REACH]) and after not in _OPENING:
                continue  # "never use npm, yarn or bun"
            else:
                clause.close(into, kept)
                clause = _Clause(base)
        elif not _read_grammar(clause, words, at, before, after, base) and token.kind != GRAMMAR:
            clause.items.append((token, clause.sign))
    clause.close(into, kept)
    return stream


def _read_grammar(clause: _Clause, words: list[str], at: int, before: str, after: str, base: int) -> bool:
    """Let a word of grammar act on its clause; False if it is a word like any other."""
    match words[at]:
        case "not":
            if before in _DUTY or (before == "do" and not clause.items):
                clause.decree(-1, whole=True)
            else:
                clause.turn(whole=before in _HELP)
        case "never":
            if before in _DUTY:
                clause.decree(-1, whole=True)
            elif base < 0 and after.endswith("ed"):
                clause.turn(whole=False)
            else:
                clause.decree(-1, whole=False)
        case "no" | "except" | "nor":
            clause.turn(whole=after == "longer")
        case "without":
            if clause.sign < 0:  # "pushed without tests" is not against pushing
                clause.decree(0, whole=True)
                clause.sign = 1
            else:
                clause.turn(whole=False)
        case "unless":
            clause.sign = 0
        case word if _CONTRAST.get(word) == after and after:
            clause.turn(whole=False)
        case "over" | "to" if clause.chosen and clause.items:
            clause.turn(whole=False)
            clause.chosen = False
        case "missing" if base > 0 and before not in _BE:  # "for missing users" omits nothing
            return False
        case word if word in _OMIT:
            clause.turn(whole=before in _BE)
        case word if word in _FORBID or (word == "stop" and after.endswith("ing")):
            clause.decree(-1, whole=False)
        case word if word in _FORBIDDEN and before in _BE:
            clause.decree(-1, whole=True)
        case "fail" | "failed" | "failing" if after == "to":
            clause.turn(whole=False)
        case word if word in _DUTY:
            if after not in {"not", "never"}:
                clause.decree(1, whole=True)
        case word if word in _ORDER:
            if clause.order_at < 0:
                clause.order_at, clause.before = len(clause.items), _ORDER[word]
        case word if word in _CHOOSING:
            clause.chosen = True
            return False
        case _:
            return _read_replacing(clause, words, at)
    return True


def _read_replacing(clause: _Clause, words: list[str], at: int) -> bool:
    """Where A is replaced with B, it is against A and for B. Always False: the verb itself is a word like any other."""
    if clause.replacing:
        if words[at] in _REPLACED_BY:
            clause.replacing = False
            clause.turn(whole=False)
    elif words[at] in _REPLACING and not _REPLACED_BY.isdisjoint(words[at + 1 : at + _REACH]):
        clause.replacing = True
        clause.turn(whole=False)
    return False
