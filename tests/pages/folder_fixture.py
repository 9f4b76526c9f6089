"""Pages in memory, for synced folders: what Book and Editor do, without a store. And a folder that is driven step by step."""

from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from clan_learnings.redaction import SecretCount, redact
from mesh.core.errors import UsageError
from mesh.pages.file_table import Renaming
from mesh.pages.folder_sync import FileRow, FolderSync
from mesh.pages.page_names import Named, checked, shown
from mesh.pages.text_merging import merge


class Info(NamedTuple):
    id: bytes
    name: str
    shown: str


class Text(NamedTuple):
    text: str


class Saved(NamedTuple):
    text: str
    changed: bool
    findings: tuple[SecretCount, ...]


class Shelf:
    """Book and Editor in one. `log` tells what was asked of it."""

    def __init__(self) -> None:
        self.names: dict[bytes, tuple[int, str]] = {}
        self.texts: dict[bytes, str] = {}
        self.log: list[tuple[str, ...]] = []
        self.broken: set[str] = set()
        self.refusal: UsageError | None = None  # of a node that may not write
        self.tries = 0
        self._version = 0

    # Book

    def pages(self) -> list[Info]:
        under = shown(Named(page, name, at) for page, (at, name) in self.names.items())
        return sorted((Info(page, self.names[page][1], under[page]) for page in under), key=lambda info: info.shown)

    def read(self, info: Info) -> Text:
        return Text(self.texts[info.id])

    def version(self) -> int:
        return self._version

    def new_ids(self) -> dict[bytes, bytes]:
        return {}

    # Editor

    def new(self, name: str, text: str = "") -> tuple[Info, Saved]:
        self._ask()
        clean = redact(text)
        page = self.put(checked(name), clean.text)
        self.log.append(("new", name))
        return self.info(page), Saved(clean.text, True, clean.findings)

    def save(self, info: Info, base: str, mine: str) -> Saved:
        self._ask()
        if info.name in self.broken:
            raise UsageError(f"{info.name} cannot be written", "mend it")
        before = self.texts[info.id]
        clean = redact(merge(base, mine, before))
        self.texts[info.id] = clean.text
        self._version += 1
        self.log.append(("save", info.name))
        return Saved(clean.text, clean.text != before, clean.findings)

    def rename(self, info: Info, name: str) -> Info:
        self._ask()
        self.call(info.id, name)
        self.log.append(("rename", info.name, name))
        return self.info(info.id)

    def remove(self, info: Info, reason: str) -> None:
        self._ask()
        self.take(info.id)
        self.log.append(("remove", info.name))

    def _ask(self) -> None:
        self.tries += 1
        if self.refusal is not None:
            raise self.refusal

    # What others do

    def put(self, name: str, text: str) -> bytes:
        self._version += 1
        page = self._version.to_bytes(4, "big") * 8
        self.names[page] = (self._version, name)
        self.texts[page] = text
        return page

    def edit(self, page: bytes, text: str) -> None:
        self.texts[page] = text
        self._version += 1

    def call(self, page: bytes, name: str) -> None:
        self.names[page] = (self.names[page][0], name)
        self._version += 1

    def take(self, page: bytes) -> None:
        del self.names[page]
        self._version += 1

    def info(self, page: bytes) -> Info:
        return next(info for info in self.pages() if info.id == page)

    def by_name(self) -> dict[str, str]:
        return {info.shown: self.texts[info.id] for info in self.pages()}


class Rows:
    """What a mirror remembers, over restarts."""

    def __init__(self) -> None:
        self.rows: dict[str, FileRow] = {}
        self.renaming: Renaming | None = None

    def get(self, path: str) -> FileRow | None:
        return self.rows.get(path)

    def put(self, row: FileRow) -> None:
        self.rows[row.path] = row

    def drop(self, path: str) -> None:
        self.rows.pop(path, None)

    def move(self, path: str, to: str) -> None:
        names = {path: to, to: path}
        moved = [self.rows.pop(old)._replace(path=new) for old, new in names.items() if old in self.rows]
        self.rows |= {row.path: row for row in moved}
        self.renaming = None

    def begin(self, renaming: Renaming) -> None:
        self.renaming = renaming

    def begun(self) -> Renaming | None:
        return self.renaming

    def give_up(self) -> None:
        self.renaming = None

    def all(self) -> list[FileRow]:
        return list(self.rows.values())


class Driven:
    """A folder, its mirror, and a clock of its own."""

    def __init__(self, folder: Path, shelf: Shelf | None = None, prefix: str = "") -> None:
        self.folder = folder
        self.shelf = shelf or Shelf()
        self.rows = Rows()
        self.said: list[str] = []
        self.now = 100.0
        self._prefix = prefix
        self.restart()

    def restart(self) -> None:
        """The sidecar was killed; nothing has happened yet since it was started again."""
        folder, shelf = str(self.folder), cast("Any", self.shelf)
        self.mirror = FolderSync(folder, shelf, shelf, self.rows, lambda _, text: self.said.append(text), self._prefix)

    def step(self, seconds: float = 0.0) -> float | None:
        self.now += seconds
        return self.mirror.step(self.now)

    def run(self, seconds: float = 0.2) -> None:
        """Come whenever the mirror asked for it, for a while: as the thread does."""
        end = self.now + seconds
        due = self.step()
        while due is not None and due <= end:
            self.now = max(self.now + 0.001, due)
            due = self.step()
        self.now = max(self.now, end)

    def started(self, **files: str) -> "Driven":
        """With some pages whose files are in step."""
        self.folder.mkdir(exist_ok=True)
        for name, text in files.items():
            self.write(f"{name}.md", text)
        self.run(3.0)
        self.shelf.log.clear()
        self.shelf.tries = 0
        return self

    def write(self, path: str, text: str | bytes) -> None:
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text if isinstance(text, bytes) else text.encode())

    def page(self, name: str) -> bytes:
        return next(info.id for info in self.shelf.pages() if info.shown == name)

    def files(self) -> dict[str, str]:
        """Everything in the folder, hidden things too."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes().decode() for path in found}


class Killed(BaseException):
    """The process is gone: nobody has a chance to clean up."""


def are_in_step(driven: Driven, texts: dict[str, str]) -> None:
    """Pages and files say this, and nothing else lies about."""
    assert driven.shelf.by_name() == texts
    assert driven.files() == {f"{name}.md": text for name, text in texts.items()}


def kill_in(driven: Driven, name: str, *, is_after: bool = False, module: Any = Rows) -> None:
    """Run until something is called, and die there, before or after it was done; then start again."""
    whole = getattr(module, name)

    def dying(*given: Any, **named: Any) -> None:
        if is_after:
            whole(*given, **named)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, dying)
        with pytest.raises(Killed):
            driven.run(3.0)
    driven.restart()
