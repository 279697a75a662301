"""report.txt: averages by family, bands, types, routes, gates, and the cases to read first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from answerkey.metrics.judge.card import card_lines
from answerkey.metrics.registry import find
from answerkey.percentages import format_percent
from answerkey.reports.headline import headline_lines
from answerkey.reports.numbers import (
    format_figure,
    format_gate,
    format_mean,
    format_pass_rate,
    metric_maxima,
)
from answerkey.reports.tables import component_rows, confusion_rows
from answerkey.runs.disagreements import Disagreement
from answerkey.runs.failure_groups import group_lines
from answerkey.runs.figures import Figures, MetricMean
from answerkey.runs.summary import Summary
from answerkey.text import format_count, printable
from answerkey.types import Profile, Status

_BAR_LENGTH = 30  # characters of a band that has every case
_CELL_WIDTH = 14  # characters of a route's name in a table of routes
_MOST_GROUPS = 12  # kinds and causes of failure
_MOST_MEANS = 4  # metrics named per type or route of a run without a profile
_FAMILY_ORDER = (
    "correctness", "communication", "operations", "retrieval", "judged", "other", "recorded"
)  # fmt: skip


def text_report(summary: Summary, profile: Profile | None = None) -> str:
    """The report as plain text.

    With the profile, bands have their limits and scores of criteria their maximum.

    >>> text_report(summary, profile)      # doctest: +SKIP
    'support-bot: 50 cases, 48 scored, 2 errors\\n...'
    """
    errors = (f"{count} × {what}" for what, count in summary.errors.items())
    parts = [
        headline_lines(summary),
        _section("Failures by kind and cause", group_lines(summary.failures[:_MOST_GROUPS])),
        _section("Failed cases, worst first", _case_lines(summary, is_scored=True)),
        _section("Cases that were not scored", _case_lines(summary, is_scored=False)),
        _average_lines(summary.figures.average_scores, profile),
        _band_lines(summary, profile),
        _group_lines("By type", summary.by_type),
        _group_lines("By route", summary.by_route),
        _grid("Means by route", component_rows(summary.by_route)),
        _grid(
            "Routes: expected (rows) and taken (columns)", confusion_rows(summary.route_confusion)
        ),
        _time_lines(summary.figures),
        _section("Errors", errors),
        _section("Metrics disagree; read these cases", map(_disagreement, summary.disagreements)),
        card_lines(summary.judge) if summary.judge else [],
        _section("Gates", map(format_gate, summary.gates)),
    ]
    return printable("\n\n".join("\n".join(part) for part in parts if part) + "\n")


def family_of(metric: str) -> str:
    """The group of a metric in the report; a metric that does not say one is among the others."""
    family = "other"
    # An old run may name a metric that no module defines any more, and loading the installed
    # packages can fail in any way; neither may cost the user the report.
    with suppress(Exception):
        family = find(metric).facts.family
    if family != "other":
        return family
    # Names of an old run that are not registered still say what they are.
    if metric.startswith("recorded."):
        return "recorded"
    if metric.startswith(("rubric.", "judge.")):
        return "judged"
    if "@" in metric:
        return "retrieval"
    return "other"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A title and its indented lines; nothing without lines."""
    indented = [f"  {line}" for line in lines]
    return [title, *indented] if indented else []


def _average_lines(averages: Mapping[str, MetricMean], profile: Profile | None) -> list[str]:
    """One line per metric, grouped by family; one family alone needs no heading."""
    width = max(map(len, averages), default=0)
    maxima = metric_maxima(averages, profile)
    families: dict[str, list[str]] = {}
    for name, entry in averages.items():
        line = f"{name:<{width}}  {format_mean(entry, maxima[name])}{_left_out(entry)}"
        if entry.reading:
            line += f": {entry.reading}"
        families.setdefault(family_of(name), []).append(line)
    # A heading over everything says nothing.
    if len(families) == 1:
        return _section("Average scores", *families.values())
    lines: list[str] = []
    own_families = sorted(families.keys() - set(_FAMILY_ORDER))
    for family in (*_FAMILY_ORDER, *own_families):
        lines += _section(family, families.get(family, []))
    return _section("Average scores", lines)


