"""Fits the weights and pass marks of a profile to human labels, and tests them on rows left out.

The weights that a profile has are the starting point: few labels move them little, many move them
freely. Floors, route weights and bands stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from answerkey.calibrate.agreement import Agreement, Aim, agreement, assign_folds, best_threshold
from answerkey.errors import InputError
from answerkey.profiles.decide import decide_verdict, share_of
from answerkey.types import Band, Pair, Profile, Score, ScoringRules, Status

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
LEAST_ROWS = 50  # a choice, not a measurement: fewer labels say little about five weights
LEAST_OF_EACH = 10
_STEPS = 400
_LEAST_WEIGHT = 1e-3  # a share below it is shown as 0
MOST_ROUTES = ""  # the name of the rules that count where no group of routes has its own


@dataclass(frozen=True, slots=True)
class FittedRules:
    """One set of rules. `weights` add up to 1; `note` says why a set stays as it is, else ""."""

    group: str
    rows: int
    weights: Mapping[str, float]
    pass_mark: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProfileFit:
    """`before` is the profile as it is; `after` decides every row by a fit without its fold."""

    rules: tuple[FittedRules, ...]
    rows: int
    unscored: int
    before: Agreement
    after: Agreement

    @property
    def is_better(self) -> bool:
        """Whether the fit agrees better with the labels on rows that it has not seen."""
        return (self.after.kappa or 0.0) > (self.before.kappa or 0.0)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows under one set of rules: shares (NaN: not applicable) in the order of its lines.

    A row with `is_floored` fails by a required floor, whatever the weights.
    """

    shares: Floats
    good: Flags
    is_floored: Flags
    folds: NDArray[np.int64]

    def pick(self, mask: Flags) -> _Rows:
        return _Rows(self.shares[mask], self.good[mask], self.is_floored[mask], self.folds[mask])


def fit_profile(
    profile: Profile,
    pairs: Sequence[Pair],
    scores: Sequence[Mapping[str, Score]],
    good: Flags,
    groups: Sequence[str] | None = None,
    aim: Aim = "balanced",
) -> ProfileFit:
    """Fit every set of rules that has enough labels; `good` is the label of each pair.

    Raises an error if no set has enough: `LEAST_ROWS` rows with `LEAST_OF_EACH` good and bad ones.
    """
    rules_by_group = {MOST_ROUTES: profile.rules, **profile.group_rules}
    data = _LabelledScores(pairs, scores, good, assign_folds(len(pairs), groups))
    numbers = _sort_rows(profile, data, rules_by_group)
    fitted: list[FittedRules] = []
    decided_before: list[Flags] = []
    decided_after: list[Flags] = []
    labels: list[Flags] = []
    for group, rules in rules_by_group.items():
        rows = _select_rows(profile, rules, data, numbers[group])
        current = np.array([line.weight for line in rules.lines if line.weight > 0])
        fitted.append(_fit_rules(profile, group, rules, rows, current, aim))
        # Rules that stay as they are decide alike before and after, which would blur the
        # comparison.
        if fitted[-1].note:
            continue
        start = current / current.sum()
        current_mark = rules.pass_mark / profile.scale
        decided_before.append(_decide(rows, start, current_mark))
        decided_after.append(_decide_left_out(rows, start, current_mark, aim))
        labels.append(rows.good)
    if not labels:
        raise InputError("; ".join(f"{name_group(one.group)}: {one.note}" for one in fitted))
    truth = np.concatenate(labels)
    return ProfileFit(
        rules=tuple(fitted),
        rows=len(truth),
        unscored=len(pairs) - sum(map(len, numbers.values())),
        before=agreement(np.concatenate(decided_before), truth),
        after=agreement(np.concatenate(decided_after), truth),
    )


@dataclass(frozen=True, slots=True)
class _LabelledScores:
    """Answers with their scores, labels and folds, in one order."""

    pairs: Sequence[Pair]
    scores: Sequence[Mapping[str, Score]]
    good: Flags
    folds: NDArray[np.int64]


