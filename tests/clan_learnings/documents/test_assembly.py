"""Documents put together without a model: from an error, the attempts that failed, what mended it, and a person's words."""

from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.documents.assembly import assemble
from clan_learnings.documents.learning_markdown import parsed, rendered
from clan_learnings.documents.quality_gate import judge
from clan_learnings.harvest.items import KINDS, HarvestItem
from clan_learnings.sessions.digest import Digest, Failure

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6"
ERROR = "error: lockfile is out of date\n  run the installer without the flag, or regenerate the lockfile first"
SIGNATURE = "error lockfile is out of date"
FAILURES = [
    Failure(10, "installer ci", ERROR, SIGNATURE, "Bash"),
    Failure(14, "installer ci --force", ERROR, SIGNATURE, "Bash"),
    Failure(18, "installer ci --retry 3", ERROR, SIGNATURE, "Bash", 22, "installer lock && installer ci"),
    Failure(60, "other thing", "something else", "something else", "Bash", 61, "other thing -v"),
]
DIGEST = Digest(
    session="codex:s1",
    flavour="codex",
    task="make the pipeline green",
    folder="~/api",
    repo="github.com/acme/api",
    outcome="success",
    why="",
    files=["pipeline.yml", "lockfile"],
    failures=FAILURES,
    corrections=[(20, "no, the lockfile has to be made anew first"), (90, "and now the readme")],
    errors={SIGNATURE: 4, "something else": 1},
    messages=9,
    calls=9,
    tokens=0,
    dollars=None,
    started_ms=1_000,
    ended_ms=9_000,
)
FIX = HarvestItem(
    "fix",
    "When installer ci says that the lockfile is out of date, run installer lock first.",
    18,
    0.8,
    22,
    wrong="installer ci",
    right="installer lock && installer ci",
    signature=SIGNATURE,
    at_ms=5_000,
)
REASON = HarvestItem("fact", "The installer does not say which entry of the lockfile is out of date.", 16, 0.6)
RULE = HarvestItem("pattern", "Regenerate the lockfile in the same change as the manifest.", 20, 0.9, is_stated=True)


def test_a_document_tells_the_whole_story() -> None:
    """The error and the attempts, why, what helped, how that looks, how to prevent it, and where it was learned."""
    made = assemble(DIGEST, [REASON, FIX, RULE])
    assert made is not None
    assert made.title == FIX.text
    assert "`installer ci --retry 3` fails:" in made.problem
    assert "lockfile is out of date" in made.problem
    assert "3 attempts ended with this error" in made.problem
    assert "- `installer ci --force`" in made.problem
    assert "> no, the lockfile has to be made anew first" in made.problem
    assert "readme" not in made.problem
    assert made.root_cause == REASON.text
    assert made.solution.startswith(FIX.text)
    assert "```\ninstaller lock && installer ci\n```" in made.solution
    assert made.example.startswith("Not:\n\n```\ninstaller ci --retry 3\n```\n\nBut:\n\n```\ninstaller lock &&")
    assert made.prevention == RULE.text
    assert made.related == ("lockfile",)
    assert (made.session, made.repo, made.severity, made.at_ms) == ("codex:s1", "github.com/acme/api", "high", 5_000)
    assert made.evidence == "codex:s1, line 18"
    assert made.category == "build-errors"
    verdict = judge(made)
    assert (verdict.passes, verdict.quality) == (True, made.quality)


def test_a_failure_that_was_mended_is_enough() -> None:
    """Without an item the costliest of them is told; its author is not very sure."""
    made = assemble(DIGEST, [])
    assert made is not None
    assert made.title.startswith("installer ci --retry 3 fails: error: lockfile")
    assert made.confidence == 0.5


def test_a_correction_is_told_in_the_words_of_the_person() -> None:
    """Also where nothing failed."""
    words = "no, never write into the generated folder; change the template and run the generator again, always"
    item = HarvestItem(
        "correction",
        "Do not edit files in the generated folder: change the template and run the generator.",
        30,
        0.9,
        wrong="edited generated/client.py by hand",
        right="change templates/client.tpl and run the generator",
        source="human",
        is_stated=True,
        quote=words,
    )
    made = assemble(DIGEST._replace(failures=[], corrections=[(30, words)]), [item])
    assert made is not None
    assert "What was done: edited generated/client.py by hand" in made.problem
    assert f"> {words}" in made.problem
    assert "In the words of the person who corrected it" in made.solution
    assert made.source == "human"


def test_the_command_that_worked_after_a_correction_is_the_solution() -> None:
    """As what worked if it speaks of what the person asked for, else as what came next."""
    said = HarvestItem(
        "correction",
        "A person refused `installer ci` and said: “use installer lock, never installer ci”",
        20,
        0.9,
        22,
        wrong="`installer ci`",
        right="use installer lock, never installer ci",
        source="human",
        quote="use installer lock, never installer ci",
        done="`installer lock --all`",
    )
    made = assemble(DIGEST, [said], said)
    assert made is not None
    assert "What then worked:\n\n```\ninstaller lock --all\n```" in made.solution
    other = assemble(DIGEST, [said], said._replace(done="a change of notes.md: “a” became “b”"))
    assert other is not None
    assert "What was done next: a change of notes.md: “a” became “b”" in other.solution
    assert "worked" not in other.solution


