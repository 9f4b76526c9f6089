"""Rendered files: bringing them up to date with a home, in one snapshot of records and of the page shown in `MEMORY.md`."""

from collections.abc import Callable

from clan_learnings.render.files import RenderedFiles, Rendering
from mesh.pages.file_replacement import overwrite
from mesh.pages.memory_text import hand_kept
from mesh.store.reader import open_reading, read_errors
from mesh.store.record_changes import ChangeCollector


def render(home: str, files: RenderedFiles, breathe: Callable[[], None]) -> Rendering:
    """Bring a folder up to date with a home, as one snapshot."""
    with read_errors(home):
        reader = open_reading(home)
        try:
            reader.connection.execute("BEGIN")
            touches = ChangeCollector(reader.connection, breathe)
            hand = lambda: hand_kept(reader).text  # noqa: E731 (the first that is read)
            return files.render(reader, touches, breathe, hand, overwrite)
        finally:
            reader.connection.close()


def is_current(home: str, files: RenderedFiles) -> bool:
    """Whether a folder is up to date with a home."""
    with read_errors(home):
        reader = open_reading(home)
        try:
            reader.connection.execute("BEGIN")
            hand = hand_kept(reader)
            return hand.is_current and files.is_current(ChangeCollector(reader.connection), hand.text)
        finally:
            reader.connection.close()


def is_worked_out(home: str) -> bool:
    """Whether the text of the page that MEMORY.md shows is known as it is now."""
    with read_errors(home):
        reader = open_reading(home)
        try:
            return hand_kept(reader).is_current
        finally:
            reader.connection.close()
