"""Our entries in an agent's settings: put in beside others, brought up to date, taken out, and refused where it is not safe."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.agents import jsonc, settings_entries
from clan_learnings.agents.settings_entries import CannotEdit

OURS = {event: {"type": "command", "command": f"/bin/mesh hook {event}", "timeout": 10} for event in ("Start", "Stop")}
THEIRS = {"type": "command", "command": "say done"}
SERVER = {"command": "/bin/mesh", "args": ["mcp"]}


def value(text: str) -> Any:
    return jsonc.parse(text).value


def test_hooks_stand_beside_those_of_others() -> None:
    """Each event gets one handler of ours, in a group of its own; theirs keep their place."""
    text = json.dumps({"hooks": {"Stop": [{"matcher": "x", "hooks": [THEIRS]}], "Other": []}}, indent=2)
    made = settings_entries.put_hooks(text, OURS)
    assert value(made)["hooks"] == {
        "Stop": [{"matcher": "x", "hooks": [THEIRS]}, {"hooks": [OURS["Stop"]]}],
        "Other": [],
        "Start": [{"hooks": [OURS["Start"]]}],
    }
    assert settings_entries.put_hooks(made, OURS) == made
    assert settings_entries.take_hooks(made) == text


def test_an_older_hook_of_ours_is_brought_up_to_date_in_its_place() -> None:
    """From another path, with other options, in a group with others, twice, or at an event we no longer use."""
    old = {"type": "command", "command": "'/old place/mesh' hook Stop --home /x"}
    text = json.dumps(
        {
            "hooks": {
                "Stop": [{"matcher": "m", "hooks": [THEIRS, old]}, {"hooks": [old]}],
                "SessionEnd": [{"hooks": [{"type": "command", "command": "mesh hook SessionEnd"}]}],
            }
        },
        indent=4,
    )
    made = settings_entries.put_hooks(text, OURS)
    assert value(made)["hooks"] == {
        "Stop": [{"matcher": "m", "hooks": [THEIRS, OURS["Stop"]]}],
        "Start": [{"hooks": [OURS["Start"]]}],
    }
    assert value(settings_entries.take_hooks(made)) == {"hooks": {"Stop": [{"matcher": "m", "hooks": [THEIRS]}]}}


def test_a_matcher_is_set_once_and_then_the_persons() -> None:
    """Who widens it, or takes it away, finds it so after the next installation."""
    made = settings_entries.put_hooks("{}", OURS, {"Stop": "Bash"})
    assert value(made)["hooks"]["Stop"] == [{"matcher": "Bash", "hooks": [OURS["Stop"]]}]
    assert value(made)["hooks"]["Start"] == [{"hooks": [OURS["Start"]]}]
    for theirs in (made.replace('"Bash"', '"Bash|mcp__.*"'), made.replace('"matcher": "Bash",', "")):
        assert settings_entries.put_hooks(theirs, OURS, {"Stop": "Bash"}) == theirs
        assert settings_entries.is_empty(settings_entries.take_hooks(theirs))


@pytest.mark.parametrize(
    ("command", "home"),
    [
        ("/bin/mesh hook Stop", ""),
        ("/bin/mesh hook Stop --agent codex --home '/srv/my node'", "/srv/my node"),
        ("/bin/mesh hook Stop --home", ""),
        ("say done --home /x", None),
    ],
)
def test_the_home_that_our_hooks_name(command: str, home: str | None) -> None:
    """Read from the command line, and only from ours."""
    text = json.dumps({"hooks": {"Other": [], "Stop": [{"hooks": [THEIRS]}, {"hooks": [{"command": command}]}]}})
    assert settings_entries.hook_home(text) == home


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/bin/mesh hook Stop", True),
        ("'/a b/mesh' hook Stop --home /x", True),
        ("mesh hook Stop", True),
        ("/bin/mesh hook", False),
        ("/bin/mesh status", False),
        ("/bin/meshing hook Stop", False),
        ("sh -c 'mesh hook Stop'", False),
        ("'open", False),
        (None, False),
        (["mesh", "hook", "Stop"], False),
    ],
)
def test_our_commands_are_known(command: object, ours: bool) -> None:  # noqa: FBT001
    """Wherever the program was; and nobody else's."""
    assert settings_entries.is_our_command(command) is ours


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "its outermost value is not an object"),
        ('{"hooks": [1]}', "hooks is not an object"),
        ('{"hooks": null}', "hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
        ('{"hooks": {', "it is not JSON: line 1: a key in double quotes is missing"),
    ],
)
def test_settings_of_another_shape_are_refused(text: str, why: str) -> None:
    """Never guessed at."""
    with pytest.raises(CannotEdit) as caught:
        settings_entries.put_hooks(text, OURS)
    assert str(caught.value) == why


