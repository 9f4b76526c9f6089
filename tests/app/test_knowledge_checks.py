"""What `mesh doctor` finds in what the clan knows and in how agents get at it."""

import os
from pathlib import Path

import pytest

from clan_learnings.agents.installer import Installation as Installed
from clan_learnings.records.spool import SpoolState as Spool
from clan_learnings.sessions.catalogue_rows import CatalogueCounts
from mesh.app.application import Application
from mesh.app.checks.knowledge_checks import (
    examine_agents,
    examine_capture,
    examine_files,
    examine_homes,
    examine_knowledge,
    examine_repository,
    examine_spool,
)
from mesh.app.checks.node_checks import Problem
from mesh.app.snapshot import memory_of
from mesh.core.draft import Assignment, NewRecord
from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.core.statement import Member, sign
from mesh.store.home import create_home, open_home

NPM = ("ran npm install", "use pnpm install")
OTHER_WAY = ("ran pnpm install", "use npm install")


@pytest.fixture
def application(tmp_path: Path) -> Application:
    """A home of a mesh of its own."""
    return Application(create_home(str(tmp_path / "home"), "laptop").path, {}, str(tmp_path))


def corrected(
    application: Application, texts: tuple[str, str], pattern: str, *, sessions: int = 1, repo: str = ""
) -> None:
    """The same correction in so many sessions."""
    for number in range(sessions):
        application.correct(*texts, pattern=pattern, session=f"{pattern}-{number}", repo=repo, is_global=not repo)


def found(application: Application) -> list[Problem]:
    """What is wrong with what the clan knows."""
    with memory_of(application.home) as memory:
        findings = list(examine_knowledge(memory))
    assert all(item.sentence and item.next_step for item in findings)
    return findings


def test_nothing_is_found_where_patterns_have_nothing_to_do_with_each_other(application: Application) -> None:
    """Two rules about two things stand side by side."""
    corrected(application, NPM, "pnpm")
    corrected(application, ("pushed to main", "open a pull request from a branch"), "branches")
    assert found(application) == []


def test_patterns_that_contradict_each_other_are_found(application: Application) -> None:
    """One says pnpm and not npm, the other npm and not pnpm."""
    corrected(application, NPM, "one-way")
    corrected(application, OTHER_WAY, "other-way")
    (finding,) = found(application)
    assert finding.sort == "contradiction"
    assert "one-way" in finding.sentence
    assert "other-way" in finding.sentence


def test_rules_of_two_repositories_may_be_opposites(application: Application) -> None:
    """No session is ever given both."""
    corrected(application, NPM, "one-way", repo="github.com/acme/web")
    corrected(application, OTHER_WAY, "other-way", repo="github.com/acme/api")
    assert found(application) == []


def test_corrections_that_contradict_each_other_within_a_pattern_are_found(application: Application) -> None:
    """Somebody counted the opposite under the same name by hand."""
    corrected(application, NPM, "tools")
    corrected(application, OTHER_WAY, "tools")
    assert [item.sort for item in found(application)] == ["contradiction"]


def test_patterns_that_seem_to_be_one_are_found(application: Application) -> None:
    """The same correction was given two names by hand."""
    corrected(application, NPM, "first-name")
    corrected(application, ("used npm install", "use pnpm install"), "second-name")
    (finding,) = found(application)
    assert finding.sort == "likely aliases"
    assert "mesh pattern alias" in finding.next_step


def test_concurrent_supersessions_are_found(application: Application) -> None:
    """Two nodes put another pattern in the place of one, at the same time: both are kept and shown."""
    for slug, thing in (("old", "make"), ("new-a", "ninja"), ("new-b", "bazel")):
        application.correct(f"called gcc by hand for {thing}", f"run {thing}", pattern=slug, session=slug)
    author = open_home(application.home).author()
    author.append([NewRecord("supersessions", {"old": "old", "new": new}) for new in ("new-a", "new-b")])
    author.store.close()
    findings = [item for item in found(application) if item.sort == "concurrent supersessions"]
    assert len(findings) == 1
    assert "new-a" in findings[0].sentence
    assert "new-b" in findings[0].sentence
    number = findings[0].next_step.partition("ids: ")[2].split(" (new-b)")[0].split(", ")[-1]
    application.retract(
        number, "the other one"
    )  # superseding one of them would end a pattern that may be right elsewhere
    assert [item for item in found(application) if item.sort == "concurrent supersessions"] == []


def test_a_circle_of_supersessions_is_found_and_does_not_end_both(application: Application) -> None:
    """The second of the two does not count."""
    for slug, thing in (("one", "make"), ("two", "ninja")):
        corrected(application, (f"called gcc by hand for {thing}", f"run {thing}"), slug, sessions=3)
    author = open_home(application.home).author()
    author.append([NewRecord("supersessions", {"old": "one", "new": "two"})])
    author.append([NewRecord("supersessions", {"old": "two", "new": "one"})])
    author.store.close()
    assert "supersession circle" in [item.sort for item in found(application)]
    with memory_of(application.home) as memory:
        assert [item.slug for item in memory.hot(None)] == ["two"]


