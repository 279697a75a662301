"""A bot with routes: figures from tables, and documents for the other questions.

A figure is answered with an executive report: figure, benchmark, trend and insight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.config.declare import read_table, require_path
from answerkey.config.target_tables import RoutedKpiTable
from answerkey.demo.kpi_catalog import Catalog, Kpi, Reader, Request, read_catalog
from answerkey.demo.kpi_database import (
    Filters,
    KpiDatabase,
    Period,
    find_period,
    month_of,
    shift_period,
)
from answerkey.targets.rag import OUT_OF_SCOPE, make_rag
from answerkey.types import Question, Response, Target


class RoutedKpiBot:
    """Answers from tables where a question asks for a figure, otherwise from documents."""

    def __init__(
        self,
        catalog: Catalog,
        database: KpiDatabase,
        documents: Target | None,
        reader: Reader,
        skills: frozenset[str],
    ) -> None:
        self._catalog = catalog
        self._database = database
        self._documents = documents
        self._reader = reader
        self._skills = skills

    def ask(self, question: Question) -> Response:
        request = self._reader.read(question.text)
        # Without this skill the bot guesses the first figure instead of asking back.
        if request.kpi is None and request.unclear and "clarify" not in self._skills:
            request = replace(request, kpi=self._catalog.kpis[0], unclear=False)
        response = self._answer(request, question)
        extra = {**response.extra, "confidence": request.confidence}
        return replace(response, route=request.route, extra=extra)

    def close(self) -> None:
        self._database.close()
        if self._documents is not None:
            self._documents.close()

    def _answer(self, request: Request, question: Question) -> Response:
        figures = ", ".join(kpi.title.lower() for kpi in self._catalog.kpis)
        if request.unclear:
            return Response(
                f"Which figure do you mean? I can report {figures}. Please specify the figure, "
                "the timeframe (such as December 2025, Q3 2025 or last year) and, if you wish, "
                "the state, product or department."
            )
        if request.kpi is not None:
            return self._report_figure(request, request.kpi)
        response = Response(OUT_OF_SCOPE)
        if self._documents is not None:
            response = self._documents.ask(question)
        if response.answer == OUT_OF_SCOPE:
            answer = f"{OUT_OF_SCOPE}\n- Figures that I can report: {figures}."
            response = replace(response, answer=answer)
        return response

    def _report_figure(self, request: Request, kpi: Kpi) -> Response:
        latest = self._database.latest
        period = None
        if "periods" in self._skills:
            period = find_period(request.text, self._catalog, latest)
        report = KpiReport(kpi, request, period or month_of(latest), self._database)
        if "executive" in self._skills:
            answer = report.executive()
        else:
            answer = report.figure()
        extra = {
            "kpi": kpi.name,
            "filters": dict(request.filters),
            "period": report.period.label,
        }
        return Response(answer, sources=(kpi.source,), extra=extra)


def make_routed_kpi(settings: Mapping[str, object], folder: Path) -> RoutedKpiBot:
    """The bot of a [target] table: `tables` is a folder of CSV or Parquet, `kpis` the catalogue.

    `documents` and its settings are those of `rag`.
    """
    read = read_table(RoutedKpiTable, settings, "[target]", folder, others=["kind"])
    skills = frozenset([read.skills] if isinstance(read.skills, str) else read.skills)
    catalog = read_catalog(require_path(read.kpis, "kpis"))
    database = KpiDatabase(require_path(read.tables, "tables"), catalog)
    members = {
        kpi.name: {dim: tuple(database.members(kpi, dim)) for dim in kpi.dimensions}
        for kpi in catalog.kpis
    }
    reader = Reader(catalog, members, read.documents_route, spelling="spelling" in skills)
    own = ("tables", "kpis", "skills", "documents_route")
    others = {key: value for key, value in settings.items() if key not in own}
    # Figures alone need no retriever: it is loaded only where documents are named.
    if "documents" in settings:
        documents = make_rag(others, folder)
    else:
        documents = None
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
        if not self._has_data():
            return figure
        lines = [self.benchmark(), self.trend(), self.insight()]
        return "\n".join([f"**{figure}**", *(f"- {line}" for line in lines if line)])

    def figure(self) -> str:
        """The figure alone; for "which state" the best (or worst) one."""
        members = [" and ".join(values) for values in self.request.filters.values()]
        title = self.kpi.title
        who = "".join(f", {member}" for member in members)
        if leader := self._leader():
            name, value = leader
            if self.request.lowest:
                word = "Lowest"
            else:
                word = "Highest"
            label = f"{word} {title.lower()}{who}, {self.period.label}"
            return f"{label}: {name}, {self._format(value)}"
        value = self._value(self.period, self.request.filters)
        if value is None:
            return f"No data: the tables hold no {title.lower()}{who} for {self.period.label}."
        return f"{title}{who}, {self.period.label}: {self._format(value)}"

    def benchmark(self) -> str:
        """Beside its peers where one is named; else beside the average of the year before."""
        group = self.request.group
        filters = self.request.filters
        if group:
            return self._rank_group(group)
        if filters:
            return self._rank_member(next(iter(filters)))
        return self._compare_with_months_before()

    def _rank_group(self, dimension: str) -> str:
        ranking = self._by(dimension, self.request.filters)
        average = self._format(_average(ranking))
        order = ", ".join(f"{name} {self._format(value)}" for name, value in ranking[:3])
        return f"Benchmark: average by {dimension} {average}; ranking: {order}."

    def _rank_member(self, dimension: str) -> str:
        filters = self.request.filters
        others = {key: values for key, values in filters.items() if key != dimension}
        ranking = self._by(dimension, others)
        average = _average(ranking)
        (member,) = filters[dimension]  # several would be a group
        rank = 1 + [name for name, _ in ranking].index(member)
        against = self._against(dict(ranking)[member], average)
        peers = f"the average {dimension}, {self._format(average)}"
        return f"Benchmark: {against} {peers}; ranking {rank} of {len(ranking)}."

    def _compare_with_months_before(self) -> str:
        now = self._value(self.period, {})
        earlier = [self._value(shift_period(self.period, -n), {}) for n in range(1, 13)]
        values = [value for value in earlier if value is not None]
        # Longer periods that are shifted by single months overlap, so their average says nothing.
        if not values or now is None or self.period.months > 1:
            return ""
        average = sum(values) / len(values)
        months = f"the average of the {len(values)} months before"
        return f"Benchmark: {self._against(now, average)} {months}, {self._format(average)}."

    def trend(self) -> str:
        """Against the period before and the same period a year before."""
        year_before = shift_period(self.period, -12)
        # For a whole year both are the same period, which the dict keeps once.
        periods = {
            shift_period(self.period, -self.period.months): "compared to the previous period",
            year_before: "year-over-year",
        }
        now = self._value(self.period, self._subject())
        changes: list[str] = []
        for period, words in periods.items():
            before = self._value(period, self._subject())
            # A change from 0 has no percentage.
            if now is not None and before:
                change = self._describe_change(now, before)
                changes.append(f"{change} {words} ({period.label}: {self._format(before)})")
        if not changes:
            return "Trend: no earlier period in the tables to compare with."
        return f"Trend: {'; '.join(changes)}."

    def _describe_change(self, now: float, before: float) -> str:
        if self.kpi.unit == "%":
            # From 20 % to 22 % is 2 points; "+10 %" would be misread.
            size = f"{abs(now - before):.1f}"
            unit = " points"
        else:
            size = f"{100 * abs(now / before - 1):.1f}"
            unit = "%"
        if size == "0.0":
            return "no change"
        word = "increased" if now > before else "decreased"
        return f"{word} by {size}{unit}"

    def insight(self) -> str:
        """Who drives the figure, and what that suggests."""
        filters = self._subject()
        free = [dimension for dimension in self.kpi.dimensions if dimension not in filters]
        if not free:
            return (
                "Insight: this is the finest cut there is; "
                "consider the neighbouring months before acting on it."
            )
        ranking = self._by(free[0], filters)
        if not ranking or ranking[0][1] == 0:
            return ""
        first, high = ranking[0]
        last, low = ranking[-1]
        # Averages and rates of parts do not add up, so that a part has no share of the whole.
        if self.kpi.adds_up:
            share = 100 * high / sum(value for _, value in ranking)
            driver = f"{first} is the main driver with {share:.0f}% of the total"
            finding = f"{driver}; {last} brings least"
        else:
            highest = f"{first} is highest with {self._format(high)}"
            finding = f"{highest}, {last} lowest with {self._format(low)}"
        focus = first if self.kpi.lower_is_better else last
        return f"Insight: {finding}. This suggests a closer look at {focus}."

    def _value(self, period: Period, filters: Filters) -> float | None:
        return self.database.value(self.kpi, period, filters)

    def _by(self, dimension: str, filters: Filters) -> list[tuple[str, float]]:
        return self.database.by(self.kpi, dimension, self.period, filters)

    def _leader(self) -> tuple[str, float] | None:
        """For "which state": the state with the highest (or lowest) figure."""
        if not self.request.group:
            return None
        ranking = self._by(self.request.group, self.request.filters)
        if not ranking:
            return None
        if self.request.lowest:
            return ranking[-1]
        return ranking[0]

    def _has_data(self) -> bool:
        has_figure = self._value(self.period, self.request.filters) is not None
        return self._leader() is not None or has_figure

    def _subject(self) -> Filters:
        """The members that trend and insight are about; for "which state" the leader."""
        group = self.request.group
        leader = self._leader()
        if group is None or leader is None:
            return self.request.filters
        return {**self.request.filters, group: (leader[0],)}

    def _against(self, value: float, average: float) -> str:
        side = "above" if value >= average else "below"
        if self.kpi.unit == "%":
            return f"{abs(value - average):.1f} points {side}"
        if not average:
            return "compared to"
        return f"{abs(value / average - 1):.1%} {side}"

    def _format(self, value: float) -> str:
        """As a person writes it: `RM 1,234.50`, `21.4%`, `160 people`, `4.2 years`."""
        if self.kpi.unit == "RM":
            return f"RM {value:,.2f}"
        if self.kpi.unit == "%":
            return f"{value:.1f}%"
        if value == round(value):
            return f"{value:,.0f} {self.kpi.unit}"
        return f"{value:,.1f} {self.kpi.unit}"


def _average(ranking: Sequence[tuple[str, float]]) -> float:
    return sum(value for _, value in ranking) / len(ranking)
