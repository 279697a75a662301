"""The executive answer: the figure, a benchmark, the trend and its interpretation."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.demo.kpi_catalog import Kpi
from answerkey.demo.kpi_database import KpiDatabase, Period
from answerkey.demo.kpi_periods import shifted
from answerkey.demo.kpi_request import Request


@dataclass(frozen=True, slots=True)
class KpiQuestion:
    """A request with its period: all that the report is made from."""

    kpi: Kpi
    request: Request
    period: Period


def figure_line(asked: KpiQuestion, database: KpiDatabase) -> str:
    """The figure alone; for "which state" the best (or worst) one."""
    kpi, request, period = asked.kpi, asked.request, asked.period
    if request.group:
        ranking = database.by(kpi, request.group, period, request.filters)
        if ranking:
            name, value = ranking[-1] if request.lowest else ranking[0]
            word = "Lowest" if request.lowest else "Highest"
            return f"{word} {kpi.title.lower()}{_who(request)}, {period.label}: {name}, {shown(value, kpi.unit)}"
    value = database.value(kpi, period, request.filters)
    if value is None:
        return f"No data: the tables hold no {kpi.title.lower()}{_who(request)} for {period.label}."
    return f"{kpi.title}{_who(request)}, {period.label}: {shown(value, kpi.unit)}"


def executive_report(asked: KpiQuestion, database: KpiDatabase) -> str:
    """Figure, benchmark, trend and insight, one a line."""
    figure = figure_line(asked, database)
    if figure.startswith("No data"):
        return figure
    lines = [benchmark_line(asked, database), trend_line(asked, database), insight_line(asked, database)]
    return "\n".join([f"**{figure}**", *(f"- {line}" for line in lines if line)])


def benchmark_line(asked: KpiQuestion, database: KpiDatabase) -> str:
    """Beside its peers where one is asked for; else beside the average of the twelve months before."""
    kpi, request, period = asked.kpi, asked.request, asked.period
    dimension = request.group or next(iter(request.filters), None)
    if dimension is None:
        before = [database.value(kpi, shifted(period, -n), {}) for n in range(1, 13)]
        known = [value for value in before if value is not None]
        now = database.value(kpi, period, {})
        if not known or now is None or period.months > 1:
            return ""
        average = sum(known) / len(known)
        months = f"the average of the {len(known)} months before"
        return f"Benchmark: {_against(now, average, kpi)} {months}, {shown(average, kpi.unit)}."
    others = {key: values for key, values in request.filters.items() if key != dimension}
    ranking = database.by(kpi, dimension, period, request.filters if request.group else others)
    average = sum(value for _, value in ranking) / len(ranking)
    order = ", ".join(f"{name} {shown(value, kpi.unit)}" for name, value in ranking[:3])
    if request.group:
        return f"Benchmark: average by {dimension} {shown(average, kpi.unit)}; ranking: {order}."
    (mine,) = request.filters[dimension]  # several would be a group
    rank = 1 + [name for name, _ in ranking].index(mine)
    return (
        f"Benchmark: {_against(dict(ranking)[mine], average, kpi)} the average {dimension}, {shown(average, kpi.unit)}; "
        f"ranking {rank} of {len(ranking)}."
    )


def trend_line(asked: KpiQuestion, database: KpiDatabase) -> str:
    """Against the period before and the same period a year before."""
    kpi, period = asked.kpi, asked.period
    filters = _subject(asked, database)
    now = database.value(kpi, period, filters)
    parts: list[str] = []
    for earlier in dict.fromkeys((shifted(period, -period.months), shifted(period, -12))):
        value = database.value(kpi, earlier, filters)
        if now is not None and value:
            yearly = earlier == shifted(period, -12)
            word = "year-over-year" if yearly else "compared to the previous period"
            parts.append(f"{_change(now, value, kpi)} {word} ({earlier.label}: {shown(value, kpi.unit)})")
    return f"Trend: {'; '.join(parts)}." if parts else "Trend: no earlier period in the tables to compare with."


def insight_line(asked: KpiQuestion, database: KpiDatabase) -> str:
    """Who drives the figure, and what that suggests."""
    kpi, period = asked.kpi, asked.period
    filters = _subject(asked, database)
    free = [dimension for dimension in kpi.dimensions if dimension not in filters]
    if not free:
        return "Insight: this is the finest cut there is; consider the neighbouring months before acting on it."
    ranking = database.by(kpi, free[0], period, filters)
    if not ranking or ranking[0][1] == 0:
        return ""
    (first, high), (last, low) = ranking[0], ranking[-1]
    if kpi.adds_up:
        share = 100 * high / sum(value for _, value in ranking)
        finding = f"{first} is the main driver with {share:.0f}% of the total; {last} brings least"
    else:
        finding = f"{first} is highest with {shown(high, kpi.unit)}, {last} lowest with {shown(low, kpi.unit)}"
    focus = first if kpi.lower_is_better else last
    return f"Insight: {finding}. This suggests a closer look at {focus}."


def shown(value: float, unit: str) -> str:
    """As a person writes it: `RM 1,234.50`, `21.4%`, `160 people`, `4.2 years`."""
    if unit == "RM":
        return f"RM {value:,.2f}"
    if unit == "%":
        return f"{value:.1f}%"
    return f"{value:,.0f} {unit}" if value == round(value) else f"{value:,.1f} {unit}"


def _subject(asked: KpiQuestion, database: KpiDatabase) -> dict[str, tuple[str, ...]]:
    """Whom the trend and the insight are about: for "which state", the state that was named in the figure."""
    request, filters = asked.request, dict(asked.request.filters)
    if request.group:
        ranking = database.by(asked.kpi, request.group, asked.period, filters)
        if ranking:
            filters[request.group] = ((ranking[-1] if request.lowest else ranking[0])[0],)
    return filters


def _who(request: Request) -> str:
    return "".join(f", {' and '.join(values)}" for values in request.filters.values())


def _against(value: float, average: float, kpi: Kpi) -> str:
    if kpi.unit == "%":
        return f"{abs(value - average):.1f} points {'above' if value >= average else 'below'}"
    if average == 0:
        return "compared to"
    return f"{abs(value / average - 1):.1%} {'above' if value >= average else 'below'}"


def _change(now: float, before: float, kpi: Kpi) -> str:
    size = f"{abs(now - before):.1f} points" if kpi.unit == "%" else f"{abs(now / before - 1):.1%}"
    if size.startswith("0.0"):
        return "no change"
    return f"{'increased' if now > before else 'decreased'} by {size}"
