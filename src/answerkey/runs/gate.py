"""Gates: conditions on the figures of a run, each answered with its figure, its interval and pass or fail.

user_satisfaction >= 0.70     success[sales] >= 0.80     mean[quality] >= 0.70
route_accuracy >= 0.76        response_time.mean < 5     errors == 0
recall@5 >= 0.60              quality.mean >= 0.70       performance.bands.excellent.share >= 0.5

A metric's name alone is its mean; names joined by dots lead to any number of summary.json.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import is_metric
from answerkey.types import Json

_CONDITION = re.compile(
    r"\s*([\w.@-]+)(?:\[([^\]]+)\])?(?:\[([^\]]+)\])?\s*(>=|<=|==|!=|>|<)\s*(-?[\d.]+)\s*(%?)\s*$"
)
BROKE = " broke"  # how the note of a figure ends that is there, but must not open a gate
_MEAN_AT = re.compile(r"^(?:average_scores\.(.+)|(score|quality))\.mean$")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_RATES = {
    "user_satisfaction": "user_satisfaction_rate",
    "user_satisfaction_rate": "user_satisfaction_rate",
    "success": "pass_rate",
    "pass_rate": "pass_rate",
    "route_accuracy": "route_accuracy",
}
_COUNTS = ("cases", "scored", "passed", "failed", "errors", "unscored")
_TIMES = ("mean", "average", "min", "max", "p50", "p95")
_SECTIONS = ("totals", "score", "quality", "average_scores", "performance", "response_time")
FIGURES = (*_RATES, *_COUNTS, "mean", *(f"response_time.{name}" for name in _TIMES))


@dataclass(frozen=True, slots=True)
class Condition:
    text: str
    figure: str
    of: str | None
    within: str | None
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One gate's outcome. A figure that is not there fails: the gate is closed unless it is shown to be open."""

    condition: str
    value: float | None
    ci95: tuple[float, float] | None
    passed: bool
    note: str = ""


def parse_gates(texts: Sequence[str]) -> list[Condition]:
    return [_parse(text) for text in texts]


def answer_gates(conditions: Sequence[Condition], summary: Mapping[str, Any]) -> list[Answer]:
    return [_answer(condition, summary) for condition in conditions]


def part_of(condition: Condition) -> str | None:
    """The type or route that a condition is about; None for all cases."""
    return condition.within if condition.figure == "mean" else condition.of


def _parse(text: str) -> Condition:
    found = _CONDITION.match(text)
    if not found:
        raise SettingsError(
            f'gate "{text}": expected a figure, a sign and a number, as in "user_satisfaction >= 0.70"'
        )
    figure, of, within, sign, number, percent = found.groups()
    figure = _MEAN_AT.sub(r"\1\2", figure)
    if figure in {"score", "quality"} or is_metric(figure):
        figure, of, within = "mean", figure, of
    if figure not in FIGURES and not figure.startswith(tuple(f"{name}." for name in _SECTIONS)):
        raise SettingsError(
            f'gate "{text}": unknown figure "{figure}"{did_you_mean(figure, FIGURES)}; known: {", ".join(FIGURES)}'
        )
    if figure == "mean" and of is None:
        raise SettingsError(f'gate "{text}": say the mean of what, as in "mean[quality] >= 0.70"')
    try:
        limit = float(number) / (100 if percent else 1)
    except ValueError:
        raise SettingsError(f'gate "{text}": "{number}" is no number') from None
    return Condition(text.strip(), figure, of, within, sign, limit)


def _answer(condition: Condition, summary: Mapping[str, Any]) -> Answer:
    value, interval, note = _figure(condition, summary)
    if value is None:
        return Answer(condition.text, None, None, False, note or "there is no such figure in this run")
    near = 1e-9 if condition.sign in {">=", "<="} else 0.0
    held = _TESTS[condition.sign](value + (near if condition.sign == ">=" else -near), condition.limit)
    return Answer(condition.text, value, interval, held, note)


def _figure(
    condition: Condition, summary: Mapping[str, Any]
) -> tuple[float | None, tuple[float, float] | None, str]:
    """The figure a condition names, of all cases or of one type or route."""
    part_name = part_of(condition)
    part = _part(summary, part_name)
    if part is None:
        known = ", ".join([*summary.get("by_type", {}), *summary.get("by_route", {})]) or "none"
        return None, None, f'no type or route "{part_name}"; there is: {known}'
    if condition.figure in _RATES:
        key = _RATES[condition.figure]
        stem = key.removesuffix("_rate") if key.startswith("user") else key
        return part.get(key), _pair(part.get(f"{stem}_ci95")), ""
    if condition.figure in _COUNTS:
        return part["totals"].get(condition.figure), None, ""
    if condition.figure != "mean":
        return _number_at(part, condition.figure), None, ""
    name = condition.of or ""
    entry: Json | None = part.get(name) if name in {"score", "quality"} else part["average_scores"].get(name)
    if entry is None:
        return None, None, f'no metric "{name}"{did_you_mean(name, part["average_scores"])}'
    note = f"scored {entry['n']}/{entry['of']}"
    # A mean over only some of the cases must not open a gate: what broke might have been the bad ones.
    broken = part["totals"]["errors"] if name in {"score", "quality"} else entry["broken"]
    return (
        (None, None, f"{note}, {broken}{BROKE}")
        if broken and entry["n"]
        else (entry["mean"], _pair(entry["ci95"]), note)
    )


def _number_at(part: Any, path: str) -> float | None:
    """The number under names joined by dots; a name may hold dots itself, as `rubric.accuracy` does."""
    if not path:
        return part if isinstance(part, int | float) and not isinstance(part, bool) else None
    names = (
        [name for name in part if path == name or path.startswith(f"{name}.")]
        if isinstance(part, Mapping)
        else []
    )
    return _number_at(part[names[0]], path[len(names[0]) + 1 :]) if names else None


def _part(summary: Mapping[str, Any], name: str | None) -> Mapping[str, Any] | None:
    if name is None:
        return summary
    return summary.get("by_type", {}).get(name) or summary.get("by_route", {}).get(name)


def _pair(interval: Sequence[float] | None) -> tuple[float, float] | None:
    return (interval[0], interval[1]) if interval else None
