"""Cards: the newest of each node, and nothing about them in the state of the mesh."""

import itertools
from pathlib import Path

from mesh.store.join_table import Cards, Invite, InviteBook, StoredCard
from mesh.store.verification import verify_store
from tests.worlds import Clan, open_store

CLAN = Clan()
ANN, BEN = (CLAN.node(index).public for index in (0, 1))


def test_the_newest_card_of_a_subject_is_kept(tmp_path: Path) -> None:
    """In any order; of two as new, the larger."""
    versions = [(1, b"zzz"), (2, b"a"), (2, b"b")]
    for number, order in enumerate(itertools.permutations(versions)):
        with open_store(tmp_path / str(number), CLAN) as store:
            cards = Cards(store.database)
            for at, data in order:
                cards.keep(1, ANN, at, data)
            assert cards.all() == [StoredCard(1, ANN, 2, b"b")]


def test_keeping_says_whether_it_was_news(tmp_path: Path) -> None:
    """What is older or the same changes nothing."""
    with open_store(tmp_path, CLAN) as store:
        cards = Cards(store.database)
        assert cards.keep(1, ANN, 5, b"x")
        assert not cards.keep(1, ANN, 5, b"x")
        assert not cards.keep(1, ANN, 4, b"y")
        assert cards.keep(1, ANN, 6, b"")


def test_cards_of_another_kind_or_subject_stand_beside_each_other(tmp_path: Path) -> None:
    """A contact and a certificate of one node, and those of others."""
    with open_store(tmp_path, CLAN) as store:
        cards = Cards(store.database)
        for kind, subject in itertools.product((2, 1), (ANN, BEN)):
            cards.keep(kind, subject, 1, b"%d" % kind)
        assert [(card.kind, card.subject) for card in cards.all()] == [
            (kind, subject) for kind in (1, 2) for subject in sorted((ANN, BEN))
        ]


def test_cards_and_invitations_are_not_part_of_the_state(tmp_path: Path) -> None:
    """The root stays as it was, and verifying finds nothing strange."""
    with open_store(tmp_path, CLAN) as store:
        before = store.root()
        Cards(store.database).keep(1, ANN, 1, b"x")
        InviteBook(store.database).add(Invite(b"1" * 16, b"s" * 32, 1, 2, 1))
        assert store.root() == before
        assert verify_store(store).clean
