"""Reads the feedback of users: a thumb, stars or a word."""

from __future__ import annotations

import math
from enum import StrEnum

from answerkey.cases.traces.families import NAMES

_UP = frozenset(NAMES["feedback"]["up"])
_DOWN = frozenset(NAMES["feedback"]["down"])
# Stars: 4 and 5 of 5 are praise, 1 and 2 are blame, 3 is neither.
_FEWEST_UP = 4
_MOST_DOWN = 2


class Feedback(StrEnum):
    """A user's judgement of an answer; the label of the case is 1 or 0."""

    UP = "up"
    DOWN = "down"

    @property
    def label(self) -> int:
        return 1 if self is Feedback.UP else 0


def read_feedback(value: object) -> Feedback | None:
    """The feedback that a cell, an attribute or a score holds; None where it says neither.

    >>> read_feedback("👎"), read_feedback(5), read_feedback(0.0)
    (<Feedback.DOWN: 'down'>, <Feedback.UP: 'up'>, <Feedback.DOWN: 'down'>)
    """
    if value is None:
        return None
    # Before the numbers: True is an int in Python.
    if isinstance(value, bool):
        return Feedback.UP if value else Feedback.DOWN
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _UP:
            return Feedback.UP
        if word in _DOWN:
            return Feedback.DOWN
        try:
            value = float(word)
        except ValueError:
            return None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return _read_number(value)


def _read_number(number: float) -> Feedback | None:
    """A thumb is -1, 0 or 1, a mean lies between; larger numbers are stars."""
    if number <= 0:
        return Feedback.DOWN
    if number <= 1:
        # A mean of one thumb up and one down.
        if number == 0.5:
            return None
        if number > 0.5:
            return Feedback.UP
        return Feedback.DOWN
    if number >= _FEWEST_UP:
        return Feedback.UP
    if number <= _MOST_DOWN:
        return Feedback.DOWN
    return None
