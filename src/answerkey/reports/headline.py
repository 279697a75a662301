"""The first lines of every report: pass rate, mean score, and how to read the figures."""

from __future__ import annotations

from answerkey.corrected_rate import CorrectedRate
from answerkey.percentages import format_percent, format_rate
from answerkey.reports.numbers import counted_cases, format_counted_rate, format_mean
from answerkey.reports.recorded_lines import recorded_lines
from answerkey.runs.summary import Summary
from answerkey.text import format_count

SATISFACTION = "share PERFECT or ACCEPTABLE by this profile; no user was asked"
_MOST_FLAKY = 5  # ids named in one line


def headline_lines(summary: Summary) -> list[str]:
    """Counts, pass rate and mean score, then the notes on the figures and of the run."""
    run = summary.run
    figures = summary.figures
    totals = figures.totals
    scored = ""
    if run.profile.name:
        scored = f", {totals.scored} scored"
        if totals.unscored:
            scored += f", {totals.unscored} unscored"
    lines = [
        f"{run.name}: {format_count(totals.cases, 'case')}{scored}, {format_count(totals.errors, 'error')}"
    ]
    if run.partial:
        lines.append(f"PARTIAL RUN ({totals.cases} of {run.selected} cases): {run.partial}")
    if run.profile.name:
        lines.append(
            f"profile {run.profile.name} version {run.profile.version} ({run.profile.digest})"
        )
    lines += _verdict_lines(summary)
    if figures.route_accuracy is not None:
        accuracy = format_percent(figures.route_accuracy)
        lines.append(f"route accuracy {accuracy} of {figures.route_accuracy_n}")
    lines += figure_notes(summary)
    lines += recorded_lines(summary)
    return lines + [f"note: {note}" for note in run.notes]


def _verdict_lines(summary: Summary) -> list[str]:
    """Pass rate, satisfaction and mean score; empty for a run without a verdict."""
    profile = summary.run.profile
    figures = summary.figures
    totals = figures.totals
    if figures.pass_rate is None or figures.user_satisfaction_rate is None:
        return []
    passed = format_counted_rate(
        figures.pass_rate, figures.pass_rate_ci95, totals.passed, counted_cases(totals)
    )
    lines = [f"pass rate {passed}"]
    if profile.satisfaction:
        satisfied = format_counted_rate(
            figures.user_satisfaction_rate,
            figures.user_satisfaction_ci95,
            round(figures.user_satisfaction_rate * counted_cases(totals)),
            counted_cases(totals),
        )
        lines.append(f"user satisfaction {satisfied} ({SATISFACTION})")
    lines.append(f"mean score {format_mean(figures.score, profile.scale)}")
    # Without a route both are the same number.
    if figures.quality.mean is not None and figures.quality.mean != figures.score.mean:
        lines.append(f"mean quality {format_mean(figures.quality, profile.scale)}")
    return lines


def figure_notes(summary: Summary) -> list[str]:
    """How to read the figures: repeats, clusters, labels, and why a pass rate is missing."""
    figures = summary.figures
    lines: list[str] = []
    if figures.pass_rate is None and summary.run.profile.name:
        lines.append(f"no pass rate: {_missing_rate_reason(summary)}")
    lines += _repeat_lines(summary)
    if figures.clusters is not None:
        clusters = format_count(figures.clusters, "cluster")
        cases = format_count(figures.totals.cases, "case")
        lines.append(f"{cases} in {clusters}: intervals are by cluster")
    if summary.corrected:
        lines.append(corrected_line(summary.corrected))
    return lines


def _missing_rate_reason(summary: Summary) -> str:
    totals = summary.figures.totals
    if not totals.cases:
        return "no case was finished"
    if totals.errors == totals.cases:
        return f"all {totals.cases} cases ended in an error"
    reasons = [f"{format_count(totals.unscored, 'case')} could not be scored"]
    if totals.errors:
        reasons.append(f"{totals.errors} ended in an error")
    return ", ".join(reasons)


def _repeat_lines(summary: Summary) -> list[str]:
    repeats = summary.figures.repeats
    if repeats is None or repeats.pass_all is None or repeats.pass_any is None:
        return []
    k = repeats.k
    cases = summary.figures.totals.cases
    always = format_counted_rate(
        repeats.pass_all, repeats.pass_all_ci95, round(repeats.pass_all * cases), cases
    )
    once = format_counted_rate(
        repeats.pass_any, repeats.pass_any_ci95, round(repeats.pass_any * cases), cases
    )
    flaky = format_count(repeats.flaky, "flaky case")
    if summary.flaky:
        flaky += f": {', '.join(summary.flaky[:_MOST_FLAKY])}"
    if len(summary.flaky) > _MOST_FLAKY:
        flaky += ", …"
    return [
        f"pass^{k} {always} passed every time",
        f"pass@{k} {once} passed at least once",
        f"each case was asked {k} times and passes with {repeats.require}; "
        f"{repeats.answers_passed} of {repeats.answers} answers passed",
        flaky,
    ]


def corrected_line(corrected: CorrectedRate) -> str:
    """The pass rate corrected by human labels, and how many more labels would halve its interval."""
    halving = "even all labels would not"
    if corrected.more_to_halve:
        halving = f"{corrected.more_to_halve} more labels would"
    # The estimator can leave 0 to 1; a rate cannot.
    rate = format_rate(
        min(max(corrected.rate, 0.0), 1.0), (max(corrected.low, 0.0), min(corrected.high, 1.0))
    )
    labels = f"from {corrected.labels} human labels ({corrected.method})"
    return f"corrected pass rate {rate}, {labels}; {halving} halve the interval"
