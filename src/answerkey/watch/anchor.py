"""Anchor answers, judged again at each look: a changed judge is not a changed bot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

import msgspec

from answerkey.types import Outcome

# Share of all lives in which a judge that did not change may be called changed. It comes on top of
# the 5 % of the bot's series, and is small: a few flips of a noisy judge are usual.
ANCHOR_ALPHA = 0.01


class AnchorResult(msgspec.Struct, frozen=True):
    """How the anchor answers are judged now, compared with the first time."""

    answers: int
    stricter: int  # passed the first time, fail now
    milder: int
    is_changed: bool
    agreement: float | None = None  # with the labels of the file, where it has some

    def sentence(self) -> str:
        flips = f"{self.stricter} of {self.answers} anchor answers passed before and fail now"
        return f"{flips}, {self.milder} the other way round"


def compare_anchor(
    outcomes: Sequence[Outcome], first: Mapping[str, bool], look: int
) -> AnchorResult:
    """Compare the verdicts with the first ones by a sign test.

    The nth look may spend 1/(n(n+1)) of the error budget, which sums to all of it over any number
    of looks.
    """
    stricter = 0
    milder = 0
    labels: list[bool] = []
    for outcome in outcomes:
        before = first.get(outcome.case.id)
        passed = outcome.verdict.passed
        if before is not None and before and not passed:
            stricter += 1
        elif before is not None and passed and not before:
            milder += 1
        label = outcome.case.extra.get("label")
        if label in (0, 1):
            labels.append(passed == bool(label))
    is_changed = sign_test(stricter, milder) < ANCHOR_ALPHA / (look * (look + 1))
    if labels:
        agreement = sum(labels) / len(labels)
    else:
        agreement = None
    return AnchorResult(len(outcomes), stricter, milder, is_changed, agreement)


def sign_test(up: int, down: int) -> float:
    """The two-sided probability of flips this one-sided where both ways are equally likely.

    >>> round(sign_test(8, 0), 4)
    0.0078
    """
    flips = up + down
    if not flips:
        return 1.0
    tail = sum(comb(flips, number) for number in range(max(up, down), flips + 1)) / 2**flips
    return min(2 * tail, 1.0)
