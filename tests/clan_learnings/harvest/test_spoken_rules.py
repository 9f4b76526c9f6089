"""Where a person put the model right, and where not."""

import pytest

from clan_learnings.harvest.items import CORRECTION, HarvestItem
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.transcript_events import Kind, SessionEvent
from tests.clan_learnings.harvest.made_sessions import Made


def corrections(made: Made, **more: object) -> list[HarvestItem]:
    return [item for item in items_of_session(made.session(**more)) if item.kind == CORRECTION]


def after_a_change(words: str) -> list[HarvestItem]:
    """What is found if a person says this after the model changed a file and said so."""
    made = Made()
    made.says("make the panel")
    made.edits("/src/panel.tsx")
    made.replies("Done. The panel is there.")
    made.says(words)
    made.replies("Looking at it.")
    return corrections(made)


def test_a_refusal_with_its_reason_is_a_correction_on_the_line_of_the_reason() -> None:
    """The words inside the refusal are the correction, and the next edit acts on it."""
    made = Made()
    made.says("add a license")
    line = made.is_refused("Write", "Acme Ltd.", file_path="/src/LICENSE", content="Copyright somebody")
    fix = made.edits("/src/LICENSE")
    (item,) = corrections(made)
    assert (item.line, item.fix_line, item.right, item.source) == (line, fix, "Acme Ltd.", "human")
    assert item.text == "A person refused a change of LICENSE and said: “Acme Ltd.”"
    assert item.is_stated
    assert item.confidence == 0.9


def test_an_interruption_counts_with_the_words_that_follow() -> None:
    """The evidence is what was typed, not the interruption."""
    made = Made()
    made.says("fix tests")
    made.is_refused("Edit", "", file_path="/src/reset.py", old_string="a", new_string="b")
    made.stops()
    line = made.says("change the test, the reset itself is fine")
    assert [(item.line, item.confidence) for item in corrections(made)] == [(line, 0.7)]


@pytest.mark.parametrize(
    "words",
    [
        "continue",
        "sorry, go on",
        "go ahead",
        "i'll take it from here",
        "Implement the following plan: A better panel",
        "exit",
        "what does the reset function do?",
    ],
)
def test_words_after_an_interruption_that_say_nothing_against_it_are_none(words: str) -> None:
    """Going on, leaving, a plan that was taken, a plain question."""
    made = Made()
    made.says("fix the reset function")
    made.is_refused("Edit", "", file_path="/src/reset.py")
    made.stops()
    made.says(words)
    assert corrections(made) == []


def test_a_prompt_that_is_typed_again_after_an_interruption_is_none() -> None:
    """A typing mistake was mended, nothing else."""
    made = Made()
    made.says("is that because the hook of the first session ran late?")
    made.replies("Let me")
    made.stops()
    made.says("is that because the hook of the second session ran late?")
    assert corrections(made) == []


def test_questions_that_want_to_be_clarified_are_none() -> None:
    """Nothing was wrong; the person has a question."""
    made = Made()
    made.says("set it up")
    made.is_refused("AskUserQuestion", "The user wants to clarify these questions.", questions=[])
    assert corrections(made) == []


@pytest.mark.parametrize(
    "words",
    [
        "no, the table should stay where it is",
        "that's not the file i meant",
        "not that box, but the outer one",
        "the list is only showing two rows, it should show all of them",
        "it doesn't work",
        "still not loading",
        "the button shouldn't be that big",
        "why did you remove the header?",
        "you forgot the footer",
        "I said use tabs instead of spaces",
        "please don't touch the lock file",
        "That's too wordy, give me bullet points",
        "tests are failing now",
        "nein, das gehört in die andere Datei",
        "不对 应该用另一个文件",
    ],
)
def test_pushback_after_a_change_is_a_correction(words: str) -> None:
    """Plain prompts that object to what was just made."""
    assert [item.right for item in after_a_change(words)] == [words]


@pytest.mark.parametrize(
    "words",
    [
        "great, thanks",
        "ok, that works, great",
        "now add a second panel",
        "can you also add a test for this?",
        "do we also want to check for an empty name?",
        "commit and push",
        "yes, let's do this",
        "what should the panel be called?",
        "ship it",
        "no problem, go on",
        "/exit",
        "python panel.py",
    ],
)
def test_praise_new_work_and_questions_are_none(words: str) -> None:
    """What does not object."""
    assert after_a_change(words) == []


def test_words_above_a_pasted_log_are_heard_and_the_log_is_not() -> None:
    """What a program printed objects to nothing."""
    log = "\n".join(f"{number} worker does not exist, wrong state, should be idle" for number in range(30))
    assert after_a_change(f"here is the log of last night\n{log}\nend of log\nthanks") == []
    assert len(after_a_change(f"that's not it\n{log}")) == 1


def test_no_as_an_answer_to_a_question_is_none() -> None:
    """The model asked, and got its answer."""
    made = Made()
    made.says("why does it fail?")
    made.edits("/src/a.py")
    made.replies("It is the cache. Want me to switch it off?")
    made.says("no don't, let's wait and see")
    assert corrections(made) == []


