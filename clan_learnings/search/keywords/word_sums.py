"""Whether the files of the tantivy index are as it has written them. It does not look itself, and damage could end the process."""

import os
import zlib
from contextlib import suppress
from json import loads

_FOOTER_BYTES, _CHUNK_BYTES = 4096, 1 << 20
_FOOTER = (1337).to_bytes(4, "little")

CheckedFiles = dict[str, tuple[int, int]]  # names, sizes and times of change of those that were found sound


def is_sound(folder: str, checked: CheckedFiles | None = None) -> bool:
    """Whether every file that counts is sound. `checked`: those that need not be read again; it is brought up to date."""
    known = {} if checked is None else checked
    found: CheckedFiles = {}
    try:
        with open(os.path.join(folder, "meta.json"), "rb") as file:
            segments = loads(file.read())["segments"]
        counting = {
            segment["segment_id"].replace("-", ""): (segment.get("deletes") or {}).get("opstamp")
            for segment in segments
        }
        for name in os.listdir(folder):
            segment, _, kind = name.partition(".")
            if segment in counting and (not kind.endswith("del") or kind == f"{counting[segment]}.del"):
                path = os.path.join(folder, name)
                stat = os.stat(path)
                found[name] = (stat.st_size, stat.st_mtime_ns)
                if known.get(name) != found[name] and not _has_its_sum(path):
                    return False
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
    known.clear()
    known.update(found)
    return True


def _has_its_sum(path: str) -> bool:
    """A file of tantivy ends with a checksum of what is before it, in JSON, the length of that, and a number."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _FOOTER_BYTES))
        last = file.read()
        size = int.from_bytes(last[-8:-4], "little")
        if last[-4:] != _FOOTER or size > len(last) - 8:
            return False
        left, found = end - 8 - size, 0
        file.seek(0)
        while left and (part := file.read(min(left, _CHUNK_BYTES))):
            found, left = zlib.crc32(part, found), left - len(part)
    with suppress(ValueError, TypeError, KeyError):
        return bool(loads(last[-8 - size : -8])["crc"] == found)
    return False
