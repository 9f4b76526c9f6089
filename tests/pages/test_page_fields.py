"""Front matter and fields: nothing is lost on the way there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.pages.page_fields import FIELD_BYTES, FIELD_LINES, PageFields, is_field, join, split

NOTHING = PageFields({}, ())
line = st.sampled_from(
    [
        "---", "---", "---", "...", "a: 1", "b:", "c: # note", "a: 2", "- x", "  - y", "# why", "", "  deep: 1", "\ttab: 1",
        "text", "k:v", "--- x: 1", "größe: 3", "key with blanks: 1", "d : 1", "\r", "a: 1\r", "-", "'q': 1", "e: \u2028", ":",
    ]
)  # fmt: skip
texts = st.one_of(
    st.text(), st.lists(line).map(lambda lines: "---\n" + "\n".join(lines) + "\n"), st.lists(line).map("\n".join)
)
fronts = st.builds(
    PageFields,
    st.dictionaries(
        st.sampled_from("abcd"),
        st.one_of(st.text(), st.sampled_from(["a: 1\n", "b: 1\n", "c: |\n  x\n\n", "d:\n---\n"])),
    ),
    st.lists(st.sampled_from("abcdef")).map(tuple),
)


@given(texts)
def test_what_is_split_joins_to_the_same_text(text: str) -> None:
    """For any text at all."""
    front, body = split(text)
    assert join(front, body) == text
    assert tuple(front.fields) == front.order
    assert all(is_field(key, source) for key, source in front.fields.items())


@given(fronts, texts)
def test_fields_of_others_never_become_text(front: PageFields, body: str) -> None:
    """Whatever a field holds, the body behind it is the body, and the sound fields are read again."""
    text = join(front, body)
    sound = {key: source for key, source in front.fields.items() if is_field(key, source)}
    assert text.endswith(body)
    if sound:
        again, rest = split(text)
        assert rest == body
        assert again.fields == sound
    else:
        assert text == body


def test_each_key_keeps_its_lines() -> None:
    """Comments, lists, block texts and blank lines stay with the key above; a comment at the top with the first key."""
    fields = {
        "title": "# about this page\ntitle: A page # short\n",
        "tags": "tags:\n- one\n  # inside\n- two\n\n",
        "text": "text: |\n  first\n\n  second: 2\n# end\n",
        "key with blanks": "key with blanks: 1\n",
    }
    text = "---\n" + "".join(fields.values()) + "---\nbody\n---\nmore: x\n"
    assert split(text) == (PageFields(fields, tuple(fields)), "body\n---\nmore: x\n")


def test_keys_come_in_order_and_the_others_sorted_behind() -> None:
    """A key that is not in the order, or only in the order, is no trouble."""
    front = PageFields({"z": "z: 1\n", "b": "b: 1\n", "a": "a: 1\n", "m": "m: 1\n"}, ("m", "gone", "b", "m"))
    assert join(front, "body\n") == "---\nm: 1\nb: 1\na: 1\nz: 1\n---\nbody\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body\n",
        "---\n",
        "---\n---\nbody\n",
        "---\na: 1\n",
        "---\na: 1\n---",
        "---\na: 1\n...\nbody\n",
        "---\na: 1\na: 2\n---\n",
        "---\na: 1\nA line of text\n---\n",
        "---\n\ta: 1\n---\n",
        "---\na:\n\t- x\n---\n",
        "---\n  a: 1\n---\n",
        "---\n- a\n---\n",
        "---\n# only\n\n---\n",
        "---\na:1\n---\n",
        "--- \na: 1\n---\n",
        "---\r\na: 1\r\n---\r\n",
        "\n---\na: 1\n---\n",
        f"---\n{'k' * 101}: 1\n---\n",
        "---\na:\n" + "- x\n" * FIELD_LINES + "---\n",
        "---\na: " + "x" * FIELD_BYTES + "\n---\n",
    ],
)
def test_what_is_no_list_of_fields_stays_text(text: str) -> None:
    """No front matter, or some that cannot be read."""
    assert split(text) == (NOTHING, text)


def test_fields_of_two_writers_are_read_however_many_they_are() -> None:
    """There is no limit for all together: a merge must not turn fields into text."""
    fields = {f"k{number:04}": f"k{number:04}: {'x' * 100}\n" for number in range(1000)}
    assert split(join(PageFields(fields, ()), "body\n")) == (PageFields(fields, tuple(fields)), "body\n")
