"""`mesh page edit`: a page in an editor. Whatever happens, what was typed is in the page or in a file that is named."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import split
from shutil import rmtree
from subprocess import run
from tempfile import mkdtemp

from mesh.app.checks.page_checks import EDITING
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import tell
from mesh.cli.page import in_shell, name_in, shown, typed, written
from mesh.core.errors import HomePermissions, UsageError
from mesh.pages.book import Book, PageInfo
from mesh.pages.file_text import Content, read, same
from mesh.pages.open_pages import Pages, open_pages


@command(
    "mesh page edit runbooks/deploy",
    more="Opens VISUAL, else EDITOR, else vi. What others write meanwhile stays. With --text nothing is opened.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@option("--text", metavar="TEXT", help="the text; - reads it from stdin")
def edit(given: Given) -> int:
    """Let a person edit it, or take the text that is given."""
    name = name_in(given.name)
    if given.has("text"):
        text = typed(given.word("text"))
        with open_pages(given.home) as pages:
            info = pages.book.find(name)
            _save(given, pages, info, pages.book.read(info).text, text)
        return EXIT_OK
    with open_pages(given.home) as pages:  # and closed again: somebody may leave their editor open for a day
        info = pages.book.find(name)
        editor = _editor(name)
        pages.editor.require_member()
        base = pages.book.read(info).text
    draft = EditorFile(given.home, info.shown, base)
    try:
        draft.let_edit(editor)
        mine = draft.text()
        with open_pages(given.home) as pages:
            now = _again(pages.book, info)
            _save(given, pages, now, base, base if same(base, mine) else mine)
    except BaseException:
        draft.rescue()
        raise
    finally:
        draft.remove()
    return EXIT_OK


def _save(given: Given, pages: Pages, info: PageInfo, base: str, mine: str) -> None:
    pages.editor.require_member()
    others = pages.book.read(info).text != base
    saved = pages.editor.save(info, base, mine)
    written(
        given,
        pages.book,
        info,
        "changed" if saved.changed else "unchanged, nothing was written",
        findings=saved.findings,
        chars=len(saved.text),
        changed=saved.changed,
    )
    if others and saved.changed:
        tell(f"others wrote to it meanwhile; both stay. Read it over: mesh page show {in_shell(info.shown)}")


def _again(book: Book, info: PageInfo) -> PageInfo:
    """The page that was being edited, whatever it is called by now."""
    for page in book.pages():
        if page.id == info.id:
            return page
    raise UsageError(
        f"{shown(info)} was removed, or joined into another page, while it was being edited",
        f"see what became of it: mesh page list; or: mesh page restore {in_shell(info.name)}",
    )


def _editor(name: str) -> list[str]:
    """The words that start the editor."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    instead = f"mesh page edit {in_shell(name)} --text -"
    if not command.strip():
        if not sys.stdin.isatty():
            raise UsageError("there is no terminal for an editor", f"give the whole text on stdin: {instead}")
        command = "vi"
    try:
        return split(command)
    except ValueError as error:
        raise UsageError(f"the editor {command!r} cannot be read: {error}", "set VISUAL or EDITOR anew") from error


class EditorFile:
    """A page in a file of its own, for its owner's eyes only. In a folder of its own: editors leave copies beside a file."""

    def __init__(self, home: str, name: str, text: str) -> None:

        self._base = text
        self._folder = ""
        self.is_kept = False
        try:
            self._folder = mkdtemp(prefix=EDITING, dir=os.path.abspath(home))
            self.path = os.path.join(self._folder, f"{name.rpartition('/')[2]}.md")
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            self.remove()
            raise HomePermissions(
                f"no file to edit can be made in {home}: {error.strerror}", "make room, or see whose it is: mesh doctor"
            ) from error

    def let_edit(self, editor: list[str]) -> None:
        """Run the editor to its end."""
        try:
            with _outliving_signals():
                code = run([*editor, self.path], check=False).returncode  # noqa: S603 (what the person has set)
        except OSError as error:
            raise UsageError(
                f"the editor {editor[0]!r} cannot be started: {error.strerror}",
                "set VISUAL or EDITOR to one that is there",
            ) from error
        if code:
            raise UsageError(f"the editor ended with code {code}: nothing was written", "repeat the command")

    def text(self) -> str:
        """What was typed."""
        try:
            _, found = read(self.path)
        except FileNotFoundError:
            raise UsageError("the editor left no file: nothing was written", "repeat the command") from None
        if not isinstance(found, Content):
            raise UsageError(
                f"this cannot be the text of a page: {found.reason}; nothing was written", "repeat the command"
            )
        return found.text

    def rescue(self) -> None:
        """Keep the file, if somebody has typed something into it, and say where it is."""
        try:
            with open(self.path, "rb") as file:
                self.is_kept = file.read() != self._base.encode()
        except OSError:
            return
        if self.is_kept:
            tell(f"mesh: what was typed is kept in {self.path}")

    def remove(self) -> None:
        """Remove the file, unless it was rescued, and whatever else the editor has left there."""
        if not self.is_kept and self._folder:
            rmtree(self._folder, ignore_errors=True)


@contextmanager
def _outliving_signals() -> Iterator[None]:
    """Ctrl-C belongs to the editor as long as that runs. A handler of ours, unlike ignoring it, is not passed on to it.

    Who ends us, or closes the terminal, ends us with the file rescued or removed.
    """

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: leave, signal.SIGHUP: leave}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
