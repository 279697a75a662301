"""Gates: conditions on the figures of a run, each reported with its figure, its interval and pass or fail.

user_satisfaction >= 0.70     success[sales] >= 0.80     mean[quality][route:sales] >= 0.70
route_accuracy >= 0.76        response_time.mean < 5     errors == 0
recall@5 >= 0.60              quality.mean >= 0.70       performance.bands.excellent.share >= 0.5

A metric's name alone is its mean; names joined by dots lead to any number of summary.json. A condition on a figure that
a run can never have is refused before the first question.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from answerkey.coerce.values import is_mapping
from answerkey.config.tables import ExecutionTable
from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import is_metric
from answerkey.runs.figures import Figures, MetricMean, Range
from answerkey.runs.gate_limits import refuse_impossible
from answerkey.runs.manifest import RunSettings
from answerkey.runs.means import Mean
from answerkey.runs.repeats import Repeats
from answerkey.runs.suite import SCORED_SHARE
from answerkey.runs.summary import GateResult, RunInfo, Summary, summarise
from answerkey.types import Band, Case, Outcome, Profile, Response, Score, Status, Verdict

_CONDITION = re.compile(
    r"\s*([\w.@^-]+)(?:\[([^\]]+)\])?(?:\[([^\]]+)\])?\s*(>=|<=|==|!=|>|<)\s*(-?[\d.]+)\s*(%?)\s*$"
)
_MEAN_AT = re.compile(r"^(?:average_scores\.(.+)|(score|quality))\.mean$")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_RATES = {
    "user_satisfaction": ("user_satisfaction_rate", "user_satisfaction_ci95"),
    "user_satisfaction_rate": ("user_satisfaction_rate", "user_satisfaction_ci95"),
    "success": ("pass_rate", "pass_rate_ci95"),
    "pass_rate": ("pass_rate", "pass_rate_ci95"),
    "route_accuracy": ("route_accuracy", "route_accuracy_ci95"),
}
_REPEATED = {"pass^k": "pass_all", "pass@k": "pass_any", "flaky": "flaky"}
_PASS_K = re.compile(r"pass([\^@])(\d+)$")
_COUNTS = ("cases", "scored", "passed", "failed", "errors", "unscored")
_TIMES = ("mean", "average", "min", "max", "p50", "p95")
_SECTIONS = ("totals", "score", "quality", "average_scores", "performance", "response_time")
_NEED_PROFILE = ("score", "quality", "performance", "user_satisfaction", "success", "pass_rate")
_MOST_NAMED = 20
_AMBIGUOUS = '"{0}" is a type and a route; write [type:{0}] or [route:{0}]'
# Below this share of scored cases a gate on a rate fails, unless [gate] scored sets another.
_LEAST_SCORED = 0.9
_OF_SCORED_CASES = ("user_satisfaction", "user_satisfaction_rate", "success", "pass_rate")
FIGURES = (
    *_RATES,
    SCORED_SHARE,
    *_COUNTS,
    *_REPEATED,
    "mean",
    *(f"response_time.{name}" for name in _TIMES),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed gate: `figure[metric][group] sign limit`."""

    text: str
    figure: str
    metric: str  # of a mean
    kind: str  # `type` or `route` where the condition says which of the two it means, as in `[route:sales]`
    group: str | None  # the type or route that the condition is about; None for all cases
    sign: str
    limit: float
    times: int | None = None  # of `pass^5`

    def error(self, problem: str) -> SettingsError:
        return SettingsError(f'gate "{self.text}": {problem}')


Conditions = Sequence[Condition]


class _Missing(Enum):
    """Why a run has no value for a condition."""

    NO_SUCH_METRIC = auto()
    ERRORS = auto()  # of some cases
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Figure:
    """The figure of a condition, with a note for people. `near` is a metric with a similar name."""

    value: float | None = None
    interval: Range = None
    note: str = ""
    missing: _Missing = _Missing.OTHER
    near: str = ""


def parse_gates(texts: Sequence[str]) -> list[Condition]:
    return [_parse(text) for text in texts]


def _parse(text: str) -> Condition:
    match = _CONDITION.match(text)
    if not match:
        raise SettingsError(
            f'gate "{text}": expected a figure, a sign and a number, as in "user_satisfaction >= 0.70"'
        )
    figure, of, group, sign, number, percent = match.groups()
    figure = _MEAN_AT.sub(r"\1\2", figure)
    repeated = _PASS_K.match(figure)
    if repeated:
        # `pass^5` is the figure `pass^k` with k checked against the run's repeats.
        figure = f"pass{repeated[1]}k"
    if figure in {"score", "quality"} or is_metric(figure):
        # `quality >= 0.7` is `mean[quality] >= 0.7`, and `quality[sales]` is of a group.
        group = of
        of = figure
        figure = "mean"
    if figure not in FIGURES and not figure.startswith(tuple(f"{name}." for name in _SECTIONS)):
        hint = f"{did_you_mean(figure, FIGURES)}; known: {', '.join(FIGURES)}"
        raise SettingsError(f'gate "{text}": unknown figure "{figure}"{hint}')
    if figure == "mean" and of is None:
        raise SettingsError(f'gate "{text}": name the metric, as in "mean[quality] >= 0.70"')
    try:
        # "70%" is 0.70.
        limit = float(number) / (100 if percent else 1)
    except ValueError:
        raise SettingsError(f'gate "{text}": "{number}" is not a number') from None
    metric, group = (of or "", group) if figure == "mean" else ("", of)
    kind = next((kind for kind in ("type", "route") if (group or "").startswith(f"{kind}:")), "")
    if group and kind:
        group = group.removeprefix(f"{kind}:")
    return Condition(
        text.strip(),
        figure,
        metric,
        kind,
        group,
        sign,
        limit,
        int(repeated[2]) if repeated else None,
    )


