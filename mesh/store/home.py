"""The home folder of one node: its keys, name, databases, and the lock of its running process. Created whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from shutil import rmtree
from typing import Any, NamedTuple

from mesh.core.clock import EARLIEST_MS
from mesh.core.errors import (
    ClockInDoubt,
    HomeBusy,
    HomeDamaged,
    HomeError,
    HomePermissions,
    NewerHome,
    NoHome,
    UsageError,
)
from mesh.core.identity import Identity
from mesh.core.ids import mesh_id, parse_id, private_mesh_id, text_id
from mesh.core.limits import TEXT_CHARS
from mesh.core.statement import ADMIN, Member, sign
from mesh.core.trust import Trust
from mesh.store import keyfile
from mesh.store.author import Author
from mesh.store.database import BUSY_SECONDS, FORMAT, Database, refuse_newer
from mesh.store.feed_progress import FeedProgress
from mesh.store.file_access import FileLock
from mesh.store.store import Clock, Store, wall_clock
from mesh.store.wake_signal import ring

_NETWORK_FILE_SYSTEMS = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "ceph",
        "lustre",
        "9p",
        "davfs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.davfs2",
    ]
)


_OFFSET_MS = 3_600_000  # how long a correction of the clock is believed without a running sidecar


class Home(NamedTuple):
    """An existing home. Opening it touches nothing; its stores are opened one by one."""

    path: str
    mesh: bytes
    node: bytes
    name: str
    ephemeral: bool = False  # was asked to leave the mesh when its sidecar stops; its role may want that too

    def file(self, name: str) -> str:
        """The path of one of the home's files."""
        return os.path.join(self.path, name)

    @property
    def has_root_key(self) -> bool:
        """Whether members can be admitted here."""
        return os.path.exists(self.file("root.key"))

    def identity(self) -> Identity:
        """The node's own key."""
        identity = keyfile.load(self.file("node.key"))
        if identity.public != self.node:
            raise HomeDamaged(
                f"{self.file('node.key')} is the key of another node", "put the right one back from a backup"
            )
        return identity

    def root_identity(self, trust: Trust | None = None) -> Identity:
        """The mesh's root key, where it is kept; given the trust, only if it is the one in force."""
        if not self.has_root_key:
            raise UsageError(
                "the root key of this mesh is not in this home",
                "run the command on the machine where the mesh was made",
            )
        identity = keyfile.load(self.file("root.key"))
        if trust is not None and identity.public != trust.root:
            raise UsageError(
                "the root key in this home was replaced by another",
                "run the command on the machine where the mesh was recovered",
            )
        return identity

    @property
    def has_private(self) -> bool:
        """Whether a private record was ever written here."""
        return os.path.exists(self.file("private.db"))

    def require_private(self) -> None:
        """For who wants to read private records: reading makes no database."""
        if not self.has_private:
            raise UsageError("there are no private records in this home", "write one: mesh discover TEXT --private")

    def store(self, *, private: bool = False, clock: Clock = wall_clock) -> Store:
        """The shared records, or the private ones, which have a database and a mesh id of their own."""
        refuse_network_disk(self.path)
        path = self.file("private.db" if private else "mesh.db")
        if private and not os.path.exists(path):
            _create_whole(path)
        database = Database(path)
        mesh = private_mesh_id(self.mesh) if private else self.mesh
        if clock is wall_clock:
            clock = _corrected(database)
        return Store(database, mesh, own=self.node, clock=clock, everyone=private)

    def author(self, *, private: bool = False, clock: Clock = wall_clock, is_sidecar: bool = False) -> Author:
        """The store, with the right to write to it. Everyone but the sidecar tells the sidecar of what was written."""
        progress = FeedProgress(self.node, self.file("private.db") if private else self.path)
        tell = _nobody if private or is_sidecar else partial(ring, self.path)
        author = Author(self.store(private=private, clock=clock), self.identity(), progress, tell)
        try:
            author.store.upgrade()  # what a migration has left to do, if any
            author.store.scrub()  # an erase that was cut short, if any
            author.store.settle()  # what has waited for the clock, with no sidecar to let it in
        except HomePermissions:
            pass  # only writers need it
        return author


