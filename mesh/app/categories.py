"""The categories that a caller's records may have: those of its mesh, and those that its repository adds."""

from __future__ import annotations

from collections.abc import Sequence

from clan_learnings.records.shared_settings import KEY, SharedSettings
from mesh.app.caller import Caller
from mesh.store.reader import open_reading, read_errors


def categories(home: str, caller: Caller) -> Sequence[str]:
    """As they are announced to agents, which wait for it: so no more of the home is read than the settings."""
    with read_errors(home):
        reader = open_reading(home)
        try:
            known = SharedSettings(reader.fields(KEY)).categories
        finally:
            reader.connection.close()
    return [*known, *(name for name in caller.categories if name not in known)]
