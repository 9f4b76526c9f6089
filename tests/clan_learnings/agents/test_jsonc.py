"""JSON with comments, edited in place: what is not named keeps its bytes, and what was put in can be taken out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.agents import jsonc

COMMENTED = """\
// what this is
{
    "model": "opus", // the best
    /* a block,
       of two lines */
    "list": [
        1, // one
        2  // two
    ],
    "empty": {},
    "last": "a // b /* c */ \\" d" // not the end
    // at the end
}
// after the end
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("\ufeff{}", {}),
        (" [1, 2.5, -3e4, true, false, null, ] ", [1, 2.5, -3e4, True, False, None]),
        ('{"a": {"b": [{}, []]}, }', {"a": {"b": [{}, []]}}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"\\u00e9": "\\ud83d\\ude00"}', {"é": "😀"}),
        (
            COMMENTED,
            {"model": "opus", "list": [1, 2], "empty": {}, "last": 'a // b /* c */ " d'},
        ),
    ],
)
def test_values_are_read(text: str, value: Any) -> None:
    """Comments, trailing commas and a byte order mark are no part of the value."""
    assert jsonc.parse(text).value == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: no JSON value"),
        ("{", "line 1: a key in double quotes is missing"),
        ('{"a"}', "line 1: a colon is missing"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or } is missing"),
        ("[1 2]", "line 1: a comma or ] is missing"),
        ("{} x", "line 1: something follows the end"),
        ('{"a": "open\n"}', "line 1: a string does not end"),
        ("{'a': 1}", "line 1: a key in double quotes is missing"),
        ("[NaN]", "line 1: no JSON value"),
        ("[01]", "line 1: no JSON value"),
        ("{} /* open", "line 1: something follows the end"),
        ('["\\x"]', "line 1: no JSON value"),
        ("[,]", "line 1: no JSON value"),
        ("<<<<<<< HEAD\n{}", "line 1: no JSON value"),
        ("[" * 5000, "line 1: nested too deep"),
    ],
)
def test_what_is_broken_is_said_with_its_line(text: str, why: str) -> None:
    """A person has to find the place."""
    with pytest.raises(jsonc.InvalidJson) as caught:
        jsonc.parse(text)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "new": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "new": [\n    1\n  ]\n}\n'),
        ("{ // why\n}", '{ // why\n  "new": [\n    1\n  ]\n}'),
        ('{"a": 1}', '{"a": 1, "new": [1]}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"new": [\n\t\t1\n\t]\n}'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "new": [\r\n        1\r\n    ]\r\n}'),
        ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "new": [\n    1\n  ],\n}'),
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "new": [\n    1\n  ]\n}'),
        ('{\n  "a": 1 /* x */ /* y */\n}', '{\n  "a": 1, /* x */ /* y */\n  "new": [\n    1\n  ]\n}'),
        ('{\n  "a": 1\n  // more\n}', '{\n  "a": 1,\n  "new": [\n    1\n  ]\n  // more\n}'),
        ('{ "a": {\n  "b": 1 } }', '{ "a": {\n  "b": 1 },\n"new": [\n  1\n] }'),
    ],
)
def test_a_member_is_added_in_the_style_of_its_neighbours(before: str, after: str) -> None:
    """Indentation, line ends, trailing commas and comments are those of the file; and out again gives the same bytes."""
    made = jsonc.add(before, jsonc.parse(before), "new", [1])
    assert made == after
    root = jsonc.parse(made)
    out = jsonc.remove(made, root, len(root.entries) - 1)
    assert jsonc.parse(out).value == jsonc.parse(before).value
    if jsonc.parse(before).entries and "} }" not in before:
        assert out == before


@pytest.mark.parametrize(
    ("text", "index", "after"),
    [
        ("[1, 2, 3]", 0, "[2, 3]"),
        ("[1, 2, 3]", 1, "[1, 3]"),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ("[1, 2, ]", 1, "[1, ]"),
        ("[1]", 0, "[]"),
        ("[\n  1\n]", 0, "[]"),
        ("[\n  // why\n  1\n]", 0, "[\n  // why\n]"),
        ("[\n  1, // one\n  2, // two\n  3\n]", 1, "[\n  1, // one\n  // two\n  3\n]"),
        ("[\n  1,\n  2,\n  3\n]", 0, "[\n  2,\n  3\n]"),
        ("[\n  1, // one\n  2\n]", 1, "[\n  1 // one\n]"),
        ("[\n  1, // one\n  2]", 1, "[\n  1 // one\n]"),
        ("[\n  1,\n  2,\n]", 1, "[\n  1,\n]"),
        ("[\n  1\n  ,2\n]", 1, "[\n  1\n  \n]"),
    ],
)
def test_an_item_is_removed_and_comments_stay(text: str, index: int, after: str) -> None:
    """A comment is a person's, wherever it stands."""
    made = jsonc.remove(text, jsonc.parse(text), index)
    assert made.replace(" \n", "\n") == after.replace(" \n", "\n")
    expected = jsonc.parse(text).value
    del expected[index]
    assert jsonc.parse(made).value == expected


def test_a_value_is_replaced_where_it_stands() -> None:
    """On one line or on several, as it was."""
    root = jsonc.parse(COMMENTED)
    items, model = root.get("list"), root.get("model")
    assert items is not None
    assert model is not None
    assert jsonc.replace(COMMENTED, model, "sonnet") == COMMENTED.replace('"opus"', '"sonnet"')
    assert '"list": [\n        7\n    ],' in jsonc.replace(COMMENTED, items, [7])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 2, 4, "\t"]), VALUES, st.data())
def test_any_value_survives_every_edit(value: Any, indent: int | str | None, new: Any, data: st.DataObject) -> None:
    """Adding, replacing and removing say exactly what they should, in every container of any text."""
    text = json.dumps(value, indent=indent, ensure_ascii=data.draw(st.booleans()))
    if indent is not None and data.draw(st.booleans()):
        text = text.replace("\n", " // note\n")
    node = data.draw(st.sampled_from(_nodes(jsonc.parse(text))))
    swapped = jsonc.replace(text, node, new)
    assert new in [other.value for other in _nodes(jsonc.parse(swapped)) if other.start == node.start]
    if node.kind == "scalar":
        return
    made = jsonc.add(text, node, "new key" if node.kind == "object" else "", new)
    count = len(node.entries)
    grown = _same(jsonc.parse(made), node)
    assert [entry.node.value for entry in grown.entries] == [*(entry.node.value for entry in node.entries), new]
    back = jsonc.remove(made, grown, count)
    assert jsonc.parse(back).value == jsonc.parse(text).value
    if count:
        assert back == text


def _same(root: jsonc.JsonValue, wanted: jsonc.JsonValue) -> jsonc.JsonValue:
    """The node of another tree that stands in the same place: an edit at its end moves no start before it."""
    return next(node for node in _nodes(root) if node.start == wanted.start and node.kind == wanted.kind)


def _nodes(root: jsonc.JsonValue) -> list[jsonc.JsonValue]:
    """A node and all below it."""
    return [root, *(node for entry in root.entries for node in _nodes(entry.node))]


@given(st.text(alphabet='{}[]",:/*\\ \n1tn', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but `Broken` comes out of a text that is not JSON."""
    try:
        root = jsonc.parse(text)
    except jsonc.InvalidJson:
        return
    assert jsonc.parse(text[root.start : root.end]).value == root.value