def _corrected(database: Database) -> Clock:
    """The wall clock, corrected by what the sidecar found out lately. An older finding may be of a clock since set right."""
    found = database.run("SELECT value FROM meta WHERE key='clock_offset'").get
    try:
        offset, at = map(int, str(found).split())
    except ValueError:
        return wall_clock
    if not 0 <= wall_clock() - at <= _OFFSET_MS:
        return wall_clock
    return lambda: wall_clock() + offset


def _nobody(_news: bytes) -> None:
    """Nobody waits for private records, and the sidecar knows what it wrote itself."""


def _create_whole(path: str) -> None:
    """A new database with all its tables, or none; made once, even if two processes want it at the same time."""
    with FileLock(path + ".lock").held(BUSY_SECONDS):
        if os.path.exists(path):
            return
        draft = path + ".new"
        for end in ("", "-wal", "-shm", ".lock"):  # of someone who was killed here
            if os.path.exists(draft + end):
                os.unlink(draft + end)
        Database(draft, create=True).close()
        for end in ("-wal", "-shm", ".lock"):
            if os.path.exists(draft + end):
                os.unlink(draft + end)
        os.rename(draft, path)


def open_home(path: str) -> Home:
    """The home in a folder, or an error that says what to do."""
    path = os.path.abspath(path)
    file = os.path.join(path, "home.json")
    try:
        with open(file, encoding="utf-8") as handle:
            settings = json.load(handle)
    except FileNotFoundError:
        raise NoHome(f"there is no clan-mesh node in {path}", "make one: mesh init") from None
    except OSError as error:
        raise HomePermissions(f"{file} cannot be read: {error.strerror}", f"check: ls -la {path}") from error
    except (ValueError, RecursionError) as error:
        raise HomeDamaged(f"{file} is damaged: {error}", "put it back from a backup") from error
    return _parse(path, file, settings)


def create_home(
    path: str, name: str, mesh: bytes | None = None, *, now_ms: int | None = None, ephemeral: bool = False
) -> Home:
    """A new node: alone with a new mesh of its own, or asking to belong to `mesh`."""
    path = os.path.abspath(path)
    if os.path.exists(os.path.join(path, "home.json")):
        raise UsageError(f"there is a clan-mesh node in {path} already", "look at it: mesh status")
    if not name or len(name) > TEXT_CHARS or not name.isprintable():
        raise UsageError("a node's name is a short printable text", "choose another: mesh init --name NAME")
    refuse_network_disk(os.path.dirname(path))
    now_ms = wall_clock() if now_ms is None else now_ms
    if now_ms < EARLIEST_MS:
        raise ClockInDoubt(
            "this machine's clock was never set: its keys and certificates would be of the wrong time",
            "set the clock, or wait until the network has set it, and repeat the command",
        )

    _sweep(path)
    draft = f"{path}.new-{os.getpid()}"
    try:
        os.makedirs(draft, mode=0o700)
        home = _fill(draft, name, mesh, now_ms, ephemeral=ephemeral)
        os.rename(draft, path)  # over an empty folder too; never over one with something in it
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise HomePermissions(
            f"the home {path} cannot be made: {error.strerror}", "choose an empty or new folder with --home DIR"
        ) from error
    finally:
        rmtree(draft, ignore_errors=True)
    return home._replace(path=path)


