"""report.html: the run on one page, with its worst cases inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.files import write_file
from answerkey.metrics.judge.card import card_lines
from answerkey.reports.case_details import describe_case
from answerkey.reports.filters import weighed_criteria
from answerkey.reports.headline import figure_notes
from answerkey.reports.page import render_page
from answerkey.reports.run_charts import run_charts
from answerkey.reports.variants import COLUMNS, variant_notes, variant_rows
from answerkey.robustness.record import read_variants
from answerkey.runs.case_list import CaseFilter, list_positions
from answerkey.runs.failure_groups import group_lines
from answerkey.runs.store import open_reader, profile_of
from answerkey.runs.summary import Summary
from answerkey.runs.table import RunTable

MOST_CASES = 200
_MOST_GROUPS = 8
_LONGEST_TEXT = 4000  # characters of an answer or passage; 200 long cases must stay a small file


_LINKED_FILES = (
    "results.jsonl",
    "results.csv",
    "summary.json",
    "report.txt",
    "report.md",
    "failures.txt",
    "junit.xml",
)


def write_run_page(folder: Path, summary: Summary, table: RunTable) -> None:
    """Write report.html, with links to the other files of the folder."""
    files = [name for name in _LINKED_FILES if (folder / name).is_file()]
    write_file(folder / "report.html", run_page_html(folder, summary, table, files))


def run_page_html(
    folder: Path, summary: Summary, table: RunTable, files: Sequence[str] = ()
) -> str:
    """The run as one page; `files` are beside it and get a link."""
    profile = profile_of(folder)
    reader = open_reader(folder)
    worst = list(reader.at(list_positions(reader, CaseFilter(sort="worst"), MOST_CASES)))
    cases = [describe_case(outcome, profile, _LONGEST_TEXT) for outcome in worst]
    variants = read_variants(folder)
    return render_page(
        "report.html",
        run_charts(summary, table, profile),
        s=summary.to_json(),
        card=card_lines(summary.judge) if summary.judge else [],
        cases=cases,
        files=list(files),
        total=len(table),
        group_lines=group_lines(summary.failures[:_MOST_GROUPS]),
        statuses=sorted({outcome.verdict.status for outcome in worst}),
        weighed=weighed_criteria(profile),
        facts=figure_notes(summary),
        variants=variant_rows(variants),
        variant_columns=COLUMNS,
        variant_notes=variant_notes(variants),
    )
