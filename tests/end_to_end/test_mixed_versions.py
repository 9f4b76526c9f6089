"""A member whose sidecar is of the build before: on the wire of a real sidecar, and as people see it."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from mesh.core.strict_msgpack import pack, unpack
from mesh.store.home import open_home
from peers.proto.cards import Contact, write_contact
from peers.transport.link import LinkClosed
from tests.end_to_end.commands import PATIENCE_SECONDS, done, mesh, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of
from tests.end_to_end.test_bad_connections import Scene, link_of


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A sidecar, and a member that joined and whose own does not run."""
    folder = tmp_path_factory.mktemp("versions")
    with mesh_of(1, folder) as (node,):
        older = Sidecar(folder / "older")
        older.join_quickly(node.invite(), "older")
        yield Scene(node, node, [older.home], "", folder)


async def test_a_member_of_the_build_before_is_told_to_upgrade_and_shown(scene: Scene) -> None:
    """A goodbye that it can read; then `mesh peers`, `mesh status` and `mesh doctor` name it and the side to upgrade."""
    home = open_home(scene.members[0])
    contact = write_contact(home.mesh, Contact(home.node, 1, (), "0.7.0"), home.identity().sign)
    heard = []
    async with asyncio.timeout(PATIENCE_SECONDS), link_of(scene, home) as link:
        await link.send(pack([1, 1, home.mesh, home.node, contact.data, False]))
        try:
            while True:
                heard.append(unpack(await link.receive()))
        except LinkClosed:
            pass
    assert [frame[:2] for frame in heard] == [[2, 1], [1, 13]]  # its greeting, and the goodbye
    assert heard[-1][2] == "this node speaks protocol 2, yours 1: upgrade clan-mesh on the older side"

    def protocol() -> object:
        (peer,) = scene.victim.peers()["peers"]
        return peer["speaks_protocol"]

    wait_until(lambda: protocol() == 1)
    shown = done(scene.victim.home, "peers")
    assert "no link: it speaks protocol 1; upgrade it" in shown
    (apart,) = [line for line in done(scene.victim.home, "status").splitlines() if line.startswith("apart")]
    assert apart.startswith("apart     older")
    assert apart.endswith("nothing is exchanged with it; upgrade clan-mesh there")
    found = {item["sort"]: item for item in json.loads(mesh(scene.victim.home, "doctor", "--json").stdout)}
    assert found["other protocol"]["sentence"].startswith("older")
    assert found["other protocol"]["next_step"].startswith("upgrade clan-mesh there")
    assert "alone" not in found
