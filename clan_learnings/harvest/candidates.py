"""A candidate for a record: what the signals of several sessions have in common. Plain values and their JSON; no files here."""

from functools import lru_cache
from typing import Any, NamedTuple

from clan_learnings.harvest.items import CORRECTION, FIX, QUESTION, HarvestItem, item_from
from clan_learnings.records.matching import ComparableCorrection, comparable
from clan_learnings.records.matching_tokens import split_words
from mesh.core.ids import named_digest, text_id

# NOTICED: below the bar. PROVISIONAL: kept, a person may look at it. APPROVED: may leave the node, where its repository is shared.
# RECORDED: at least one record says it. REJECTED and MERGED are a person's word and stay, whatever comes after.
NOTICED, PROVISIONAL, APPROVED, RECORDED, REJECTED, MERGED = STATES = (
    "noticed",
    "provisional",
    "approved",
    "recorded",
    "rejected",
    "merged",
)
# Why a signal of an approved candidate is not among the records.
FOR_SHARE, FOR_HOT, FOR_MEND, UNSHARED, FOR_PLACE, FOR_LOOK = "share", "hot", "mend", "unshared", "place", "look"
UNSEEN = "it was imported, and nobody has looked at it yet"
BY_HAND = (FOR_HOT, FOR_MEND, FOR_PLACE, FOR_LOOK)  # a person lets it go
PERSON, WRITER = "person", "writer"  # who else it may wait for
# Why something is held back from making its pattern HOT.
HELD = "with it the pattern would be HOT, in every context, through harvested sessions alone"
OLD_NEWS = f"{HELD}, all of them older than 90 days"
TOO_HOT = f"{HELD}, and this run has made as many HOT as it may (mesh settings hot-a-run)"
IMPORTED = "import:"  # before the key of what is no transcript: rules in files, other memories. It proves nothing, however often it is said
BY_MODEL = "#model"  # behind the key of a transcript: what a model found in it, which no reading of it makes void

# What can be said in the same words and mean the same: rules are compared by what is wrong and what is right, the rest as it stands.
RULES, NOTES, QUESTIONS = "rule", "note", "question"

_ID_CHARS = 8
_SURER, _SUREST, _CAP = 0.05, 0.15, 0.95  # what each further session adds to the confidence, at most, and up to where


class Signal(NamedTuple):
    """What one session contributes to a candidate: its best item, and how often it occurred."""

    session: str
    flavour: str
    repo: str
    item: HarvestItem
    folder: str = ""
    times: int = 1
    at_ms: int = 0  # when; 0: nobody can tell
    tokens: int = 0  # of the whole session
    dollars: float | None = None
    is_redacted: bool = False  # a secret stood in it
    held: str = ""  # why it is no record yet, though its candidate may be one
    record: str = ""  # whole id of the record that says it
    key: str = ""  # of the transcript it was found in

    @property
    def is_human(self) -> bool:
        """A person said so."""
        is_said = self.item.is_stated or (self.item.kind == CORRECTION and self.item.source == "human")
        return is_said and not self.is_by_model

    @property
    def is_by_model(self) -> bool:
        """A model that read the session says so."""
        return self.key.endswith(BY_MODEL)

    @property
    def is_imported(self) -> bool:
        """It comes from no session."""
        return self.key.startswith(IMPORTED)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return self._asdict() | {"item": self.item.as_json()}


