"""How work is ended in its middle. Nothing else."""


class Stopped(Exception):
    """The way out of the middle of a run: no error."""
