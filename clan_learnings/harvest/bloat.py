"""Warnings about bloat: where a harvest brings more than anybody will read, or the same again and again. Pure; stops nothing."""

from collections import Counter
from collections.abc import Iterable

from clan_learnings.harvest.candidates import PROVISIONAL, RECORDED, Candidate

WAITING = 200  # candidates before a person; more are not looked through
OF_ONE_SESSION = 12
LONG_CHARS = 220
LINKED = 5
OF_ONE_REPO = 500  # candidates that became records
HOT_TOKENS = 8000
_CHARS_A_TOKEN = 4


def warnings(candidates: Iterable[Candidate], hot: Iterable[str] = ()) -> list[str]:
    """What there is too much of, each with the next step. `hot`: the rules that every session is told."""
    waiting = long = 0
    sessions: Counter[str] = Counter()
    repos: Counter[str] = Counter()
    crowded: tuple[str, int] | None = None
    for each in candidates:  # one look: there may be tens of thousands
        if each.state == RECORDED:
            repos.update(each.repos)
        if each.state == PROVISIONAL:
            waiting += 1
            long += len(each.text) > LONG_CHARS
            sessions.update(signal.session for signal in each.signals)
            if len(each.linked) >= LINKED and crowded is None:
                crowded = each.id, len(each.linked)
    found = []
    if waiting > WAITING:
        found.append(
            f"{waiting} candidates wait for a person, more than anybody looks through: raise the bar with"
            " mesh settings keep-signals 3, or reject what repeats: mesh curate"
        )
    for session, count in sessions.most_common(3):
        if count > OF_ONE_SESSION:
            found.append(f"{count} candidates come from one session, {session}: most of them are hardly lasting")
    for repo, count in repos.most_common(3):
        if count > OF_ONE_REPO:
            found.append(f"{repo or 'no repository'} has {count} harvested records: archive what is over")
    if long:
        found.append(
            f"{long} of those that wait are longer than {LONG_CHARS} characters: shorten them with mesh curate"
        )
    if crowded is not None:
        found.append(
            f"{crowded[0]} is about the same as {crowded[1]} others: join them with mesh curate --merge ID {crowded[0]}"
        )
    told = sum(len(rule) for rule in hot) // _CHARS_A_TOKEN
    if told > HOT_TOKENS:
        found.append(
            f"HOT has about {told} tokens; above {HOT_TOKENS} contexts leave rules out: mesh doctor says which"
        )
    return found