def answer_gates(conditions: Conditions, summary: Summary) -> list[GateResult]:
    """The result of each condition; all fail where the run is damaged."""
    results: list[GateResult] = []
    least_scored = _least_scored(conditions)
    is_damaged = bool(summary.run.damage)
    for condition in conditions:
        figure = _figure(condition, summary, least_scored)
        value = figure.value
        # 0.7 measured as 0.6999999999 meets a limit of 0.7.
        tolerance = {">=": 1e-9, "<=": -1e-9}.get(condition.sign, 0.0)
        holds = value is not None and SIGNS[condition.sign](value + tolerance, condition.limit)
        note = figure.note
        if is_damaged:
            note = summary.run.partial
        elif value is None and not note:
            note = "this run has no such figure"
        results.append(
            GateResult(condition.text, value, figure.interval, holds and not is_damaged, note)
        )
    return results


def _least_scored(conditions: Conditions) -> float:
    # [gate] scored is a condition like the others; here it sets the limit for rates.
    for condition in conditions:
        if condition.figure == SCORED_SHARE:
            return condition.limit
    return _LEAST_SCORED


def _figure(condition: Condition, summary: Summary, least_scored: float = 0.0) -> _Figure:
    """The figure that a condition names, of all cases or of one type or route."""
    group = condition.group
    kind = condition.kind
    if group is None:
        return _figure_of(condition, summary.figures, summary, least_scored)
    groups = {"type": summary.by_type.get(group), "route": summary.by_route.get(group)}
    parts = {name: part for name, part in groups.items() if part is not None and kind in ("", name)}
    if len(parts) > 1:
        return _Figure(note=_AMBIGUOUS.format(group))
    if not parts:
        names = ", ".join([*summary.by_type, *summary.by_route]) or "none"
        return _Figure(note=f'no {kind or "type or route"} "{group}"; known: {names}')
    (name, part), *_ = parts.items()
    figure = _figure_of(condition, part, summary, least_scored)
    notes = [f"{name} {group}", figure.note]
    return replace(figure, note=", ".join(filter(None, notes)))


def _figure_of(
    condition: Condition, part: Figures, summary: Summary, least_scored: float
) -> _Figure:
    share = part.scored_share
    # Fails closed: a rate over a few scored cases must not pass (specification, section 21).
    if condition.figure in _OF_SCORED_CASES and share is not None and share < least_scored:
        scored = f"only {100 * share:.0f} % of the cases were scored"
        return _Figure(note=f"{scored}, fewer than [gate] scored = {least_scored:g}")
    if condition.figure in _RATES:
        rate, interval = _RATES[condition.figure]
        return _Figure(getattr(part, rate), getattr(part, interval))
    if condition.figure == SCORED_SHARE:
        return _Figure(part.scored_share)
    if condition.figure in _REPEATED:
        repeats = part.repeats
        name = _REPEATED[condition.figure]
        if repeats is None or condition.times not in (None, repeats.k):
            times = "once" if repeats is None else f"{repeats.k} times"
            return _Figure(note=f"each case is asked {times}; set [run] repeats")
        return _Figure(
            getattr(repeats, name),
            getattr(repeats, f"{name}_ci95", None),
            f"require {repeats.require}",
        )
    if condition.figure in _COUNTS:
        return _Figure(getattr(part.totals, condition.figure))
    if condition.figure != "mean":
        if condition.group is None:
            record = summary.to_json()
        else:
            record = part.to_json()
        return _Figure(_number_at(record, condition.figure))
    means: dict[str, Mean] = {**part.average_scores, "score": part.score, "quality": part.quality}
    figure = means.get(condition.metric)
    if figure is None:
        near = did_you_mean(condition.metric, part.average_scores)
        note = f'no metric "{condition.metric}"{near}'
        return _Figure(note=note, missing=_Missing.NO_SUCH_METRIC, near=near)
    note = f"scored {figure.n}/{figure.of}"
    if isinstance(figure, MetricMean):
        errors = figure.errors
    else:
        errors = part.totals.errors
    # Those might have been the bad ones: a mean over the rest must not pass.
    if errors and figure.n:
        return _Figure(note=f"{note}, {errors} with an error", missing=_Missing.ERRORS)
    return _Figure(figure.mean, figure.ci95, note)


