"""Search beside real sidecars: nodes in step answer alike, kills and deleted files cost nothing, an erase leaves nothing."""

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mesh.app.application import Application
from mesh.app.client import ask
from mesh.core.draft import NewRecord
from mesh.store.home import open_home
from tests.end_to_end.commands import anywhere, asked, done, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, sidecars, wait_until_in_step, wait_until_linked

QUESTIONS = ("branch protection 405", "redis port", "why does the build time out", "about part17 lesson 17", "pnpm")
LESSONS = (
    "HTTP 405 on push means branch protection",
    "redis listens on port 6380 in staging",
    "the nightly build times out when the cache is cold",
    "use pnpm install, not npm install",
)


def results(home: str, question: str) -> list[tuple[Any, ...]]:
    """What a sidecar answers: which records, how well they fit, and why."""
    found = ask(home, "GET", f"/search?everywhere=true&query={quote(question)}")["results"]
    return [(item["text"], item["score"], item["relevance"], item["why"], item["parts"]) for item in found]


def answers(home: str) -> list[list[tuple[Any, ...]]]:
    """What it answers to all questions."""
    return [results(home, question) for question in QUESTIONS]


def wait_until_indexed(home: str) -> None:
    """Until the sidecar's own index has everything."""

    def is_indexed() -> bool:
        kept = Path(home) / "recall" / "words" / "state.json"
        return kept.exists() and ask(home, "GET", "/index")["sidecar"]["behind"] == 0

    wait_until(is_indexed)


def fill(home: str, count: int) -> None:
    """Many records, with one commit."""
    author = open_home(home).author()
    author.append(
        [NewRecord("discoveries", {"text": f"lesson {at} about part{at % 40}", "repo": ""}) for at in range(count)]
    )
    author.store.close()


def without_vectors(home: str) -> None:
    """So that a test is not about them."""
    (Path(home) / "embedder").write_text("none")


def test_nodes_in_step_answer_alike_however_their_indexes_came_about(tmp_path: Path) -> None:
    """One has seen it all come and go, the other begins when it is over; and both say what a command says without them."""
    with mesh_of(2, tmp_path) as fleet:
        first, second = fleet
        for node in fleet:
            without_vectors(node.home)
        wait_until_linked(fleet)
        ids = [asked(node.home, "discover", text)["id"] for node, text in zip([*fleet, *fleet], LESSONS, strict=True)]
        wait_until_in_step(fleet)
        wait_until_indexed(first.home)
        done(second.home, "edit", ids[1], "--text", "redis listens on port 6399 everywhere")
        done(first.home, "retract", ids[3], "--reason", "not any more")
        fill(first.home, 50)
        wait_until_in_step(fleet)
        second.stop()
        shutil.rmtree(Path(second.home) / "recall")
        second.up()
        for node in fleet:
            wait_until_indexed(node.home)
        wait_until_in_step(fleet)
        found = answers(first.home)
        assert found == answers(second.home)
        assert found[1][0][0] == "redis listens on port 6399 everywhere"
        assert not any("pnpm" in text for text, *_ in found[4])
        by_command = Application(first.home, {}, "/").search(QUESTIONS[0], everywhere=True)["results"]
        assert [(item["text"], item["score"]) for item in by_command] == [item[:2] for item in found[0]]


def test_a_sidecar_killed_while_it_indexes_answers_the_same_afterwards(tmp_path: Path) -> None:
    """At once from the database, and later from the index that it has ended."""
    node = Sidecar(tmp_path / "node", listen=None).init()
    without_vectors(node.home)
    for text in LESSONS:
        done(node.home, "discover", text)
    fill(node.home, 3000)
    index = Path(node.home) / "recall" / "words" / "index"
    with sidecars(node):
        for _ in range(3):
            node.up()
            wait_until(index.exists)
            node.kill()
        node.up()
        at_once = answers(node.home)
        wait_until_indexed(node.home)
        assert answers(node.home) == at_once
        (Path(node.home) / "recall").rename(tmp_path / "gone")  # all of it at once: it is being written to
        assert answers(node.home) == at_once
        wait_until_indexed(node.home)
        assert answers(node.home) == at_once


def test_what_a_command_erases_is_in_no_file_and_no_answer(tmp_path: Path) -> None:
    """While the sidecar runs, and while it does not."""
    node = Sidecar(tmp_path / "node", listen=None).init()
    without_vectors(node.home)
    with sidecars(node):
        node.up()
        first, second = (
            asked(node.home, "discover", f"the password is {word}")["id"] for word in ("xyzzyplugh", "frobnitz")
        )
        wait_until_indexed(node.home)
        wait_until(lambda: bool(anywhere(Path(node.home) / "recall", "xyzzyplugh")))
        assert results(node.home, "xyzzyplugh")
        done(node.home, "erase", first, "--reason", "leaked")
        assert "xyzzyplugh" not in str(results(node.home, "xyzzyplugh password"))
        wait_until(lambda: anywhere(node.home, "xyzzyplugh") == [])
        wait_until_indexed(node.home)
        assert anywhere(node.home, "xyzzyplugh") == []
        assert anywhere(Path(node.home) / "recall", "frobnitz")
        assert node.stop() == 0
        done(node.home, "erase", second, "--reason", "leaked")
        assert anywhere(node.home, "frobnitz") == []
        node.up()
        assert results(node.home, "frobnitz") == []
        assert os.path.exists(Path(node.home) / "recall")
