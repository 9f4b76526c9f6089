"""Fleets of real sidecars: everyone writes while nodes are killed, cut off and restarted; in the end all have everything."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.end_to_end.commands import asked, done
from tests.end_to_end.fleet import Sidecar, mesh_of, sidecars, wait_until_in_step, wait_until_linked
from tests.end_to_end.namespaces import Network, network


def write_everywhere(fleet: Sequence[Sidecar], what: str, records: int) -> set[str]:
    """Each node writes, all at the same time, by turns through its sidecar and beside it; returns what was acknowledged."""

    def write(index: int) -> list[str]:
        node, wanted = fleet[index], [f"{what}: node {index} says {number}" for number in range(records)]
        for number, text in enumerate(wanted):
            node.write(text) if number % 2 else node.tell(text)
        return wanted

    with ThreadPoolExecutor(min(8, len(fleet))) as pool:
        return {text for wanted in pool.map(write, range(len(fleet))) for text in wanted}


def eventually_all_have(fleet: Sequence[Sidecar], acknowledged: set[str]) -> None:
    """One root; every acknowledged write on every node, once; nothing else; and each node's own check is clean."""
    root = wait_until_in_step(fleet)
    for sidecar in fleet:
        assert sidecar.is_up, sidecar.log.read_text()
        assert sidecar.root() == root
        assert sidecar.texts() == acknowledged
        done(sidecar.home, "verify")
        assert not sidecar.has_logged("Traceback"), sidecar.log.read_text()


def kill_and_restart(fleet: Sequence[Sidecar], rounds: int, victims: int, records: int) -> set[str]:
    """In every round some are killed while all write, and write on while they are down: commands need no sidecar."""
    rng = random.Random(rounds)
    acknowledged: set[str] = set()
    for number in range(rounds):
        down = rng.sample(list(fleet), victims)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write_everywhere, fleet, f"round {number}", records)
            for sidecar in down:
                sidecar.kill()
            acknowledged |= writing.result()
        for sidecar in down:
            sidecar.up()
    return acknowledged


def test_five_sidecars_have_everything_after_kills_and_restarts(tmp_path: Path) -> None:
    """Two of five are killed with -9 in each round, and come back at another address."""
    with mesh_of(5, tmp_path) as fleet:
        acknowledged = write_everywhere(fleet, "before", 1)
        acknowledged |= kill_and_restart(fleet, rounds=2, victims=2, records=2)
        eventually_all_have(fleet, acknowledged)


def test_nodes_that_only_dial_out_reach_each_other_through_one_that_listens(tmp_path: Path) -> None:
    """Behind NAT nobody can be dialled; links carry both ways."""
    with mesh_of(3, tmp_path, listen=None) as fleet:
        wait_until_linked(fleet)
        acknowledged = write_everywhere(fleet, "behind", 2)
        eventually_all_have(fleet, acknowledged)
        assert [sidecar.addresses for sidecar in fleet[1:]] == [[], []]
        assert fleet[0].peers()["links"] == 2


def test_what_was_written_while_no_sidecar_ran_reaches_the_others(tmp_path: Path) -> None:
    """Both were stopped, both have written, both come back."""
    with mesh_of(2, tmp_path, settled=True) as fleet:
        wait_until_linked(fleet)  # so that the first knows where the second is
        for sidecar in fleet:
            assert sidecar.stop() == 0
        acknowledged = write_everywhere(fleet, "alone", 2)
        assert fleet[0].texts() != fleet[1].texts()
        for sidecar in fleet:
            sidecar.up()
        eventually_all_have(fleet, acknowledged)


def test_a_newcomer_gets_everything_there_is(tmp_path: Path) -> None:
    """Records, statements, erasures: also what is too large to be pushed."""
    with mesh_of(1, tmp_path) as (first,):
        lines = [f"record {number} {'x' * 200}" for number in range(2000)]
        done(first.home, "op", "add", "facts", "--lines", stdin="\n".join(lines))
        secret = done(first.home, "op", "add", "facts", "a secret to erase").strip()
        done(first.home, "erase", secret, "--reason", "leaked")
        second = Sidecar(tmp_path / "second")
        with sidecars(second):
            second.join(first.invite(), "second")
            second.up()
            eventually_all_have([first, second], set(lines))
            assert asked(second.home, "why", secret)["record"] is None


# Long runs


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_sidecars_have_everything_after_kills_and_restarts(tmp_path: Path) -> None:
    """Fifty processes; in each round ten are killed."""
    with mesh_of(50, tmp_path, anchored=True) as fleet:
        acknowledged = kill_and_restart(fleet, rounds=4, victims=10, records=1)
        eventually_all_have(fleet, acknowledged)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_five_sidecars_survive_a_hundred_kills(tmp_path: Path) -> None:
    """Fifty rounds of two kills each."""
    with mesh_of(5, tmp_path, anchored=True) as fleet:
        acknowledged = kill_and_restart(fleet, rounds=50, victims=2, records=2)
        eventually_all_have(fleet, acknowledged)


def mesh_in(net: Network, folder: Path) -> list[Sidecar]:
    """One node in each namespace, each listening at its own address; nothing is started yet."""
    return [
        Sidecar(folder / f"node{index}", listen=f"{net.address(index)}:7946", within=net.inside(index))
        for index in range(net.size)
    ]


def start_in(fleet: Sequence[Sidecar]) -> None:
    fleet[0].init("node0").up()
    token = fleet[0].invite("--uses", str(len(fleet)))
    for index, sidecar in enumerate(fleet[1:], 1):
        # Where packets are lost, a machine may not even find its neighbour.
        sidecar.join(token, f"node{index}", tries=5)
        sidecar.up()


def test_a_cut_network_heals(tmp_path: Path) -> None:
    """Two sides go on writing while they cannot see each other; afterwards all have all of it."""
    with network(4) as net:
        fleet = mesh_in(net, tmp_path)
        with sidecars(*fleet):
            start_in(fleet)
            wait_until_linked(fleet)
            acknowledged = write_everywhere(fleet, "before", 1)
            wait_until_in_step(fleet)
            net.cut(2, 3)
            acknowledged |= write_everywhere(fleet, "during", 1)
            assert fleet[0].texts() != acknowledged
            assert fleet[2].texts() != acknowledged
            net.heal(2, 3)
            eventually_all_have(fleet, acknowledged)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("loss_percent", [1, 5, 20])
def test_a_slow_network_that_loses_packets_and_is_cut_delivers_everything(tmp_path: Path, loss_percent: int) -> None:
    """Fifty milliseconds each way, up to every fifth packet lost, three cuts, kills in between."""
    with network(5, delay_ms=50, loss_percent=loss_percent) as net:
        fleet = mesh_in(net, tmp_path)
        with sidecars(*fleet):
            start_in(fleet)
            acknowledged: set[str] = set()
            for number in range(3):
                net.cut(number, number + 1)
                acknowledged |= kill_and_restart(fleet, rounds=1, victims=1, records=3)
                acknowledged |= write_everywhere(fleet, f"cut {number}", 3)
                net.heal(number, number + 1)
                wait_until_in_step(fleet)
            eventually_all_have(fleet, acknowledged)
