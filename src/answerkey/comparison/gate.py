"""The gate of `compare --gate`: B must be shown to be no worse than A (a non-inferiority test)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from answerkey.comparison.number_text import format_change, format_number
from answerkey.comparison.significance import (
    MIN_UNITS,
    Difference,
    cases_needed,
    highest_gain,
    lowest_gain,
)
from answerkey.comparison.verdict import ComparisonVerdict
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, SettingsError
from answerkey.text import format_count

if TYPE_CHECKING:
    from answerkey.comparison.comparison import Comparison

DEFAULT_MARGIN = 0.05  # of the scale
_LISTED = 3  # ids in a reason


@dataclass(frozen=True, slots=True)
class CompareGate:
    """The limits of `compare --gate`. `margin` is a loss in the mean score (None: 5 % of the scale)."""

    margin: float | None = None
    max_new_failures: int | None = None
    max_errors: int = 0

    def __post_init__(self) -> None:
        if self.margin is not None and not (math.isfinite(self.margin) and self.margin >= 0):
            raise SettingsError(f"--margin is {self.margin}, expected a number of 0 or more")


def gate_failures(comparison: Comparison, gate: CompareGate | None = None) -> list[str]:
    """Why the gate fails; empty if it passes.

    It passes only if B is shown to be no worse than A by more than the margin. Anything unknown
    fails: runs that are not comparable or unfinished, too few cases, errors in B, cases of A missing
    in B.
    """
    gate = gate or CompareGate()
    changed = comparison.changed
    reasons = list(_find_count_failures(comparison, gate))
    has_nothing_to_compare = (
        bool(changed.scoring) or changed.shared == 0 or not comparison.largest_n
    )
    if comparison.verdict is ComparisonVerdict.NOT_COMPARABLE and has_nothing_to_compare:
        return [*reasons, comparison.sentence]
    # The same answers scored alike: any difference in the figures is not the bot's.
    if not changed.bot:
        return reasons
    for name, figures in _decisive_differences(comparison).items():
        margin = gate.margin
        if margin is None:
            margin = DEFAULT_MARGIN * figures.span
        reasons.append(_describe_possible_loss(figures, margin, name))
    return [reason for reason in reasons if reason]


def _find_count_failures(comparison: Comparison, gate: CompareGate) -> Iterator[str]:
    """Failures that need no statistics: cases that are missing, in errors, or newly failing."""
    changed = comparison.changed
    yield from changed.unfinished_runs
    if changed.removed and not changed.partial_b:
        missing = format_count(len(changed.removed), "case")
        yield f"{missing} of A missing in B: {_list_some(changed.removed)}"
    if comparison.errors_b > gate.max_errors:
        errors = f"{format_count(comparison.errors_b, 'case')} of B with an error"
        if gate.max_errors:
            errors += f", {gate.max_errors} allowed"
        if comparison.lost:
            errors += f"; with a verdict in A: {_list_some(comparison.lost)}"
        yield errors
    newly = comparison.newly_failing
    if gate.max_new_failures is not None and len(newly) > gate.max_new_failures:
        failing = format_count(len(newly), "case newly fails", "cases newly fail")
        ids = _list_some([case.id for case in newly])
        yield f"{failing}, {gate.max_new_failures} allowed: {ids}"


def _decisive_differences(comparison: Comparison) -> Mapping[str, Difference]:
    """The overall score; without one each metric that has a better direction."""
    if comparison.overall.n:
        return {"score": comparison.overall}
    return {
        name: figures
        for name, figures in comparison.metrics.items()
        if figures.better != "neither" and figures.n
    }


def _describe_possible_loss(figures: Difference, margin: float, name: str) -> str:
    """Why B may be worse by more than the margin; empty if it is shown not to be."""
    if figures.units < MIN_UNITS:
        unit = "case" if figures.clusters is None else "cluster"
        change = format_number(figures.diff or 0.0, sign="+")
        return (
            f"too few cases to tell: {format_count(figures.units, unit)}; "
            f"at least {MIN_UNITS} are needed (the {name} changed by {change})"
        )
    # "No significant difference" would pass a gate by asking few cases. The gate asks for proof
    # instead: the whole interval of the gain lies above the margin.
    lowest = lowest_gain(figures)
    if lowest > -margin:
        return ""
    change = f"the {name} changed by {format_change(figures)}, margin {margin:g}"
    if highest_gain(figures) < -margin:
        return f"B is worse by more than the margin: {change}"
    if figures.gain < -margin:
        return f"B is probably worse by more than the margin: {change}"
    return f"too few cases to tell: {change}{_describe_uncertainty(figures, lowest, margin)}"


def _describe_uncertainty(figures: Difference, lowest: float, margin: float) -> str:
    """How large a loss could go unseen, and how many cases would be enough."""
    text = ""
    if figures.gain >= 0 and 2 * figures.changed_cases <= figures.n:
        text += f"; a loss of {format_number(-lowest, 2)} could go unseen in {figures.n} cases"
    needed = cases_needed(figures, margin)
    if needed is not None and needed > figures.n:
        text += f"; about {needed} cases would be enough"
    return text


def end_of_comparison(comparison: Comparison, failures: Sequence[str] | None) -> Ending:
    """The last line and exit code of `compare`; `failures` is None without --gate."""
    if failures is None:
        failing = len(comparison.newly_failing)
        passing = len(comparison.newly_passing)
        line = f"{comparison.verdict}; {failing} newly fail, {passing} newly pass"
        return Ending(EXIT_OK, line, gated=False)
    if failures:
        return Ending(EXIT_GATE, "; ".join(failures))
    return Ending(EXIT_OK, f"B is no worse than A ({comparison.verdict})")


def _list_some(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_LISTED])
    if len(names) > _LISTED:
        return f"{listed}, …"
    return listed