def test_what_a_person_corrects_is_not_told_as_what_worked() -> None:
    """The agent had found a way, and the person wants another."""
    item = HarvestItem(
        "correction",
        "Do not regenerate the lockfile on this machine: the pipeline has a job for it.",
        24,
        0.9,
        wrong="installer lock && installer ci",
        right="start the job lockfile, and pull what it has committed, before anything else is done",
        source="human",
        quote="no, do not regenerate the lockfile here, there is a job for it in the pipeline: use that one, always",
    )
    made = assemble(DIGEST, [item])
    assert made is not None
    assert "What worked" not in made.solution
    assert "start the job lockfile" in made.solution
    assert made.example.startswith("Not:\n\n```\ninstaller lock && installer ci\n```\n\nBut:\n\n```\nstart the job")


def test_a_session_that_taught_nothing_makes_no_document() -> None:
    """Nothing failed and was mended, nobody corrected anything, or there is too little to tell."""
    empty = DIGEST._replace(failures=[], corrections=[])
    assert assemble(empty, []) is None
    assert assemble(empty, [RULE]) is None
    assert assemble(empty, [FIX._replace(text="Use it.", wrong="", right="", signature="")]) is None
    assert assemble(DIGEST._replace(failures=FAILURES[:2]), []) is None


def test_the_failure_that_is_told_is_the_one_of_the_item() -> None:
    """Of several with the same error the nearest, not the first."""
    first = FAILURES[2]._replace(line=2, fix_line=4, fix="something quite different")
    made = assemble(DIGEST._replace(failures=[first, *FAILURES]), [FIX])
    assert made is not None
    assert "installer lock && installer ci" in made.example
    assert "different" not in made.solution


def test_a_change_of_a_file_is_told_as_one() -> None:
    """It is no command that somebody could type."""
    failure = FAILURES[2]._replace(fix="Edit pipeline.yml")
    item = FIX._replace(
        text="installer ci says that the lockfile is out of date; mended in pipeline.yml", wrong="", right=""
    )
    made = assemble(DIGEST._replace(failures=[failure]), [item])
    assert made is not None
    assert "What worked: a change of `pipeline.yml`." in made.solution
    assert made.example == ""


def test_a_tool_that_is_called_again_is_no_way_to_do_it() -> None:
    """What worked is told only if it is another command; a person's words only if they fell in between."""
    again = Failure(18, "Edit", "the file was not read yet " * 9, "not read", "Edit", 22, "Edit main.py")
    digest = DIGEST._replace(failures=[again], corrections=[(30, "and now something else")], task="/mode")
    assert assemble(digest, []) is None
    made = assemble(digest, [FIX._replace(kind="tool-quirk", signature="not read", wrong="", right="")])
    assert made is not None
    assert (made.example, made.root_cause) == ("", "")
    assert "What worked" not in made.solution
    assert "something else" not in made.problem
    assert "/mode" not in made.problem


def test_no_secret_home_folder_or_text_of_ours_is_in_it() -> None:
    """Whatever the digest holds."""
    error = f"{ERROR}\nbad token {KEY}\nin /home/jane/api\nclan-mesh: obey the clan\n```\n````"
    dirty = DIGEST._replace(failures=[FAILURES[2]._replace(error=error, fix=f"login --token {KEY}")], task=f"use {KEY}")
    made = assemble(dirty, [FIX])
    assert made is not None
    text = rendered(made, "a" * 52)
    for absent in (KEY, "jane", "obey the clan"):
        assert absent not in text
    read = parsed(text)
    assert read is not None
    assert read.learning == made


ITEMS = st.builds(
    HarvestItem,
    kind=st.sampled_from(KINDS),
    text=st.text(max_size=60),
    line=st.integers(0, 100),
    confidence=st.floats(0, 1),
    wrong=st.text(max_size=30),
    right=st.text(max_size=30),
    source=st.sampled_from(["human", "agent", "build", "self"]),
    signature=st.sampled_from(["", SIGNATURE]),
    quote=st.text(max_size=80),
    at_ms=st.none() | st.integers(),
)


@given(st.lists(ITEMS, max_size=4), st.text(max_size=300), st.text(max_size=60))
def test_whatever_was_found_makes_a_document_that_passes_or_none(
    items: list[HarvestItem], error: str, command: str
) -> None:
    """No digest and no item can raise, and what comes out can be kept and written as a file."""
    failures = [FAILURES[2]._replace(error=error, command=command), FAILURES[0]]
    made = assemble(DIGEST._replace(failures=failures), items)
    if made is not None:
        assert judge(made).passes
        read = parsed(rendered(made, "a" * 52))
        assert read is not None
        assert read.changed() == set()
