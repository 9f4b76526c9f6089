"""The direction of knowledge: who may import whom, and which file does what. Reads the sources with `ast`; nothing is run.

package          may import of ours
---------------  -----------------------------------------------------------
mesh.core        nothing
mesh.store       mesh.core
peers            mesh.core
clan_learnings   mesh.core, mesh.store
mesh.pages       mesh.core, mesh.store, clan_learnings
mesh.app         everything
mesh.worker      mesh.core, mesh.store, mesh.pages, clan_learnings, mesh.app
mesh.node        everything
mesh.cli         everything
mesh.mcp         everything

Everybody may import within their own package. `mesh` itself is three lazy names and the version. Nobody imports `mesh.cli`
but itself. Outside `mesh.store`, SQL is in files named `*_table.py`, threads in `*_thread.py`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]

LOW = ("mesh.core", "mesh.store", "mesh.pages", "peers", "clan_learnings")
ALL = (*LOW, "mesh.app", "mesh.worker", "mesh.node", "mesh.mcp")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "mesh.core": (),
    "mesh.store": ("mesh.core",),
    "mesh.pages": ("mesh.core", "mesh.store", "clan_learnings"),
    "peers": ("mesh.core",),
    "clan_learnings": ("mesh.core", "mesh.store"),
    "mesh.app": ALL,
    "mesh.worker": ("mesh.core", "mesh.store", "mesh.pages", "clan_learnings", "mesh.app"),
    "mesh.node": ALL,
    "mesh.mcp": ALL,
    "mesh.cli": ALL,
    "mesh": ("mesh.core",),
}

# Libraries that one place alone may name.
ONLY_IN = {
    "pycrdt": "mesh.pages",
    "msgpack": "mesh.core.strict_msgpack",
    "click": "mesh.cli",
    "nacl": "mesh.core.identity",
    "rich": "mesh.cli",
    "tantivy": "clan_learnings.search.keywords",
    "onnxruntime": "clan_learnings.search.embedders",
    "tokenizers": "clan_learnings.search.embedders",
}

# What keeps a package pure: no clock, no randomness, no files, no network.
NEVER_IN = {
    "mesh.core": ("os", "asyncio", "time", "random", "secrets", "socket", "sqlite3", "apsw", "threading"),
    "peers.proto": ("asyncio", "aiohttp", "time", "random", "secrets", "socket"),
}

# What a file's name has to say, where a subject keeps it beside its pure part.
SUBJECTS = ("mesh.pages", "mesh.app", "clan_learnings")
BY_SUFFIX = {"apsw": ("_table",), "mesh.store.background_thread": ("_thread",)}

# Where a use case's process was started, and what it prints to: the caller's affair, told as values. Who may look all the same:
SURROUNDINGS = {"os": {"getcwd", "environ", "chdir"}, "sys": {"argv", "stdin", "stdout", "stderr"}}
MAY_LOOK_AROUND = {
    "mesh.app.client": "runs in the caller's process, looking for a node",
    "mesh.app.caller": "the caller's side of it",
    "clan_learnings.agents.hook_side": "the caller's side of it",
    "clan_learnings.agents.hook_log": "which folder a log of this machine is in",
    "clan_learnings.records.spool": "which folder a queue of this machine is in",
    "clan_learnings.harvest.intake": "reads sessions of this machine; never for a client",
    "clan_learnings.harvest.harvest": "the same",
    "clan_learnings.harvest.record_writer": "the same",
    "clan_learnings.harvest.model_extraction": "the same, and starts the model",
    "clan_learnings.sessions.digest": "reads sessions of this machine; never for a client",
    "clan_learnings.sessions.capture_thread": "the same",
    "clan_learnings.search.index_files": "which model this machine has chosen",
    "clan_learnings.search.embedders.local_model": "switches a library's telemetry off",
    "mesh.store.feed_progress": "where this machine keeps how far a home had come",
    "mesh.store.file_access": "how patient tests are",
    "mesh.store.wake_signal": "where this machine has its sockets",
}


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def package_of(module: str) -> str:
    """The row of the table a module falls under: the longest that fits."""
    return max((package for package in MAY_IMPORT if is_within(module, package)), key=len)


def is_ours(module: str) -> bool:
    return any(is_within(module, package) for package in MAY_IMPORT)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the three packages, parsed."""
    for top in ("mesh", "peers", "clan_learnings"):
        for path in sorted((TREE / top).rglob("*.py")):
            parts = path.relative_to(TREE).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield name, ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(module: str, tree: ast.Module) -> Iterator[str]:
    """Every module that is imported anywhere in a source: at the top, in a function, for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import; write the whole name"
            source = node.module or ""
            for alias in node.names:
                yield f"{source}.{alias.name}" if is_module(f"{source}.{alias.name}") else source


def is_module(name: str) -> bool:
    path = TREE.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def problems(module: str, tree: ast.Module) -> list[str]:
    """Every import of a module that the tables above do not allow."""
    own = package_of(module)
    found = []
    for name in imports(module, tree):
        top = name.split(".")[0]
        if is_ours(name) and name != "mesh":
            if not any(is_within(name, package) for package in (own, *MAY_IMPORT[own])):
                found.append(f"{module} imports {name}; {own} may import only {MAY_IMPORT[own] or 'nothing of ours'}")
        elif top in ONLY_IN and not is_within(module, ONLY_IN[top]):
            found.append(f"{module} imports {name}; only {ONLY_IN[top]} may")
        found += [
            f"{module} imports {name}; {package} stays pure"
            for package, banned in NEVER_IN.items()
            if is_within(module, package) and top in banned
        ]
        found += [
            f"{module} imports {name}; only a file named *{' or *'.join(suffixes)} may"
            for library, suffixes in BY_SUFFIX.items()
            if is_within(name, library)
            and any(is_within(module, package) for package in SUBJECTS)
            and not module.endswith(suffixes)
        ]
    return found


def test_every_module_imports_only_what_lies_below_it() -> None:
    """No source of the three packages breaks the tables at the top of this file."""
    assert [problem for module, tree in modules() for problem in problems(module, tree)] == []


def test_every_package_of_the_tree_is_in_the_table() -> None:
    """A new package has to be given its place before it can be imported."""
    found = {package_of(name) for name, _ in modules()}
    assert found == set(MAY_IMPORT)
    below_mesh = {f"mesh.{path.parent.name}" for path in (TREE / "mesh").glob("*/__init__.py")}
    assert below_mesh == {package for package in MAY_IMPORT if package.startswith("mesh.")}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mesh.core.feed", "from mesh.store.store import Store"),
        ("mesh.core.feed", "def late():\n    import time"),
        ("mesh.core.feed", "import msgpack"),
        ("mesh.core.trust", "from nacl.bindings import crypto_sign"),
        ("mesh.store.feeds", "from mesh.node.node import run_node"),
        ("mesh.store.feeds", "from mesh import node"),
        ("mesh.store.feeds", "from clan_learnings.records import record"),
        ("mesh.pages.editor", "from mesh.app import application as application"),
        ("mesh.node.node", "import mesh.cli.main"),
        ("mesh.worker.worker", "from mesh.node.store_thread import StoreThread"),
        ("mesh.app.status", "import apsw"),
        ("peers.proto.engine", "from random import Random"),
        ("peers.proto.engine", "from mesh.store import reader as reading"),
        ("peers.links", "from clan_learnings import records"),
        ("clan_learnings.records.record", "import peers"),
        ("clan_learnings.records.record", "from mesh.pages import book"),
        ("clan_learnings.records.record", "import pycrdt"),
        ("clan_learnings.records.record", "import apsw"),
        ("clan_learnings.records.record", "from mesh.store.background_thread import background"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    """The check itself: each of these sources breaks one rule."""
    assert len(problems(module, ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mesh.core.strict_msgpack", "from msgpack import packb"),
        ("mesh.store.feeds", "from mesh.core import feed"),
        ("clan_learnings.context.composition", "from mesh.store.reader import Reader"),
        ("clan_learnings.records.facets_table", "import apsw"),
        ("mesh.pages.worker", "import pycrdt"),
        ("mesh.cli.node_process", "from mesh.node.node import run_node\nfrom mesh import __version__"),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    """The check does not cry wolf."""
    assert problems(module, ast.parse(source)) == []


def looks_around(tree: ast.Module) -> bool:
    """Whether a source asks the process it runs in for its place, its environment or its streams."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in SURROUNDINGS.get(node.value.id, ()):
                return True
        elif isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & SURROUNDINGS.get(
            node.module or "", set()
        ):
            return True
    return False


def test_a_use_case_is_told_where_it_runs() -> None:
    """Else a client's command would be answered with the node's folder and environment."""
    trees = dict(modules())
    reached, left = set[str](), [module for module in trees if is_within(module, "mesh.app")]
    while left:
        module = left.pop()
        if module in trees and module not in reached:
            reached.add(module)
            left += imports(module, trees[module])
    assert {module for module in reached if looks_around(trees[module])} == reached & MAY_LOOK_AROUND.keys()


@pytest.mark.parametrize(
    "source", ["import os\nprint(os.environ)", "from os import getcwd", "import sys\nsys.stdout.write('')"]
)
def test_looking_around_is_noticed(source: str) -> None:
    assert looks_around(ast.parse(source))