def _number_at(part: object, path: str) -> float | None:
    """The number under names joined by dots; a name may contain dots itself, as `rubric.accuracy` does."""
    if not path:
        # True is an int in Python, but no figure.
        if isinstance(part, int | float) and not isinstance(part, bool):
            return part
        return None
    if not is_mapping(part):
        return None
    name = next((name for name in part if path == name or path.startswith(f"{name}.")), None)
    if name is None:
        return None
    return _number_at(part[name], path[len(name) + 1 :])


@dataclass(slots=True)
class KnownGroups:
    """The types and routes of a suite's cases, for checking gates before the first question. `routed`: some case has an
    expected route. `whole`: these are all cases of the suite, not a selection. `open`: the target may report routes
    that no case names."""

    types: set[str] = field(default_factory=set[str])
    routes: set[str] = field(default_factory=set[str])
    routed: bool = False
    whole: bool = True
    open: bool = False

    def add(self, case: Case) -> None:
        if case.type is not None:
            self.types.add(case.type)
        if case.expected_route is not None:
            self.routed = True
            self.routes.update((case.expected_route, *case.acceptable_routes))
        if case.recorded is not None and case.recorded.route is not None:
            self.routes.add(case.recorded.route)


def check_gates(
    conditions: Conditions,
    known: KnownGroups,
    metrics: Sequence[str],
    profile: Profile | None,
    repeats: Repeats,
) -> tuple[str, ...]:
    """Refuses the first condition that can never hold, with the reason; what depends on the target gives a warning."""
    if not conditions:
        return ()
    names = known.types | known.routes
    if profile is not None:
        names = names.union(*profile.routes.values())
    # A selection may leave out the cases of a type; its gate is no typing error then.
    unknown = [c for c in conditions if known.whole and c.group not in {None, *names}]
    # A name close to a known one is a typing error; another may be a route that is reported.
    for condition in unknown:
        near = did_you_mean(condition.group or "", names)
        if near or known.routed or not known.open:
            named = ", ".join(sorted(names)[:_MOST_NAMED]) or "none"
            raise condition.error(
                f'no case has type or route "{condition.group}"{near}; known: {named}'
            )
    for condition in conditions:
        if condition.group in known.types & known.routes and not condition.kind:
            raise condition.error(_AMBIGUOUS.format(condition.group))
    for condition in conditions:
        refuse_impossible(condition, profile)
    example = _example(
        conditions, metrics, profile, repeats, routed=known.routed or not known.whole
    )
    for condition in conditions:
        figure = _figure(condition, example)
        if figure.value is None and figure.missing is not _Missing.ERRORS:
            raise condition.error(_why(condition, figure, metrics, profile))
    return tuple(
        f'gate "{c.text}": no case has type or route "{c.group}"; it fails if the target does not report that route'
        for c in unknown
    )


def _why(
    condition: Condition, figure: _Figure, metrics: Sequence[str], profile: Profile | None
) -> str:
    """Why no run has this figure."""
    if profile is None and (condition.metric or condition.figure).startswith(_NEED_PROFILE):
        return "this figure needs a profile; give one with --profile, or in the suite"
    if condition.figure == "route_accuracy":
        return "no case has an expected_route"
    if figure.missing is _Missing.NO_SUCH_METRIC and figure.near:
        return figure.note
    if figure.missing is _Missing.NO_SUCH_METRIC:
        return f"{figure.note}; measured are {', '.join(metrics)}"
    note = figure.note or "this run has no such figure"
    return f"{note}; summary.json of an earlier run shows the figures that exist"


def _example(
    conditions: Conditions,
    metrics: Sequence[str],
    profile: Profile | None,
    repeats: Repeats,
    *,
    routed: bool,
) -> Summary:
    """A synthetic summary with every possible figure: what it lacks, no run will have."""
    verdicts = [Verdict(Status.SCORED), Verdict(Status.SCORED)]
    if profile is not None:
        bands = [band for rules in profile.all_rules for band in rules.bands]
        judged = [*bands, Band("", 0.0, Status.FAILED), Band("", 0.0, Status.UNSCORED)]
        verdicts = [Verdict(band.status, 1.0, 1.0, band=band.name) for band in judged]
    scores = {name: Score(1.0) for name in metrics}
    groups = {
        (condition.group, condition.kind) for condition in conditions if condition.group is not None
    }
    outcomes: list[Outcome] = []
    for group, kind in ((None, ""), *groups):
        case = Case(
            "", "", type=None if kind == "route" else group, expected_route="" if routed else None
        )
        response = Response(answer="", route=group if kind == "route" else "", seconds=1.0)
        # With an error too, so that gates on `errors` find their figure.
        outcomes += [
            Outcome(case, response, scores, each) for each in (*verdicts, Verdict(Status.ERROR))
        ]
    if repeats.times > 1:
        outcomes = [replace(outcome, attempts=(outcome,) * repeats.times) for outcome in outcomes]
    settings = RunSettings(
        run=ExecutionTable(repeats=repeats.times, require=repeats.text if repeats.times > 1 else "")
    )
    return summarise(outcomes, profile, RunInfo(settings=settings))
