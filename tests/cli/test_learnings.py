"""`mesh learnings` as a person or an agent types it: what it prints, what it writes, and its exit codes."""

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.context.injected_mark import is_ours
from mesh.app.application import Application
from mesh.mcp import tool_answers
from tests.cli.test_commands import Shell, alpha, beta, carry
from tests.cli.test_page_commands import editor

__all__ = ["alpha", "beta"]

REPO = "github.com/acme/api"
KEY = "AKIAIOSFODNN7EXAMPLE"
PROBLEM = (
    "The upload fails with 403 Forbidden once the build has taken longer than an hour; trying again does not help."
)
SOLUTION = (
    "Fetch a new token right before the upload: `deploy login --fresh`. A token of the registry is valid for an hour."
)
ADD = ("learnings", "add", "--title", "Uploads fail", "--problem", PROBLEM, "--solution", SOLUTION)
FILE = f"# From a file\n\n## Problem\n\n{PROBLEM}\n\n## Solution\n\n{SOLUTION}\n\n## Prevention\n\nLog in late.\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which the commands are typed."""
    folder = tmp_path / "api"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", f"https://{REPO}"], check=True)
    monkeypatch.chdir(folder)
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def record(shell: Shell, name: str) -> dict[str, Any]:
    found: dict[str, Any] = shell.json("show", name)["record"]
    return found


def listed(shell: Shell, *options: str) -> list[str]:
    return [one["title"] for one in shell.json("learnings", "list", *options)["learnings"]]


# add


def test_a_document_from_options_says_what_it_lacks(alpha: Shell) -> None:
    """Its id and quality are data, advice is not."""
    out = alpha(*ADD, "--tags", "a,b", "--category", "build-errors", "--related", "x.sh, y.sh")
    assert out.endswith("  build-errors  quality 0.58  Uploads fail")
    assert "it could be better: it has no example" in alpha.err
    said = record(alpha, out.split()[0])
    assert (said["problem"], said["related"], said["tags"], said["repo"]) == (
        PROBLEM,
        ["x.sh", "y.sh"],
        ["a", "b"],
        REPO,
    )
    assert (said["source"], said["confidence"], said["quality"]) == ("human", 0.9, 0.58)


