"""JSON for hooks: the same as `json`, for whatever it is given."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.agents import light_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_what_json_writes_is_read(value: object, indent: int | None, is_ascii: bool) -> None:  # noqa: FBT001
    """In any of its forms."""
    assert light_json.loads(json.dumps(value, indent=indent, ensure_ascii=is_ascii)) == value


@given(st.text(alphabet='{}[]",:\\ \n0123456789.eE+-truefalsn', max_size=40))
def test_what_json_refuses_is_refused(text: str) -> None:
    """With the same kind of error, and nothing else."""
    try:
        expected: object = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            light_json.loads(text)
    else:
        assert light_json.loads(text) == expected


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_a_flat_object_comes_back(fields: dict[str, str | int]) -> None:
    """In one line of ASCII."""
    line = light_json.flat(fields)
    assert json.loads(line) == fields
    assert line.isascii()
    assert "\n" not in line


def test_depth_is_an_error_that_can_be_caught() -> None:
    """Not the end of the process."""
    with pytest.raises(RecursionError):
        light_json.loads("[" * 200_000)


@pytest.mark.parametrize("text", ["", "{", '{"a"', '{"a": "b', "[1,", '"\\x"', "nul", "{1: 2}", "[1] 2", '"a\nb"'])
def test_what_is_broken_is_an_error_also_before_json_was_imported(text: str) -> None:
    """The scanner leaves its error to a module that is not there."""
    program = (
        "import sys; from clan_learnings.agents.light_json import loads\n"
        "try: loads(sys.argv[1])\n"
        "except ValueError: print('refused', 'json' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, text], capture_output=True, text=True, check=True)
    assert done.stdout == "refused False\n"


def test_regular_expressions_are_not_imported() -> None:
    """Which is what this module is for."""
    program = "import sys; before = set(sys.modules); import clan_learnings.agents.light_json; print({'re', 'json'} & set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_python_without_these_functions_uses_json() -> None:
    """Slower, and the same."""
    program = (
        "import sys; sys.modules['_json'] = None; from clan_learnings.agents import light_json as light; "
        """print(light.loads('{"a": [1, "b"]}'), light.flat({"c": "d"}))"""
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == """{'a': [1, 'b']} {"c": "d"}\n"""
