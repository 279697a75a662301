"""A plan: the metrics asked for, bound to their models once and computed over chunks of pairs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from answerkey.background import gather
from answerkey.coerce.values import plain_json
from answerkey.errors import IncompleteError
from answerkey.metrics.length_limits import (
    LONGEST_ANSWER,
    LONGEST_PASSAGE,
    add_notes,
    cut_long_texts,
    is_limited,
)
from answerkey.metrics.registry import Metric, bind, find
from answerkey.types import LARGEST, Case, Pair, Response, Score
from answerkey.user_code import error_text
from answerkey.user_traceback import show_traceback

Columns = Mapping[str, Sequence[Score]]
_ROUNDING = 1e-6  # by which a value may exceed its range, as float32 does
_OUR_MODULES = "answerkey."
_MISSING: Mapping[str, tuple[str, Callable[[Case, Response], bool]]] = {
    "answer": ("no answer", lambda case, response: response.answer is not None),
    "expected": ("no expected answer in the case", lambda case, response: bool(case.expected)),
    "contexts": ("no passages retrieved", lambda case, response: bool(response.passages)),
    "relevant": (
        "no relevance labels in the case",
        lambda case, response: case.relevant is not None,
    ),
    "retrieved": (
        "no ranking in the response",
        lambda case, response: response.retrieved is not None or bool(response.passages),
    ),
    "route": ("no route reported", lambda case, response: response.route is not None),
    "expected_route": (
        "no expected route in the case",
        lambda case, response: case.expected_route is not None,
    ),
    "expected_tools": (
        "no expected tools in the case",
        lambda case, response: case.expected_tools is not None,
    ),
    "tools": ("no tool calls reported", lambda case, response: response.tools is not None),
    "seconds": ("no response time known", lambda case, response: response.seconds is not None),
}
NEEDS = frozenset(_MISSING) | {"question", "criteria"}  # every case has these two


@dataclass(frozen=True, slots=True)
class Step:
    """One call of one function, for all the metrics that it computes."""

    metrics: tuple[Metric, ...]
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that compute the metrics: `make_plan(["exact_match"], {}).score([(case, response)])`."""

    steps: tuple[Step, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(metric.name for step in self.steps for metric in step.metrics)

    def split_at(self, tool: str) -> tuple[Plan, Plan]:
        """The steps that do without a tool such as `judge`, and those of ours that use it."""
        using = [
            tool in step.arguments and step.metrics[0].module.startswith("answerkey.")
            for step in self.steps
        ]
        without, with_it = (
            [s for s, u in zip(self.steps, using, strict=True) if u is used]
            for used in (False, True)
        )
        return Plan(tuple(without)), Plan(tuple(with_it))

    def score(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """For each pair a score under every name; an error in one metric or pair never affects another."""
        table: list[dict[str, Score]] = [{} for _ in pairs]
        answered = [n for n, (_, response) in enumerate(pairs) if response.error is None]
        able = [pairs[n] for n in answered]
        lacking = _Lacking(able)
        run = _run
        # Written out, not a call of `exceeds_limits`: every run of one row passes here.
        texts = (
            text for case, response in able for text in (response.answer or "", *case.expected)
        )
        passages = (passage for _, response in able for passage in response.passages)
        if any(len(text) > LONGEST_ANSWER for text in texts) or any(
            len(passage.text) > LONGEST_PASSAGE for passage in passages
        ):
            run = _run_within_limits
        for step in self.steps if able else ():
            for name, column in run(step, able, lacking).items():
                for n, score in zip(answered, column, strict=True):
                    table[n][name] = score
        # Without a response no metric can be applied: each of them is an error, not 0.
        for n, (_, response) in enumerate(pairs):
            if response.error is not None:
                failed = Score.failed(f"no response to score: {response.error}")
                table[n] = dict.fromkeys(self.names, failed)
        return table


def make_plan(
    names: Iterable[str],
    provided: Mapping[str, object],
    settings: Mapping[str, Mapping[str, object]] | None = None,
) -> Plan:
    """Find the metrics, bind each to what it needs, and compute those of one function in one step."""
    groups: dict[tuple[object, ...], list[Metric]] = {}
    for name in dict.fromkeys(names):
        metric = find(name)
        # Members of a group share a call where they need the same fields of a pair.
        if metric.shape == "group":
            key = metric.facts.needs
        else:
            key = (name,)
        groups.setdefault((metric.function, *key), []).append(metric)
    steps: list[Step] = []
    for members in groups.values():
        merged: dict[str, object] = {}
        for metric in members:
            merged |= (settings or {}).get(metric.name, {})
        steps.append(Step(tuple(members), bind(members[0], provided, merged)))
    return Plan(tuple(steps))


class _Lacking:
    """The fields that each pair lacks, found out once for all metrics that need the same."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._found: dict[str, dict[int, str]] = {}

    def of(self, metric: Metric) -> dict[int, str]:
        """The first field that each pair lacks, by its position; pairs that lack nothing are left out."""
        lacking: dict[int, str] = {}
        # Reversed, so that the first missing field overwrites the others and is named.
        for need in reversed(metric.facts.needs):
            if need in _MISSING:
                if need not in self._found:
                    reason, present = _MISSING[need]
                    self._found[need] = {
                        n: reason for n, pair in enumerate(self._pairs) if not present(*pair)
                    }
                lacking |= self._found[need]
        return lacking


def _run(step: Step, pairs: Sequence[Pair], lacks: _Lacking) -> Columns:
    """The scores under each name; a pair that lacks what a metric needs is left out of the call."""
    first = step.metrics[0]
    lacking = lacks.of(first)
    if lacking:
        able = [pair for n, pair in enumerate(pairs) if n not in lacking]
    else:
        able = pairs
    if first.shape == "single":
        if inspect.iscoroutinefunction(first.function):
            measure = _await_singles
        else:
            measure = _call_singles
        results: Columns = {first.name: measure(first, step.arguments, able)}
    else:
        results = _call_guarded(step, able)
    columns: dict[str, Sequence[Score]] = {}
    for metric in step.metrics:
        checked = _check_values(results[metric.name], metric)
        if lacking:
            scores = iter(checked)
            checked = [
                Score.not_applicable(lacking[n]) if n in lacking else next(scores)
                for n in range(len(pairs))
            ]
        columns[metric.name] = checked
    return columns


def _run_within_limits(step: Step, pairs: Sequence[Pair], lacks: _Lacking) -> Columns:
    """As `_run`, but our metrics read only the beginning of a very long text, and say so."""
    if not is_limited(step.metrics[0]):
        return _run(step, pairs, lacks)
    cut_pairs, notes = cut_long_texts(pairs)
    columns = _run(step, cut_pairs, lacks)
    return {metric.name: add_notes(metric, columns[metric.name], notes) for metric in step.metrics}


def _call_singles(
    metric: Metric, arguments: Mapping[str, object], pairs: Sequence[Pair]
) -> list[Score]:
    return [_call_single(metric, arguments, pair) for pair in pairs]


def _await_singles(
    metric: Metric, arguments: Mapping[str, object], pairs: Sequence[Pair]
) -> list[Score]:
    """The scores of an async function, awaited several at a time."""
    results = gather([partial(metric.function, *pair, **arguments) for pair in pairs])
    scores: list[Score] = []
    for value in results:
        # A stopped judge or budget ends the run; it is no error of this pair.
        if isinstance(value, IncompleteError):
            raise value
        if isinstance(value, BaseException):
            show_traceback(value, f"the metric {metric.name}")
            scores.append(Score.failed(error_text(value)))
        else:
            scores.append(as_score(value))
    return scores


def _call_single(metric: Metric, arguments: Mapping[str, object], pair: Pair) -> Score:
    try:
        return as_score(metric.function(*pair, **arguments))
    except IncompleteError:
        raise
    # SystemExit too: a user's metric that calls `exit` must not end the run.
    except (Exception, SystemExit) as error:
        show_traceback(error, f"the metric {metric.name}")
        return Score.failed(error_text(error))


def _call_guarded(step: Step, pairs: Sequence[Pair]) -> Columns:
    """One call for all pairs; where it raises, one call per pair, so that only the pair with the error has one."""
    names = tuple(metric.name for metric in step.metrics)
    try:
        if pairs:
            return _call(step, names, pairs)
        return dict.fromkeys(names, ())
    except IncompleteError:
        raise
    except (Exception, SystemExit) as error:
        if len(pairs) > 1:
            alone = [_call_guarded(step, [pair]) for pair in pairs]
            return {name: [columns[name][0] for columns in alone] for name in names}
        show_traceback(error, f"the metric {names[0]}")
        return {name: [Score.failed(error_text(error))] for name in names}


def _call(step: Step, names: tuple[str, ...], pairs: Sequence[Pair]) -> Columns:
    first = step.metrics[0]
    if first.shape == "group":
        results = first.function(pairs, names=names, **step.arguments)
    else:
        results = {first.name: first.function(pairs, **step.arguments)}
    columns = {name: [as_score(score) for score in results[name]] for name in names}
    for name, column in columns.items():
        # A wrong length would shift scores to other cases without a sign.
        if len(column) != len(pairs):
            failed = Score.failed(f"{name} returned {len(column)} scores for {len(pairs)} cases")
            columns[name] = [failed] * len(pairs)
    return columns


def as_score(result: object) -> Score:
    """The result of a metric as a Score; a metric may also return a number, a bool, or None for "not applicable"."""
    if isinstance(result, Score):
        return result
    if result is None:
        return Score.not_applicable("not applicable")
    # numpy and torch scalars have `__float__`.
    if isinstance(result, (int, float)) or hasattr(result, "__float__"):
        return Score(float(result))  # pyright: ignore[reportArgumentType]
    return Score.failed(f"expected a number, a Score or None, got {type(result).__name__}")


def _check_values(scores: Iterable[Score], metric: Metric) -> list[Score]:
    """A value that is not a finite number, too large to be summed and squared, or outside the declared range is an error."""
    facts = metric.facts
    low = -LARGEST
    high = LARGEST
    # Ours may leave their range on purpose, as ranking metrics with unit = "chunk" do.
    is_ours = metric.module.startswith(_OUR_MODULES)
    if facts.low is not None and not is_ours:
        low = max(facts.low - _ROUNDING, low)
    if facts.high is not None and not is_ours:
        high = min(facts.high + _ROUNDING, high)
    checked: list[Score] = []
    for score in scores:
        value = score.value
        is_in_range = value is None or (type(value) is float and low <= value <= high)
        if is_in_range and (is_ours or not score.details):
            checked.append(score)
        else:
            checked.append(_correct(score, metric, low, high))
    return checked


def _correct(score: Score, metric: Metric, low: float, high: float) -> Score:
    """The score with its value as a float, or an error that says why its value is none."""
    # A user's metric may put anything into the details.
    if score.details and not metric.module.startswith(_OUR_MODULES):
        score = replace(score, details=plain_json(score.details))
    if score.value is None:
        return score
    try:
        value = float(score.value)
    except OverflowError:  # an integer beyond every float
        value = math.inf
    except (TypeError, ValueError):
        kind = type(score.value).__name__
        return Score.failed(f"{metric.name} returned a {kind}, not a number", **score.details)
    # Not `abs(value) > LARGEST`: a comparison with NaN is always false.
    if not abs(value) <= LARGEST:
        shown = f"{value:.3g}, beyond {LARGEST:g}" if math.isfinite(value) else str(value)
        return Score.failed(f"{metric.name} returned {shown}", **score.details)
    if not low <= value <= high:
        declared = (
            "any" if end is None else str(end) for end in (metric.facts.low, metric.facts.high)
        )
        return Score.failed(
            f"{metric.name} returned {value:g}, outside its declared range {' to '.join(declared)}; "
            "declare low and high"
        )
    if type(score.value) is float:
        return score
    return replace(score, value=value)