def test_a_pattern_that_one_node_alone_made_hot_is_found_in_a_mesh_of_several(application: Application) -> None:
    """Three sessions of one machine may be one misunderstanding."""
    corrected(application, NPM, "pnpm", sessions=3)
    assert found(application) == []
    home = open_home(application.home)
    author, root = home.author(), home.root_identity()
    member = Member(root.public, 1, Identity(digest(b"somebody else")).public, "builder")
    author.merge_statements([sign(home.mesh, root, member).encode()])
    author.store.close()
    assert [item.sort for item in found(application)] == ["promoted by one node"]


def test_too_much_hot_is_found_and_the_weakest_are_named(application: Application) -> None:
    """Each session would be given more than it can take in."""
    author = open_home(application.home).author()
    author.append(
        [
            NewRecord(
                "corrections",
                {
                    "wrong": f"left the widget{number} open " + "after the long night shift " * 6,
                    "right": f"close the gadget{number} first " + "before anybody comes by " * 6,
                    "pattern": f"pattern-{number}",
                    "session": f"session:{session}",
                    "repo": "",
                },
            )
            for number in range(150)
            for session in range(3)
        ]
    )
    author.store.close()
    assert [item.sort for item in found(application)] == ["HOT over budget"]


def test_an_archived_pattern_contradicts_nobody(application: Application) -> None:
    """Archiving one of two settles the matter."""
    corrected(application, NPM, "one-way")
    corrected(application, OTHER_WAY, "other-way")
    author = open_home(application.home).author()
    author.append([Assignment("pattern:other-way", "archived", "we have moved to pnpm")])
    author.store.close()
    assert found(application) == []


def test_a_home_that_others_can_read_is_found(application: Application) -> None:
    """The folder and the keys in it are for their owner only."""
    assert list(examine_files(application.home)) == []
    os.chmod(os.path.join(application.home, "node.key"), 0o644)
    (finding,) = examine_files(application.home)
    assert finding.sort == "open to others"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"dropped": 3}, ["spool full"]),
        ({"queued": 2}, ["queued writes"]),
        ({"rejected": 1}, ["rejected writes"]),
    ],
)
def test_a_spool_that_needs_a_person_is_found(
    application: Application, fields: dict[str, int], expected: list[str]
) -> None:
    """What was dropped, what waits, what could not be understood."""
    spool = Spool(application.home, {"MESH_SPOOL": os.path.join(application.home, "queue"), "TMPDIR": application.home})
    for name, value in fields.items():
        setattr(spool, name, value)
    assert [item.sort for item in examine_spool(spool)] == expected


def test_captured_sessions_that_were_lost_or_wait_are_told() -> None:
    """Each by its number; a catalogue in order says nothing."""
    fine = CatalogueCounts({"taken": 3}, 3, 3, 1000, 0, 0, 0)
    assert list(examine_capture(fine)) == []
    found = list(examine_capture(fine._replace(lost=2, unanalysed=1)))
    assert [item.sort for item in found] == ["captured sessions lost", "captured, not analysed"]
    assert found[0].sentence.startswith("2 raw sessions")


def test_agents_without_our_hooks_are_found() -> None:
    """An agent that is here and knows nothing of the mesh forgets everything."""
    assert [item.sort for item in examine_agents([Installed("codex", "absent", "")], 0.0)] == ["hooks not installed"]
    assert list(examine_agents([Installed("codex", "installed", "", since=0.0, fired=5.0)], 10.0)) == []


def test_a_broken_list_of_homes_is_found(tmp_path: Path) -> None:
    """A line that cannot be read may send records to the wrong team."""
    environ = {"MESH_CONFIG": str(tmp_path), "HOME": str(tmp_path)}
    assert list(examine_homes(environ)) == []
    (tmp_path / "homes").write_text("this is no line\n")
    assert [item.sort for item in examine_homes(environ)] == ["list of homes"]


def test_a_broken_file_of_the_repository_is_found(tmp_path: Path) -> None:
    """Whoever wrote another name into it believes that it holds."""
    for name in ("objects", "refs"):
        (tmp_path / ".git" / name).mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    file = tmp_path / ".clan-mesh.toml"
    file.write_text('repo = "github.com/acme/shop"\n')
    (finding,) = examine_repository(str(tmp_path), {"HOME": str(tmp_path)})
    assert finding.sort == "repository not confirmed"
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://github.com/acme/shop\n')
    assert list(examine_repository(str(tmp_path), {})) == []
    file.write_text("repo = [broken\n")
    (finding,) = examine_repository(str(tmp_path), {})
    assert finding.sort == "file of the repository"
    assert str(file) in finding.next_step