def test_odd_hooks_of_others_are_left() -> None:
    """Whatever stands where a handler should stand is not ours."""
    text = json.dumps({"hooks": {"Stop": [1, None, {}, {"hooks": 3}, {"hooks": [None, {"command": 3}]}]}})
    assert settings_entries.take_hooks(text) == text
    assert settings_entries.take_hooks(settings_entries.put_hooks(text, OURS)) == text


def test_a_server_keeps_what_a_person_added() -> None:
    """Only the command and its arguments are ours to say."""
    text = (
        '{\n  "mcpServers": {\n    "clan-mesh": {"command": "/old/mesh", "env": {"A": "b"}, "args": ["mcp"]}\n  }\n}\n'
    )
    made = settings_entries.put_server(text, SERVER)
    assert made == text.replace("/old/mesh", "/bin/mesh")
    assert settings_entries.put_server(made, SERVER) == made
    assert settings_entries.take_server(made) == "{}\n"
    other = '{"mcpServers": {"clan-mesh": {"url": "https://example.org"}}}'
    assert settings_entries.take_server(other) == other
    with pytest.raises(CannotEdit, match="another server named clan-mesh"):
        settings_entries.put_server(other, SERVER)


def test_items_are_added_once_and_taken_by_what_they_are() -> None:
    """A rule that is there already is not repeated."""
    text = '{"permissions": {"allow": ["Bash(ls)", "b"], "deny": []}}'
    made = settings_entries.put_items(text, ("permissions", "allow"), ["a", "b"])
    assert made == '{"permissions": {"allow": ["Bash(ls)", "b", "a"], "deny": []}}'
    assert settings_entries.take_items(made, ("permissions", "allow"), lambda item: item == "a") == text
    with pytest.raises(CannotEdit, match=r"permissions\.allow is not a list"):
        settings_entries.put_items('{"permissions": {"allow": "all"}}', ("permissions", "allow"), ["a"])
    assert settings_entries.take_items('{"permissions": 3}', ("permissions", "allow"), bool) == '{"permissions": 3}'


def test_a_comment_in_a_container_keeps_it() -> None:
    """What a person wrote down is not thrown away with what we take out."""
    text = '{\n  "hooks": {\n    // mine come here\n  }\n}\n'
    assert settings_entries.take_hooks(settings_entries.put_hooks(text, OURS)) == text


def test_an_empty_file_is_an_empty_object() -> None:
    """Programs leave such files."""
    for text in ("", "\n", "\ufeff"):
        assert value(settings_entries.put_hooks(text, OURS))["hooks"]["Start"]
        assert settings_entries.is_empty(settings_entries.take_hooks(settings_entries.put_hooks(text, OURS)))
    assert not settings_entries.is_empty("{} // mine")


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=5),
        "hooks": st.dictionaries(
            st.sampled_from(["Start", "Stop", "Other"]),
            st.lists(
                st.fixed_dictionaries({"hooks": st.lists(st.just(THEIRS), min_size=1, max_size=2)}),
                min_size=1,
                max_size=2,
            ),
            min_size=1,
        ),
        "mcpServers": st.dictionaries(st.sampled_from(["a", "b"]), st.just({"command": "x"}), min_size=1),
        "env": st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
    },
)


@given(SETTINGS, st.sampled_from([None, 1, 2, 4, "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_in_and_out_gives_the_same_bytes(settings: Any, indent: int | str | None, line: str, notes: bool) -> None:  # noqa: FBT001
    """Without a backup too, for any settings in any layout, unless they had an empty container that we filled."""
    text = json.dumps(settings, indent=indent)
    text = text.replace("\n", (" // note" if notes else "") + line)
    made = settings_entries.put_server(settings_entries.put_hooks(text, OURS), SERVER)
    again = settings_entries.put_server(settings_entries.put_hooks(made, OURS), SERVER)
    assert again == made
    out = settings_entries.take_hooks(settings_entries.take_server(made))
    if settings:
        assert out == text
    assert value(out) == settings