def test_a_wish_before_anything_was_changed_is_none() -> None:
    """`should be` without a change speaks of the world."""
    made = Made()
    made.says("check out main")
    made.runs("git checkout main")
    made.replies("On main now.")
    made.says("some of the readme is long. it should be more focused")
    assert corrections(made) == []


def test_the_words_of_a_parent_are_no_correction_of_its_subagent() -> None:
    """Neither in a file of its own nor inside the parent's."""
    made = Made()
    made.says("look for it")
    made.edits("/src/a.py")
    made.replies("Done.")
    made.says("no, that's wrong, use the other file")
    assert corrections(made, is_subagent=True) == []
    made.events = [event._replace(is_sidechain=True) for event in made.events]
    assert corrections(made) == []


def test_what_was_injected_is_no_persons_word() -> None:
    """Hooks, skills and summaries may say no as often as they like."""
    made = Made()
    made.says("make the panel")
    made.edits("/src/panel.tsx")
    made.replies("Done.")
    for kind in (Kind.INJECTED, Kind.SUMMARY):
        made.events.append(
            SessionEvent(made.line, kind, "No, that's wrong. You should never do that. Use the other one instead.")
        )
    assert corrections(made) == []


def test_an_answer_that_admits_a_mistake_makes_words_an_objection() -> None:
    """`You're right` shows what a mild sentence was."""
    made = Made()
    made.says("colour the link")
    made.edits("/src/theme.json")
    made.replies("Done, it is grey now.")
    line = made.says("hm, the old one had two colours here")
    made.replies("You're right, I mixed them up. Let me fix that.")
    assert [item.line for item in corrections(made)] == [line]


def test_secrets_and_home_folders_do_not_get_into_an_item() -> None:
    """An item is kept, so it is cleaned first."""
    made = Made()
    made.says("set the key")
    made.is_refused(
        "Edit", "no, AKIAIOSFODNN7EXAMPLE belongs into /home/ada/.env, not here", file_path="/home/ada/x.py"
    )
    (item,) = corrections(made)
    assert "AKIAIOSFODNN7EXAMPLE" not in str(item)
    assert "/home/ada" not in str(item)
    assert "~/.env" in item.text


def test_a_question_whether_it_was_understood_is_no_objection() -> None:
    """It ends in `right?`, and nothing in it contradicts; also after an interruption."""
    made = Made()
    made.says("add a cache")
    made.edits("/src/cache.py")
    made.replies("Done.")
    made.says("but the old entries are gone after a restart, right?")
    made.replies("Yes.")
    made.runs("make deploy", "")
    made.stops()
    made.says("the cache for this should be fine, since it is only local, right?")
    assert corrections(made) == []


def test_who_did_what_the_model_said_cannot_be_done_contradicts() -> None:
    """No word of objection is needed."""
    made = Made()
    made.says("attach the file to the ticket")
    made.replies("The tracker only supports files on projects, so this is not possible.")
    line = made.says("hmm, I was able to do it in the browser, it shows up under files")
    assert [item.line for item in corrections(made)] == [line]


def test_a_failed_check_that_names_a_changed_file_is_a_correction() -> None:
    """A person pastes what the check printed; of files that were not touched it would be new work."""
    made = Made()
    made.says("rename the queue")
    made.edits("/src/queue_test.py")
    made.replies("Done.")
    pasted = "Fix the lint job:\n\n[lint] these files need to be sorted:\n[lint] {}\n[lint] ERROR task failed"
    line = made.says(pasted.format("queue_test.py"))
    made.edits("/src/queue_test.py")
    made.replies("Done.")
    made.says(pasted.format("other.py"))
    assert [item.line for item in corrections(made)] == [line]


def test_a_wish_that_the_model_admits_to_have_missed_is_a_correction() -> None:
    """It begins with ok, and the answer with an admission."""
    made = Made()
    made.says("colour the border")
    made.edits("/src/theme.py")
    made.replies("Done.")
    line = made.says("ok, i think the border wants colours of its own")
    made.replies("You're right. They belong into the theme.")
    assert [item.line for item in corrections(made)] == [line]


def test_a_refusal_that_only_asks_is_no_correction() -> None:
    """A person wants to know first; with an objection in it, it is one."""
    made = Made()
    made.is_refused("Write", "is ticket 12 really still open?", file_path="/src/a", content="b")
    line = made.is_refused("Write", "is this the wrong file? don't write there", file_path="/src/a", content="b")
    assert [item.line for item in corrections(made)] == [line]


def test_what_was_done_after_a_correction_is_kept_if_it_worked() -> None:
    """The command of the fix; nothing of one that failed."""
    for exit_code, kept in ((0, "`uv run pytest`"), (1, "")):
        made = Made()
        made.says("run the tests")
        made.is_refused("Bash", "use uv run pytest, not python -m pytest", command="python -m pytest")
        made.runs("uv run pytest", "3 passed" if not exit_code else "no such command", exit_code)
        (item,) = corrections(made)
        assert item.done == kept
