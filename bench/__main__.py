"""Runs benchmarks, prints their tables and keeps their JSON. Measures nothing itself."""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import (
    append,
    bootstrap,
    capture,
    cli,
    commands,
    converge,
    correct,
    harvest,
    hooks,
    hostile,
    load,
    machine,
    mcp,
    mcp_tokens,
    merge,
    pages,
    recall,
    recall_given,
    redaction,
    render,
    session_start,
    start,
    tail,
    walk,
    wire,
)
from bench.table import Report

_SMALL = 1000
_Run = Callable[[str, argparse.Namespace], Report]
BENCHMARKS: dict[str, tuple[_Run, str]] = {
    "merge": (
        lambda work, given: merge.run(work, given.records, given.peer_seconds),
        "verified, durable, folded merge, beside one pycrdt document",
    ),
    "append": (lambda work, _: append.run(work), "acknowledged writes, beside a plain SQLite table"),
    "start": (
        lambda work, given: start.run(work, max(given.records), given.starts),
        "time to ready, also after kill -9",
    ),
    "cli": (lambda work, given: cli.run(work, max(given.records), given.rounds), "commands, beside `python -c pass`"),
    "commands": (
        lambda work, given: commands.run(work, _with_small(given.records), given.rounds),
        "every everyday command and hook, with a node and without, beside `python -c pass`; memory of the node",
    ),
    "mcp": (
        lambda work, given: mcp.run(work, min(_with_small(given.records)), given.rounds),
        "from the start of `mesh mcp` to an agent's tools, with a node and without, beside the SDK's own server; memory of 50 sessions",
    ),
    "mcp_tokens": (
        lambda work, _: mcp_tokens.run(work),
        "tokens that the definitions of our MCP tools cost each session, beside all that can be announced",
    ),
    "converge": (
        lambda work, given: converge.run(work, given.seeds, given.peer_seconds),
        "live replication, beside pycrdt-websocket and git; a thousand simulated nodes",
    ),
    "hostile": (
        lambda work, _: hostile.run(work),
        "memory and write latency of an honest node under attack by a member, beside a quiet mesh",
    ),
    "load": (
        lambda work, given: load.run(work, min(given.records)),
        "gossip and hooks of a node that runs 200 commands a second, beside the same left in peace",
    ),
    "wire": (lambda work, given: wire.run(work, given.idle), "bytes on the wire, beside pycrdt-websocket and git"),
    "bootstrap": (
        lambda work, _: bootstrap.run(work),
        "a newcomer that fetches 100,000 records, beside merging them from memory, pycrdt-websocket and git",
    ),
    "session_start": (
        lambda work, given: session_start.run(work, _with_small(given.records), given.rounds),
        "the hook that gives an agent its context, beside `python -c pass` and memory servers",
    ),
    "tail": (
        lambda work, given: tail.run(work, _with_small(given.records), given.rounds),
        "`mesh tail` of a clan's home, beside `python -c pass` and `tail -20`",
    ),
    "correct": (
        lambda work, given: correct.run(work, _with_small(given.records), given.rounds),
        "`mesh correct`, matched and durable, beside `python -c pass` and memory servers",
    ),
    "render": (
        lambda work, given: render.run(work, _with_small(given.records), given.rounds),
        "until a write stands in the rendered files, and all of them from nothing",
    ),
    "pages": (
        lambda work, given: pages.run(work, given.starts),
        "a save until it is in another node's file, pages of 1,000 and 100,000 edits, beside raw pycrdt",
    ),
    "harvest": (
        lambda _, __: harvest.run(),
        "what is found in labelled sessions: precision and recall by kind and flavour, of a set beside the checkout, or --root and --labels",
    ),
    "hooks": (
        lambda _, given: hooks.run(Path(given.root) if given.root else harvest.ROOT),
        "which prompts of real sessions are taken for corrections and rules, of a labelled set beside the checkout",
    ),
    "redaction": (
        lambda work, _: redaction.run(work),
        "secrets that go and harmless texts that are changed, on a set nobody tuned the rules on, beside detect-secrets",
    ),
    "capture": (
        lambda work, given: capture.run(work, given.sessions, given.sampler, given.scale),
        "`mesh sample`, `mesh capture` and `mesh harvest` over 20,000 sessions, killed on the way, beside a sampler that guesses",
    ),
    "walk": (
        lambda work, _: walk.run(work),
        "modules, names and folders of the code, and how many one command crosses",
    ),
    "recall_vectors": (
        lambda work, given: _recall_vectors(work, _with_small(given.records)),
        "the index of vectors alone: speed, recall, memory",
    ),
    "recall": (
        lambda work, given: recall.run(
            work, [] if given.quality else _with_small(given.records), given.rounds, given.embedder
        ),
        "search: quality on a judged set, or on --items and --queries; speed, cold and warm, beside `python -c pass`",
    ),
}