def test_what_is_no_document_is_refused_with_the_next_step(alpha: Shell) -> None:
    """What is missing is named."""
    alpha("learnings", "add", "--problem", "it fails", code=1)
    assert "it has no solution; it has 8 characters, and needs 200" in alpha.err
    assert "next: say more" in alpha.err
    alpha(*ADD, "--category", "nonsense", code=1)
    assert "category is one of" in alpha.err


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        json.dumps({"title": "From a file", "problem": PROBLEM, "solution": SOLUTION, "prevention": "Log in late."}),
    ],
)
def test_a_document_comes_from_a_file_or_from_stdin(
    alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Markdown or JSON; an option comes before what the file says. The same once more is known."""
    path = tmp_path / "doc"
    path.write_text(text, encoding="utf-8")
    first = alpha.json("learnings", "add", str(path), "--severity", "high", "--title", "Mine")
    said = record(alpha, first["id"])
    assert (said["title"], said["prevention"], said["severity"]) == ("Mine", "Log in late.", "high")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert alpha.json("learnings", "add", "-")["state"] == "known"
    assert listed(alpha) == ["Mine"]


@pytest.mark.parametrize("data", [b"\xff\xfe", b"{broken", b"# nothing\n", b'{"x": 1}', b"x" * 300_000])
def test_a_file_that_is_none_is_refused(alpha: Shell, tmp_path: Path, data: bytes) -> None:
    """Each with what to do."""
    path = tmp_path / "doc"
    path.write_bytes(data)
    alpha("learnings", "add", str(path), code=1)
    assert "next: " in alpha.err
    alpha("learnings", "add", str(tmp_path / "none"), code=1)
    assert "cannot be read" in alpha.err


def test_no_secret_is_written_anywhere(alpha: Shell, tmp_path: Path) -> None:
    """Not into the home, not into exported files."""
    alpha(*ADD[:-1], f"{SOLUTION} The key is {KEY}.", "--example", KEY)
    assert "taken out before it was written: 2 x aws key" in alpha.err
    alpha("learnings", "export", str(tmp_path / "docs"))
    for folder in (alpha.home, tmp_path / "docs"):
        for path in folder.rglob("*"):
            assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_private_document_stays_here(alpha: Shell, tmp_path: Path) -> None:
    """It can be shown and edited, and is neither listed nor exported."""
    answer = alpha.json(*ADD, "--private")
    assert SOLUTION in alpha("learnings", "show", answer["id"])
    assert alpha("learnings", "edit", answer["id"], "--prevention", "Log in late.").endswith("prevention, quality")
    assert listed(alpha) == []
    assert alpha.json("learnings", "export", str(tmp_path / "docs"))["learnings"] == 0


# show, list, stats


def test_a_document_is_shown_as_markdown_that_is_known_as_ours(alpha: Shell) -> None:
    """What an agent reads is not learned again; showing it counts as an opening."""
    name = alpha.json(*ADD)["id"]
    out = alpha("learnings", "show", name)
    assert f"## Problem\n\n{PROBLEM}\n" in out
    assert is_ours(out)
    assert alpha.json("learnings", "show", name)["record"]["solution"] == SOLUTION
    other = alpha.json("discover", "something else")["id"]
    alpha("learnings", "show", other, code=2)
    assert "is a discovery, no learning" in alpha.err


def test_lists_can_be_narrowed(alpha: Shell) -> None:
    """By category, tag, severity, quality, time and repository."""
    alpha(*ADD, "--tags", "a", "--category", "build-errors", "--severity", "high")
    alpha(
        "learnings",
        "add",
        "--title",
        "Other",
        "--problem",
        PROBLEM,
        "--solution",
        SOLUTION + "!",
        "--repo",
        "github.com/acme/web",
        "--example",
        "x",
    )
    assert listed(alpha) == ["Uploads fail"]
    assert listed(alpha, "--all") == ["Other", "Uploads fail"]
    assert listed(alpha, "--all", "-n", "1") == ["Other"]
    assert listed(alpha, "--all", "--min-quality", "0.7") == ["Other"]
    for filters in (("--tag", "a"), ("--category", "build-errors"), ("--severity", "high")):
        assert listed(alpha, "--all", *filters) == ["Uploads fail"]
    assert listed(alpha, "--since", "1h") == ["Uploads fail"]
    assert listed(alpha, "--repo", "github.com/acme/none") == []
    alpha("learnings", "list", "--repo", "github.com/acme/none")
    assert "--all looks in every repository" in alpha.err
    alpha("learnings", "list", "--severity", "huge", code=1)


def test_stats_say_how_many_how_good_how_old_and_how_often_opened(alpha: Shell) -> None:
    """Openings are those that the mesh has counted."""
    name = alpha.json(*ADD, "--category", "build-errors")["id"]
    whole = alpha.json("show", name)["whole_id"]
    alpha("op", "count", f"opened:{whole}:{alpha.json('show', name)['at'][:7]}", "--by", "3")
    answer = alpha.json("learnings", "stats")
    assert (answer["learnings"], answer["opened"], answer["quality"]) == (1, 3, 0.58)
    assert answer["by_category"][0]["category"] == "build-errors"
    assert answer["by_quality"]["0.5 to 0.7"] == 1
    assert answer["by_age"]["up to a week"] == 1
    assert answer["most_opened"][0]["id"] == name
    assert "opened 3 times" in alpha("learnings", "stats")
    assert alpha.json("learnings", "stats", "--repo", "github.com/acme/none")["learnings"] == 0


def test_a_learning_turns_up_where_records_do(alpha: Shell) -> None:
    """Search, tail, context, why, tiers, status; and is retracted and erased like any other."""
    name = alpha.json(*ADD)["id"]
    assert [one["id"] for one in alpha.json("search", "403 Forbidden")["results"]] == [name]
    assert "learnings" in alpha("tail", "--log", "learnings")
    assert f"learning, {alpha.json('show', name)['at'][:10]}: Uploads fail: Fetch a new token" in alpha("context")
    assert alpha.json("status")["counts"]["records"] == {"learnings": 1}
    alpha("edit", name, "--severity", "critical")
    assert record(alpha, name)["severity"] == "critical"
    alpha("learnings", "edit", name, "--prevention", "frobnitz")
    assert [one["id"] for one in alpha.json("search", "frobnitz")["results"]] == [name]
    alpha("erase", name, "--reason", "leaked")
    assert listed(alpha) == []
    assert all(SOLUTION.encode() not in path.read_bytes() for path in alpha.home.glob("*.db*"))


def test_an_agent_finds_and_opens_a_learning(alpha: Shell) -> None:
    """As the tools `search` and `fetch` of the MCP server answer: found by its words, opened whole, marked as ours."""
    name = alpha.json(*ADD, "--example", "step one\n" + "step more\n" * 400)["id"]
    application = Application(str(alpha.home), {})
    found = tool_answers.searched(application.search("403 Forbidden"))
    assert [(hit.id, hit.log) for hit in found.records] == [(name, "learnings")]
    opened = tool_answers.opened(application.show(name))
    assert opened.story["record"]["solution"] == SOLUTION
    assert opened.story["record"]["example"].startswith("step one step more")
    assert is_ours(tool_answers.marked(opened.lines()))


# edit


def test_fields_are_edited_by_options(alpha: Shell) -> None:
    """The quality follows; the same once more changes nothing."""
    name = alpha.json(*ADD)["id"]
    assert (
        alpha("learnings", "edit", name, "--example", "x", "--tags", "q") == f"{name}  changed: example, quality, tags"
    )
    assert record(alpha, name)["quality"] == 0.73
    assert alpha("learnings", "edit", name, "--example", "x") == f"{name}  unchanged, nothing was written"
    alpha("learnings", "edit", name, "--solution", "", code=1)
    assert "it has no solution" in alpha.err
    assert alpha.json("learnings", "edit", name, "--global")["repo"] == ""


def test_an_editor_gets_the_document_and_its_save_becomes_an_edit(
    alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was changed is written, and no file is left."""
    name = alpha.json(*ADD)["id"]
    body = "text = open(path).read(); open(path, 'w').write(text.replace('valid for an hour', 'valid for long'))"
    monkeypatch.setenv("EDITOR", editor(tmp_path, body))
    before = {path.name for path in alpha.home.iterdir()}
    assert alpha("learnings", "edit", name).startswith(f"{name}  changed: solution")
    assert record(alpha, name)["solution"] == SOLUTION.replace("valid for an hour", "valid for long")
    assert {path.name for path in alpha.home.iterdir()} - {"opened"} == before
    monkeypatch.setenv("EDITOR", "true")
    assert alpha("learnings", "edit", name).endswith("unchanged, nothing was written")


def test_what_was_typed_into_an_editor_is_kept_if_it_is_refused(
    alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named."""
    name = alpha.json(*ADD)["id"]
    monkeypatch.setenv("EDITOR", editor(tmp_path, "open(path, 'w').write('# T\\n\\n## Problem\\n\\nall gone')"))
    alpha("learnings", "edit", name, code=1)
    assert "what was typed is kept in" in alpha.err
    kept = alpha.err.partition("kept in ")[2].splitlines()[0]
    assert "all gone" in Path(kept).read_text(encoding="utf-8")
    assert record(alpha, name)["problem"] == PROBLEM
    monkeypatch.delenv("EDITOR")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    alpha("learnings", "edit", name, code=1)
    assert "no terminal" in alpha.err


# export, import


def test_an_edit_of_a_file_is_taken_in_once(alpha: Shell, tmp_path: Path) -> None:
    """What somebody changes after the import is not undone by the next one."""
    name = alpha.json(*ADD)["id"]
    docs = tmp_path / "docs"
    alpha("learnings", "export", str(docs))
    (path,) = docs.rglob("*.md")
    path.write_text(path.read_text(encoding="utf-8").replace("# Uploads fail", "# Mine"), encoding="utf-8")
    assert alpha.json("learnings", "import", str(docs))["changed"] == 1
    alpha("learnings", "edit", name, "--title", "Theirs")
    assert alpha.json("learnings", "import", str(docs))["unchanged"] == 1
    assert record(alpha, name)["title"] == "Theirs"


def test_a_folder_comes_back_as_it_was(alpha: Shell, tmp_path: Path) -> None:
    """Exported, imported, exported: nothing changes, and nothing is written twice."""
    alpha(*ADD, "--tags", "a,b", "--evidence", "run: 7 # note", "--topic", "yes")
    docs = tmp_path / "docs"
    out = alpha("learnings", "export", str(docs))
    (path,) = docs.rglob("*.md")
    assert out == f"written  {path.relative_to(docs)}"
    before, root = path.read_bytes(), alpha.json("status")["root"]
    assert alpha.json("learnings", "import", str(docs))["unchanged"] == 1
    assert alpha.json("learnings", "export", str(docs))["unchanged"] == 1
    assert (path.read_bytes(), alpha.json("status")["root"]) == (before, root)


def test_another_mesh_takes_an_exported_folder_in(
    alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every field arrives, and a second import adds nothing."""
    name = alpha.json(
        *ADD, "--tags", "a", "--evidence", "e", "--session", "codex:s7", "--agent", "codex", "--example", "x\n\n    y"
    )["id"]
    docs = tmp_path / "docs"
    alpha("learnings", "export", str(docs))
    other = Shell(tmp_path / "other", capsys)
    other("init", "--name", "other")
    assert other.json("learnings", "import", str(docs), "--no-link")["new"] == 1
    assert other.json("learnings", "import", str(docs), "--no-link")["unchanged"] == 1
    (found,) = other.json("learnings", "list")["learnings"]
    assert record(other, found["id"]) == record(alpha, name)


def test_an_edited_file_changes_its_record(alpha: Shell, tmp_path: Path) -> None:
    """By edits, field by field; a dry run only says so."""
    name = alpha.json(*ADD)["id"]
    docs = tmp_path / "docs"
    alpha("learnings", "export", str(docs))
    (path,) = docs.rglob("*.md")
    text = (
        path.read_text(encoding="utf-8")
        .replace("trying again", "patience")
        .replace("severity: medium", "severity: high")
    )
    path.write_text(text, encoding="utf-8")
    assert alpha.json("learnings", "import", str(docs), "--dry-run")["files"][0]["fields"] == ["problem", "severity"]
    assert record(alpha, name)["severity"] == "medium"
    alpha("learnings", "edit", name, "--prevention", "Log in late.")
    out = alpha("learnings", "import", str(docs))
    assert out.endswith(": problem, severity")
    said = record(alpha, name)
    assert ("patience" in said["problem"], said["severity"], said["prevention"]) == (True, "high", "Log in late.")
    assert alpha.json("learnings", "import", str(docs))["unchanged"] == 1
    alpha("learnings", "export", str(docs))
    assert "Log in late." in path.read_text(encoding="utf-8")


def test_when_both_changed_the_same_the_file_counts_and_it_is_told(alpha: Shell, tmp_path: Path) -> None:
    """What the other said is shown once more."""
    name = alpha.json(*ADD)["id"]
    docs = tmp_path / "docs"
    alpha("learnings", "export", str(docs))
    (path,) = docs.rglob("*.md")
    path.write_text(path.read_text(encoding="utf-8").replace("# Uploads fail", "# Mine"), encoding="utf-8")
    alpha("learnings", "edit", name, "--title", "Theirs")
    alpha("learnings", "import", str(docs))
    assert "somebody else has changed its title too" in alpha.err
    assert "\n  Theirs\n" in alpha.err
    assert record(alpha, name)["title"] == "Mine"


def test_a_new_file_becomes_a_document_and_knows_its_record(alpha: Shell, tmp_path: Path) -> None:
    """All that the person wrote stays; what they change later changes the record."""
    docs = tmp_path / "docs"
    (docs / "build-errors").mkdir(parents=True)
    path = docs / "build-errors" / "mine.md"
    path.write_text(FILE, encoding="utf-8")
    answer = alpha.json("learnings", "import", str(docs))
    assert (answer["new"], answer["files"][0]["state"]) == (1, "new")
    text = path.read_text(encoding="utf-8")
    assert text.endswith(FILE)
    assert f"id: {answer['files'][0]['id']}\n" in text.replace('"', "")  # quoted if it begins with a digit
    assert alpha.json("learnings", "import", str(docs))["unchanged"] == 1
    path.write_text(text.replace("Log in late.", "Log in very late."), encoding="utf-8")
    assert alpha.json("learnings", "import", str(docs))["changed"] == 1
    (found,) = alpha.json("learnings", "list", "--all")["learnings"]
    assert (found["category"], record(alpha, found["id"])["prevention"]) == ("build-errors", "Log in very late.")
    alpha("learnings", "export", str(docs), "--all", code=4)
    assert "kept by hand" in alpha.err
    assert sorted(docs.rglob("*.md")) == [path]


def test_files_that_are_none_or_wrong_are_left_alone_and_told(alpha: Shell, tmp_path: Path) -> None:
    """One bad file does not keep the others out."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "README.md").write_text("# About this folder", encoding="utf-8")
    (docs / "a.md").write_text("## Problem\nshort\n## Solution\nshort", encoding="utf-8")
    (docs / "b.md").write_text(f"---\nrepo: not a repo\n---\n{FILE}", encoding="utf-8")
    (docs / "c.md").write_text(f"---\nid: {'b' * 52}\nseverity: huge\nwhatever: 1\n---\n{FILE}", encoding="utf-8")
    answer = alpha.json("learnings", "import", str(docs))
    states = {one["file"]: one["state"] for one in answer["files"]}
    assert states == {"README.md": "skipped", "a.md": "skipped", "b.md": "skipped", "c.md": "new"}
    assert len(answer["files"][3]["remarks"]) >= 2
    alpha("learnings", "import", str(docs))
    assert "left alone: a.md: this is no learning yet" in alpha.err
    alpha("learnings", "import", str(tmp_path / "none"), code=1)
    assert "next: write one first" in alpha.err


def test_a_deleted_file_is_no_deletion_unless_asked(alpha: Shell, tmp_path: Path) -> None:
    """And a retracted document does not come back by its file."""
    name = alpha.json(*ADD)["id"]
    docs = tmp_path / "docs"
    alpha("learnings", "export", str(docs))
    (path,) = docs.rglob("*.md")
    text = path.read_text(encoding="utf-8")
    path.unlink()
    alpha("learnings", "import", str(docs))
    assert "whose files are gone" in alpha.err
    assert listed(alpha) == ["Uploads fail"]
    assert alpha.json("learnings", "import", str(docs), "--retract-missing")["retracted"][0].startswith(name)
    assert listed(alpha) == []
    path.write_text(text, encoding="utf-8")
    assert alpha.json("learnings", "import", str(docs))["skipped"] == 1
    assert listed(alpha) == []
    assert alpha.json("learnings", "export", str(docs))["stale"] == [str(path.relative_to(docs))]
    assert alpha.json("learnings", "export", str(docs), "--prune")["removed"] == [str(path.relative_to(docs))]


def test_a_document_reaches_another_node_by_a_bundle(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """With its edits, as a record like any other."""
    alpha("admit", beta.json("status")["node"], "--name", "beta")
    name = alpha.json(*ADD)["id"]
    alpha("learnings", "edit", name, "--prevention", "Log in late.")
    carry(alpha, beta, tmp_path)
    assert "Log in late." in beta("learnings", "show", name)


def test_the_family_explains_itself(alpha: Shell) -> None:
    """Its members, and what to do about a wrong one."""
    assert "export" in alpha("learnings")
    alpha("learnings", "frobnicate", code=2)
    assert "next: mesh learnings --help" in alpha.err
