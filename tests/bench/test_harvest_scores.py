"""The arithmetic of `bench harvest`, on a set made for it."""

import json
from pathlib import Path

from bench.harvest import given
from bench.harvest_scores import Cited, Label, Score, judge, labels_of


def test_items_and_labels_agree_one_to_one_within_three_lines() -> None:
    """The nearest pair first; a second item near the same label is wrong."""
    judged = judge(
        [Cited("fix", 10), Cited("fix", 12), Cited("fix", 20)],
        [Label("fix", 13), Label("fix", 24), Label("correction", 20)],
    )
    assert judged.verdicts == ["wrong", "hit", "wrong"]
    assert judged.by_kind == {"fix": Score(1, 2, 1), "correction": Score(0, 0, 1)}
    assert [label.line for label in judged.missed] == [24, 20]


def test_what_is_not_durable_counts_neither_way() -> None:
    """Neither a hit nor wrong, neither found nor missed."""
    labels = [Label("pitfall", 5, is_durable=False), Label("pitfall", 50, is_durable=False)]
    judged = judge([Cited("pitfall", 5)], labels)
    assert judged.verdicts == ["neutral"]
    assert judged.by_kind == {"pitfall": Score(0, 0, 0)}
    assert (judged.by_kind["pitfall"].precision, judged.by_kind["pitfall"].recall) == (None, None)


def test_a_trap_is_taken_by_its_very_line_unless_a_label_has_it_too() -> None:
    """Of any kind of item; one line beside is no trap."""
    items = [Cited("fix", 8), Cited("correction", 31), Cited("fix", 40)]
    judged = judge(items, [Label("fix", 40)], traps=[8, 30, 40])
    assert judged.traps == [8]


def test_labels_are_read_with_suspicion() -> None:
    """What is not well formed is left out."""
    entry = {
        "items": [{"kind": "fix", "evidence_line": 3, "durable": False}, {"kind": 4}, "x"],
        "traps": [{"line": 9}, {}],
    }
    assert labels_of(entry) == ([Label("fix", 3, is_durable=False)], [9])
    assert labels_of({}) == ([], [])


def test_any_set_can_be_measured(tmp_path: Path) -> None:
    """One small transcript with a refusal, its label, a trap, an outcome, and a file that is missing."""
    records = [
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"role": "user", "content": "add a license"}},
        {"type": "assistant", "uuid": "b", "sessionId": "s", "message": {"id": "m", "role": "assistant", "model": "x", "content": [{"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "/src/LICENSE", "content": "x"}}]}},
        {"type": "user", "uuid": "c", "sessionId": "s", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse our own name"}]}},
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    labels = [
        {
            "file": "a.jsonl",
            "flavor": "claude",
            "items": [{"kind": "correction", "evidence_line": 3}],
            "traps": [{"line": 1}],
            "outcome": {"result": "unclear"},
        },
        {"file": "gone.jsonl", "items": []},
    ]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    found = given(tmp_path, tmp_path / "labels.json")
    value = found.value()
    assert value["kinds"] == {"correction": {"precision": 1.0, "recall": 1.0, "hits": 1, "wrong": 0, "missed": 0}}
    assert value["flavours"] == {"claude": value["kinds"]}
    assert value["traps"] == {"taken": 0, "of": 1, "lines": []}
    assert value["outcomes"] == {"right": 1, "of": 1}
    assert value["notes"] == ["not there: gone.jsonl"]
    assert "correction       1.00    1.00     1      0       0" in found.render()
