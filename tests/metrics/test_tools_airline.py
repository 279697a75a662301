"""Real conversations of an airline agent: the arguments tell solved tasks from unsolved ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import answerkey as ak


def _auroc(values: Sequence[float], labels: Sequence[bool]) -> float:
    solved = [value for value, is_solved in zip(values, labels, strict=True) if is_solved]
    unsolved = [value for value, is_solved in zip(values, labels, strict=True) if not is_solved]
    wins = sum((a > b) + 0.5 * (a == b) for a in solved for b in unsolved)
    return wins / (len(solved) * len(unsolved))


@pytest.mark.slow
def test_arguments_predict_solved_tasks_and_name_the_wrong_call(shared_data: Path) -> None:
    path = shared_data / "tools" / "airline.jsonl"
    if not path.is_file():
        pytest.skip("no conversations of the airline agent beside the repository")
    rows = {row["id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}
    run = ak.evaluate(path, metrics=["tool_arguments", "tool_f1"], progress=False)
    values: list[float] = []
    labels: list[bool] = []
    named: list[bool] = []
    for case_id, row in rows.items():
        scores = run[case_id].scores
        is_solved = row["reward"] == 1
        if scores["tool_arguments"].value is not None:
            values.append(scores["tool_arguments"].value)
            labels.append(is_solved)
        if not is_solved:
            named.append(bool(scores["tool_arguments"].reason or scores["tool_f1"].reason))
    assert _auroc(values, labels) >= 0.8
    assert sum(named) / len(named) >= 0.9
