"""A page of a home read, opened and edited as commands and the sidecar do it, each in a process of its own."""

import random
import time

from bench.page_homes import NAME, used_bytes
from bench.processes import Measures
from mesh.core.ids import digest
from mesh.pages.open_pages import open_pages
from mesh.store.home import open_home

_WORDS = "one more edit "
_OTHER = digest(b"bench another page")


def read(home: str) -> Measures:
    """From the folder to the text. If nobody has worked it out before: every operation ruled upon and applied in the worker."""
    begin = time.perf_counter()
    with open_pages(home) as pages:
        page = pages.book.read(pages.book.find(NAME))
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "chars": len(page.plain), "troubles": len(page.troubles)}


def open_to_edit(home: str, *, warm: bool) -> Measures:
    """From the folder to a document in the worker that can be edited. `warm`: the worker runs, with another page."""
    begin = time.perf_counter()
    with open_pages(home) as pages:
        if warm:
            pages.book.workshop.open(_OTHER, None, [])
            begin = time.perf_counter()
        _, text = pages.book.texts.opened(pages.book.find(NAME).body)
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "chars": len(text)}


def edit(home: str, count: int) -> Measures:
    """Edits one after the other, each at another place and durable before the next. The first has to open the page."""
    chance, seconds = random.Random(1), []
    with open_pages(home) as pages:
        info = pages.book.find(NAME)
        text = pages.book.read(info).text
        for _ in range(count + 1):
            place = chance.randrange(len(text))
            begin = time.perf_counter()
            saved = pages.editor.save(info, text, text[:place] + _WORDS + text[place:])
            seconds.append(time.perf_counter() - begin)
            if not saved.changed or saved.findings:
                raise RuntimeError("an edit was not written as it was meant")
            text = saved.text
    return {"first": seconds[0], "seconds": seconds[1:]}


def sizes(home: str) -> Measures:
    """What a home's database takes, and of that the text, the state and the ledger that are kept beside the operations."""
    author = open_home(home).author()
    kept = author.store.database.run(
        "SELECT (SELECT sum(length(text)) FROM page_texts) + coalesce((SELECT sum(length(state) + length(ledger)) FROM page_states), 0)"
    ).get
    return {"used": used_bytes(author), "kept": kept or 0}
