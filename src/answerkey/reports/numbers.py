"""Numbers as the reports print them: figures, means, rates, intervals and gates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from answerkey.errors import AnswerkeyError
from answerkey.metrics.registry import find
from answerkey.percentages import format_rate
from answerkey.runs.figures import Figures, Totals
from answerkey.runs.means import Mean
from answerkey.runs.summary import GateResult
from answerkey.types import Profile


def format_figure(value: float | None) -> str:
    """Three decimals below 10, one above; `-` for a figure that does not exist.

    >>> format_figure(0.5), format_figure(1234.56), format_figure(None)
    ('0.500', '1,234.6', '-')
    """
    if value is None:
        return "-"
    # Counts are whole; "3.000 errors" would look like thousands.
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:,.1f}"


def format_mean(entry: Mean, maximum: float = 1) -> str:
    """`0.713, 95 % interval 0.650–0.770, scored 48/50`; `4.20/5` on a scale that ends at 5."""
    if entry.mean is None:
        return f"no value, scored 0/{entry.of}"
    value = format_figure(entry.mean)
    if maximum != 1:
        value = f"{entry.mean:.2f}/{maximum:g}"
    return f"{value}{format_interval(entry.ci95)}, scored {entry.n}/{entry.of}"


def format_interval(ends: Sequence[float] | None) -> str:
    """`, 95 % interval 0.650–0.770`; empty without an interval."""
    if not ends:
        return ""
    # A dash between two numbers reads as a minus before a negative one.
    dash = " to " if min(ends) < 0 else "–"
    return f", 95 % interval {format_figure(ends[0])}{dash}{format_figure(ends[1])}"


def format_counted_rate(share: float, interval: Sequence[float] | None, count: int, of: int) -> str:
    """`80 %, 95 % interval 67–89 %, 40/50`."""
    return f"{format_rate(share, interval)}, {count}/{of}"


def format_pass_rate(part: Figures) -> str:
    """The pass rate of a type or route; `-` if nothing is scored."""
    if part.pass_rate is None:
        return "-"
    counted = counted_cases(part.totals)
    return format_counted_rate(part.pass_rate, part.pass_rate_ci95, part.totals.passed, counted)


def counted_cases(totals: Totals) -> int:
    """The cases that a pass rate counts: those that were scored or ended in an error."""
    return totals.cases - totals.unscored


def format_gate(gate: GateResult) -> str:
    """`PASS  pass_rate >= 0.8: 0.840, 95 % interval 0.720–0.910`."""
    word = "PASS" if gate.passed else "FAIL"
    if gate.value is None:
        value = "no value"
    else:
        value = format_figure(gate.value)
    note = f", {gate.note}" if gate.note else ""
    return f"{word}  {gate.condition}: {value}{format_interval(gate.ci95)}{note}"


def metric_maxima(metrics: Iterable[str], profile: Profile | None) -> dict[str, float]:
    """The largest value of each metric: that of its criterion in the profile, or else its own.

    A metric whose maximum is not known gets 1.
    """
    maxima: dict[str, float] = {}
    if profile is not None:
        maxima = {criterion.metric: criterion.maximum for criterion in profile.lines}
    for metric in metrics:
        # Only the rubric's scales end elsewhere than at 1; looking up any name would import
        # the module of every metric.
        if metric not in maxima and metric.startswith("rubric."):
            with suppress(AnswerkeyError):
                maxima[metric] = find(metric).facts.high or 1
    return {metric: maxima.get(metric, 1) for metric in metrics}
