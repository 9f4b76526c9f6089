"""One table in a TOML file: put in at the end, taken out wherever it is, and nothing else touched."""

import tomllib

import pytest

from clan_learnings.agents import toml_table
from clan_learnings.agents.settings_entries import CannotEdit

PATH = ("mcp_servers", "clan-mesh")
VALUES = {"command": "/opt/my tools/mesh", "args": ["mcp"], "quick": True}
TABLE = '[mcp_servers.clan-mesh]\ncommand = "/opt/my tools/mesh"\nargs = ["mcp"]\nquick = true\n'

OTHERS = [
    "",
    'model = "x"\n',
    "# only a comment",
    'model = "x" # why\n\n\n[mcp_servers.other] # mine\ncommand = "y"\n\n# at the end\n',
    '[mcp_servers]\n[mcp_servers.other]\ncommand = "y"',
    '[[hooks.Stop]]\nmatcher = """\n[mcp_servers.clan-mesh]\n"""\n',
    'list = [\n  "[mcp_servers.clan-mesh]",\n  "]",\n]\n[projects."/src/a b"]\ntrust_level = "trusted"\n',
    "at = 2026-11-16T10:00:00Z\nbig = 1_000\nnan = nan\n",
    'a = "x"\r\n[b]\r\nc = 1\r\n',
    "\ufeffa = 1\n",
]


@pytest.mark.parametrize("text", OTHERS)
def test_in_and_out_gives_the_same_bytes(text: str) -> None:
    """The table comes last, and what stood there before reads as it did."""
    made = toml_table.put(text, PATH, VALUES)
    assert made.startswith(text)
    assert made.replace("\r\n", "\n").endswith(TABLE)
    assert toml_table.find(made, PATH) == VALUES
    assert toml_table.put(made, PATH, VALUES) == made
    assert toml_table.take(made, PATH).rstrip() == text.rstrip()
    assert toml_table.take(text, PATH) == text


def test_a_table_in_the_middle_is_taken_out_with_those_inside_it() -> None:
    """What a person added to our table goes with it; the comments before the next table stay."""
    text = f'a = 1\n\n{TABLE}\n[mcp_servers.clan-mesh.env]\nX = "1"\n\n# of the next\n[z]\ny = 1\n'
    assert toml_table.take(text, PATH) == "a = 1\n\n# of the next\n[z]\ny = 1\n"


def test_a_table_that_is_there_is_brought_up_to_date() -> None:
    """Only what differs is written, where it stands; other keys, comments and order stay."""
    text = '[mcp_servers."clan-mesh"]\nstartup_timeout_sec = 20 # slow disk\ncommand = "/old/mesh"\nargs = ["mcp"]\n\n[z]\n'
    made = toml_table.put(text, PATH, VALUES)
    assert made == (
        '[mcp_servers."clan-mesh"]\nquick = true\nstartup_timeout_sec = 20 # slow disk\n'
        'command = "/opt/my tools/mesh"\nargs = ["mcp"]\n\n[z]\n'
    )
    assert toml_table.put("[mcp_servers.clan-mesh]", PATH, {"a": "b"}) == '[mcp_servers.clan-mesh]\na = "b"\n'


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { clan-mesh = { command = "/old/mesh" } }\n',
        'mcp_servers.clan-mesh.command = "/old/mesh"\n',
        '[mcp_servers]\nclan-mesh = { command = "/old/mesh" }\n',
        '[mcp_servers.clan-mesh]\ncommand = """\n/old/mesh"""\n',
    ],
)
def test_what_cannot_be_edited_safely_is_left(text: str) -> None:
    """Written in another way, it is for a person to change."""
    with pytest.raises(CannotEdit, match="cannot edit safely"):
        toml_table.put(text, PATH, VALUES)
    try:
        out = toml_table.take(text, PATH)
    except CannotEdit:
        return
    assert tomllib.loads(out) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = ", "it is not TOML: "),
        ("a = 1\na = 2", "it is not TOML: "),
        ('mcp_servers = "x"\n', "mcp_servers is not a table"),
        ("[mcp_servers]\nclan-mesh = 3\n", "mcp_servers.clan-mesh is not a table"),
        ("mcp_servers = {}\n", "cannot edit safely"),
    ],
)
def test_what_is_broken_or_of_another_shape_is_refused(text: str, why: str) -> None:
    """With a reason a person understands."""
    with pytest.raises(CannotEdit, match=why):
        toml_table.put(text, PATH, VALUES)
