"""A learning that was harvested beside a record goes with it when that is erased, and is named when it is retracted."""

import json
from pathlib import Path

import pytest

from clan_learnings.records.record import BESIDE
from mesh.app.application import Application
from tests.clan_learnings.documents.test_assembly import DIGEST, FIX, REASON, RULE
from tests.clan_learnings.harvest.homes import API, Farm
from tests.end_to_end.commands import asked, done, mesh

ITEMS = (REASON, FIX, RULE)


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A node that has harvested a fix of two sessions, and a document with it."""
    made = Farm(tmp_path)
    made.share(API)
    more = {name: value for name, value in DIGEST.as_json().items() if name not in ("session", "repo", "key")}
    for number in (1, 2):
        made.session(f"codex:s{number}", *ITEMS, **more)
    return made


def fixes(farm: Farm) -> tuple[dict[str, str], dict[str, str]]:
    """The records of the fix, by session: their ids; and the document of them, with the session it tells of."""
    summary = farm.harvest()
    (document,) = [one for one in summary.documents if one["candidate"] in _of_fix(summary.written.records)]
    ids = {one["session"]: one["id"] for one in summary.written.records if one["kind"] == "fix"}
    return ids, document


def _of_fix(records: list[dict[str, str]]) -> set[str]:
    return {one["candidate"] for one in records if one["kind"] == "fix"}


def test_erasing_the_record_erases_its_document(farm: Farm) -> None:
    """The one it was made beside; it says so, and harvesting does not write it again."""
    ids, document = fixes(farm)
    session = asked(farm.home, "show", document["id"])["record"]["session"]
    assert asked(farm.home, "show", document["id"])["record"][BESIDE].startswith(ids[session])
    other = next(name for own, name in ids.items() if own != session)
    first = mesh(Path(farm.home), "erase", other, "--reason", "leaked", "--json")
    assert (first.returncode, json.loads(first.stdout)["documents"]) == (
        3,
        [],
    )  # another has the name that its words made
    told = mesh(Path(farm.home), "erase", ids[session], "--reason", "leaked").stdout
    assert f"erased {document['id'][:8]}, the learning that was made beside it, too" in told
    assert f"erased {ids[session][:8]} and 0 edits of it" in told
    assert document["id"] not in done(Path(farm.home), "learnings", "list", "--all")
    assert farm.harvest().documents == []


def test_retracting_the_record_names_its_document(farm: Farm) -> None:
    """And how to take that back, too; a record without one names none."""
    ids, document = fixes(farm)
    session = asked(farm.home, "show", document["id"])["record"]["session"]
    said = mesh(Path(farm.home), "retract", ids[session], "--reason", "wrong").stderr
    assert f"mesh retract {document['id']} --reason" in said
    assert f"mesh erase {document['id']} --reason" in said
    live = Application(farm.home, {}, "/", session="codex:9").correct("tabs", "spaces", repo=API)
    assert asked(farm.home, "retract", live["id"], "--reason", "wrong")["documents"] == []
