"""The subjects whose tables live in the store. Importing this module registers them; they are loaded when a store is opened to write."""

from __future__ import annotations

from clan_learnings.records.facets_table import RECORDS
from clan_learnings.search.keywords.word_table import SEARCH
from mesh.pages.edit_table import PAGES
from mesh.store.subject import Subject, provide


def all_subjects() -> tuple[Subject, ...]:
    """In the order in which their tables are made."""
    return (RECORDS, SEARCH, PAGES)


provide(all_subjects)