def _sort_rows(
    profile: Profile, data: _LabelledScores, rules_by_group: Mapping[str, ScoringRules]
) -> dict[str, list[int]]:
    """The numbers of the rows that each set of rules decides; those without a verdict are out."""
    numbers: dict[str, list[int]] = {group: [] for group in rules_by_group}
    for number, (case, response) in enumerate(data.pairs):
        verdict = decide_verdict(profile, case, response, data.scores[number])
        if verdict.status in (Status.ERROR, Status.UNSCORED):
            continue
        rules = profile.rules_for(response.route)
        # Compared by identity, because two groups may have equal rules.
        group = next(name for name, own in rules_by_group.items() if own is rules)
        numbers[group].append(number)
    return numbers


def _select_rows(
    profile: Profile, rules: ScoringRules, data: _LabelledScores, numbers: Sequence[int]
) -> _Rows:
    """The rows of these numbers, as one set of rules sees them."""
    lines = [line for line in rules.lines if line.weight > 0]
    shares = np.full((len(numbers), len(lines)), np.nan)
    for row, number in enumerate(numbers):
        for column, line in enumerate(lines):
            value = data.scores[number][line.metric].value
            if value is not None:
                shares[row, column] = share_of(line, value)
    without_mark = _without_pass_mark(profile, rules)
    is_floored = [
        not decide_verdict(without_mark, *data.pairs[number], data.scores[number]).passed
        for number in numbers
    ]
    chosen = np.array(numbers, np.int64)
    return _Rows(shares, data.good[chosen], np.array(is_floored, bool), data.folds[chosen])


def _without_pass_mark(profile: Profile, rules: ScoringRules) -> Profile:
    """The profile with these rules alone, under which only a required floor can fail a case."""
    bands = (Band("passed", 0.0, "PASSED"), Band("failed", 0.0, Status.FAILED))
    return replace(profile, rules=replace(rules, pass_mark=0.0, bands=bands), group_rules={})


def _fit_rules(
    profile: Profile, group: str, rules: ScoringRules, rows: _Rows, current: Floats, aim: Aim
) -> FittedRules:
    names = [line.metric for line in rules.lines if line.weight > 0]
    start = current / current.sum()
    as_it_is = FittedRules(
        group, len(rows.good), dict(zip(names, start.tolist(), strict=True)), rules.pass_mark
    )
    if note := _too_few(rows):
        return replace(as_it_is, note=note)
    weights = fit_weights(rows.shares, rows.good, start)
    mark = _find_mark(rows, weights, rules.pass_mark / profile.scale, aim)
    kept = np.where(weights < _LEAST_WEIGHT, 0.0, weights)
    kept /= kept.sum()
    return FittedRules(
        group,
        len(rows.good),
        {name: round(weight, 4) for name, weight in zip(names, kept.tolist(), strict=True)},
        float(f"{mark * profile.scale:.4g}"),
    )


def _too_few(rows: _Rows) -> str:
    good = int(rows.good.sum())
    bad = len(rows.good) - good
    if len(rows.good) >= LEAST_ROWS and min(good, bad) >= LEAST_OF_EACH:
        return ""
    return (
        f"too few labels: {good} good and {bad} bad; {LEAST_ROWS} are needed, "
        f"with {LEAST_OF_EACH} of each"
    )


def name_group(group: str) -> str:
    """How messages call a set of rules."""
    if group == MOST_ROUTES:
        return "the profile"
    return f"[on.{group}]"


def _decide(rows: _Rows, weights: Floats, mark: float) -> Flags:
    # 1e-9: as in a verdict, 0.7 reached by a sum of products is 0.7.
    return (weighted_quality(rows.shares, weights) + 1e-9 >= mark) & ~rows.is_floored


def _decide_left_out(rows: _Rows, start: Floats, current_mark: float, aim: Aim) -> Flags:
    """The decision on every row by weights and a pass mark that were fitted without its fold."""
    decided = np.zeros(len(rows.good), bool)
    for fold in np.unique(rows.folds).tolist():
        left_out = rows.folds == fold
        training = rows.pick(~left_out)
        weights = fit_weights(training.shares, training.good, start)
        mark = _find_mark(training, weights, current_mark, aim)
        decided[left_out] = _decide(rows.pick(left_out), weights, mark)
    return decided


