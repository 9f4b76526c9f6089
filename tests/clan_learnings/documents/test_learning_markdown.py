"""Documents as Markdown: what is written comes back as it was, what a person changes comes back changed, and nothing else counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.context.injected_mark import without_ours
from clan_learnings.documents import front_matter
from clan_learnings.documents.learning import Learning, slug_of, tidy
from clan_learnings.documents.learning_markdown import CHANGEABLE, digits, parsed, rendered, with_id
from tests.clan_learnings.documents.learned import GOOD, TEXTS, WORDS, learnings

ID = "a" * 52
EXPECTED = """---
id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
category: build-errors
severity: high
tags: [uploads, token]
source: "codex:s1"
by: agent
repo: github.com/acme/api
date: 2025-11-17
quality: 0.96
confidence: 0.8
evidence: "codex:s1, line 12"
base: """


def test_a_file_reads_like_a_document() -> None:
    """Front matter, title, sections in their order, between our marks."""
    text = rendered(GOOD, ID)
    assert text.startswith(EXPECTED)
    headings = [line for line in text.split("\n") if line.startswith("#")]
    assert headings == [
        "# Uploads fail with 403 after an hour", "## Problem", "## Root cause", "## Solution", "## Example", "## Prevention",
        "## Related",
    ]  # fmt: skip
    assert text.endswith("- scripts/upload.sh\n\n<!-- /clan-mesh rendered -->\n")


def test_a_file_that_an_agent_reads_is_known_as_ours() -> None:
    """A harvester takes the whole document out of a transcript; the front matter says nothing that could be learned."""
    left = without_ours(rendered(GOOD, ID))
    assert "Forbidden" not in left
    assert "Uploads" not in left


@given(learnings(), st.sampled_from(["", ID]))
def test_what_is_written_comes_back_as_it_was(learning: Learning, record: str) -> None:
    """Every field that a file has, whatever is in it; and nobody has changed anything."""
    read = parsed(rendered(learning, record))
    assert read is not None
    for name in CHANGEABLE:
        assert digits(getattr(read.learning, name)) == digits(getattr(learning, name)), name
    assert (read.learning.session, read.learning.source, read.learning.agent) == (
        learning.session,
        learning.source,
        learning.agent,
    )
    assert read.id == record
    if record:
        assert read.changed() == set()


@given(learnings())
def test_writing_what_was_read_gives_the_same_bytes(learning: Learning) -> None:
    """Once read, a file is stable."""
    read = parsed(rendered(learning, ID))
    assert read is not None
    again = parsed(rendered(read.learning, ID))
    assert again is not None
    assert rendered(again.learning, ID) == rendered(read.learning, ID)


def test_what_a_person_changes_is_known_by_field() -> None:
    """A section, a fact, a section that was deleted."""
    text = rendered(GOOD, ID)
    text = text.replace("valid for an hour", "valid for 60 minutes").replace("severity: high", "severity: low")
    start = text.index("## Prevention")
    read = parsed(text[:start] + text[text.index("## Related") :])
    assert read is not None
    assert read.changed() == {"root_cause", "severity", "prevention"}
    assert read.learning.root_cause == "The token of the registry is valid for 60 minutes."
    assert read.learning.prevention == ""


def test_a_fact_that_is_wrong_or_gone_counts_as_not_said() -> None:
    """It is told, and changes nothing."""
    text = rendered(GOOD, ID).replace("quality: 0.96", "quality: great").replace("severity: high", "severity: huge")
    text = text.replace("tags: [uploads, token]\n", "").replace("confidence: 0.8", "confidence: 7")
    read = parsed(text)
    assert read is not None
    assert read.changed() == set()
    assert len(read.problems) == 3


def test_a_file_that_a_person_wrote_is_understood() -> None:
    """Other ways to write a front matter, no marks, headings in any case."""
    text = (
        "\ufeff---\r\ntags:\r\n  - one\r\n  - 'it''s two'\r\nSeverity: Critical # really\r\nauthor: jane\r\n---\r\n"
        "# A title\r\n\r\n##  problem:\r\nbad\r\n## Solution\r\ngood\r\n### a part\r\nmore\r\n## Notes\r\nstay here\r\n"
    )
    read = parsed(text)
    assert read is not None
    assert (read.learning.title, read.learning.tags, read.learning.severity) == (
        "A title",
        ("one", "it's two"),
        "critical",
    )
    assert (read.learning.problem, read.learning.solution) == ("bad", "good\n### a part\nmore\n## Notes\nstay here")
    assert (read.id, read.is_ours) == ("", False)
    assert read.problems == ("author is nothing that a learning has",)


FENCED = """# A title

## Problem
The template was wrong:

```markdown
# Title
## Solution
not this
```

