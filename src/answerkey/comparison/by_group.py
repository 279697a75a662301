"""Two runs compared per type, route, tag or any other column of the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.comparison.comparison import better_direction
from answerkey.comparison.pair import Pairs, load_side, pair_cases
from answerkey.comparison.significance import Difference, McNemar, difference, holm, mcnemar
from answerkey.errors import SettingsError
from answerkey.types import Json

OVERALL = "overall score"


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The cases of one group in both runs. `passes` is None for runs without a profile."""

    name: str
    figures: Difference
    passes: McNemar | None

    def to_json(self) -> Json:
        interval = self.figures.interval
        rates: Json = {}
        if self.passes is not None and self.passes.n:
            rates = {
                "passed_a": (self.passes.both + self.passes.only_a) / self.passes.n,
                "passed_b": (self.passes.both + self.passes.only_b) / self.passes.n,
            }
        return {
            "group": self.name,
            "n": self.figures.n,
            **rates,
            "a": self.figures.mean_a,
            "b": self.figures.mean_b,
            "difference": self.figures.diff,
            "ci95": None if interval is None else [interval.low, interval.high],
            "p": self.figures.p,
            "p_holm": self.figures.p_holm,
        }


@dataclass(frozen=True, slots=True)
class ComparisonByGroup:
    """One comparison per group, largest group first; `measure` is what `figures` compare."""

    column: str
    measure: str
    groups: tuple[GroupComparison, ...]
    without: int  # cases that have no value of the column

    def to_json(self) -> Json:
        return {
            "by": self.column,
            "measure": self.measure,
            "groups": [group.to_json() for group in self.groups],
            "without": self.without,
        }


def compare_by(a: str | Path, b: str | Path, column: str) -> ComparisonByGroup:
    """Before and after per value of a column; p is corrected for the number of groups (Holm)."""
    pairs = pair_cases(load_side(a, column), load_side(b, column))
    measure = _measure_of(pairs)
    groups = [_compare_group(name, part, measure) for name, part in _split(pairs)]
    if not groups:
        raise SettingsError(
            f"--by {column}: no case has a value of this column; use type, route, tag or a column "
            "of the cases"
        )
    # A group of one case has no p, and does not count as a test.
    tested = [group for group in groups if group.figures.p is not None]
    corrected = holm([group.figures.p or 0.0 for group in tested])
    by_name = {group.name: p for group, p in zip(tested, corrected, strict=True)}
    final = tuple(
        replace(group, figures=replace(group.figures, p_holm=by_name.get(group.name)))
        for group in groups
    )
    without = sum(not pairs.a.groups[row] for row in pairs.rows_a.tolist())
    return ComparisonByGroup(column, measure, final, without)


def _measure_of(pairs: Pairs) -> str:
    """The overall score; without a profile the first metric of both runs that has a direction."""
    if len(pairs.scores()[0]):
        return OVERALL
    for name in pairs.metrics():
        if better_direction(name) != "neither":
            return name
    raise SettingsError("--by: the runs have no score and no metric in common")


def _split(pairs: Pairs) -> Iterator[tuple[str, Pairs]]:
    """The pairs of each group, largest group first."""
    import numpy as np

    rows: list[int] = pairs.rows_a.tolist()
    sizes: Counter[str] = Counter()
    for row in rows:
        sizes.update(pairs.a.groups[row])
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        yield name, pairs.select(np.array([name in pairs.a.groups[row] for row in rows], bool))


def _compare_group(name: str, pairs: Pairs, measure: str) -> GroupComparison:
    if measure != OVERALL:
        columns = pairs.both(pairs.a.metrics[measure], pairs.b.metrics[measure])
        return GroupComparison(name, difference(*columns, better=better_direction(measure)), None)
    if pairs.a.scale == pairs.b.scale:
        scale = pairs.a.scale
    else:
        scale = None
    figures = difference(*pairs.scores(), span=scale)
    return GroupComparison(name, figures, mcnemar(*pairs.passes()))