def _find_mark(rows: _Rows, weights: Floats, current: float, aim: Aim) -> float:
    """The pass mark, from 0 to 1, that agrees best; the current one where it is as good."""
    # A row that a floor fails lies below every mark.
    quality = np.where(rows.is_floored, -1.0, weighted_quality(rows.shares, weights))
    best = best_threshold(quality, rows.good, aim)
    if best is None:
        return current
    gain_now = _gain(_decide(rows, weights, current), rows.good, aim)
    gain_of_best = _gain(_decide(rows, weights, best), rows.good, aim)
    if gain_now >= gain_of_best:
        return current
    return max(best, 0.0)


def _gain(decided: Flags, good: Flags, aim: Aim) -> float:
    part = agreement(decided, good)
    if aim == "accuracy":
        return part.accuracy
    if aim == "kappa":
        return part.kappa or 0.0
    return (part.tpr or 0.0) + (part.tnr or 0.0)


def weighted_quality(shares: Floats, weights: Floats) -> Floats:
    """The weighted mean of the shares that are there, as in a verdict; 0 where none is.

    >>> weighted_quality(np.array([[1.0, 0.0], [1.0, np.nan]]), np.array([0.75, 0.25])).tolist()
    [0.75, 1.0]
    """
    is_there = ~np.isnan(shares)
    total = is_there @ weights
    points = np.where(is_there, shares, 0.0) @ weights
    return np.divide(points, total, out=np.zeros(len(shares)), where=total > 0)


def fit_weights(shares: Floats, good: Flags, start: Floats) -> Floats:
    """Weights that add up to 1 and make the weighted mean tell good from bad answers.

    The logarithms of the weights are fitted by gradient descent on the loss of a logistic model of
    the weighted mean. A penalty holds them near the start, as a normal prior with a standard
    deviation of 1 would: it counts much beside 50 labels and little beside 1,000.
    """
    if not len(good) or good.all() or not good.any():
        return start
    is_there = ~np.isnan(shares)
    values = np.where(is_there, shares, 0.0)
    origin = np.log(np.maximum(start, _LEAST_WEIGHT))
    logs = origin.copy()
    slope = math.log(4.0)
    middle = float(np.mean(weighted_quality(shares, start)))
    rate = 1.0
    loss, gradient = _loss(values, is_there, good, logs, slope, middle, origin)
    for _ in range(_STEPS):
        step = rate * gradient
        trial = (logs - step[:-2], slope - float(step[-2]), middle - float(step[-1]))
        new_loss, new_gradient = _loss(values, is_there, good, *trial, origin)
        if new_loss < loss:
            logs, slope, middle = trial
            loss = new_loss
            gradient = new_gradient
            # A step that helps makes the next one longer; one that does not is halved.
            rate *= 1.2
        else:
            rate /= 2
        if rate < 1e-8:
            break
    # Without the largest logarithm exp cannot overflow, and the shares stay the same.
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _loss(
    values: Floats,
    is_there: Flags,
    good: Flags,
    logs: Floats,
    slope: float,
    middle: float,
    origin: Floats,
) -> tuple[float, Floats]:
    """The mean loss with its penalty, and its gradient by log weights, log slope and middle."""
    weights = np.exp(logs)
    total = np.maximum(is_there @ weights, 1e-12)
    quality = (values @ weights) / total
    steepness = math.exp(min(slope, 6.0))  # a perfect split would make it grow for ever
    odds = np.clip(steepness * (quality - middle), -30, 30)
    chance = 1 / (1 + np.exp(-odds))
    rows = len(good)
    error = (chance - good) / rows
    by_weight = is_there * weights * (values - quality[:, None]) / total[:, None]
    penalty = (logs - origin) / rows
    loss = float(-np.mean(np.where(good, np.log(chance), np.log1p(-chance))))
    loss += float(np.sum((logs - origin) ** 2)) / (2 * rows)
    gradient = np.concatenate(
        [
            steepness * (error @ by_weight) + penalty,
            [float(error @ odds)],
            [-steepness * float(error.sum())],
        ]
    )
    return loss, gradient
