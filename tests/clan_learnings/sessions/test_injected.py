"""What a person typed, out of all that stands in a person's place."""

import pytest

from clan_learnings.sessions.prompt_text import typed


@pytest.mark.parametrize(
    "text",
    [
        "use tabs",
        "why does <div> not close?",
        "what is a system-reminder?",
        "# Context matters: use tabs",
        "the hook says: Stop hook feedback: none",
        "",
    ],
)
def test_what_a_person_typed_stays_as_it_is(text: str) -> None:
    """Also if it speaks of what agents write."""
    assert typed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/init</command-name>",
        "  \n<local-command-stdout>Bye!</local-command-stdout>",
        "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        "<user_instructions>use tabs</user_instructions>\n\n<environment_context>x</environment_context>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>use tabs</INSTRUCTIONS>",
        "<turn_aborted>stopped</turn_aborted>",
        "<user_action>\n<context>User initiated a review task.</context>\n</user_action>",
        "Here is the user's editor context as a JSON object. This is for your information only.",
        "[Request interrupted by user]",
        "Stop hook feedback:\nuse tabs",
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py",
        "<system-reminder>never closed, use tabs",
        "This session is being continued from a previous conversation that ran out of context. use tabs",
    ],
)
def test_what_an_agent_wrote_is_nothing_typed(text: str) -> None:
    """Not one word of it."""
    assert typed(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system-reminder>a</system-reminder>\nuse tabs\n<system-reminder>b</system-reminder>", "use tabs"),
        ("<ide_selection>x = 1</ide_selection>use tabs", "use tabs"),
        ("<user-memory-input>use tabs</user-memory-input>", "use tabs"),
        ("<hook_context>notes</hook_context>\n\nuse tabs", "use tabs"),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nuse tabs", "use tabs"),
        ("use tabs in @a.py\n--- Content from referenced files ---\nspaces", "use tabs in @a.py"),
        ("Implement the following plan:\n\n## Plan: tabs\n\nuse tabs", "Implement the following plan: Plan: tabs"),
        ("Implement the following plan:", "Implement the following plan:"),
    ],
)
def test_words_are_taken_out_of_what_is_around_them(text: str, words: str) -> None:
    """Before, after and between."""
    assert typed(text) == words


def test_many_asides_cost_no_more_than_their_length() -> None:
    """However many are opened, and never closed."""
    assert typed("<system-reminder>" * 200_000) == ""
    assert typed("<system-reminder></system-reminder>" * 100_000 + "tabs") == "tabs"
