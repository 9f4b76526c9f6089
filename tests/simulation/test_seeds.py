"""Hundreds of small catastrophes, each drawn from a seed: every sort of fault at once, and in the end one mesh.

A failure names the command that shows the same run again.
"""

import gc
from collections import Counter

import pytest

from peers.simulate.run import simulate
from peers.simulate.scenario import chaos

EVERY_FAULT = {
    "backup restored, noticed",
    "backup restored, unnoticed",
    "dead node",
    "duplicate",
    "hostile node",
    "loss",
    "one-way failure",
    "partition",
    "reorder",
    "restart",
    "restart after a silent crash",
    "revocation",
    "skewed clock",
    "sleep",
}


def survive(nodes: int, seeds: range) -> Counter[str]:
    """Run every seed; which faults happened."""
    happened: Counter[str] = Counter()
    for seed in seeds:
        report = simulate(chaos(nodes, seed))
        assert report.checks > nodes / 2, "the checks looked on"
        happened.update(report.faults)
        gc.collect()  # a world is full of rings: no two of them at once
    return happened


@pytest.mark.parametrize("block", range(4))
def test_a_small_mesh_survives_every_fault_at_once(block: int) -> None:
    """Twenty seeds with 24 nodes; every sort of fault occurs among them."""
    assert set(survive(24, range(20 * block, 20 * block + 20))) == EVERY_FAULT


@pytest.mark.parametrize("block", range(10))
def test_a_mesh_of_a_hundred_survives_every_fault_at_once(block: int) -> None:
    """Five seeds with 100 nodes, 50 in all; most sorts of fault occur in any five."""
    assert len(survive(100, range(5000 + 5 * block, 5005 + 5 * block))) > len(EVERY_FAULT) / 2


@pytest.mark.parametrize("seed", [40404])
def test_what_once_went_wrong_does_not_again(seed: int) -> None:
    """40404: of two branches the author asked for one at whoever had the same number of operations, and got the other."""
    survive(24, range(seed, seed + 1))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(100))
def test_thousands_of_seeds(block: int) -> None:
    """Many more of both sizes."""
    survive(24, range(100_000 + 40 * block, 100_040 + 40 * block))
    survive(100, range(200_000 + 10 * block, 200_010 + 10 * block))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_a_mesh_of_a_thousand_survives_every_fault_at_once(seed: int) -> None:
    """The size the figures are given for."""
    survive(1000, range(seed, seed + 1))
