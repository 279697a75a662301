"""A bot with routes: figures from tables as an executive report (figure, benchmark, trend, insight), documents for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.config.declare import existing, read_table
from answerkey.config.target_tables import RoutedKpiTable
from answerkey.demo.kpi_catalog import Catalog, Kpi, Reader, Request, read_catalog
from answerkey.demo.kpi_database import Filters, KpiDatabase, Period, find_period, month_of, shifted
from answerkey.targets.bots import OUT_OF_SCOPE, make_rag
from answerkey.types import Question, Response, Target


class RoutedKpiBot:
    def __init__(
        self,
        catalog: Catalog,
        database: KpiDatabase,
        documents: Target | None,
        reader: Reader,
        skills: frozenset[str],
    ) -> None:
        self._catalog, self._database, self._documents = catalog, database, documents
        self._reader, self._skills = reader, skills

    def ask(self, question: Question) -> Response:
        request = self._reader.read(question.text)
        if request.kpi is None and request.unclear and "clarify" not in self._skills:
            request = replace(request, kpi=self._catalog.kpis[0], unclear=False)
        figures = ", ".join(kpi.title.lower() for kpi in self._catalog.kpis)
        if request.unclear:
            response = Response(
                f"Which figure do you mean? I can report {figures}. Please specify the figure, the timeframe "
                "(such as December 2025, Q3 2025 or last year) and, if you wish, the state, product or department."
            )
        elif request.kpi is not None:
            response = self._figure(request)
        else:
            response = self._documents.ask(question) if self._documents else Response(OUT_OF_SCOPE)
            if response.answer == OUT_OF_SCOPE:
                response = replace(
                    response, answer=f"{OUT_OF_SCOPE}\n- Figures that I can report: {figures}."
                )
        extra = {**response.extra, "confidence": request.confidence}
        return replace(response, route=request.route, extra=extra)

    def close(self) -> None:
        self._database.close()
        if self._documents is not None:
            self._documents.close()

    def _figure(self, request: Request) -> Response:
        assert request.kpi is not None
        named = (
            find_period(request.text, self._catalog, self._database.latest)
            if "periods" in self._skills
            else None
        )
        report = KpiReport(
            request.kpi, request, named or month_of(self._database.latest), self._database
        )
        answer = report.executive() if "executive" in self._skills else report.figure()
        extra = {
            "kpi": request.kpi.name,
            "filters": dict(request.filters),
            "period": report.period.label,
        }
        return Response(answer, sources=(request.kpi.source,), extra=extra)


def make(settings: Mapping[str, object], folder: Path) -> RoutedKpiBot:
    """`tables` a folder of CSV or Parquet, `kpis` the catalogue; `documents` and its settings as for `rag`."""
    read = read_table(RoutedKpiTable, settings, "[target]", folder, others=["kind"])
    skills = frozenset([read.skills] if isinstance(read.skills, str) else read.skills)
    catalog = read_catalog(existing(read.kpis, "kpis"))
    database = KpiDatabase(existing(read.tables, "tables"), catalog)
    members = {
        kpi.name: {dim: tuple(database.members(kpi, dim)) for dim in kpi.dimensions}
        for kpi in catalog.kpis
    }
    reader = Reader(catalog, members, read.documents_route, spelling="spelling" in skills)
    own = ("tables", "kpis", "skills", "documents_route")
    others = {key: value for key, value in settings.items() if key not in own}
    # Figures alone need no retriever: it is loaded only where documents are named.
    documents = make_rag(others, folder) if "documents" in settings else None
    return RoutedKpiBot(catalog, database, documents, reader, skills)


@dataclass(frozen=True, slots=True)
class KpiReport:
    """A request with its period, and the lines that report it from the tables."""

    kpi: Kpi
    request: Request
    period: Period
    database: KpiDatabase

    def executive(self) -> str:
        """Figure, benchmark, trend and insight, one per line."""
        figure = self.figure()
        if figure.startswith("No data"):
            return figure
        lines = [self.benchmark(), self.trend(), self.insight()]
        return "\n".join([f"**{figure}**", *(f"- {line}" for line in lines if line)])

    def figure(self) -> str:
        """The figure alone; for "which state" the best (or worst) one."""
        who = "".join(f", {' and '.join(values)}" for values in self.request.filters.values())
        title, lowest = self.kpi.title, self.request.lowest
        if self.request.group and (ranking := self._by(self.request.group, self.request.filters)):
            name, value = ranking[-1] if lowest else ranking[0]
            word = "Lowest" if lowest else "Highest"
            return f"{word} {title.lower()}{who}, {self.period.label}: {name}, {self._shown(value)}"
        value = self._value(self.period, self.request.filters)
        if value is None:
            return f"No data: the tables hold no {title.lower()}{who} for {self.period.label}."
        return f"{title}{who}, {self.period.label}: {self._shown(value)}"

    def benchmark(self) -> str:
        """Beside its peers where one is asked for; else beside the average of the twelve months before."""
        group, filters = self.request.group, self.request.filters
        dimension = group or next(iter(filters), None)
        if dimension is None:
            before = [self._value(shifted(self.period, -n), {}) for n in range(1, 13)]
            known = [value for value in before if value is not None]
            now = self._value(self.period, {})
            if not known or now is None or self.period.months > 1:
                return ""
            average = sum(known) / len(known)
            months = f"the average of the {len(known)} months before"
            return f"Benchmark: {self._against(now, average)} {months}, {self._shown(average)}."
        others = {key: values for key, values in filters.items() if key != dimension}
        ranking = self._by(dimension, filters if group else others)
        average = sum(value for _, value in ranking) / len(ranking)
        if group:
            order = ", ".join(f"{name} {self._shown(value)}" for name, value in ranking[:3])
            return f"Benchmark: average by {dimension} {self._shown(average)}; ranking: {order}."
        (mine,) = filters[dimension]  # several would be a group
        rank = 1 + [name for name, _ in ranking].index(mine)
        against = f"{self._against(dict(ranking)[mine], average)} the average {dimension}, {self._shown(average)}"
        return f"Benchmark: {against}; ranking {rank} of {len(ranking)}."

    def trend(self) -> str:
        """Against the period before and the same period a year before."""
        filters, year_before = self._subject(), shifted(self.period, -12)
        now = self._value(self.period, filters)
        parts: list[str] = []
        for earlier in dict.fromkeys((shifted(self.period, -self.period.months), year_before)):
            value = self._value(earlier, filters)
            if now is not None and value:
                points = self.kpi.unit == "%"
                size = f"{abs(now - value):.1f} points" if points else f"{abs(now / value - 1):.1%}"
                change = f"{'increased' if now > value else 'decreased'} by {size}"
                word = (
                    "year-over-year"
                    if earlier == year_before
                    else "compared to the previous period"
                )
                change = "no change" if size.startswith("0.0") else change
                parts.append(f"{change} {word} ({earlier.label}: {self._shown(value)})")
        return (
            f"Trend: {'; '.join(parts)}."
            if parts
            else "Trend: no earlier period in the tables to compare with."
        )

    def insight(self) -> str:
        """Who drives the figure, and what that suggests."""
        filters = self._subject()
        free = [dimension for dimension in self.kpi.dimensions if dimension not in filters]
        if not free:
            return "Insight: this is the finest cut there is; consider the neighbouring months before acting on it."
        ranking = self._by(free[0], filters)
        if not ranking or ranking[0][1] == 0:
            return ""
        (first, high), (last, low) = ranking[0], ranking[-1]
        if self.kpi.adds_up:
            share = 100 * high / sum(value for _, value in ranking)
            finding = (
                f"{first} is the main driver with {share:.0f}% of the total; {last} brings least"
            )
        else:
            finding = f"{first} is highest with {self._shown(high)}, {last} lowest with {self._shown(low)}"
        focus = first if self.kpi.lower_is_better else last
        return f"Insight: {finding}. This suggests a closer look at {focus}."

    def _value(self, period: Period, filters: Filters) -> float | None:
        return self.database.value(self.kpi, period, filters)

    def _by(self, dimension: str, filters: Filters) -> list[tuple[str, float]]:
        return self.database.by(self.kpi, dimension, self.period, filters)

    def _subject(self) -> Filters:
        """Whom the trend and the insight are about: for "which state", the state that was named in the figure."""
        group, filters = self.request.group, self.request.filters
        if group and (ranking := self._by(group, filters)):
            return {**filters, group: ((ranking[-1] if self.request.lowest else ranking[0])[0],)}
        return filters

    def _against(self, value: float, average: float) -> str:
        side = "above" if value >= average else "below"
        if self.kpi.unit == "%":
            return f"{abs(value - average):.1f} points {side}"
        return f"{abs(value / average - 1):.1%} {side}" if average else "compared to"

    def _shown(self, value: float) -> str:
        """As a person writes it: `RM 1,234.50`, `21.4%`, `160 people`, `4.2 years`."""
        if self.kpi.unit == "RM":
            return f"RM {value:,.2f}"
        if self.kpi.unit == "%":
            return f"{value:.1f}%"
        return (
            f"{value:,.0f} {self.kpi.unit}"
            if value == round(value)
            else f"{value:,.1f} {self.kpi.unit}"
        )
