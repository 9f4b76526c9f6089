"""What the documents lead to and promise: links that lead somewhere, an example that is in the tour, and no package that is on no index."""

import re
from pathlib import Path

import pytest

from scripts.transcript import split

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "plugins/**/*.md", "bench/*.md")
    for path in ROOT.glob(pattern)
)
_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_INSTALLED = re.compile(r"""(?:pip|pipx|uv tool|uv pip) install (?:-\S+ )*['"]?clan[-_]mesh|\buvx clan""")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_to_a_file_leads_to_one(document: str) -> None:
    path = ROOT / document
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    links = [link.partition("#")[0] for link in _LINK.findall(text) if "://" not in link]
    assert [link for link in links if link and not (path.parent / link).exists()] == []


def test_the_readme_is_a_first_screen_whose_example_is_in_the_tour() -> None:
    """The tour is run, so its words are true; the README says the same in fewer lines, on one machine."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    tour = [
        piece for piece in split((ROOT / "docs" / "TOUR.md").read_text(encoding="utf-8")) if isinstance(piece, list)
    ]
    shown = {(step.command.partition(" ")[2], step.output) for steps in tour for step in steps}
    steps = [step for piece in split(text) if isinstance(piece, list) for step in piece]
    assert steps
    for step in steps:
        assert (step.command.removeprefix("mesh "), step.output) in shown, step.command


def test_nothing_tells_people_to_install_it_from_an_index() -> None:
    """It is on none: whoever takes the name there would be installed."""
    texts = [*DOCUMENTS, "Makefile", "pyproject.toml"]
    texts += [
        str(path.relative_to(ROOT))
        for top in ("mesh", "clan_learnings", "peers")
        for path in (ROOT / top).rglob("*.py")
    ]
    assert [name for name in texts if _INSTALLED.search((ROOT / name).read_text(encoding="utf-8"))] == []
    assert _INSTALLED.search("next: pip install 'clan-mesh[semantic]'")
    assert _INSTALLED.search("pipx install --force clan-mesh")
