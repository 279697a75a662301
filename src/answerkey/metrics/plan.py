"""A plan: the metrics asked for, bound to their models once, computed over chunks of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from answerkey.errors import IncompleteError
from answerkey.metrics.registry import Metric, bind, find
from answerkey.types import LARGEST, Pair, Score

_MISSING = {
    "answer": ("no answer", lambda case, response: response.answer is not None),
    "expected": ("no expected answer in the case", lambda case, response: bool(case.expected)),
    "contexts": ("no passages retrieved", lambda case, response: bool(response.passages)),
    "relevant": ("no relevance labels in the case", lambda case, response: case.relevant is not None),
    "retrieved": ("no ranking in the response", lambda case, response: response.retrieved is not None or bool(response.passages)),
    "route": ("no route reported", lambda case, response: response.route is not None),
    "expected_route": ("no expected route in the case", lambda case, response: case.expected_route is not None),
    "seconds": ("no response time known", lambda case, response: response.seconds is not None),
}  # fmt: skip
NEEDS = frozenset(_MISSING) | {
    "question",
    "criteria",
}  # every case has these two; a metric looks into the criteria itself


@dataclass(frozen=True, slots=True)
class Step:
    """One call of one function, for all the names it gives."""

    metrics: tuple[Metric, ...]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(metric.name for step in self.steps for metric in step.metrics)

    def score(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """For each pair, a score under every name; one broken metric or pair never spoils another."""
        table: list[dict[str, Score]] = [{} for _ in pairs]
        answered = [n for n, (_, response) in enumerate(pairs) if response.error is None]
        for step in self.steps:
            columns = _run(step, [pairs[n] for n in answered]) if answered else {}
            for metric in step.metrics:
                for n, score in zip(answered, columns.get(metric.name, ()), strict=True):
                    table[n][metric.name] = _checked(score, metric)
        for n, (_, response) in enumerate(pairs):
            if response.error is not None:
                table[n] = {
                    name: Score.failed(f"no response to score: {response.error}") for name in self.names
                }
        return table


def make_plan(
    names: Iterable[str], provided: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]] | None = None
) -> Plan:
    """Find the metrics, bind each to what it needs, and put those that one function gives into one step."""
    groups: dict[tuple[object, ...], list[Metric]] = {}
    for name in dict.fromkeys(names):
        metric = find(name)
        # Members of a group go into one call where they need the same of a pair.
        key = metric.facts.needs if metric.shape == "group" else (name,)
        groups.setdefault((metric.function, *key), []).append(metric)
    steps: list[Step] = []
    for members in groups.values():
        merged: dict[str, Any] = {}
        for metric in members:
            merged |= (settings or {}).get(metric.name, {})
        steps.append(Step(tuple(members), bind(members[0], provided, merged)))
    return Plan(tuple(steps))


def _run(step: Step, pairs: Sequence[Pair]) -> dict[str, Sequence[Score]]:
    """The scores of each name; a pair that lacks what a metric needs is left out of the call."""
    columns: dict[str, Sequence[Score]] = {}
    first = step.metrics[0]
    lacking = _lacking(first, pairs)
    able = [pair for pair, lack in zip(pairs, lacking, strict=True) if lack is None]
    if first.shape == "group":
        given = _guarded_group(step, able)
    elif first.shape == "batch":
        given = {first.name: _guarded_batch(first, step.arguments, able)}
    else:
        given = {first.name: [_guarded_single(first, step.arguments, pair) for pair in able]}
    for metric in step.metrics:
        scores = iter(given[metric.name])
        columns[metric.name] = [
            next(scores) if lack is None else Score.not_applicable(lack) for lack in lacking
        ]
    return columns


def _lacking(metric: Metric, pairs: Sequence[Pair]) -> list[str | None]:
    """For each pair the first thing that it lacks of what the metric needs, else None."""
    lacking: list[str | None] = [None] * len(pairs)
    for need in reversed(metric.facts.needs):
        if need in _MISSING:
            reason, present = _MISSING[need]
            for n, pair in enumerate(pairs):
                if not present(*pair):
                    lacking[n] = reason
    return lacking


def _guarded_single(metric: Metric, arguments: Mapping[str, Any], pair: Pair) -> Score:
    try:
        return as_score(metric.function(*pair, **arguments))
    except IncompleteError:
        raise
    except Exception as error:
        return Score.failed(_told(error))


def _guarded_batch(metric: Metric, arguments: Mapping[str, Any], pairs: Sequence[Pair]) -> list[Score]:
    try:
        scores = [as_score(given) for given in metric.function(pairs, **arguments)] if pairs else []
    except IncompleteError:
        raise
    except Exception as error:
        if len(pairs) > 1:  # find the pair that it breaks on, and spare the others
            return [score for pair in pairs for score in _guarded_batch(metric, arguments, [pair])]
        return [Score.failed(_told(error))]
    if len(scores) != len(pairs):
        return [Score.failed(f"{metric.name} gave {len(scores)} scores for {len(pairs)} cases")] * len(pairs)
    return scores


def _guarded_group(step: Step, pairs: Sequence[Pair]) -> dict[str, list[Score]]:
    names = tuple(metric.name for metric in step.metrics)
    function = step.metrics[0].function
    try:
        given = function(pairs, names=names, **step.arguments) if pairs else dict.fromkeys(names, ())
        return {name: [as_score(score) for score in given[name]] for name in names}
    except IncompleteError:
        raise
    except Exception as error:
        if len(pairs) > 1:
            alone = [_guarded_group(step, [pair]) for pair in pairs]
            return {name: [score for columns in alone for score in columns[name]] for name in names}
        return {name: [Score.failed(_told(error))] * len(pairs) for name in names}


def as_score(given: object) -> Score:
    """What a metric may return: a Score, a number or truth value, or None for "does not apply"."""
    if isinstance(given, Score):
        return given
    if given is None:
        return Score.not_applicable("does not apply")
    if isinstance(given, (int, float)) or hasattr(given, "__float__"):
        return Score(float(given))  # pyright: ignore[reportArgumentType]
    return Score.failed(f"expected a number, a Score or None, got {type(given).__name__}")


def _checked(score: Score, metric: Metric) -> Score:
    """What is no number, or too large for sums and squares of it to be numbers, is a broken score."""
    if score.value is None:
        return score
    try:
        value = float(score.value)
    except OverflowError:  # a whole number past every float
        value = math.inf
    except (TypeError, ValueError):
        return Score.failed(
            f"{metric.name} gave a {type(score.value).__name__}, not a number", **score.details
        )
    if not abs(value) <= LARGEST:
        shown = value if abs(value) == math.inf or math.isnan(value) else f"{value:.3g}, past {LARGEST:g}"
        return Score.failed(f"{metric.name} gave {shown}", **score.details)
    return score if type(score.value) is float else replace(score, value=value)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
