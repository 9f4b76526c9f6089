"""An erase leaves no byte of the secret in the home; hash, author and reason stay, and the chain still verifies."""

import random
from pathlib import Path

from clan_learnings.records.provenance_table import provenance
from mesh.core.draft import Assignment, NewRecord
from mesh.core.feed import encode_range
from mesh.core.operation import Add, Set
from mesh.store.author import Author
from mesh.store.merge_outcome import AlreadyKnown, Gap, Merged
from mesh.store.verification import verify_store
from tests.worlds import Chain, Clan, open_author, open_store, views

CLAN = Clan()
OWN, OTHER, STRANGER = CLAN.node(0), CLAN.node(1), CLAN.node(2)
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def bytes_of(folder: Path) -> bytes:
    """Every byte of every file under a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def remains(folder: Path, secret: str) -> list[str]:
    """Which beginnings of a secret, down to eight characters, are found in a folder."""
    everything = bytes_of(folder).lower()
    return [secret[:length] for length in (len(secret), 12, 8) if secret[:length].encode() in everything]


def random_secret(rng: random.Random) -> str:
    return "".join(rng.choice(ALPHABET) for _ in range(24))


def test_no_byte_of_an_erased_record_is_left_in_the_home(tmp_path: Path) -> None:
    """Among hundreds of records, small and large, edited or not: file, WAL and keyword index are searched."""
    rng = random.Random(7)
    home = tmp_path / "home"
    words = [random_secret(rng)[: rng.randint(3, 9)] for _ in range(500)]
    secrets: dict[bytes, str] = {}
    with open_author(home, CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode(), CLAN.member(OTHER).encode()])
        chain = Chain(CLAN, OTHER)
        for number in range(400):
            text = " ".join(rng.choices(words, k=rng.choice((10, 40, 40, 2500))))
            secret = random_secret(rng)
            if number % 3:
                (tag,) = author.append([NewRecord("notes", {"text": f"{text} {secret}"})]).tags
            else:
                tag = chain.add(Add(chain.next_hlc(), "notes", {"text": f"{text} {secret}"}))
                author.merge_ranges([chain.encoded(len(chain.links))])
            secrets[tag] = secret
            if number % 5 == 1:
                edit = random_secret(rng)
                secrets[author.append([Assignment(tag, "text", edit)]).tags[0]] = edit
        erased = rng.sample(sorted(secrets), 150)
        author.merge_statements([CLAN.erase(OWN, *erased).encode()])
        left = {secrets[tag]: remains(home, secrets[tag]) for tag in erased}
        assert not any(left.values()), left
        kept = next(tag for tag in secrets if tag not in erased)
        assert remains(home, secrets[kept]), "the search itself must be able to find something"
        assert verify_store(author.store).problems == []
        assert not set(erased) & set(views(author.store)["elements"])  # type: ignore[call-overload]


def test_a_log_named_by_a_secret_is_forgotten_with_its_record(tmp_path: Path) -> None:
    """Also the name of a log is text that someone wrote."""
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode()])
        (tag,) = author.append([NewRecord("hunter2hunter2hunter2", {"text": "x"})]).tags
        author.merge_statements([CLAN.erase(OWN, tag).encode()])
        assert remains(tmp_path / "home", "hunter2hunter2hunter2") == []


def test_a_node_that_was_away_drops_the_body_when_it_hears_of_the_erase(tmp_path: Path) -> None:
    """The statement alone is enough; the operation came long before."""
    chain, secret = Chain(CLAN, OTHER), "correcthorsebatterystaple"
    tag = chain.add(Add(1, "notes", {"text": secret}))
    with open_store(tmp_path / "away", CLAN) as store:
        store.merge_statements([CLAN.member(OTHER).encode()])
        assert store.merge(chain.encoded()) == Merged(1)
        before = store.feeds.vector()
        store.merge_statements([CLAN.erase(OTHER, tag).encode()])
        assert remains(tmp_path / "away", secret) == []
        assert store.feeds.vector() == before
        assert provenance(store, tag).state == "erased"
        assert [event.detail for event in provenance(store, tag).events] == ["test"]


def test_a_late_joiner_never_keeps_an_erased_body(tmp_path: Path) -> None:
    """The erase came first; then a peer that has not heard of it sends the body after all."""
    chain, secret = Chain(CLAN, OTHER), "correcthorsebatterystaple"
    tag = chain.add(Add(1, "notes", {"text": secret}))
    chain.add(Add(2, "notes", {"text": "harmless"}))
    with open_store(tmp_path / "late", CLAN) as store:
        store.merge_statements([CLAN.member(OTHER).encode(), CLAN.erase(OTHER, tag).encode()])
        assert store.merge(chain.encoded()) == Merged(2)
        assert remains(tmp_path / "late", secret) == []
        assert verify_store(store).problems == []
        (row,) = store.feeds.all()
        (again,) = store.feeds.ranges(row, 0)
        assert [link.body is None for link in again.links] == [True, False]
    with open_store(tmp_path / "later", CLAN) as store:
        store.merge_statements([CLAN.member(OTHER).encode()])
        assert store.merge(encode_range(again)) == Gap(chain.feed, 1, 1), "no erase explains the missing body here"
        store.merge_statements([CLAN.erase(OTHER, tag).encode()])
        assert store.merge(encode_range(again)) == AlreadyKnown(), "it was kept, and counts since the erase came"
        assert [row.accepted.seq for row in store.feeds.all()] == [2]


def test_an_erase_by_someone_without_the_right_changes_nothing(tmp_path: Path) -> None:
    """A member may erase what it wrote, and nothing else."""
    chain = Chain(CLAN, OTHER)
    tag = chain.add(Add(1, "notes", {"text": "stays"}))
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge_statements([CLAN.member(OTHER).encode(), CLAN.member(STRANGER).encode()])
        store.merge(chain.encoded())
        store.merge_statements([CLAN.erase(STRANGER, tag).encode()])
        assert tag in views(store)["elements"]  # type: ignore[operator]
        assert remains(tmp_path / "home", "stays")


def test_erasing_an_edit_brings_the_one_before_it_back(tmp_path: Path) -> None:
    """An erased body counts as if it had never been: the register is computed again from what is held."""
    chain = Chain(CLAN, OTHER)
    first = chain.add(Set(1, "key", "field", "before"))
    second = chain.add(Set(2, "key", "field", "secret"))
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge_statements([CLAN.member(OTHER).encode()])
        store.merge(chain.encoded())
        assert views(store)["registers"] == {("key", "field"): (2, second)}
        store.merge_statements([CLAN.erase(OTHER, second).encode()])
        assert views(store)["registers"] == {("key", "field"): (1, first)}


def test_an_erase_is_owed_until_the_last_reader_lets_go(tmp_path: Path) -> None:
    """A reader in the middle of a query keeps old pages alive; the debt is remembered and paid later."""
    with open_author(tmp_path / "home", CLAN, OWN) as author, open_store(tmp_path / "home", CLAN) as reader:
        author.merge_statements([CLAN.admin(OWN).encode()])
        (tag,) = _write(author, "correcthorsebatterystaple")
        reader.database.run("BEGIN")
        reader.database.run("SELECT count(*) FROM ops").fetchall()
        author.store.database.connection.set_busy_timeout(50)
        author.merge_statements([CLAN.erase(OWN, tag).encode()])
        assert not author.store.scrub()
        reader.database.run("COMMIT")
        assert author.store.scrub()
        assert remains(tmp_path / "home", "correcthorsebatterystaple") == []


def _write(author: Author, text: str) -> tuple[bytes, ...]:
    return author.append([NewRecord("notes", {"text": text})]).tags
