"""The vectors of records, made in the background by the chosen embedder, and vectors of questions. Optional in every part.

Without an embedder, or if it fails, there are no vectors, and nothing else is lost: the status says so, and it is tried again.
"""

import logging
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from clan_learnings.records.record import LOGS
from clan_learnings.search.embedders.cosine_scale import Scale, scale_of
from clan_learnings.search.embedders.embedder import Embedder, EmbeddingRefused, available, open_embedder
from clan_learnings.search.index_files import EMBEDDER, VARIABLE, chosen
from clan_learnings.search.index_state import LiveRecord, live_records
from clan_learnings.search.index_thread import IndexOff
from clan_learnings.search.meaning import Near, NearRecord, repo_number, text_of, version_of
from clan_learnings.search.vectors.vector_wiping import FILE, TAG_BYTES, remove_vectors
from mesh.core.errors import MeshError
from mesh.core.ids import text_id
from mesh.store.reader import Reader

if TYPE_CHECKING:
    from clan_learnings.search.vectors.nearest import Vectors

_QUESTION_CHARS = 2_000
_WORD_CHARS = 100  # what is longer, models take for one and the same unknown word
_CACHED = 1_024  # questions


class EmbeddingSpace:
    """An embedder and the vectors it has made. For any thread."""

    def __init__(self, embedder: Embedder, vectors: "Vectors", scale: Scale) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.scale = scale
        self._cached: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def question(self, text: str) -> Any:
        """The vector of a question; None if it cannot be had now, or if there is no word in it: that means nothing."""
        return self._row(text[:_QUESTION_CHARS]) if _has_words(text[:_QUESTION_CHARS]) else None

    @property
    def name(self) -> str:
        """As in the protocol `Meaning`."""
        return self.embedder.name

    def nearest(self, text: str, count: int, scopes: Collection[int] | None) -> Near:
        """As in the protocol."""
        row = self.question(text)
        return None if row is None else self._with_versions(self.vectors.nearest(row, count, scopes))

    def cosines(self, text: str, tags: Sequence[bytes]) -> Near:
        """As in the protocol."""
        row = self.question(text)
        return None if row is None else self._with_versions([*self.vectors.cosines(row, tags).items()])

    def begin(self, text: str, count: int, scopes: Collection[int] | None) -> Future[Near]:
        """As in the protocol, on a thread of its own: that takes as long as finding words does, and both can go on at once."""
        begun: Future[Near] = Future()

        def make() -> None:
            try:
                begun.set_result(self.nearest(text, count, scopes))
            except BaseException as error:  # noqa: BLE001 (passed on to the thread that waits)
                begun.set_exception(error)

        try:
            threading.Thread(target=make, name="question", daemon=True).start()
        except RuntimeError:  # no more threads: then one after the other
            make()
        return begun

    def _with_versions(self, found: list[tuple[bytes, float]]) -> list[NearRecord]:
        versions = self.vectors.versions([tag for tag, _ in found])
        return [
            NearRecord(tag, version, cosine) for (tag, cosine), version in zip(found, versions, strict=True) if version
        ]

    def _row(self, text: str) -> Any:
        with self._lock:
            row = self._cached.get(text)
        if row is None:
            try:
                row = self.embedder.embed([text])[0]
            except MeshError:
                return None
        with self._lock:
            self._cached[text] = row
            self._cached.move_to_end(text)
            while len(self._cached) > _CACHED:
                self._cached.popitem(last=False)
        return row


def _has_words(text: str) -> bool:
    """Whether a model could make anything of it. Scripts without blanks have long words."""
    return any(len(word) <= _WORD_CHARS or not word.isascii() for word in re.findall(r"[^\W_]+", text))


_CHUNK = 500
_RETRY_SECONDS = 3_600.0  # at least, until a text that was refused is tried again
_REMEMBERED = 200  # records of such texts, from one run to the next

log = logging.getLogger("mesh.node")


