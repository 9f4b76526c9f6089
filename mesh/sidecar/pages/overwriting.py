"""Putting a file of ours in the place of one that people type into: whoever saves at that moment gets theirs back.

What the file says, and whether it may be replaced at all, is not decided here.
"""

import logging
import os
import time

from mesh.sidecar.pages import swap

_QUIET_SECONDS = 0.04  # a file that was the same on two looks so far apart is not half written
_EMPTY_SECONDS = 1.0  # who writes a file anew empties it first

log = logging.getLogger("mesh.sidecar")


def overwrite(path: str, data: bytes, before: bytes) -> bool:
    """Replace a file that says `before`. False: somebody has saved something else, and that is there."""
    found = _put(path, data, before)
    if found is None:
        return True
    in_place = data
    while found is not None:
        theirs = found
        found = _put(path, theirs, in_place)
        in_place = theirs
        if found is not None:  # one who had seen ours for a moment has saved that
            log.warning("%s was saved twice at once; what was saved first is in %s", path, keep_aside(path, theirs))
    return False


def keep_aside(path: str, data: bytes) -> str:
    """Write what found no place beside where it would have been. Returns where; what lies there already is not written twice."""
    number = 0
    while True:
        aside = f"{path}.{number}.rej" if number else f"{path}.rej"
        try:
            swap.add(aside, data)
        except FileExistsError:
            if os.path.isfile(aside):
                with open(aside, "rb") as file:
                    if file.read(len(data) + 1) == data:
                        return aside
            number += 1
        else:
            return aside


def replaced(path: str, data: bytes, before: bytes) -> bytes | None:
    """Put new bytes in the place of a file. What it said, if that is not `before`; who is writing to it is waited for."""
    displaced = swap.replace(path, data)
    try:
        found = displaced.data()
        if found != before:
            found = _quiet(displaced)
    finally:
        displaced.close()
    return None if found in (b"", before) else found


def _put(path: str, data: bytes, before: bytes) -> bytes | None:
    """The same, also where there is no file."""
    try:
        return replaced(path, data, before)
    except FileNotFoundError:
        try:
            swap.add(path, data)
        except FileExistsError:
            return replaced(path, data, before)
    return None


def _quiet(displaced: swap.Displaced) -> bytes:
    """What a file says when nobody has written to it for a moment."""
    last, until = b"", time.monotonic() + _EMPTY_SECONDS
    while time.monotonic() < until:
        data = displaced.data()
        if data and data == last:
            break
        last = data
        time.sleep(_QUIET_SECONDS)
    return last
