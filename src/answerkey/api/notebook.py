"""A run as text, as HTML and as charts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from answerkey.display import html_bars, html_table, html_text, rate_text
from answerkey.reports.svg_bars import Bars, Plot
from answerkey.text import format_count, short_label
from answerkey.types import Outcome, Status

if TYPE_CHECKING:
    from answerkey.api.run import Run

_WORST_IN_TEXT = 3
_WORST_SHOWN = 5
_WORST_COLUMNS = ("case", "question", "answer", "why", "kind", "cause", "score")
_LONGEST_REASON = 160
_GOOD = "#2e7d32"
_BAD = "#b3261e"


def run_text(run: Run) -> str:
    """The headline, the means, and the worst cases, one line each."""
    means = [
        f"{name} {'-' if figure.mean is None else f'{figure.mean:.3f}'} ({figure.n}/{figure.of})"
        for name, figure in run.summary.figures.average_scores.items()
    ]
    lines = [headline(run), f"  mean: {', '.join(means)}"]
    worst = _worst(run)
    lines += [f"  {o.case.id}: {_reason(o)}" for o in worst[:_WORST_IN_TEXT]]
    if len(worst) > _WORST_IN_TEXT:
        lines.append(f"  and {len(worst) - _WORST_IN_TEXT} more: run.failures()")
    if run.profile is None:
        lines.append("  no profile, so nothing passes or fails; run.worst(10) lists low scores")
    return "\n".join(lines)


def headline(run: Run) -> str:
    """How many cases there are, how many passed, and what is missing."""
    totals = run.summary.figures.totals
    parts = [format_count(len(run), "case")]
    if run.profile is not None:
        rate = rate_text(run.summary.pass_rate, run.summary.figures.pass_rate_ci95)
        parts.append(f"{totals.passed} passed, {rate}")
        # Without a profile no case has a verdict, and none is called unscored.
        if totals.unscored:
            parts.append(f"{totals.unscored} UNSCORED")
    if totals.errors:
        parts.append(format_count(totals.errors, "error"))
    if run.partial:
        incomplete = f"; incomplete: {run.partial}"
    else:
        incomplete = ""
    return f"Run {run.name}: {', '.join(parts)}{incomplete}"


def run_html(run: Run) -> str:
    """The headline, the bands, the metrics and the worst cases as HTML; every text is inert."""
    worst = [
        (
            outcome.case.id,
            short_label(outcome.case.question, 80),
            short_label(outcome.response.answer or "", 120),
            _reason(outcome),
            outcome.verdict.kind,
            outcome.verdict.cause,
            outcome.verdict.score,
        )
        for outcome in _worst(run)[:_WORST_SHOWN]
    ]
    parts = [f"<b>{html_text(headline(run))}</b>"]
    if run.summary.bands:
        parts.append(html_bars(run.summary.bands))
    parts.append(run.summary.metrics_html())
    if worst:
        parts.append("<b>worst cases</b>")
        parts.append(html_table(worst, _WORST_COLUMNS))
    return f"<div>{''.join(parts)}</div>"


def run_plot(run: Run) -> Plot:
    """How many cases passed and failed, the kinds of failures, and the mean of each metric."""
    charts: list[Bars] = []
    totals = run.summary.figures.totals
    failed = run._list_failures()  # pyright: ignore[reportPrivateUsage]
    if run.profile is not None:
        passed = {"passed": totals.passed}
        charts.append(Bars(headline(run), passed, top=len(run) or 1, colour=_GOOD))
    kinds = Counter(outcome.verdict.kind or "error" for outcome in failed)
    if kinds:
        charts.append(Bars("failures by kind", dict(kinds.most_common()), colour=_BAD))
    causes = Counter(outcome.verdict.cause for outcome in failed if outcome.verdict.cause)
    if causes:
        charts.append(Bars("failures by cause", dict(causes.most_common()), colour=_BAD))
    means = {name: mean for name, mean in run.summary.mean.items() if mean is not None}
    if means:
        # Most metrics end at 1, but a rubric goes up to 5.
        charts.append(Bars("mean of each metric", means, top=max(1.0, *means.values())))
    return Plot(charts)


def _worst(run: Run) -> list[Outcome]:
    """The failed cases; without a profile those with the lowest scores."""
    if run.profile is None:
        return run.worst(_WORST_IN_TEXT)
    return run._list_failures()  # pyright: ignore[reportPrivateUsage]


def _describe_scores(outcome: Outcome) -> str:
    """The values of the metrics; where none has a value, why not."""
    values = {name: score.value for name, score in outcome.scores.items()}
    measured = [f"{name} {value:.2f}" for name, value in values.items() if value is not None]
    if measured:
        return ", ".join(measured)
    reasons = {score.reason: None for score in outcome.scores.values() if score.reason}
    return f"nothing measured: {'; '.join(reasons) or 'no metric is applicable'}"


def _reason(outcome: Outcome) -> str:
    verdict = outcome.verdict
    text = verdict.why or outcome.response.error or verdict.justification
    if not text and verdict.status == Status.SCORED:
        text = _describe_scores(outcome)
    return short_label(text or str(verdict.status), _LONGEST_REASON)
