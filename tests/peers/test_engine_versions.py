"""Nodes of different protocol versions: told so in words they understand, left alone for a minute, shown to people."""

import pytest

from mesh.core.strict_msgpack import pack, unpack
from peers.proto.engine_events import LinkDown, LinkUp, Received, Send
from tests.peers.engines import CLAN, Desk, contact_of, node

OTHER = 1


def greeting(version: int) -> bytes:
    """A hello as that version says it, as far as anyone can know."""
    return pack([version, 1, CLAN.mesh, node(OTHER), contact_of(OTHER).data, False])


def meet(desk: Desk, link: int, version: int) -> None:
    desk.handle(LinkUp(link, node(OTHER), dialed=False, address=""))
    desk.handle(Received(link, greeting(version)))


def byes(desk: Desk, link: int) -> list[list[object]]:
    frames = [unpack(effect.frame) for effect in desk.all_of(Send) if effect.link == link]
    return [frame for frame in frames if frame[1] == 13]


def speaks(desk: Desk) -> int | None:
    return next(peer.speaks for peer in desk.engine.peers() if peer.node == node(OTHER))


@pytest.mark.parametrize(("version", "understood", "side"), [(1, 1, "there"), (3, 2, "here")])
def test_who_speaks_another_version_hears_so_in_the_older_one(version: int, understood: int, side: str) -> None:
    """The older side cannot read anything newer; a newer one is expected to read what was before it."""
    desk = Desk()
    meet(desk, 5, version)
    assert byes(desk, 5) == [
        [understood, 13, f"this node speaks protocol 2, yours {version}: upgrade clan-mesh on the older side"]
    ]
    assert desk.closed(5) == f"it speaks protocol {version}, this is 2: upgrade clan-mesh {side}"
    assert speaks(desk) == version


def test_who_speaks_another_version_is_left_alone_for_a_minute() -> None:
    """No flapping: it is the only one there is to dial, and in ten minutes it is dialled ten times at most."""
    desk = Desk(cards=[contact_of(OTHER)], members=2)
    links = 0
    for _ in range(600):
        desk.wait(1.0)
        for _ in desk.dialed():
            links += 1
            desk.handle(LinkUp(links, node(OTHER), dialed=True, address="host1:1"))
            desk.handle(Received(links, greeting(1)))
            desk.handle(LinkDown(links, "closed"))
        desk.forget()
    assert 5 <= links <= 11
    assert speaks(desk) == 1


def test_who_speaks_another_version_and_dials_again_is_turned_away_at_once() -> None:
    """Without a greeting that would have to be read, until the minute is over."""
    desk = Desk()
    meet(desk, 5, 1)
    desk.forget()
    desk.handle(LinkUp(6, node(OTHER), dialed=False, address=""))
    assert desk.closed(6) == "spoke another protocol lately"


def test_once_it_is_upgraded_it_is_a_neighbour_like_any_other() -> None:
    """After that minute."""
    desk = Desk()
    meet(desk, 5, 1)
    desk.wait(61.0)
    desk.link(6, OTHER)
    assert desk.closed(6) is None
    assert speaks(desk) is None
    assert any(peer.linked for peer in desk.engine.peers())
