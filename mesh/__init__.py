"""The replicated notebook, and the process that keeps it.

The three replicated data types are usable on their own: `from mesh import ORSet, LWWRegister, GCounter`.
They are imported on first use, because every command starts by importing this package.
"""

TYPE_CHECKING = False  # known to type checkers by name; importing it from typing takes longer than this package
if TYPE_CHECKING:
    from mesh.core.crdt import GCounter, LWWRegister, ORSet

__all__ = ["GCounter", "LWWRegister", "ORSet", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    if name in ("GCounter", "LWWRegister", "ORSet"):
        from mesh.core import crdt

        return getattr(crdt, name)
    raise AttributeError(f"module 'mesh' has no attribute {name!r}")