def _sync_folder(path: str) -> None:
    """Make a rename in a folder last through a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(path: str) -> None:
    """Remove what an init that was killed has left: half a home, with keys in it."""
    folder, start = os.path.dirname(path), os.path.basename(path) + ".new-"
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        process = name.removeprefix(start)
        if name.startswith(start) and process.isdigit() and not _alive(int(process)):
            rmtree(os.path.join(folder, name), ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _fill(path: str, name: str, mesh: bytes | None, now_ms: int, *, ephemeral: bool) -> Home:
    node = keyfile.create(os.path.join(path, "node.key"))
    founding = None
    if mesh is None:
        root = keyfile.create(os.path.join(path, "root.key"))
        recovery = keyfile.create(os.path.join(path, "recovery.key"))
        founding = (root, recovery)
        mesh = mesh_id(root.public, recovery.public)
    home = Home(path, mesh, node.public, name, ephemeral)
    with open(home.file("home.json"), "w", encoding="utf-8") as file:
        settings: dict[str, Any] = {"format": FORMAT, "mesh": text_id(mesh), "node": text_id(node.public), "name": name}
        if ephemeral:
            settings["ephemeral"] = True
        json.dump(settings, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    store = Store(Database(home.file("mesh.db"), create=True), mesh, own=node.public)
    if founding is not None:
        root, recovery = founding
        store.learn_founders(root.public, recovery.public)
        first = sign(mesh, root, Member(root.public, now_ms, node.public, name, ADMIN))
        store.merge_statements([first.encode()])
    store.close()
    return home


def _parse(path: str, file: str, settings: object) -> Home:
    if not isinstance(settings, dict):
        raise HomeDamaged(f"{file} is damaged", "put it back from a backup")
    version = settings.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise NewerHome(
            f"the home {path} was made by a newer clan-mesh (format {version}, this one knows {FORMAT})",
            "upgrade clan-mesh on this machine; nothing was touched",
        )
    try:
        mesh, node = parse_id(settings["mesh"], "mesh id"), parse_id(settings["node"], "node id")
        name = settings["name"]
    except (KeyError, TypeError, UsageError) as error:
        raise HomeDamaged(f"{file} is damaged: {error}", "put it back from a backup") from error
    if not isinstance(name, str):
        raise HomeDamaged(f"{file} is damaged: the name is not a text", "put it back from a backup")
    return Home(path, mesh, node, name, settings.get("ephemeral") is True)


def refuse_network_disk(path: str) -> None:
    """SQLite's WAL needs shared memory and honest locks, which network file systems do not give."""
    path = os.path.realpath(path)
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split(" ")[1:3] for line in file]
    except OSError:
        return  # not Linux: `mesh verify` and SQLite's own checks are what there is
    kind, longest = "", -1
    for point, found in mounts:  # in the order they were mounted: a later one hides an earlier
        folder = point.replace("\\040", " ").rstrip("/")
        if (path == folder or path.startswith(folder + "/")) and len(folder) >= longest:
            kind, longest = found, len(folder)
    if kind in _NETWORK_FILE_SYSTEMS:
        raise HomeError(
            f"{path} is on a network file system ({kind}), which cannot keep a database safe",
            "choose a local folder: --home DIR",
        )


_LOCK_NAME = "sidecar.lock"
_PATIENCE_SECONDS = 0.5  # a check whether a node runs holds the lock for a moment


@contextmanager
def hold_node_lock(home: Home) -> Iterator[None]:
    """Be the one node of a home inside this block; HomeBusy if another process is."""
    path = home.file(_LOCK_NAME)
    if os.path.isfile(home.file("mesh.db")):
        refuse_newer(home.file("mesh.db"))
    try:
        descriptor = FileLock(path).acquire(_PATIENCE_SECONDS)
    except HomeBusy:
        raise HomeBusy(
            f"a sidecar of {home.path} is running already (process {_holder(path)})",
            "use it as it is: mesh status; or stop it: mesh down",
        ) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def node_process_id(home: Home) -> int | None:
    """The process id of the home's node, if one runs."""
    path = home.file(_LOCK_NAME)
    return _holder(path) if FileLock(path).is_held() else None


def _holder(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return None
