"""Thumbs, stars and words of users as labels."""

from __future__ import annotations

import pytest

from answerkey.cases.feedback import Feedback, read_feedback


@pytest.mark.parametrize(
    "value", ["up", "👍", " Thumbs_Up ", "yes", True, 1, 1.0, 4, 5, "5", 0.9, "helpful"]
)
def test_praise(value: object) -> None:
    assert read_feedback(value) is Feedback.UP


@pytest.mark.parametrize("value", ["down", "👎", "no", False, 0, -1, 0.0, 2, "1.5", 0.2])
def test_blame(value: object) -> None:
    assert read_feedback(value) is Feedback.DOWN


@pytest.mark.parametrize("value", [None, "", "maybe", 3, 0.5, float("nan"), float("inf"), [1], {}])
def test_neither(value: object) -> None:
    assert read_feedback(value) is None


def test_labels_are_one_and_zero() -> None:
    assert (Feedback.UP.label, Feedback.DOWN.label) == (1, 0)
