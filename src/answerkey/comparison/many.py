"""Several runs of the same cases in one table: which is best, and which costs least without being worse.

Each run is compared with the best one, case by case. With a profile the pass rate decides; without
one, the mean of the first metric that all runs have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.comparison.changed import find_changed_scoring
from answerkey.comparison.comparison import better_direction
from answerkey.comparison.pair import Pairs, Side, load_side, pair_cases
from answerkey.comparison.significance import ALPHA, Difference, difference, holm, mcnemar
from answerkey.errors import InputError, SettingsError
from answerkey.intervals import Interval, mean_interval
from answerkey.percentages import format_percent
from answerkey.runs.means import interval_of_rate, quantile_of
from answerkey.types import Json, Status

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

PASS_RATE = "pass rate"


class Standing(StrEnum):
    """How a run stands beside the best one."""

    BEST = "best"
    NOT_WORSE = "no detectable difference from the best"
    WORSE = "worse than the best"
    NOT_COMPARABLE = "not comparable with the best"


@dataclass(frozen=True, slots=True)
class ManyRow:
    """One run. `cost`, `seconds` and `tokens` are per answer, None where no answer reports them.

    `seconds` is the median, the others are means. `figures` compares the run with the best one;
    `obstacle` says why it cannot be compared.
    """

    run: str
    value: float | None
    interval: Interval | None
    scored: int
    cases: int
    errors: int
    kinds: tuple[tuple[str, int], ...]
    cost: float | None
    seconds: float | None
    tokens: float | None
    standing: Standing = Standing.NOT_COMPARABLE
    figures: Difference | None = None
    obstacle: str = ""
    is_cheapest: bool = False

    def to_json(self) -> Json:
        figures = self.figures or Difference(0)
        return {
            "run": self.run,
            "value": self.value,
            "ci95": _ends(self.interval),
            "scored": self.scored,
            "cases": self.cases,
            "errors": self.errors,
            "kinds": dict(self.kinds),
            "cost": self.cost,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "standing": self.standing.value,
            "diff": figures.diff,
            "diff_ci95": _ends(figures.interval),
            "p": figures.p,
            "p_holm": figures.p_holm,
            "obstacle": self.obstacle,
            "cheapest_not_worse": self.is_cheapest,
        }


def _ends(interval: Interval | None) -> list[float] | None:
    if interval is None:
        return None
    return [interval.low, interval.high]


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """The table of several runs, best first. `measure` names the value of a row."""

    measure: str
    rows: tuple[ManyRow, ...]

    @property
    def best(self) -> ManyRow:
        return self.rows[0]

    @property
    def cheapest(self) -> ManyRow | None:
        """The cheapest run without a detectable difference from the best; None without costs."""
        return next((row for row in self.rows if row.is_cheapest), None)

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        return self.name_result({})

    def name_result(self, titles: Mapping[str, str]) -> str:
        """The result in one sentence, with titles for the runs that have one."""

        def title_of(row: ManyRow) -> str:
            return titles.get(row.run) or row.run

        level = [title_of(row) for row in self.rows if row.standing is Standing.NOT_WORSE]
        text = f"{title_of(self.best)} has the best {self.measure} ({self.format_value(self.best)})"
        if level:
            text += f"; no detectable difference: {', '.join(level)}"
        if self.cheapest:
            text += f"; cheapest of these: {title_of(self.cheapest)}"
        return text

    def format_value(self, row: ManyRow) -> str:
        if row.value is None:
            return "-"
        if self.measure == PASS_RATE:
            return format_percent(row.value)
        return f"{row.value:.3f}"

    def to_json(self) -> Json:
        return {
            "measure": self.measure,
            "sentence": self.sentence,
            "runs": [row.to_json() for row in self.rows],
        }


def compare_many(paths: Sequence[str | Path]) -> ManyRuns:
    """One row per run, best first.

    >>> compare_many(["results/a", "results/b", "results/c"]).sentence  # doctest: +SKIP
    'results/b has the best pass rate (92 %); no detectable difference: results/a'
    """
    if len(paths) < 2:
        raise SettingsError("a table of runs needs at least two runs")
    return rank_sides([load_side(path) for path in paths])


def rank_sides(sides: Sequence[Side]) -> ManyRuns:
    """As `compare_many`, from the columns of the runs."""
    measure = _choose_measure(sides)
    rows = [_describe_side(side, measure) for side in sides]
    is_lower_better = measure != PASS_RATE and better_direction(measure) == "lower"

    def rank_key(place: int) -> float:
        value = rows[place].value
        if value is None:
            return math.inf  # a run without a value comes last
        return value if is_lower_better else -value

    first, *others = sorted(range(len(rows)), key=rank_key)
    compared = [replace(rows[first], standing=Standing.BEST)]
    compared += [
        _compare_with_best(rows[place], sides[first], sides[place], measure) for place in others
    ]
    return ManyRuns(measure, tuple(_mark_cheapest(_judge_standing(compared))))


def _choose_measure(sides: Sequence[Side]) -> str:
    """The pass rate where every run has verdicts, else the first metric that all runs have."""
    if all(side.has_verdicts for side in sides):
        return PASS_RATE
    for name in sides[0].metrics:
        if all(name in side.metrics for side in sides):
            return name
    names = ", ".join(side.name for side in sides)
    raise InputError(f"these runs have no metric in common: {names}; rescore them with one profile")


def _values_of(side: Side, measure: str) -> NumberArray:
    import numpy as np

    return np.asarray(side.passed if measure == PASS_RATE else side.metrics[measure])


def _describe_side(side: Side, measure: str) -> ManyRow:
    import numpy as np

    values = _values_of(side, measure)
    present = ~np.isnan(values)
    scored = int(present.sum())
    if measure == PASS_RATE:
        interval = interval_of_rate(values == 1, present, _shared_clusters(side))
    else:
        interval = mean_interval(values[present].tolist())
    kinds = Counter(kind for kind in side.kinds if kind)
    return ManyRow(
        run=side.name,
        value=float(values[present].mean()) if scored else None,
        interval=interval,
        scored=scored,
        cases=len(side),
        errors=side.statuses.count(Status.ERROR),
        kinds=tuple(kinds.most_common()),
        cost=_mean_of_present(side.cost),
        seconds=quantile_of(_present_values(side.seconds), 0.5),
        tokens=_mean_of_present(side.tokens),
    )


def _shared_clusters(side: Side) -> NumberArray | None:
    """The cluster of each case; None where every case stands alone."""
    import numpy as np

    if len(set(side.clusters)) == len(side.clusters):
        return None
    return np.array(side.clusters, dtype=object)


def _present_values(column: Sequence[float]) -> NumberArray:
    import numpy as np

    values = np.asarray(column)
    return values[~np.isnan(values)]


def _mean_of_present(column: Sequence[float]) -> float | None:
    values = _present_values(column)
    if len(values):
        return float(values.mean())
    return None


def _compare_with_best(row: ManyRow, best: Side, side: Side, measure: str) -> ManyRow:
    pairs = pair_cases(best, side)
    obstacle = _find_obstacle(pairs, measure)
    if obstacle:
        return replace(row, obstacle=obstacle)
    if measure == PASS_RATE:
        # McNemar's test is made for pairs of pass and fail; the t-test is not.
        p = mcnemar(*pairs.passes()).p
        figures = replace(difference(*pairs.passes(), span=1.0), p=p)
    else:
        columns = pairs.both(best.metrics[measure], side.metrics[measure])
        figures = difference(*columns, better_direction(measure))
    return replace(row, figures=figures)


def _find_obstacle(pairs: Pairs, measure: str) -> str:
    """Why two runs cannot be compared; empty if they can."""
    if not len(pairs):
        return "no case in common"
    scoring = find_changed_scoring(pairs)
    if scoring:
        return f"another {', '.join(scoring)}"
    if not len(pairs.both(_values_of(pairs.a, measure), _values_of(pairs.b, measure))[0]):
        return "no case scored in both"
    return ""


def _judge_standing(rows: Sequence[ManyRow]) -> list[ManyRow]:
    """Holm's correction over all comparisons with the best run, then the standing of each run."""
    p_values = {
        row.run: row.figures.p
        for row in rows
        if row.figures is not None and row.figures.p is not None
    }
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return [_with_standing(row, corrected.get(row.run)) for row in rows]


def _with_standing(row: ManyRow, p_holm: float | None) -> ManyRow:
    if row.figures is None:
        return row
    is_worse = p_holm is not None and p_holm < ALPHA
    if is_worse:
        standing = Standing.WORSE
    else:
        standing = Standing.NOT_WORSE
    return replace(row, standing=standing, figures=replace(row.figures, p_holm=p_holm))


def _mark_cheapest(rows: Sequence[ManyRow]) -> list[ManyRow]:
    """Mark the cheapest run that is not detectably worse, if every such run reports its cost."""
    level = [row for row in rows if row.standing in (Standing.BEST, Standing.NOT_WORSE)]
    if len(level) < 2 or any(row.cost is None for row in level):
        return list(rows)
    cheapest = min(level, key=lambda row: row.cost or 0.0)
    return [replace(row, is_cheapest=row is cheapest) for row in rows]
