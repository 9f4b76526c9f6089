"""Finding a record by its id, among the shared ones and then among the private ones."""

from mesh.core.errors import UnknownId
from mesh.store.home import Home
from mesh.store.reading import Reader
from mesh.store.store import Store


def locate(home: Home, text: str) -> tuple[Store, bytes]:
    """The store that has the record, and its tag."""
    store = home.store()
    try:
        return store, Reader(store.database.connection).resolve(text)
    except UnknownId:
        if not home.has_private:
            raise
    private = home.store(private=True)
    return private, Reader(private.database.connection).resolve(text)
