"""A profile in one line: `metrics = {groundedness = 0.7}`, where each metric must reach its number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from answerkey.coerce.values import describe_value, is_mapping
from answerkey.config.declare import TomlTable
from answerkey.errors import SettingsError
from answerkey.metrics.registry import find, is_metric

_THRESHOLD = re.compile(r"\s*([^<>=\s]+)\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Threshold:
    """The number that a metric must reach, or must not exceed where lower is better."""

    metric: str
    number: float
    lower_is_better: bool


def read_thresholds(
    metrics: Iterable[str] | Mapping[str, float],
) -> tuple[tuple[str, ...], tuple[Threshold, ...]]:
    """The metrics without a number, and those with one: `groundedness>=0.7`, `cost<=0.01`.

    >>> read_thresholds(["token_f1", "groundedness>=0.7"])[0]
    ('token_f1',)
    """
    if is_mapping(metrics):
        numbers = cast("Mapping[str, float]", metrics)
        return (), tuple(
            _check_reachable(Threshold(name, _read_number(name, number), _needs_less(name)))
            for name, number in numbers.items()
        )
    names: list[str] = []
    thresholds: list[Threshold] = []
    for item in metrics:
        match = _THRESHOLD.fullmatch(item)
        if match is None:
            names.append(item)
            continue
        name, sign, number = match.groups()
        threshold = _check_sign(Threshold(name, float(number), sign == "<="), sign)
        thresholds.append(_check_reachable(threshold))
    return tuple(names), tuple(thresholds)


def threshold_profile(thresholds: Iterable[Threshold]) -> TomlTable:
    """The profile that fails a case when one of the metrics misses its number."""
    criteria = [
        {
            "metric": threshold.metric,
            "floor": threshold.number,
            "required": True,
            "better": "lower" if threshold.lower_is_better else "higher",
            "maximum": _maximum(threshold),
        }
        for threshold in thresholds
    ]
    # Only the floors decide: the mean of unlike metrics has no pass mark.
    return {"name": "thresholds", "criteria": criteria, "pass": 0.0}


def _check_sign(threshold: Threshold, sign: str) -> Threshold:
    name = threshold.metric
    # A limit on the wrong side would pass every bad case.
    if (
        is_metric(name)
        and not _is_neutral(name)
        and _is_lower_better(name) != threshold.lower_is_better
    ):
        other = "<=" if sign == ">=" else ">="
        if _is_lower_better(name):
            good = "lower"
        else:
            good = "higher"
        raise SettingsError(
            f"metrics: {name}{sign}{threshold.number:g}: {good} is better; write {name}{other}"
        )
    return threshold


def _read_number(name: str, number: object) -> float:
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return float(number)
    # NaN, too: no value is below it, so that every answer would pass.
    found = describe_value(number)
    raise SettingsError(f"metrics: {name}: found {found}, expected a number, such as 0.7")


def _check_reachable(threshold: Threshold) -> Threshold:
    """Refuse a number that no answer can reach: every case would fail, with a wrong reason."""
    name = threshold.metric
    if not is_metric(name):
        return threshold
    facts = find(name).facts
    number = threshold.number
    if threshold.lower_is_better:
        is_reachable = facts.low is None or number >= facts.low
    else:
        is_reachable = facts.high is None or number <= facts.high
    if is_reachable:
        return threshold
    low = "" if facts.low is None else f"{facts.low:g}"
    high = "" if facts.high is None else f"{facts.high:g}"
    raise SettingsError(
        f"metrics: {name}: found {number:g}, which no answer can reach; its values go from "
        f"{low} to {high}".rstrip()
    )


def _needs_less(name: str) -> bool:
    """Whether a number without a sign is the most that is allowed."""
    if is_metric(name) and _is_neutral(name):
        raise SettingsError(
            f'metrics: {name}: neither high nor low values are better; write "{name}>=…" or '
            f'"{name}<=…" in a list'
        )
    return _is_lower_better(name)


def _is_neutral(name: str) -> bool:
    return find(name).facts.better == "neither"


def _is_lower_better(name: str) -> bool:
    # The user's own metrics may be registered later, when their module is loaded.
    return is_metric(name) and find(name).facts.better == "lower"


def _maximum(threshold: Threshold) -> float:
    """The top of the metric's scale; of one without a top, such as seconds, the number itself."""
    if is_metric(threshold.metric):
        highest = find(threshold.metric).facts.high
    else:
        highest = 1.0
    if highest is None:
        # A threshold of 0 must not become a scale of length 0.
        return abs(threshold.number) or 1.0
    return highest
