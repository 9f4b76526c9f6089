"""`mesh search` and `mesh index` as people type them: every filter, what is said of each record, and what if nothing fits."""

import subprocess
from pathlib import Path

import pytest

from mesh.cli.main import run
from mesh.core.draft import NewRecord
from mesh.store.home import open_home
from mesh.store.store import wall_clock
from tests.cli.test_commands import Shell, alpha, beta, carry

__all__ = ["alpha", "beta"]

REPO = "github.com/acme/api"
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository."""
    monkeypatch.chdir(tmp_path)


def found(shell: Shell, *words: str) -> list[str]:
    """The texts, best first."""
    return [result["text"] for result in shell.json("search", *words)["results"]]


def write(shell: Shell, text: str, days_ago: float = 0, **about: object) -> str:
    """A discovery of another time."""
    author = open_home(str(shell.home)).author(clock=lambda: wall_clock() - int(days_ago * DAY_MS))
    record = {"text": text, "repo": ""} | about
    tag = author.append([NewRecord("discoveries", record)]).tags[0]
    author.store.close()
    return tag.hex()


def test_filters_are_applied_before_ranking(alpha: Shell) -> None:
    """Category, tags, agent, tier: what is left is what was asked for, however well others fit."""
    about = ("--category", "build-errors", "--tags", "wheel,cache", "--agent", "codex", "--global")
    alpha("discover", "the gateway build needs a warm cache", *about)
    alpha("discover", "the gateway answers 405 on push", "--category", "api-patterns", "--tags", "push", "--global")
    both = found(alpha, "gateway")
    assert len(both) == 2
    build, push = sorted(both, key=len, reverse=True)
    assert found(alpha, "gateway", "--category", "build-errors") == [build]
    assert found(alpha, "gateway", "--tags", "push,other") == [push]
    assert found(alpha, "gateway", "--agent", "codex") == [build]
    assert found(alpha, "gateway", "--tier", "warm") == both
    assert found(alpha, "gateway", "--tier", "bank") == []
    assert len(found(alpha, "gateway", "--limit", "1")) == len(found(alpha, "gateway", "-n", "1")) == 1
    assert found(alpha, "gateway", "--min-relevance", "1") in ([], both, [build], [push])


def test_since_and_until_are_read_as_people_write_times(alpha: Shell) -> None:
    """A day is meant whole, at both ends."""
    write(alpha, "the old gateway", 40)
    write(alpha, "the new gateway", 1)
    assert found(alpha, "gateway", "--since", "30d") == ["the new gateway"]
    assert found(alpha, "gateway", "--until", "30d") == ["the old gateway"]
    assert found(alpha, "gateway", "--since", "60d", "--until", "30d") == ["the old gateway"]
    assert sorted(found(alpha, "gateway", "--since", "2020-01-01")) == ["the new gateway", "the old gateway"]
    alpha("search", "gateway", "--since", "2d", "--until", "3d", code=1)
    assert "nothing is since 2d and until 3d" in alpha.err


def test_the_author_is_a_node_by_name_or_id(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """By its name, with the beginning of its id, or by the id itself."""
    alpha("admit", beta.json("status")["node"], "--name", "beta")
    beta("discover", "the gateway of beta", "--global")
    alpha("discover", "another gateway altogether", "--global")
    carry(beta, alpha, tmp_path, code=0)
    status = beta.json("status")
    for name in ("beta", status["name"], status["node"], status["node"][:9]):
        assert found(alpha, "gateway", "--author", name) == ["the gateway of beta"]
    alpha("search", "gateway", "--author", "gamma", code=1)
    assert "one of: alpha·" in alpha.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--category", "frob"], 1, "one of: build-errors, test-failures"),
        (["--tier", "frob"], 1, "one of: HOT, WARM, BANK, ARCHIVE"),
        (["--tier", "Frob"], 1, "'Frob' is no tier"),
        (["--since", "frob"], 1, "2026-11-16T10:00"),
        (["--until", "9999-99-99"], 1, "is not a time"),
        (["--author", "frob"], 1, "one of: alpha"),
        (["--limit", "0"], 2, "from 1 to 100"),
        (["--min-relevance", "7"], 2, "from 0 to 1"),
        (["--repo", "no repo at all"], 1, "host/owner/name"),
        (["--no-verify"], 2, "mesh search -- --no-verify"),
    ],
)
def test_a_wrong_value_gets_the_right_ones(alpha: Shell, words: list[str], code: int, sentence: str) -> None:
    """Whoever typed it can go on at once."""
    alpha("search", "x", *words, code=code)
    assert sentence in alpha.err


def test_an_empty_filter_is_refused(alpha: Shell) -> None:
    """A script with an empty variable must not get everybody's records."""
    for option in ("repo", "category", "tags", "agent", "author", "since", "until", "tier", "limit", "min-relevance"):
        for value in ("", " , "):
            alpha("search", "x", f"--{option}", value, code=1)
            assert f"--{option} is empty" in alpha.err
            assert f"leave it out, or give it a value: --{option} " in alpha.err


