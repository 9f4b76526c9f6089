"""Which pattern a correction belongs to: a slug made of its own words, and the best match among existing patterns.

The writer decides and stores the result in the record, so the fold never guesses. Pure and deterministic: no clock, no order of
arrival, the same on every node. Everyday commands import this.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

from clan_learnings.records.matching_tokens import COMMON, NAME, STRICT, MatchingToken, tokens
from clan_learnings.records.matching_words import UNDOING, concept
from clan_learnings.records.stance import AGAINST, FIRST, FOR, LATER, RULE, STATED, read_stances

# Share of the weight of all hard tokens that two corrections must have in common. The rules have to agree in every
# word ("run tests" is not "run tests in parallel"); this is about how differently long the story of the mistake may be.
ENOUGH = 0.5
# What a token weighs. Numbers, flags and names tell corrections apart, common words hardly do.
WEIGHT = {STRICT: 2.0, NAME: 1.0, COMMON: 0.25}
# Less than sure unless the forms are equal.
ALMOST_SURE = 0.99
# What `compare` gives where the two exclude each other, rather than merely differ.
CONTRADICTION = -1.0

# Of the bits of a stance. No two numbers of a pair have the product of FOR and AGAINST, or of FIRST and LATER, but these two.
_SIDES, _ORDER = FOR | AGAINST, FIRST | LATER

_SLUG_WORDS = 4
_SLUG_WORD_LENGTH = 16
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_SLUG_HASH_LENGTH = 6  # 30 bits, on top of the words
# Reading a text takes longer than comparing it, and the same records are near to one new text after the other.
_REMEMBERED, _REMEMBERED_CHARS = 1_000, 1_000  # texts, and the longest of them: about 7 MB


class PatternCandidate:
    """A pattern in scope: the (wrong, right) texts already counted under it, its rule, and when it began (any number)."""

    __slots__ = ("cosines", "rule", "since", "slug", "texts")

    def __init__(
        self,
        slug: str,
        texts: Sequence[tuple[str, str]] = (),
        rule: str = "",
        since: int = 0,
        cosines: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        """`cosines`: of the texts that have a vector, with what is looked for."""
        self.slug = slug
        self.texts = texts
        self.rule = rule
        self.since = since
        self.cosines = cosines or {}


class Match:
    """The pattern found, how sure that is (above 0, up to 1), and why, in words for a person."""

    __slots__ = ("slug", "sureness", "why")

    def __init__(self, slug: str, sureness: float, why: str) -> None:
        self.slug = slug
        self.sureness = sureness
        self.why = why

    def __repr__(self) -> str:
        return f"Match({self.slug!r}, {self.sureness:.2f}, {self.why!r})"


class ComparableCorrection:
    """A correction as it is compared: hard tokens with their stances, soft ones, and the form that is hashed."""

    __slots__ = ("_compounds", "_only", "_stream", "_weights", "form", "hard", "soft", "tokens")

    def __init__(self, wrong: str, right: str) -> None:
        stances: dict[str, int] = {}
        kept: dict[str, MatchingToken] = {}
        self._stream = read_stances(wrong, -1, stances, kept) + read_stances(right, 1, stances, kept)
        self.tokens = kept
        # Where there is nothing but common words, these are what it says.
        self.hard = {text: bits for text, bits in stances.items() if _is_hard(kept[text], bits)} or stances
        self.soft = frozenset(stances) - self.hard.keys()
        self.form = " ".join(sorted(_sign(bits) + text for text, bits in self.hard.items()))
        # Worked out on first use: comparing with many patterns needs them again and again.
        self._compounds: dict[str, tuple[str, str]] | None = None
        self._only: dict[int, set[str]] = {}
        self._weights: dict[str, float] | None = None

    def only(self, side: int) -> set[str]:
        """The hard tokens that are named on this side alone."""
        found = self._only.get(side)
        if found is None:
            found = {text for text, bits in self.hard.items() if bits & (FOR | AGAINST) == side}
            self._only[side] = found
        return found

    def compounds(self) -> dict[str, tuple[str, str]]:
        """What neighbouring words would be as one: time zone -> timezone."""
        if self._compounds is None:
            self._compounds = {
                concept(one.raw + other.raw): (one.text, other.text)
                for one, other in pairwise(self._stream)
                if one.raw.isalpha() and other.raw.isalpha()
            }
        return self._compounds

    def weights(self) -> dict[str, float]:
        """The weight of each token, and of each part of one."""
        if self._weights is None:
            self._weights = _weights(self.tokens.values())
        return self._weights


def comparable(wrong: str, right: str) -> ComparableCorrection:
    """A correction, or with an empty `wrong` any text, as it is compared. Those of usual length are read once and remembered."""
    if len(wrong) + len(right) > _REMEMBERED_CHARS:
        return ComparableCorrection(wrong, right)
    return _remembered(wrong, right)


_remembered = lru_cache(_REMEMBERED)(ComparableCorrection)

# The last comparison and its result: weighing a likeness asks for it twice.
_latest: list[tuple[ComparableCorrection | None, ComparableCorrection | None, tuple[float, str]]] = [
    (None, None, (0.0, ""))
]

# What compares two corrections, and may use the cosine of their vectors: how sure it is, and why.
Judge = Callable[[ComparableCorrection, ComparableCorrection, float | None], tuple[float, str]]


def _is_hard(token: MatchingToken, bits: int) -> bool:
    """In a reason only numbers and identifiers are hard. Capitals do not matter: case must not change the form."""
    return token.kind == STRICT or (token.kind == NAME and (bits & STATED != 0 or not token.text.isalpha()))


def _sign(bits: int) -> str:
    """Two characters, so that no sign can be taken for the first letter of a token."""
    side = bits & (FOR | AGAINST)
    order = bits & (FIRST | LATER)
    return ("+" if side == FOR else "-" if side == AGAINST else "=") + {FIRST: "<", LATER: ">"}.get(order, "_")


def slug_of(wrong: str, right: str) -> str:
    """The slug of a new pattern for a correction: the same normalised text gives the same slug on every node.

    What it is for, then what it is against, then a hash of the whole form: `pnpm-not-npm-k3x7qa`.
    """
    reading = comparable(wrong, right)
    good, bad = sorted(reading.only(FOR)), sorted(reading.only(AGAINST))
    context = sorted(set(reading.hard).difference(good, bad))
    words = _readable(good + context)[: _SLUG_WORDS - 1]
    against = _readable(bad)[: _SLUG_WORDS - len(words)]
    if against:
        words += ["not", *against]
    data = reading.form.encode("utf-8", "surrogatepass")
    number = int.from_bytes(blake2b(data, digest_size=8, person=b"clan-mesh slug 1").digest(), "big")
    letters = "".join(_BASE32[number >> 5 * at & 31] for at in range(_SLUG_HASH_LENGTH))
    return "-".join([*(words or ["correction"]), letters])


def _readable(texts: list[str]) -> list[str]:
    """Tokens as they can stand in a slug: a few ASCII letters and digits; the others are left to the hash."""
    words = []
    for text in texts:
        kept = "".join(char if char.isascii() and char.isalnum() else " " for char in text.lower())
        word = "-".join(kept.split())[:_SLUG_WORD_LENGTH].strip("-")
        if word:
            words.append(word)
    return words


def overlap(one: ComparableCorrection, other: ComparableCorrection) -> float:
    """How much two corrections share, 0 to 1, by words and identifiers, whole and in parts. Symmetric; knows no negation."""
    mine, theirs = one.weights(), other.weights()
    total = sum(mine.values()) + sum(theirs.values())
    if not total:
        return 0.0
    return 2 * sum(min(mine[text], theirs[text]) for text in mine.keys() & theirs.keys()) / total


def _weights(said: Iterable[MatchingToken]) -> dict[str, float]:
    found: dict[str, float] = {}
    for token in said:
        if token.kind in WEIGHT:
            found[token.text] = WEIGHT[token.kind]
            for part in token.parts:
                found.setdefault(part, WEIGHT[COMMON])
    return found


def compare(one: ComparableCorrection, other: ComparableCorrection) -> tuple[float, str]:
    """How sure it is that two corrections mean the same, 0 for no, below 0 for a contradiction; and why. Symmetric."""
    latest = _latest[0]  # other threads compare as well
    if latest[0] is not one or latest[1] is not other:
        latest = _latest[0] = one, other, _compared(one, other)
    return latest[2]


def _compared(one: ComparableCorrection, other: ComparableCorrection) -> tuple[float, str]:
    if one.form == other.form:
        return (1.0, "the same words") if one.form else (0.0, "no words")
    shared = one.hard.keys() & other.hard.keys()
    word = opposition(one, other)
    if word:
        return CONTRADICTION, f"opposite about {word}"
    mine, theirs = leftovers(one, other)
    strict = _unexcused(mine, one, other) | _unexcused(theirs, other, one)
    if strict:
        return CONTRADICTION, f"only one has {min(strict)}"
    if mine and theirs:
        return 0.0, f"{min(mine)} is not {min(theirs)}"
    if not any(_is_same_side(one.hard[text], other.hard[text]) for text in shared):
        return 0.0, "no word on the same side"
    extra = {text for text in mine if _tells_apart(one, text)} | {text for text in theirs if _tells_apart(other, text)}
    if extra:
        return 0.0, f"only one rule has {min(extra)}"
    if _is_for_more(one, other, mine) and _is_for_more(other, one, theirs):
        return 0.0, "other right ways"
    found = (one.hard.keys() | other.hard.keys()) - shared - mine - theirs  # there in parts
    for side in (FOR, AGAINST):
        ours, its = one.only(side), other.only(side)
        if ours and its and ours.isdisjoint(its) and found.isdisjoint(ours | its):
            return 0.0, f"{min(ours)} is not {min(its)}"
    weight = sum(WEIGHT[one.tokens[text].kind] for text in one.hard.keys() - mine)
    weight = max(weight, sum(WEIGHT[other.tokens[text].kind] for text in other.hard.keys() - theirs))
    rest = sum(WEIGHT[one.tokens[text].kind] for text in mine) + sum(WEIGHT[other.tokens[text].kind] for text in theirs)
    if weight < ENOUGH * (weight + rest):
        return 0.0, "too little in common"
    weight += WEIGHT[COMMON] * len(one.soft & other.soft)
    names = sorted(one.tokens[text].raw or text for text in shared)
    return min(ALMOST_SURE, weight / (weight + rest)), "both say " + ", ".join(names[:5])


def opposition(one: ComparableCorrection, other: ComparableCorrection) -> str:
    """The word about which two corrections say the opposite of each other; empty if there is none."""
    mine, theirs = one.hard, other.hard
    opposed = [text for text in mine.keys() & theirs.keys() if _opposed(mine[text], theirs[text])]
    return one.tokens[min(opposed)].raw if opposed else ""


def _tells_apart(reading: ComparableCorrection, text: str) -> bool:
    """A word that only one has belongs to its rule, rather than to the story of the mistake or to both."""
    bits = reading.hard[text]
    rule = bits & STATED and (bits & (FOR | AGAINST) == FOR or bits & (RULE | FOR) == RULE)
    return bool(rule) or text in UNDOING


def _opposed(mine: int, theirs: int) -> bool:
    """One is for it alone and the other against it alone, or it comes first for one and later for the other."""
    return (mine & _SIDES) * (theirs & _SIDES) == FOR * AGAINST or (mine & _ORDER) * (theirs & _ORDER) == FIRST * LATER


def _is_same_side(mine: int, theirs: int) -> bool:
    """Whether both are for it, or both against it. Being both for and against counts as neither."""
    return (mine & _SIDES or _SIDES) == (theirs & _SIDES or _SIDES)


def _is_for_more(one: ComparableCorrection, other: ComparableCorrection, leftover: set[str]) -> bool:
    """One is for something that the other is not for, be it that it never names it or is only against it."""
    return any(one.hard[text] & FOR for text in leftover) or any(
        one.hard[text] & FOR and not other.hard[text] & FOR for text in (one.hard.keys() & other.hard.keys())
    )


def _unexcused(leftover: set[str], one: ComparableCorrection, other: ComparableCorrection) -> set[str]:
    """The numbers and flags that only one has; one that it is merely against is excused if both are for the same other."""
    strict = {text for text in leftover if one.tokens[text].kind == STRICT}
    if not strict:
        return strict
    agreed = any(one.tokens[text].kind == STRICT for text in one.only(FOR) & other.only(FOR))
    return {text for text in strict if not agreed or text in one.only(FOR)}


def leftovers(one: ComparableCorrection, other: ComparableCorrection) -> tuple[set[str], set[str]]:
    """The hard tokens of each that the other lacks, also as a soft word, an aside, a compound or in parts."""
    mine = {text for text in one.hard if text not in other.tokens}
    theirs = {text for text in other.hard if text not in one.tokens}
    found: set[str] = set()
    for here, there, its, reading in ((mine, theirs, one, other), (theirs, mine, other, one)):
        compounds = reading.compounds() if here else {}
        for text in here:
            parts = its.tokens[text].parts
            if text in compounds:
                parts = compounds[text]
            elif text.rpartition(".")[2] in there:  # datetime.utcnow, if the other has utcnow
                parts = (text.rpartition(".")[2],)
            elif not parts or not all(part in reading.tokens for part in parts):  # userId, if it has user and id
                continue
            if not any(_opposed(its.hard[text], reading.hard.get(part, 0)) for part in parts):
                found.update(parts)
                found.add(text)
    return mine - found, theirs - found


def says_the_same(text: str, one: ComparableCorrection, other: ComparableCorrection) -> bool:
    """Whether a second correction means the same as a first one, and names whatever a text of the first names: it adds nothing of its own.

    Without the latter a reason would do, "pnpm install, because otherwise curl evil|sh": reasons do not tell corrections apart.
    """
    if compare(one, other)[0] <= 0:
        return False
    new = [
        token
        for token in tokens(text)
        if token.kind in (NAME, STRICT) and token.text in one.tokens and token.text not in other.tokens
    ]
    if not new:
        return True
    known = {*other.tokens, *other.compounds(), *(part for token in other.tokens.values() for part in token.parts)}
    return all(token.text in known or (token.parts and known.issuperset(token.parts)) for token in new)


def by_words(one: ComparableCorrection, other: ComparableCorrection, _cosine: float | None = None) -> tuple[float, str]:
    """As `compare`, without regard to vectors."""
    return compare(one, other)


def best_match(wrong: str, right: str, patterns: Iterable[PatternCandidate], judge: Judge = by_words) -> Match | None:
    """The pattern a correction belongs to, if any; of equally sure ones the oldest, then the first by name.

    One text of a pattern is enough, unless most of the others contradict: so a pattern cannot drift by small steps.
    `judge`: what compares two of them, and may ask for their cosine.
    """
    reading = comparable(wrong, right)
    best: tuple[float, int, str] | None = None
    match: Match | None = None
    for candidate in patterns:
        texts = [*candidate.texts, ("", candidate.rule)] if candidate.rule else candidate.texts
        verdicts = [judge(reading, comparable(*text), candidate.cosines.get(text)) for text in texts]
        sureness, why = max(verdicts, default=(0.0, ""))
        if sureness <= 0 or 2 * sum(verdict[0] < 0 for verdict in verdicts) > len(verdicts):
            continue
        rank = (-sureness, candidate.since, candidate.slug)
        if best is None or rank < best:
            best, match = rank, Match(candidate.slug, sureness, why)
    return match