## Solution
~~~~
```
## Prevention
~~~
## Root cause
~~~~
Write it anew.
"""


def test_headings_in_a_block_of_code_are_code() -> None:
    """Whatever fence is around them, they begin no section, and come back as they were."""
    read = parsed(FENCED)
    assert read is not None
    assert read.said == {"title", "problem", "solution"}
    assert read.learning.problem == "The template was wrong:\n\n```markdown\n# Title\n## Solution\nnot this\n```"
    assert read.learning.solution == "~~~~\n```\n## Prevention\n~~~\n## Root cause\n~~~~\nWrite it anew."
    again = parsed(rendered(read.learning, ID))
    assert again is not None
    assert again.learning.problem == read.learning.problem
    assert "\n## Root cause\n" in rendered(read.learning, ID)


def test_fence_that_nothing_closes_hides_no_section() -> None:
    """A person forgot the end of a block: what stands under the next heading is still its section."""
    read = parsed("## Problem\n```\nmake: *** [all] Error 2\n\n## Solution\nInstall the headers.\n")
    assert read is not None
    assert read.learning.problem == "```\nmake: *** [all] Error 2"
    assert read.learning.solution == "Install the headers."


def test_fences_that_two_sections_leave_open_do_not_pair() -> None:
    """Each is written with a backslash, so that the heading between them stays one."""
    open_ended = Learning(problem="```\nbad", solution="```\ngood")
    text = rendered(open_ended, ID)
    read = parsed(text)
    assert read is not None
    assert (read.learning.problem, read.learning.solution) == ("```\nbad", "```\ngood")
    assert text.count("\\```") == 2


@pytest.mark.parametrize(
    "text", ["", "# README\n\nhello", "---\ntitle: x\n---\n", "---\n" * 500, "\0", "## Problems\n"]
)
def test_a_file_that_is_no_learning_is_none(text: str) -> None:
    """It is left alone by whoever reads a folder."""
    assert parsed(text) is None


@given(TEXTS | st.text(max_size=200), st.lists(st.tuples(WORDS, TEXTS), max_size=4))
def test_any_file_is_read_without_an_exception(body: str, values: list[tuple[str, str]]) -> None:
    """Hostile files: whatever they say, an id is one or empty, and every text is tidy."""
    front = "\n".join(f"{name}: {value}" for name, value in values)
    for text in (body, f"---\n{front}\n---\n## Problem\n{body}", f"---\nid: {body}\n{front}\n---\n## Solution\n{body}"):
        read = parsed(text)
        if read is not None:
            assert read.id == "" or (len(read.id) == 52 and read.id.isalnum())
            assert tidy(read.learning.problem) == read.learning.problem
            assert read.learning.severity in ("", "low", "medium", "high", "critical")


@given(st.dictionaries(st.sampled_from("abcdef"), WORDS | st.lists(WORDS, max_size=3), max_size=5))
def test_a_front_matter_comes_back_as_it_was(values: dict[str, str | list[str]]) -> None:
    """Texts of one line and lists of them."""
    flat = {
        key: " ".join(value.split())
        if isinstance(value, str)
        else [one for each in value if (one := " ".join(each.split()))]
        for key, value in values.items()
    }
    flat = {
        key: tidy(value) if isinstance(value, str) else [tidy(one) for one in value if tidy(one)]
        for key, value in flat.items()
    }
    read = front_matter.read(front_matter.written(flat))
    assert read.values == flat
    assert read.problems == []


@pytest.mark.parametrize("start", ["", "---\ntags: [a]\n---\n", "---\nid: old\ntags: [a]\n---\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_id_goes_into_a_file_that_otherwise_stays_as_it_is(start: str, end: str) -> None:
    """All that the person wrote is still there, and the file knows its record."""
    text = (start + "# T\n\n## Problem\nbad\n## Solution\n good \n").replace("\n", end)
    before = parsed(text)
    assert before is not None
    linked = with_id(text, ID, before.learning)
    read = parsed(linked)
    assert read is not None
    assert (read.id, read.changed(), read.learning) == (ID, set(), before.learning)
    body = "# T\n\n## Problem\nbad\n## Solution\n good \n".replace("\n", end)
    assert linked.endswith(body)
    assert with_id(linked, ID, before.learning) == linked


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Uploads fail with 403!", "uploads-fail-with-403"),
        ("../../etc/passwd", "etc-passwd"),
        ("Überfüllt", "uberfullt"),
        ("日本語", "learning"),
        ("", "learning"),
        ("CON", "con"),
        ("word " * 60, "-".join(["word"] * 12)),
        ("x" * 500, "x" * 60),
    ],
)
def test_a_title_becomes_a_safe_name(title: str, slug: str) -> None:
    """Small letters, digits and hyphens, whatever it was."""
    assert slug_of(title) == slug


@given(st.text(max_size=300))
def test_a_slug_is_always_one(title: str) -> None:
    """No dots, no slashes, never empty, never long."""
    slug = slug_of(title)
    assert 0 < len(slug) <= 60
    assert slug.isascii()
    assert slug.replace("-", "").isalnum()
    assert slug.strip("-") == slug
