"""The protocol of embedders, and how one is chosen and opened. Light: nothing heavy is imported before an embedder is opened.

A choice is one line: `minilm`, `http://host/v1 MODEL`, the path of a model folder, `auto` (minilm if all of it is installed),
or `none`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import urlsplit

from clan_learnings.search.embedders.model_installation import PACKAGES, of_model, of_packages, of_weights
from mesh.core.errors import MeshError, RemoteError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[np.float32]"

AUTO, MINILM, NONE = "auto", "minilm", "none"
CHOICES = "minilm, auto, none, an address like 'http://localhost:11434/v1 MODEL', or the path of a model folder"


class EmbeddingRefused(RemoteError):
    """These texts cannot be embedded; others, or shorter ones, perhaps."""


class Embedder(Protocol):
    """Makes vectors of texts. Several threads may call it at once; what goes wrong is a `MeshError`."""

    name: str  # names the model and its settings: vectors under another name cannot be compared with its own
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Rows:
        """One row a text, of length 1. A row depends on its own text only, not on what else was asked for.

        A row of zeros: no vector can be had of that text.
        """

    def close(self) -> None:
        """End what is under way; a call that waits for a server fails at once."""


def open_embedder(choice: str, cache: str, environ: Mapping[str, str]) -> Embedder:
    """The embedder of that choice. `cache`: a folder for what takes a while to build; it may be deleted at any time."""
    choice = choice.strip()
    describe(choice)
    if is_address(choice):
        from clan_learnings.search.embedders.embedding_server import KEY, EmbeddingServer

        address, model = split_address(choice)
        return EmbeddingServer(address, model, environ.get(KEY, ""))
    if choice in (AUTO, MINILM):
        from clan_learnings.search.embedders.local_model import open_minilm

        return open_minilm(cache)
    from clan_learnings.search.embedders.model_folder import open_folder

    return open_folder(choice, cache)


def available(choice: str) -> tuple[bool, str]:
    """Whether everything for a choice seems to be there, and in words what it is, or what is missing and what to run."""
    try:
        return True, describe(choice.strip())
    except MeshError as error:
        return False, f"{error}; next: {error.next_step}" if error.next_step else str(error)


def describe(choice: str) -> str:
    """What a choice stands for, in words. Cheap: files are looked for, not read, and no server is asked."""
    if choice == NONE:
        raise UsageError("vectors are switched off", "mesh index use auto")
    if is_address(choice):
        address, model = split_address(choice)
        _need("numpy")
        return f"{model} at {address}"
    if choice in (AUTO, MINILM):
        from clan_learnings.search.embedders import local_model

        _need(*PACKAGES, by=of_model())
        if local_model.lacks_weights():
            raise MeshError("the weights of MiniLM-L6 are not installed", of_weights())
        return "MiniLM-L6, 384 dimensions, on this machine"
    from clan_learnings.search.embedders import model_folder

    model_folder.check(choice)
    _need(*PACKAGES)
    return f"the model in {choice}"


def is_address(choice: str) -> bool:
    """Whether a choice is meant as the address of a server."""
    return choice.lower().startswith(("http://", "https://"))


def split_address(choice: str) -> tuple[str, str]:
    """The address and the model of a choice like `http://localhost:11434/v1 nomic-embed-text`."""
    address, _, model = choice.strip().partition(" ")
    model = model.strip()
    example = "mesh index use http://localhost:11434/v1 nomic-embed-text"
    if not model or not model.isprintable() or len(model) > 200:
        raise UsageError(f"{address} needs the name of a model after it", example)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise UsageError("that address cannot be read", example) from error
    if "@" in parts.netloc or parts.query or parts.fragment:  # a choice is shown by `status`; a key must not be in it
        raise UsageError(
            "an address may have neither a password nor a query: a key is taken from the environment", example
        )
    if not parts.hostname or port == 0 or not address.isascii() or not address.isprintable():
        raise UsageError("that address names no host", example)
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    return f"{parts.scheme}://{parts.netloc.lower()}{path}", model


def _need(*packages: str, by: str = "") -> None:
    """A `MeshError` if one of them is not there. `by`: the command that installs them, if it is not one for just these."""
    if missing := [name for name in packages if not _is_installed(name)]:
        *first, last = missing
        names = f"{', '.join(first)} and {last}" if first else last
        raise MeshError(f"{names} {'are' if first else 'is'} not installed", by or of_packages(missing))


def _is_installed(name: str) -> bool:

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def folder_of(package: str) -> str:
    """Where a package is installed, without importing it: its code is not ours to run. Empty if it is not."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return ""
    places = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((os.fspath(place) for place in places), "")