def main() -> None:
    given = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    with _work(given.work) as work:
        os.environ["MESH_STATE"] = os.path.join(work, "state")
        # Installed programs have their bytecode; without this a changed module would be compiled at every start.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(work, "bytecode")
        if given.items:
            judged = recall_given.Given(given.items, given.queries)
            judged.run(work, given.embedder)
            print(json.dumps(judged.value(), indent=2) if given.json else judged.render())
            return
        if given.names == ["harvest"] and (given.root or given.labels or given.sample):
            _harvest(given)
            return
        for name in given.names or BENCHMARKS:
            before = machine.facts()
            report = BENCHMARKS[name][0](work, given)
            after = machine.facts()["load"]
            report.notes.append(f"load of the machine before and after: {before['load'][0]}, {after[0]}")
            path = report.save(before | {"load_after": after})
            if given.json:
                with open(path, encoding="utf-8") as file:
                    print(file.read(), end="", flush=True)
            else:
                print(report.render())
                print(f"  -> {os.path.relpath(path)}\n", flush=True)


def _arguments() -> argparse.Namespace:
    lines = "\n".join(f"  {name:<13} {sentence}" for name, (_, sentence) in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"Every benchmark, or those named:\n{lines}",
        epilog="example:\n  python -m bench merge --records 100000 --work /tmp/bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="which (default: all)")
    parser.add_argument(
        "--records",
        type=_sizes,
        default=[100_000, 1_000_000],
        metavar="N,N",
        help="sizes; start and cli use the largest, what is about a clan 1000 too (default: 100000,1000000: 6 GB of disk)",
    )
    parser.add_argument(
        "--peer-seconds", type=float, default=300, metavar="S", help="most a step of pycrdt may take (default: 300)"
    )
    parser.add_argument(
        "--starts", type=int, default=7, metavar="N", help="starts of each kind, for start and pages (default: 7)"
    )
    parser.add_argument(
        "--rounds", type=int, default=40, metavar="N", help="rounds of commands that take turns (default: 40)"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="seeds of converge's simulations (default: 3)"
    )
    parser.add_argument(
        "--idle", type=float, default=20, metavar="S", help="seconds of silence measured by wire (default: 20)"
    )
    parser.add_argument("--items", metavar="FILE", help="for recall: another set's items, JSONL: id, text, ts")
    parser.add_argument("--queries", metavar="FILE", help="and its queries, JSONL: query, relevant")
    parser.add_argument(
        "--embedder", default="auto", metavar="NAME", help="for recall: as `mesh index use` takes it (default: auto)"
    )
    parser.add_argument("--sessions", type=int, default=20_000, metavar="N", help="for capture (default: 20000)")
    parser.add_argument(
        "--scale",
        type=float,
        default=0.1,
        metavar="X",
        help="for capture: sizes, times those of real ones (default: 0.1)",
    )
    parser.add_argument("--sampler", default="", metavar="FILE", help="for capture: another sampler, to be run beside")
    parser.add_argument("--quality", action="store_true", help="for recall: how good, not how fast")
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="for harvest: the folder of another set of transcripts; for hooks: that of its set",
    )
    parser.add_argument("--labels", metavar="FILE", help="and its labels, JSON (default: labels.json in that folder)")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="for harvest: so many items of unlabelled files, to be judged by a person",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in the place of tables")
    parser.add_argument(
        "--work", metavar="DIR", help="where homes are made, and kept for the next run (default: temporary)"
    )
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if bool(given.items) != bool(given.queries) or (given.items and given.names != ["recall"]):
        parser.error("like this: python -m bench recall --items FILE --queries FILE")
    if (given.labels or given.sample or (given.root and given.names != ["hooks"])) and given.names != ["harvest"]:
        parser.error("like this: python -m bench harvest --root DIR --labels FILE")
    return given


def _harvest(given: argparse.Namespace) -> None:
    """A set that was named, or a sample."""
    root = Path(given.root) if given.root else harvest.ROOT
    labels = Path(given.labels) if given.labels else root / "labels.json"
    if given.sample:
        for name, item in harvest.sampled(root, given.sample):
            print(
                json.dumps({"file": name, "line": item.line, "kind": item.kind, "text": item.text}, ensure_ascii=False)
            )
        return
    if not labels.is_file():
        sys.exit(f"there are no labels at {labels}; give them with --labels FILE")
    found = harvest.given(root, labels)
    print(json.dumps(found.value(), indent=2, ensure_ascii=False) if given.json else found.render())


def _recall_vectors(work: str, sizes: list[int]) -> Report:
    """Only this one needs numpy, which comes with the extra `semantic`."""
    try:
        from bench import recall_vectors
    except ImportError as error:
        return Report("recall_vectors", "", notes=[f"not measured: {error}"])
    return recall_vectors.run(work, sizes)


def _with_small(sizes: list[int]) -> list[int]:
    """What grows with a home is seen beside a small one."""
    return sorted({_SMALL, *sizes})


def _sizes(text: str) -> list[int]:
    sizes = [int(part.replace("_", "")) for part in text.split(",")]
    if min(sizes) < 1:
        raise ValueError(text)
    return sizes


@contextmanager
def _work(given: str | None) -> Iterator[str]:
    if given is not None:
        path = os.path.abspath(given)
        os.makedirs(path, exist_ok=True)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="clan-mesh-bench-") as path:
        yield path


if __name__ == "__main__":
    main()
