"""A bot with routes: figures from tables as an executive report (figure, benchmark, trend, insight), documents for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.config.declare import existing, read_table
from answerkey.config.target_tables import RoutedKpiTable
from answerkey.demo.kpi_catalog import Catalog, Kpi, Reader, Request, read_catalog
from answerkey.demo.kpi_database import KpiDatabase, Period, find_period, month_of, shifted
from answerkey.targets.bots import OUT_OF_SCOPE, make_rag
from answerkey.types import Question, Response, Target


class RoutedKpiBot:
    def __init__(
        self, catalog: Catalog, database: KpiDatabase, documents: Target | None, reader: Reader, skills: frozenset[str]
    ) -> None:
        self._catalog, self._database, self._documents = catalog, database, documents
        self._reader, self._skills = reader, skills

    def ask(self, question: Question) -> Response:
        request = self._reader.read(question.text)
        if request.kpi is None and request.unclear and "clarify" not in self._skills:
            request = replace(request, kpi=self._catalog.kpis[0], unclear=False)
        if request.unclear:
            response = Response(answer=self._which())
        elif request.kpi is not None:
            response = self._figure(request)
        else:
            response = self._from_documents(question)
        extra = {**response.extra, "confidence": request.confidence}
        return replace(response, route=request.route, extra=extra)

    def close(self) -> None:
        self._database.close()
        if self._documents is not None:
            self._documents.close()

    def _figure(self, request: Request) -> Response:
        assert request.kpi is not None
        named = find_period(request.text, self._catalog, self._database.latest) if "periods" in self._skills else None
        asked = KpiQuestion(request.kpi, request, named or month_of(self._database.latest))
        write = executive_report if "executive" in self._skills else figure_line
        extra = {"kpi": request.kpi.name, "filters": dict(request.filters), "period": asked.period.label}
        return Response(answer=write(asked, self._database), sources=(request.kpi.source,), extra=extra)

    def _figures(self) -> str:
        return ", ".join(kpi.title.lower() for kpi in self._catalog.kpis)

    def _which(self) -> str:
        return (
            f"Which figure do you mean? I can report {self._figures()}. Please specify the figure, the timeframe "
            "(such as December 2025, Q3 2025 or last year) and, if you wish, the state, product or department."
        )

    def _from_documents(self, question: Question) -> Response:
        response = self._documents.ask(question) if self._documents else Response(answer=OUT_OF_SCOPE)
        if response.answer == OUT_OF_SCOPE:
            return replace(response, answer=f"{OUT_OF_SCOPE}\n- Figures that I can report: {self._figures()}.")
        return response


def make(settings: Mapping[str, object], folder: Path) -> RoutedKpiBot:
    """`tables` a folder of CSV or Parquet, `kpis` the catalogue; `documents` and its settings as for `rag`."""
    read = read_table(RoutedKpiTable, settings, "[target]", folder, others=["kind"])
    skills = frozenset([read.skills] if isinstance(read.skills, str) else read.skills)
    catalog = read_catalog(existing(read.kpis, "kpis"))
    database = KpiDatabase(existing(read.tables, "tables"), catalog)
    members = {kpi.name: {dim: tuple(database.members(kpi, dim)) for dim in kpi.dimensions} for kpi in catalog.kpis}
    reader = Reader(catalog, members, read.documents_route, spelling="spelling" in skills)
    return RoutedKpiBot(catalog, database, _documents_bot(settings, folder), reader, skills)


def _documents_bot(settings: Mapping[str, object], folder: Path) -> Target | None:
    """Figures alone need no retriever: it is loaded only where documents are named."""
    if "documents" not in settings:
        return None
    own = ("tables", "kpis", "skills", "documents_route")
    return make_rag({key: value for key, value in settings.items() if key not in own}, folder)


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
    """Figure, benchmark, trend and insight, one per line."""
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
