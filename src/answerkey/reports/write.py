"""Writes every report of a run into its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from answerkey.calibrate.labels import read_run_labels
from answerkey.calibrate.pass_rate import rate_of_cases
from answerkey.files import json_text, remove_strays, write_file
from answerkey.reports.failures import FailureCounts, write_failures
from answerkey.reports.markdown import markdown_report
from answerkey.reports.plots import write_plots
from answerkey.reports.row_files import ReadRun, gate_results, write_row_files
from answerkey.reports.run_charts import run_charts
from answerkey.reports.text import text_report
from answerkey.robustness.record import VariantsRecord, read_variants
from answerkey.robustness.text import variants_section
from answerkey.runs.disagreements import MOST_LISTED
from answerkey.runs.failure_groups import FailedCase
from answerkey.runs.manifest import Manifest, stored_manifest, write_manifest
from answerkey.runs.store import open_reader, profile_of, read_manifest, store_labels
from answerkey.runs.summary import RunInfo, Summary
from answerkey.runs.table import RunTable
from answerkey.types import Profile, Status

MOST_ON_PAGE = 100_000  # report.html needs a row per case in memory


def write_reports(
    folder: Path, *, charts: bool | None = None, ready: Callable[[Summary], None] | None = None
) -> Summary:
    """Write every report of the run and return the summary.

    `charts=True` also writes plots/*.png, which needs the extra `charts`; with `charts=False` there
    is no report.html. `ready` is called with the summary as soon as it is known, before the reports
    are written.
    """
    manifest = read_manifest(folder)
    profile = profile_of(folder)
    remove_strays(folder)
    # First, as the rows below are read from the database.
    store_labels(folder, read_run_labels(folder).by_majority())
    reader = open_reader(folder)
    read = write_row_files(folder, manifest, profile, reader.numbered_outcomes(stopped=True))
    with_page = charts is not False and len(read.summary.table) <= MOST_ON_PAGE
    too_large = charts is not False and not with_page
    summary = _summarise(folder, manifest, read, too_large=too_large)
    failed = _worst_failures(read.summary.table)
    unscored = _unscored_cases(read.summary.table)
    to_read = [*failed, *unscored]
    worst = tuple(map(FailedCase.of_outcome, reader.at(failed[:MOST_LISTED])))
    not_scored = tuple(map(FailedCase.of_outcome, reader.at(unscored[:MOST_LISTED])))
    summary = replace(
        summary,
        gates=gate_results(folder, manifest, summary),
        failing=tuple(case.id for case in worst),
        failed_cases=worst + not_scored,
    )
    if ready:
        ready(summary)
    fingerprint = dict(summary.run.fingerprint)
    # The hash of the answers is known only now; comparisons need it in run.json.
    write_manifest(folder, replace(stored_manifest(folder), fingerprint=fingerprint))
    variants = read_variants(folder)
    write_file(folder / "summary.json", json_text(summary_json(summary, variants)))
    # On the screen the time is known; a file that is sent on needs it.
    text = full_text_report(summary, profile, variants)
    write_file(folder / "report.txt", f"{text}\nwritten {summary.timestamp}\n")
    write_file(folder / "report.md", markdown_report(summary, variants))
    totals = FailureCounts(len(failed), len(unscored))
    write_failures(folder, reader.at(to_read), totals, profile)
    if with_page:
        from answerkey.reports.html import write_run_page  # the templates take a moment to load

        write_run_page(folder, summary, read.summary.table)
    if charts:
        write_plots(folder / "plots", run_charts(summary, read.summary.table, profile))
    return summary


def summary_json(summary: Summary, variants: VariantsRecord | None) -> dict[str, object]:
    """summary.json; with `variants` where the run has asked some."""
    if variants is None:
        return summary.to_json()
    return {**summary.to_json(), "variants": variants.to_json()}


def full_text_report(
    summary: Summary, profile: Profile | None, variants: VariantsRecord | None
) -> str:
    """The text report, with the section on variants where the run has asked some."""
    text = text_report(summary, profile)
    if variants is None:
        return text
    return f"{text}\n{variants_section(variants)}\n"


def _worst_failures(table: RunTable) -> list[int]:
    """The positions of the failed cases, worst first: errors before the lowest scores."""
    is_failed = ~table.passed & (table.status != Status.SCORED) & (table.status != Status.UNSCORED)
    rows = np.flatnonzero(is_failed)
    # Errors have no score and come first.
    scores = np.nan_to_num(table.score[rows], nan=-1.0)
    return [int(n) for n in table.n[rows][np.lexsort((table.n[rows], scores))]]


def _unscored_cases(table: RunTable) -> list[int]:
    """The positions of the cases that were not measured: neither passed nor failed."""
    return [int(n) for n in table.n[table.status == Status.UNSCORED]]


def _summarise(folder: Path, manifest: Manifest, read: ReadRun, *, too_large: bool) -> Summary:
    """The summary with the pass rate corrected by human labels, if there are any."""
    run = RunInfo.of_manifest(manifest)
    if too_large:
        note = f"no report.html: the run has more than {MOST_ON_PAGE:,} cases"
        run = replace(run, notes=(*run.notes, note))
    summary = read.summary.summary(run)
    # Labels from the viewer win over those of a column.
    labels = read.labels | read_run_labels(folder).by_majority()
    if not labels:
        return summary
    table = read.summary.table
    quality = [table.number("quality", row) for row in range(len(table))]
    corrected = rate_of_cases(table.id.tolist(), quality, table.passed.tolist(), labels)
    return replace(summary, corrected=corrected)
