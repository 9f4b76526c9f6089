"""Private text is taken out of text, of values and of the lines of a file; what stands around it stays where it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.redaction.private_passages import without_private, without_private_lines, without_private_values
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind

RECORD = {
    "type": "user",
    "uuid": "u1",
    "sessionId": "s1",
    "message": {"content": "the key is <private>hunter2</private> ok"},
}


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("a <private>secret</private> b", "a  b"),
        ("a <PRIVATE>secret</Private> b", "a  b"),
        ("a <private>secret", "a "),
        ("<private>x</private><private>y</private>z", "z"),
        ("<private>x<private>y</private>z", ""),
        ("a <private>A <private>b</private> C</private> d", "a  d"),
        ("a <private >x</private> b", "a  b"),
        ("a < private>x< / private > b", "a  b"),
        ('a <private reason="x > y">x</private> b', "a  b"),
        ("a <private\nreason='x'>x</private\n> b", "a  b"),
        ("ssh -i <private key> and <privates> stay", "ssh -i <private key> and <privates> stay"),
        ("<private a b=c> and <private a =b>x</private>y", "<private a b=c> and y"),
        ("nothing </private> here", "nothing </private> here"),
        ("a private matter <p>", "a private matter <p>"),
        ("", ""),
    ],
)
def test_text_without_what_is_private(text: str, public: str) -> None:
    """To the closing mark, or to the end if there is none."""
    assert without_private(text) == public


@pytest.mark.parametrize(
    "mark", ["<private>", "<PRIVATE>", "<PriVate>", "< pRIVATE >", r"\u003CPrivate>", r"\u003cprivatE>"]
)
def test_marks_of_any_letters_are_seen_in_a_transcript(mark: str) -> None:
    """A first look decides whether there is a second: it must see what the second would."""
    assert without_private_lines(f'{{"text": "a {mark}hunter2</private> b"}}'.encode()) == b'{"text": "a  b"}'


def test_values_are_cleaned_at_every_depth() -> None:
    """Names of members too; and the lines of one text may be strings of one list."""
    value = {"a": ["x <private>1", "2", "3</private> y", "z"], "b<private>4</private>": {"c": "<private>5"}, "d": 6}
    assert without_private_values(value) == {"a": ["x ", "", " y", "z"], "b": {"c": ""}, "d": 6}


def test_mark_in_a_list_ends_with_it() -> None:
    """What follows the list is another text."""
    assert without_private_values([["<private>1", "2"], "3"]) == [["", ""], "3"]
    assert without_private_values(["<private>1", {"a": "2"}, "3"]) == ["", {"a": "2"}, ""]


@pytest.mark.parametrize("indent", [None, 2])
def test_mark_reaches_over_the_blocks_of_its_message(indent: int | None) -> None:
    """Until it is closed, or to the end of the message; the next message is another matter."""
    blocks = [
        {"type": "text", "text": "a <private>HIDDEN"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "HIDDEN"}]},
        {"type": "text", "text": "HIDDEN</private> b"},
        {"type": "text", "text": "c <private> HIDDEN"},
        {"type": "text", "text": "HIDDEN"},
    ]
    value = {"messages": [{"role": "user", "content": blocks}, {"role": "assistant", "content": [{"text": "kept"}]}]}
    public = without_private_values(value)
    first, second = public["messages"]
    assert [block.get("text") for block in first["content"]] == ["a ", None, None, " b", "c ", ""]
    assert first["content"][1] == blocks[1]
    assert second["content"] == [{"text": "kept"}]
    assert "HIDDEN" not in json.dumps(public)
    written = json.dumps(value, indent=indent).encode()
    assert json.loads(without_private_lines(written)) == public
    assert without_private_lines(written).count(b"\n") == written.count(b"\n")


def test_mark_in_one_message_of_a_list_hides_no_other() -> None:
    """Who speaks, or when, tells messages from blocks."""
    messages = [
        {"role": "user", "text": "<private>1"},
        {"role": "assistant", "text": "2"},
        {"timestamp": 3, "text": "4"},
    ]
    assert without_private_values(messages) == [{"role": "user", "text": ""}, *messages[1:]]
    typed = [{"type": "user", "content": "<private>1"}, {"type": "gemini", "content": "2"}]
    assert without_private_values(typed) == [{"type": "user", "content": ""}, typed[1]]


def test_private_block_of_a_message_reaches_no_event() -> None:
    """The second block of a prompt, when the mark was opened in the first one."""
    blocks = [{"type": "text", "text": "look <private>hunter2"}, {"type": "text", "text": "hunter2</private> there"}]
    record = RECORD | {"message": {"role": "user", "content": blocks}}
    (session,) = read_transcript(json.dumps(record).encode()).sessions
    assert "hunter2" not in repr(session)
    assert "there" in repr(session)


def test_object_with_a_name_twice_is_cleaned_twice() -> None:
    """Both are on disk, whichever a reader takes."""
    assert b"x" not in without_private_lines(b'{"a": "<private>x", "a": "<private>x</private>"}')


def test_many_marks_take_no_longer_than_their_length() -> None:
    """There is nothing to go back for."""
    assert without_private("<private a=" * 50_000) == "<private a=" * 50_000
    assert without_private("<private>" * 100_000) == ""
    assert without_private("<        " * 50_000 + "private") == "<        " * 50_000 + "private"
    for unit in ("<private ", "<private\ta ", "<private a" + " " * 9, "</private a=x", "<private" + " " * 8 + "a b"):
        assert without_private(unit * 50_000) == unit * 50_000


def test_values_nested_too_deep_are_dropped() -> None:
    """They are not kept unseen."""
    value: Any = "<private>1</private>"
    for _ in range(500):
        value = [value]
    assert "1" not in json.dumps(without_private_values(value))


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_lines_of_a_file_are_cleaned_and_stay_lines(ensure_ascii: bool) -> None:  # noqa: FBT001
    """Lines without a mark come back byte by byte, the others as JSON that says the same without it."""
    lines = [json.dumps(record, ensure_ascii=ensure_ascii) for record in ({"a": "é private"}, RECORD, {"b": [1, 2]})]
    cleaned = without_private_lines("\n".join(lines).encode()).decode().split("\n")
    assert (cleaned[0], cleaned[2]) == (lines[0], lines[2])
    assert json.loads(cleaned[1])["message"]["content"] == "the key is  ok"


def test_escaped_marks_are_seen() -> None:
    """Some programs write < and > as numbers."""
    data = json.dumps(RECORD).replace("<", "\\u003c").replace(">", "\\u003e").encode()
    assert b"hunter2" not in without_private_lines(data)


def test_printed_document_keeps_its_lines() -> None:
    """A list of lines that a mark reaches over, printed one a line."""
    value = {"patch": ["+<private>", "+hunter2", "+</private>", "+open"], "after": "kept"}
    data = json.dumps(value, indent=2).encode()
    cleaned = without_private_lines(data)
    assert cleaned.count(b"\n") == data.count(b"\n")
    assert json.loads(cleaned) == {"patch": ["+", "", "", "+open"], "after": "kept"}


def test_torn_line_and_plain_text_are_cleaned_too() -> None:
    """What is no JSON is cut to the end of its line."""
    torn = json.dumps(RECORD).encode()[:-20]
    assert b"hunter2" not in without_private_lines(torn.replace(b"</private>", b""))
    assert without_private_lines(b"log: <private>hunter2\nnext") == b"log: \nnext"


def test_half_characters_are_written_again_as_they_were() -> None:
    """A lone surrogate cannot be written but as an escape."""
    data = b'{"a": "<private>x</private>\\ud800", "b": "\xff private"}'
    assert without_private_lines(data) == b'{"a": "\\ud800", "b": "\xff private"}'


def test_nothing_private_reaches_an_event() -> None:
    """Neither in what was said nor in what tools were given."""
    call = {
        "type": "tool_use",
        "id": "c1",
        "name": "Bash",
        "input": {"command": "echo <private>hunter2</private>", "l": ["<private>hunter2"]},
    }
    answer = {"type": "assistant", "uuid": "a1", "sessionId": "s1", "message": {"id": "m1", "content": [call]}}
    title = {"type": "ai-title", "sessionId": "s1", "aiTitle": "<private>hunter2"}
    data = "\n".join(map(json.dumps, (RECORD, answer, title))).encode()
    (session,) = read_transcript(data).sessions
    assert "hunter2" not in repr(session)
    assert [(event.kind, event.text) for event in session.events] == [
        (Kind.PROMPT, "the key is  ok"),
        (Kind.CALL, "echo "),
    ]


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_keep_their_lines(data: bytes, is_doubled: bool) -> None:  # noqa: FBT001
    """Whatever they are, and wherever a mark stands in them."""
    data = data[: len(data) // 2] + b"<private>" + data[len(data) // 2 :] + (b"</private>" if is_doubled else b"")
    assert without_private_lines(data).count(b"\n") == data.count(b"\n")


@given(st.recursive(st.none() | st.integers() | st.text() | st.just("a<private>SECRET"), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))  # fmt: skip
def test_any_json_stays_json_and_agrees_with_its_values(value: Any) -> None:
    """Cleaning the line is cleaning what it says."""
    written = without_private_lines(json.dumps(value).encode())
    assert json.loads(written) == without_private_values(value)
    assert b"SECRET" not in written
