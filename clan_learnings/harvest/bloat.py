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
    all_of_them = list(candidates)
    waiting = [each for each in all_of_them if each.state == PROVISIONAL]
    found = []
    if len(waiting) > WAITING:
        found.append(
            f"{len(waiting)} candidates wait for a person, more than anybody looks through: raise the bar with"
            " `mesh settings keep-signals 3`, or reject what repeats: mesh curate"
        )
    sessions = Counter(signal.session for each in waiting for signal in each.signals)
    for session, count in sessions.most_common(3):
        if count > OF_ONE_SESSION:
            found.append(f"{count} candidates come from one session, {session}: most of them are hardly lasting")
    repos = Counter(repo for each in all_of_them if each.state == RECORDED for repo in each.repos)
    for repo, count in repos.most_common(3):
        if count > OF_ONE_REPO:
            found.append(f"{repo or 'no repository'} has {count} harvested records: archive what is over")
    long = sum(len(each.text) > LONG_CHARS for each in waiting)
    if long:
        found.append(
            f"{long} of those that wait are longer than {LONG_CHARS} characters: shorten them with mesh curate"
        )
    crowded = [each for each in waiting if len(each.linked) >= LINKED]
    if crowded:
        found.append(
            f"{crowded[0].id} is about the same as {len(crowded[0].linked)} others:"
            f" join them with mesh curate --merge ID {crowded[0].id}"
        )
    told = sum(len(rule) for rule in hot) // _CHARS_A_TOKEN
    if told > HOT_TOKENS:
        found.append(
            f"HOT has about {told} tokens; above {HOT_TOKENS} contexts leave rules out: mesh doctor says which"
        )
    return found