class RecordVectors:
    """The vectors of one home, as `index_thread` keeps them up to date."""

    batch = 32  # a quarter of a second: one that is to stop waits no longer
    commit_records = 512

    def __init__(self, home: str, folder: str, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.space: EmbeddingSpace | None = None
        self._home = home
        self._choice_path = os.path.join(home, EMBEDDER)
        self._chosen = self._stamp()  # the file as it was when it was read
        self._environ = environ
        # Records whose texts the embedder does not take, the one tried last at the end.
        self._refused: dict[bytes, None] = {}
        self._retry_at = 0.0
        self._inode = 0
        self._embedder: Embedder | None = None
        self._unfit: MeshError | None = None  # why what is chosen is not used

    @property
    def choice(self) -> str:
        """Which embedder is to be used."""
        return chosen(self._home, self._environ)

    @property
    def is_chosen(self) -> bool:
        """Whether anybody has chosen at all."""
        return os.path.exists(self._choice_path) or bool(self._environ.get(VARIABLE))

    @property
    def left_out(self) -> int:
        """How many records are without a vector because the embedder takes their texts not."""
        return len(self._refused)

    def has_changed(self) -> bool:
        """Whether something else was chosen since `open`, or the file of vectors was deleted."""
        return self._stamp() != self._chosen or (self.space is not None and self._inode_now() != self._inode)

    @property
    def generation(self) -> int:
        """As a follower wants it: nobody else reads the file."""
        return 0

    def open(self, about: Mapping[str, Any] | None) -> bool:
        """As a follower wants it."""
        stamp = self._stamp()
        if stamp != self._chosen:
            self._chosen, self._unfit = stamp, None
        choice = self.choice
        is_there, says = available(choice)
        if not is_there:
            remove_vectors(self.folder)  # nobody would drop those of what is erased from now on
            rmtree(self.folder, ignore_errors=True)
            raise IndexOff(says)
        if self._unfit is not None:
            raise self._unfit
        embedder = self._embedder = open_embedder(choice, _cache(self._environ), self._environ)
        is_known = about is not None and about.get("embedder") == embedder.name
        scale = self._scale(embedder, about.get("scale") if about is not None and is_known else None)

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        from clan_learnings.search.vectors.nearest import Vectors  # needs numpy, which is there by now

        vectors = Vectors(self.folder, embedder.name, embedder.dimensions, scale)
        self.space = EmbeddingSpace(embedder, vectors, scale)
        self._inode = max(0, self._inode_now())
        self._refused, self._retry_at = {}, 0.0
        if about is None or not is_known or about.get("logs") != list(LOGS):
            return False
        self._refused = dict.fromkeys(_tags(about.get("left_out")))
        made = about.get("made")  # were there more, some are damaged; what is sound need not be made again
        return type(made) is int and len(self.space.vectors) >= made

    def _scale(self, embedder: Embedder, kept: object) -> Scale:
        """What its cosines are worth. One that cannot tell anything is not used, nor opened again until something else is chosen."""
        scale = scale_of(embedder, kept)
        if not scale.is_useful:
            remove_vectors(self.folder)
            told = (
                f"unrelated texts are as near to each other as rewordings ({scale.unrelated:.2f} and {scale.same:.2f})"
            )
            self._unfit = MeshError(f"{embedder.name} is of no use for searching: {told}", "mesh index use auto")
            raise self._unfit
        return scale

    def begin(self) -> None:
        """As a follower wants it. What is there stays: most of it will be found as it is."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)

    def about(self) -> dict[str, Any]:
        """As a follower wants it."""
        space = self._open()
        left_out = [tag.hex() for tag in islice(self._refused, _REMEMBERED)]
        made = {"made": len(space.vectors), "left_out": left_out}
        logs = {"logs": list(LOGS)}  # of which vectors are made
        model = {"embedder": space.embedder.name, "dimensions": space.embedder.dimensions, "scale": space.scale.kept()}
        return model | logs | made

    def put(self, records: Sequence[LiveRecord], reader: Reader, breathe: Callable[[], None]) -> None:
        """As a follower wants it."""
        space = self._open()
        every = (*records, *self._to_retry(reader))
        notes = {note.tag: note for note in (record.note for record in every) if note.log in LOGS}
        texts = {tag: text_of(note) for tag, note in notes.items()}
        versions = {tag: version_of(text, notes[tag].repo) for tag, text in texts.items()}
        known = space.vectors.versions([*texts])
        new = [tag for tag, version in zip(texts, known, strict=True) if version != versions[tag]]
        breathe()
        if new:
            rows = self._embedded(space, [texts[tag] for tag in new])
            fit = [at for at, row in enumerate(rows) if row.any()]
            self._leave_out([tag for tag in new if tag not in {new[at] for at in fit}])
            made = [new[at] for at in fit]
            scopes = [repo_number(notes[tag].repo) for tag in made]
            space.vectors.put(made, [rows[at] for at in fit], [versions[tag] for tag in made], scopes)
            for tag in made:
                self._refused.pop(tag, None)
            breathe()

    def _embedded(self, space: EmbeddingSpace, texts: Sequence[str]) -> Any:
        try:
            return space.embedder.embed(texts)
        except EmbeddingRefused:
            if len(texts) > 1:
                raise

            import numpy as np

            return np.zeros((1, space.embedder.dimensions))

    def _leave_out(self, tags: Sequence[bytes]) -> None:
        """Records that are found by their words only; what they said before is not to be found either."""
        if not tags:
            return
        if not self._refused:
            log.warning("no vector can be had of %s: it is found by its words only", text_id(tags[0])[:8])
            self._retry_at = time.monotonic() + _RETRY_SECONDS
        self.drop(tags)
        self._refused |= dict.fromkeys(tags)

    def _to_retry(self, reader: Reader) -> list[LiveRecord]:
        """Some of those that were left out, now and then: the embedder may be another version of itself by now."""
        if not self._refused or time.monotonic() < self._retry_at:
            return []
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        some = list(islice(self._refused, self.batch))
        found = live_records(reader, reader.live(some).values())
        for tag in some:
            del self._refused[tag]
        return found

    def drop(self, tags: Iterable[bytes]) -> None:
        """As a follower wants it."""
        vectors, asked = self._open().vectors, [*tags]
        for tag in asked:
            self._refused.pop(tag, None)
        gone = [tag for tag, version in zip(asked, vectors.versions(asked), strict=True) if version is not None]
        if gone:
            vectors.drop(gone)

    def erase(self, tags: Iterable[bytes]) -> bool:
        """As a follower wants it."""
        self.drop(tags)
        return True

    def swept(self, are_live: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        """As a follower wants it."""
        known = self._open().vectors.tags()
        while some := list(islice(known, _CHUNK)):
            live = are_live(some)
            self.drop(tag for tag in some if tag not in live)

    def commit(self) -> None:
        """As a follower wants it."""
        self._open().vectors.flush()

    def rest(self) -> None:
        """As a follower wants it."""
        self._open().vectors.rest()

    def interrupt(self) -> None:
        """Whatever waits for a server is not to wait any longer."""
        if self._embedder is not None:
            self._embedder.close()

    def close(self) -> None:
        """As a follower wants it."""
        space, self.space = self.space, None
        embedder, self._embedder = self._embedder, None
        self._refused = {}
        if embedder is not None:
            embedder.close()
        if space is not None:
            space.vectors.close()

    def _open(self) -> EmbeddingSpace:
        assert self.space is not None
        return self.space

    def _inode_now(self) -> int:
        """Of the file of vectors; one that is open outlives its name."""
        try:
            return os.stat(os.path.join(self.folder, FILE)).st_ino
        except OSError:
            return -1

    def _stamp(self) -> object:
        try:
            found = os.stat(self._choice_path)
        except OSError:
            return 0
        return found.st_mtime_ns, found.st_ino, found.st_size


def _tags(given: object) -> list[bytes]:
    """What a state file says was left out."""
    with suppress(ValueError, TypeError):
        tags = [bytes.fromhex(text) for text in given] if isinstance(given, list) else []
        return [tag for tag in tags if len(tag) == TAG_BYTES]
    return []


def _cache(environ: Mapping[str, str]) -> str:
    """Where a model is kept in the form in which it runs, once for all homes of a person."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "clan-mesh")
