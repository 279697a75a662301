"""A bot with routes: figures from tables as an executive report, documents for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from answerkey.config.declare import existing, read_table
from answerkey.config.target_tables import RoutedKpiTable
from answerkey.demo.kpi_catalog import Catalog, read_catalog
from answerkey.demo.kpi_database import KpiDatabase
from answerkey.demo.kpi_periods import find_period, month_of
from answerkey.demo.kpi_report import KpiQuestion, executive_report, figure_line
from answerkey.demo.kpi_request import Reader, Request
from answerkey.targets.rag import OUT_OF_SCOPE
from answerkey.targets.rag import make as make_documents_bot
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
        return Response(
            answer=write(asked, self._database),
            sources=(request.kpi.source,),
            extra={"kpi": request.kpi.name, "filters": dict(request.filters), "period": asked.period.label},
        )

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


def make(settings: Mapping[str, Any], folder: Path) -> RoutedKpiBot:
    """`tables` a folder of CSV or Parquet, `kpis` the catalogue; `documents` and its settings as for `rag`."""
    read = read_table(RoutedKpiTable, settings, "[target]", folder, others=["kind"])
    skills = frozenset([read.skills] if isinstance(read.skills, str) else read.skills)
    catalog = read_catalog(existing(read.kpis, "kpis"))
    database = KpiDatabase(existing(read.tables, "tables"), catalog)
    members = {
        kpi.name: {dimension: tuple(database.members(kpi, dimension)) for dimension in kpi.dimensions}
        for kpi in catalog.kpis
    }
    reader = Reader(catalog, members, read.documents_route, spelling="spelling" in skills)
    return RoutedKpiBot(catalog, database, _documents_bot(settings, folder), reader, skills)


def _documents_bot(settings: Mapping[str, Any], folder: Path) -> Target | None:
    """Figures alone need no retriever: it is loaded only where documents are named."""
    if "documents" not in settings:
        return None
    own = ("tables", "kpis", "skills", "documents_route")
    return make_documents_bot({key: value for key, value in settings.items() if key not in own}, folder)
