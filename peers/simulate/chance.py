"""The only place where a simulation's randomness begins: a generator that follows from numbers, and from nothing else."""

from random import Random


def chance(seed: int) -> Random:
    """A generator for one purpose. The same seed gives the same draws, which is all that is asked of it here."""
    return Random(seed)  # noqa: S311 (reproducible on purpose)
