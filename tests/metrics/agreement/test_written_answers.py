"""answer_agreement on the written answers of docs/validity.md: no change may make it much worse unseen."""

from __future__ import annotations

import numpy as np
import pytest
from tools.local_judge.measure import accuracy, auroc
from tools.local_judge.written_study import agreement, written_rows


@pytest.mark.parametrize(
    ("name", "least_accuracy", "least_auroc"),
    [("finance", 0.86, 0.93), ("trivia", 0.93, 0.91), ("quiz", 0.97, 0.98)],
)
def test_written_answers(name: str, least_accuracy: float, least_auroc: float) -> None:
    rows = written_rows(name)
    labels = np.array([row["label"] for row in rows], dtype=float)
    values, rule = agreement(rows)
    assert accuracy(labels, values) > least_accuracy
    assert accuracy(labels, values) > accuracy(labels, rule) - 0.005
    assert auroc(labels, values) > least_auroc


def test_refusals_are_not_taken_for_answers() -> None:
    refusals = [row for row in written_rows("finance") if row["kind"] == "refusal"]
    assert refusals
    assert agreement(refusals)[0].max() < 0.5
