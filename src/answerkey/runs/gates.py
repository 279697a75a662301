"""Gates: conditions on the figures of a run, each answered with its figure, its interval and pass or fail.

user_satisfaction >= 0.70     success[sales] >= 0.80     mean[quality] >= 0.70
route_accuracy >= 0.76        response_time.mean < 5     errors == 0
recall@5 >= 0.60              quality.mean >= 0.70       performance.bands.excellent.share >= 0.5

A metric's name alone is its mean; names joined by dots lead to any number of summary.json.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import is_metric
from answerkey.profiles.decide import ERROR
from answerkey.runs.summary import Summary
from answerkey.types import Band, Case, Json, Outcome, Profile, Response, Score, Verdict

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
class GateResult:
    """One gate's outcome. A figure that is not there fails: the gate is closed unless it is shown to be open."""

    condition: str
    value: float | None
    ci95: tuple[float, float] | None
    passed: bool
    note: str = ""


def parse_gates(texts: Sequence[str]) -> list[Condition]:
    return [_parse(text) for text in texts]


def answer_gates(conditions: Sequence[Condition], summary: Mapping[str, Any]) -> list[GateResult]:
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


def _answer(condition: Condition, summary: Mapping[str, Any]) -> GateResult:
    value, interval, note = _figure(condition, summary)
    if value is None:
        return GateResult(condition.text, None, None, False, note or "there is no such figure in this run")
    near = 1e-9 if condition.sign in {">=", "<="} else 0.0
    held = _TESTS[condition.sign](value + (near if condition.sign == ">=" else -near), condition.limit)
    return GateResult(condition.text, value, interval, held, note)


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


_MOST_NAMED = 20
_OF_VERDICTS = ("score", "quality", "performance", "user_satisfaction", "success", "pass_rate")


@dataclass(slots=True)
class Seen:
    """What the cases tell of the parts a run can be split into.

    `expected` is whether any names its route; `whole` that these are all cases of the suite, not a selection; `open`
    that the target may report routes of which nothing is known before.
    """

    types: set[str] = field(default_factory=set[str])
    routes: set[str] = field(default_factory=set[str])
    expected: bool = False
    whole: bool = True
    open: bool = False

    def add(self, case: Case) -> None:
        if case.type is not None:
            self.types.add(case.type)
        if case.expected_route is not None:
            self.expected = True
            self.routes.update((case.expected_route, *case.acceptable_routes))
        if case.recorded is not None and case.recorded.route is not None:
            self.routes.add(case.recorded.route)


def check_gates(
    conditions: Sequence[Condition], seen: Seen, metrics: Sequence[str], profile: Profile | None
) -> tuple[str, ...]:
    """Refuses the first condition that cannot hold, and says why; what only the target can tell comes back as warnings."""
    if not conditions:
        return ()
    known = seen.types | seen.routes
    if profile is not None:
        known = known.union(*profile.routes.values())
    unknown = [
        condition for condition in conditions if seen.whole and part_of(condition) not in {None, *known}
    ]
    for condition in unknown:
        _refuse_part(condition, known, closed=seen.expected or not seen.open)
    parts = {part for condition in conditions if (part := part_of(condition)) is not None}
    example = _example(parts, metrics, profile, routed=seen.expected or not seen.whole).figures()
    for condition, answer in zip(conditions, answer_gates(conditions, example), strict=True):
        if answer.value is None and not answer.note.endswith(BROKE):
            raise SettingsError(f'gate "{condition.text}": {_why(condition, answer.note, metrics, profile)}')
    return tuple(
        f'gate "{condition.text}": no case speaks of "{part_of(condition)}"; it fails unless the target reports that route'
        for condition in unknown
    )


def _refuse_part(condition: Condition, known: Collection[str], *, closed: bool) -> None:
    """Unless the target may report a route of that name."""
    part = part_of(condition) or ""
    near = did_you_mean(part, known)
    if near or closed:
        named = ", ".join(sorted(known)[:_MOST_NAMED]) or "none"
        raise SettingsError(
            f'gate "{condition.text}": no case has the type or route "{part}"{near}; there is: {named}'
        )


def _why(condition: Condition, note: str, metrics: Sequence[str], profile: Profile | None) -> str:
    about = condition.of if condition.figure == "mean" else condition.figure
    if profile is None and (about or "").startswith(_OF_VERDICTS):
        return "this figure needs a profile; give one with --profile, or in the suite"
    if condition.figure == "route_accuracy":
        return "no case has an expected_route to be right about"
    if note.startswith("no metric"):
        return note if "did you mean" in note else f"{note}; measured are {', '.join(metrics)}"
    return f"{note}; summary.json of an earlier run shows what there is"


def _example(
    parts: Collection[str], metrics: Sequence[str], profile: Profile | None, *, routed: bool
) -> Summary:
    """A run in which everything that can happen has happened: what it has no figure for, no run will have."""
    summary = Summary(profile)
    scores = {name: Score(1.0) for name in metrics}
    response = Response(answer="", route="", seconds=1.0)
    for part in (None, *parts):
        case = Case("", "", type=part, expected_route="" if routed else None)
        for verdict in (*_verdicts(profile), Verdict(ERROR)):
            summary.add(Outcome(case, response, scores, verdict))
    return summary


def _verdicts(profile: Profile | None) -> list[Verdict]:
    if profile is None:
        return [Verdict("SCORED"), Verdict("SCORED")]
    bands = [band for ruler in (profile.rules, *profile.group_rules.values()) for band in ruler.bands]
    judged = [*bands, Band("", 0.0, "FAILED"), Band("", 0.0, "UNSCORED")]
    return [Verdict(band.status, 1.0, 1.0, band=band.name) for band in judged]
