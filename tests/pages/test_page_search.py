"""Pages in a search: those that have most of the words, by the names they have now, with the line that says most."""

from pathlib import Path

import pytest

from tests.cli.test_commands import Shell, alpha

__all__ = ["alpha"]

TEXT = "# Deploy\n\nPush the tag, then wait for the build.\nThe gateway on edge-7 restarts at 04:00 UTC.\n"


@pytest.fixture
def runbook(alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A node with one page whose text is worked out."""
    monkeypatch.chdir(tmp_path)
    alpha("page", "new", "runbooks/deploy", "--text", TEXT)
    assert "gateway" in alpha("page", "show", "runbooks/deploy")
    return alpha


def test_a_page_is_found_by_most_of_the_words_and_shown_by_its_best_line(runbook: Shell) -> None:
    """Beside records, in other forms of the words, and only if it says enough of what was asked for."""
    runbook("discover", "the gateway is slow", "--global")
    (page,) = runbook.json("search", "when does the gateway restart")["pages"]
    assert (page["name"], page["line"]) == ("runbooks/deploy", "The gateway on edge-7 restarts at 04:00 UTC.")
    shown = runbook("search", "gateway restarting").splitlines()
    assert shown[-1] == "page      runbooks/deploy  The gateway on edge-7 restarts at 04:00 UTC."
    assert runbook.json("search", "gateway zeppelin balloon")["pages"] == []
    assert runbook("search", "build tag").startswith("page ")
    assert "nothing fits" not in runbook.err


def test_a_page_has_the_name_it_has_now_and_is_gone_when_it_is_removed(runbook: Shell) -> None:
    """Its text of before is found no more either."""
    runbook("page", "rename", "runbooks/deploy", "runbooks/release")
    (page,) = runbook.json("search", "gateway restarts")["pages"]
    assert page["name"] == "runbooks/release"
    runbook("page", "remove", "runbooks/release", "--reason", "over")
    assert runbook.json("search", "gateway restarts")["pages"] == []


def test_filters_for_records_leave_pages_out(runbook: Shell) -> None:
    """A page has no category, no tier and no author of its own."""
    for words in (["--category", "build-errors"], ["--tier", "bank"], ["--since", "1d"], ["--min-relevance", "0.1"]):
        assert runbook.json("search", "gateway restarts", *words)["pages"] == []
    assert len(runbook.json("search", "gateway restarts", "--archived", "--all")["pages"]) == 1


def test_any_question_may_be_asked_of_pages(runbook: Shell) -> None:
    """No sign is an operator, and no text is an error."""
    for query in ("the of and", '"', "\x00 gateway", "*", "gateway " * 3000, "\U0001f600", "网关 重启"):
        runbook("search", f" {query}")