class HarvestCandidate(NamedTuple):
    """A candidate: its text, the signals behind it, and its state."""

    id: str
    kind: str
    category: str
    text: str
    wrong: str = ""
    right: str = ""
    state: str = NOTICED
    why: str = ""  # the state, in words
    signals: tuple[Signal, ...] = ()
    problems: tuple[str, ...] = ()  # what the gate says against it
    linked: tuple[str, ...] = ()  # candidates about the same thing
    into: str = ""  # of a merged one
    pattern: str = ""  # under which its corrections are counted
    is_edited: bool = False  # its words are a person's
    is_accepted: bool = False  # by a person, against the bar

    @property
    def sessions(self) -> int:
        """In how many it came up."""
        return len({signal.session for signal in self.signals if not signal.is_imported})

    @property
    def frequency(self) -> int:
        """How often."""
        return sum(signal.times for signal in self.signals if not signal.is_imported)

    @property
    def is_imported(self) -> bool:
        """Some source that was imported says so."""
        return any(signal.is_imported for signal in self.signals)

    @property
    def repos(self) -> list[str]:
        """Where."""
        return sorted({signal.repo for signal in self.signals})

    @property
    def flavours(self) -> list[str]:
        """By which agents."""
        return sorted({signal.flavour for signal in self.signals})

    @property
    def is_cross_flavour(self) -> bool:
        """Agents of several sorts came upon it: it is no habit of one of them."""
        return len({signal.flavour for signal in self.signals if not signal.is_imported}) > 1

    @property
    def confidence(self) -> float:
        """Of the surest signal, and a little more for each further session; what models say makes nothing surer."""
        told = [signal for signal in self.signals if not signal.is_imported] or self.signals
        found = [signal for signal in told if not signal.is_by_model]
        best = max((signal.item.confidence for signal in found), default=0.0)
        more = min(_SUREST, _SURER * max(0, len({signal.session for signal in found}) - 1))
        read = max((signal.item.confidence for signal in told), default=0.0)
        return round(max(read, min(_CAP, best + more)), 3)

    @property
    def tokens(self) -> int:
        """What the sessions took that it came up in."""
        return sum(signal.tokens for signal in self.signals)

    @property
    def dollars(self) -> float | None:
        """What they cost, where that is known."""
        known = [signal.dollars for signal in self.signals if signal.dollars is not None]
        return round(sum(known), 4) if known else None

    @property
    def last_ms(self) -> int:
        """When it came up last."""
        return max((signal.at_ms for signal in self.signals), default=0)

    @property
    def is_redacted(self) -> bool:
        """A secret stood in what shows it."""
        return any(signal.is_redacted for signal in self.signals)

    @property
    def family(self) -> str:
        """What it is compared with."""
        return family_of(self.kind, self.right)

    @property
    def waiting(self) -> list[Signal]:
        """Signals that are no records yet."""
        return [signal for signal in self.signals if not signal.record]

    @property
    def waits_for(self) -> str:
        """What keeps it, or some of it, from being a record: a person, `mesh share`, the limit of HOT, ...; empty if nothing does."""
        if self.state == PROVISIONAL:
            return PERSON
        held = {signal.held for signal in self.waiting} if self.state in (APPROVED, RECORDED) else set()
        if "" in held:
            return WRITER
        return next(
            (reason for reason in (FOR_MEND, FOR_HOT, FOR_SHARE, UNSHARED, FOR_PLACE, FOR_LOOK) if reason in held), ""
        )

    @property
    def is_wiped(self) -> bool:
        """The same without its words, which are not kept again even if another session says them."""
        return self.state == REJECTED and not self.text

    @property
    def because(self) -> str:
        """Why it waits, or is what it is, in words for a person. What is held back says so, also where a part of it is recorded."""
        waits_for = self.waits_for
        if waits_for == FOR_HOT:
            return self.why if self.why in (OLD_NEWS, TOO_HOT) else HELD
        if waits_for == FOR_PLACE:
            return (
                f"it speaks of one place, and a session does not tell which: mesh curate --accept {self.id} --repo REPO"
            )
        if waits_for == FOR_LOOK:
            return UNSEEN
        if waits_for == FOR_SHARE:
            repo = next((each.repo for each in self.waiting if each.held == FOR_SHARE), "") or "'*'"
            return f"{self.why}; it leaves this node once its repository is shared: mesh share {repo}"
        if waits_for == UNSHARED:
            return f"{self.why}; it stays here: its repository forbids sharing in .clan-mesh.toml"
        return self.why

    def wiped(self, why: str) -> "HarvestCandidate":
        """What is left of a candidate whose record was withdrawn: its id."""
        return HarvestCandidate(self.id, self.kind, self.category, "", state=REJECTED, why=why)

    def reading(self) -> ComparableCorrection:
        """As it is compared."""
        return reading_of(self.kind, self.text, self.wrong, self.right)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return self._asdict() | {"signals": [signal.as_json() for signal in self.signals]}


def family_of(kind: str, right: str) -> str:
    """The family of a kind: only things of one family are compared."""
    if kind == QUESTION:
        return QUESTIONS
    return RULES if kind == CORRECTION or (kind == FIX and right) else NOTES


@lru_cache(8192)  # the same ones are compared again and again; 2 to 4 KB each
def reading_of(kind: str, text: str, wrong: str, right: str) -> ComparableCorrection:
    """What is compared of an item or a candidate: of a rule what is wrong and what is right, else the sentence."""
    return comparable(wrong, right or text) if family_of(kind, right) == RULES else comparable("", text)


def words_of(reading: ComparableCorrection, text: str) -> str:
    """What is equal for two that are certainly one: the form of a text that says something, else its words."""
    return reading.form if len(reading.hard) > 1 else " ".join(split_words(text))


def candidate_id(family: str, form: str) -> str:
    """The name of the candidate that an item founds: the same on every node, and in every run."""
    return text_id(named_digest(b"clan-mesh cand 1", f"{family}\0{form}".encode("utf-8", "surrogatepass")))[:_ID_CHARS]


def signal_from(value: Any) -> Signal | None:
    """A signal from its JSON; None if it is not a signal."""
    item = item_from(value.get("item")) if isinstance(value, dict) else None
    if item is None or not all(type(value.get(name)) is str for name in ("session", "flavour", "repo")):
        return None
    return Signal(**{name: value[name] for name in Signal._fields if name in value} | {"item": item})


def candidate_from(value: Any) -> HarvestCandidate | None:
    """A candidate from its JSON; None if it is not a candidate."""
    if not isinstance(value, dict) or value.get("state") not in STATES:
        return None
    if not all(type(value.get(name)) is str for name in ("id", "kind", "category", "text")):
        return None
    kept = {name: value[name] for name in HarvestCandidate._fields if name in value}
    signals = [signal for each in value.get("signals") or () if (signal := signal_from(each)) is not None]
    lists = {name: tuple(value.get(name) or ()) for name in ("problems", "linked")}
    return HarvestCandidate(**kept | lists | {"signals": tuple(signals)})