def _left_out(entry: MetricMean) -> str:
    """` (2 not applicable, 1 error)`; empty if the mean is over every case."""
    counts: list[str] = []
    if entry.not_applicable:
        counts.append(f"{entry.not_applicable} not applicable")
    if entry.errors:
        counts.append(format_count(entry.errors, "error"))
    return f" ({', '.join(counts)})" if counts else ""


def _band_lines(summary: Summary, profile: Profile | None) -> list[str]:
    totals = summary.figures.totals
    if not totals.scored:
        return []
    names = {name: name for name in summary.bands}
    if profile is not None:
        names |= {name: f"{name} ({limits})" for name, limits in _band_limits(profile).items()}
    width = max((len(names[name]) for name in summary.bands), default=0)
    lines: list[str] = []
    for name, count in summary.bands.items():
        share = count / totals.cases
        bar = "█" * round(_BAR_LENGTH * share)
        lines.append(f"{names[name]:<{width}}  {count:>6}  {format_percent(share):>7}  {bar}")
    return _section("Performance", lines)


def _band_limits(profile: Profile) -> dict[str, str]:
    """The limit of each band; where groups of routes have their own, theirs too: `≥0.8; kpi ≥0.75`."""
    limits = {band.name: f"≥{band.at:g}" for band in profile.rules.bands}
    common = {band.name: band.at for band in profile.rules.bands}
    for group, rules in profile.group_rules.items():
        for band in rules.bands:
            if common.get(band.name) != band.at:
                if band.name in limits:
                    earlier = f"{limits[band.name]}; "
                else:
                    earlier = ""
                limits[band.name] = f"{earlier}{group} ≥{band.at:g}"
    return limits


def _group_lines(title: str, groups: Mapping[str, Figures]) -> list[str]:
    """The pass rate and mean score of each type or route."""
    width = max(map(len, groups), default=0)
    return _section(
        title, (f"{name:<{width}}  {_group_figures(part)}" for name, part in groups.items())
    )


def _group_figures(part: Figures) -> str:
    """Pass rate and mean score; without a profile the means of the first metrics."""
    if part.pass_rate is not None or not part.average_scores:
        return f"passed {format_pass_rate(part)}; mean score {format_figure(part.score.mean)}"
    means = [
        f"{metric} {format_figure(entry.mean)}" for metric, entry in part.average_scores.items()
    ]
    if len(means) > _MOST_MEANS:
        means = [*means[:_MOST_MEANS], "…"]
    return f"{format_count(part.totals.cases, 'case')}; {', '.join(means)}"


def _grid(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    width = max((len(name) for name, *_ in rows), default=0)
    lines: list[str] = []
    for name, *cells in rows:
        cut = (f"{cell[:_CELL_WIDTH]:>{_CELL_WIDTH}}" for cell in cells)
        lines.append("  ".join([f"{name:<{width}}", *cut]))
    return _section(title, lines)


def _time_lines(figures: Figures) -> list[str]:
    times = figures.response_time
    if not times.n:
        return []
    kinds = {
        "average": times.average,
        "min": times.min,
        "p50": times.p50,
        "p95": times.p95,
        "max": times.max,
    }
    seconds = [f"{kind} {value:.3f} s" for kind, value in kinds.items() if value is not None]
    return [f"Response time of {format_count(times.n, 'answer')}: {', '.join(seconds)}"]


def _case_lines(summary: Summary, *, is_scored: bool) -> list[str]:
    """A line per case that failed, or per case that was not scored."""
    return [
        f"{case.id}: {' '.join(case.why.split())}"
        for case in summary.failed_cases
        if (case.status != Status.UNSCORED) is is_scored
    ]


def _disagreement(case: Disagreement) -> str:
    values = ", ".join(f"{name} {value:.2f}" for name, value in case.values.items())
    return f"{case.id}: {case.what} ({values})"