def test_a_question_without_a_word_is_no_error_and_says_so(alpha: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing can be looked for, so nothing is said not to be there."""
    alpha("discover", "the rocket \U0001f680 starts", "--global")
    for question in ("--", '"', "\U0001f680", " ... ?!"):
        assert run(["search", "--home", str(alpha.home), "--", question]) == 0
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("nothing can be looked for: the question has no letter and no digit\n")
        assert "nothing fits" not in said.err
    assert run(["search", "--home", str(alpha.home), " "]) == 1
    assert "nothing to search for" in capsys.readouterr().err


def test_a_category_of_the_mesh_or_of_the_repository_may_be_asked_for(alpha: Shell, tmp_path: Path) -> None:
    """Also before anything has it."""
    alpha("settings", "category", "data-quality")
    assert found(alpha, "gateway", "--category", "data-quality") == []
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".clan-mesh.toml").write_text('repo = "github.com/acme/api"\ncategories = ["billing"]\n')
    assert found(alpha, "gateway", "--category", "billing") == []


def test_words_that_look_like_options_are_searched_behind_a_double_hyphen(
    alpha: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flags are what one forgets."""
    alpha("discover", "git push --no-verify skips the hooks", "--global")
    assert run(["search", "--home", str(alpha.home), "--", "--no-verify"]) == 0
    assert "skips the hooks" in capsys.readouterr().out


def test_the_archive_is_searched_on_request_only(alpha: Shell) -> None:
    """What was retracted is never found; what has decayed is, if asked for."""
    write(alpha, "the gateway had a wooden door", 900)
    alpha("discover", "time goes on", "--global")
    assert found(alpha, "gateway") == []
    assert found(alpha, "gateway", "--archived") == ["the gateway had a wooden door"]
    assert found(alpha, "gateway", "--tier", "archive") == ["the gateway had a wooden door"]
    assert "ARCHIVE" in alpha("search", "gateway", "--archived")


def test_a_search_that_finds_nothing_says_what_to_try(alpha: Shell) -> None:
    """The likeliest first; stdout stays empty."""
    assert alpha("search", "zeppelin", "--repo", REPO, "--tags", "x", "--since", "2d") == ""
    assert alpha.err.splitlines()[0] == f"nothing fits in {REPO}"
    for words in ("without --tags --since", "--all", "--archived", "other words", "mesh index"):
        assert f"{words}" in alpha.err
    assert alpha("search", "zeppelin", "--all", "--archived") == ""
    assert "--all" not in alpha.err
    assert "--archived" not in alpha.err


def test_what_to_try_is_nothing_that_was_asked_for_already(alpha: Shell) -> None:
    """Outside a repository global records were looked at, and a tier leaves nothing to be added by the archive."""
    assert alpha("search", "zeppelin") == ""
    assert alpha.err.splitlines()[0] == "nothing fits among global records"
    assert "in every repository: --all" in alpha.err
    assert alpha("search", "zeppelin", "--tier", "archive") == ""
    assert "without --tier" in alpha.err
    assert "--archived" not in alpha.err
    assert alpha("search", "zeppelin", "--all") == ""
    assert alpha.err.splitlines()[0] == "nothing fits"


def test_a_tag_in_other_letters_is_named(alpha: Shell) -> None:
    """Tags are compared as they are written; whoever mistakes one is told which there is."""
    alpha("discover", "the broker keeps offsets", "--tags", "Kafka,two words", "--global")
    assert alpha("search", "broker offsets", "--tags", "KAFKA,other") == ""
    assert "try a tag as it is written: --tags Kafka\n" in alpha.err
    assert alpha("search", "broker offsets", "--tags", "Two Words") == ""
    assert "--tags 'two words'\n" in alpha.err
    assert alpha("search", "broker offsets", "--tags", "other") == ""
    assert "as it is written" not in alpha.err
    assert alpha.json("search", "broker offsets", "--tags", "Kafka")["tags_alike"] == []


def test_explain_says_why(alpha: Shell) -> None:
    """The words, the parts of the score, the age, and what was searched by."""
    alpha("discover", "the gateway host answers on port 8443", "--global")
    line, why = alpha("search", "gateway host", "--explain").splitlines()
    assert "the gateway host answers" in line
    assert why.strip().startswith("score ")
    assert "relevance " in why
    assert "gateway" in why
    assert "0 days old" in why
    assert alpha.err.strip() == "by keywords"


def test_json_has_all_that_agents_rely_on(alpha: Shell) -> None:
    """The documented fields, also without vectors."""
    alpha("discover", "the gateway host answers on port 8443", "--global")
    answer = alpha.json("search", "gateway")
    assert (answer["repo"], answer["by"]) == ("", "keywords")
    (result,) = answer["results"]
    assert {"id", "text", "author", "tier", "score", "relevance", "why", "words", "parts"} <= set(result)
    assert (result["age_days"], result["also"], result["also_ids"]) == (0, 0, [])
    assert 0 < result["score"] <= 1
    assert 0 <= result["relevance"] <= 1


# index


def test_index_says_what_search_runs_on(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sidecar: keywords only, and how to get more."""
    monkeypatch.setenv("MESH_EMBEDDER", "auto")
    alpha("discover", "a thing", "--global")
    state = alpha.json("index")
    assert (state["by"], state["keywords"], state["sidecar"]) == ("keywords", {"engine": "FTS5", "records": 1}, None)
    assert state["folder"] == str(alpha.home / "recall")
    assert state["embedder"]["choice"] == "auto"
    shown = alpha("index")
    assert "keywords only: " in shown
    assert "1 record in the database (FTS5)" in shown
    assert "keywords only: " in alpha("status", "--verbose")
    assert alpha.json("status")["search"].startswith("keywords only: ")


def test_index_rebuild_gives_the_same_answers(alpha: Shell) -> None:
    """The keyword index is made anew, and what a sidecar keeps beside it is dropped."""
    for number in range(5):
        alpha("discover", f"gateway {number} listens on port {number}443", "--global")
    alpha("discover", "my own gateway", "--private")
    before = alpha.json("search", "gateway 3")
    for name in ("words", "vectors"):
        (alpha.home / "recall" / name).mkdir(parents=True)
    assert alpha.json("index", "rebuild") == {"records": {"shared": 5, "private": 1}, "dropped": ["words"]}
    assert alpha.json("search", "gateway 3") == before
    assert alpha.json("index", "rebuild", "--vectors")["dropped"] == ["vectors"]
    assert "5 shared records indexed anew" in alpha("index", "rebuild")


def test_index_use_chooses_an_embedder(alpha: Shell, tmp_path: Path) -> None:
    """One line in the home; what cannot work is refused and changes nothing."""
    assert alpha.json("index", "use", "none")["choice"] == "none"
    assert (alpha.home / "embedder").read_text() == "none\n"
    assert "switched off" in alpha("index")
    address = "http://localhost:11434/v1"
    assert alpha.json("index", "use", address, "nomic-embed-text")["choice"] == f"{address} nomic-embed-text"
    for words, sentence in (
        ([address], "needs the name of a model"),
        (["frob"], "one of: minilm, auto, none"),
        ([str(tmp_path)], ""),
        (["http://user:secret@host/v1", "m"], "password"),
    ):
        alpha("index", "use", *words, code=1)
        assert sentence in alpha.err
        assert "secret" not in alpha.err
    assert (alpha.home / "embedder").read_text() == f"{address} nomic-embed-text\n"
    assert alpha.json("index", "use", "auto")["choice"] == "auto"


def test_an_embedder_file_that_somebody_has_damaged_is_read_as_far_as_it_goes(alpha: Shell) -> None:
    """The first line counts, none is auto."""
    for data, choice in ((b"", "auto"), (b"\n\nnone", "none"), (b" none \nmore", "none"), (b"\xff" * 9000, None)):
        (alpha.home / "embedder").write_bytes(data)
        said = alpha.json("index")["embedder"]["choice"]
        assert choice is None or said == choice


def test_doctor_names_an_embedder_that_does_not_work(alpha: Shell, tmp_path: Path) -> None:
    """One that somebody chose; that there is none is nothing to mend."""
    sorts = [item["sort"] for item in alpha.json("doctor", code=3)]
    assert "no vectors" not in sorts
    (alpha.home / "embedder").write_text(f"{tmp_path}/gone\n")
    (finding,) = [item for item in alpha.json("doctor", code=3) if item["sort"] == "no vectors"]
    assert "gone" in finding["sentence"]
    assert finding["next_step"]


@pytest.mark.parametrize(
    "words", [["frob"], ["use"], ["rebuild", "x"], ["use", "a", "b", "c"], ["--vectors"], ["use", "none", "--vectors"]]
)
def test_an_index_command_that_cannot_be_is_refused(alpha: Shell, words: list[str]) -> None:
    """With the code for wrong usage."""
    alpha("index", *words, code=2)
    assert "next: mesh index --help" in alpha.err


def test_the_weight_of_meaning_is_a_setting_of_the_mesh(alpha: Shell) -> None:
    """From 0 to 1, for every node."""
    assert alpha.json("settings")["recall_weight"] == 0.7
    assert "meaning counts 0.5 of a search" in alpha("settings", "recall-weight", "0.5")
    assert alpha.json("settings")["recall_weight"] == 0.5
    assert "0.5 for meaning, 0.5 for words" in alpha("settings")
    for value in ("2", "much", "nan"):
        alpha("settings", "recall-weight", value, code=1)
        assert "from 0 (words alone) to 1 (meaning alone)" in alpha.err
