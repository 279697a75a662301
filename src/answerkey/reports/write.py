"""Writes every report of a run into its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.calibrate.labels import read_run_labels
from answerkey.calibrate.pass_rate import rate_of_cases
from answerkey.files import json_text, remove_strays, write_file
from answerkey.reports.failures import write_failures
from answerkey.reports.markdown import markdown_report
from answerkey.reports.plots import write_plots
from answerkey.reports.row_files import gate_results, write_row_files
from answerkey.reports.rows import read_rows
from answerkey.reports.run_charts import run_charts
from answerkey.reports.text import text_report
from answerkey.runs.engines.parts import PartsIndex, merged, worst_positions
from answerkey.runs.manifest import Manifest, stored_manifest, write_manifest
from answerkey.runs.store import JournalIndex, profile_of, read_index, read_manifest
from answerkey.runs.summary import RunInfo, Summary, summary_of
from answerkey.runs.tally import MOST_LISTED, RunTally
from answerkey.types import Profile, Status

MOST_ON_PAGE = 100_000  # report.html needs a row per case in memory
MOST_FROM_PARTS = 1_000  # failures written in full of a run that is Parquet


@dataclass(frozen=True, slots=True)
class _Counted:
    """What one pass over the cases found: figures, failed cases (worst first), human labels."""

    tally: RunTally
    worst: list[int]
    labels: dict[str, float]


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
    index = read_index(folder)
    counts = _count(folder, manifest, profile, index)
    with_page = charts is not False and counts.tally.all.count <= MOST_ON_PAGE
    too_large = charts is not False and not with_page
    summary = _summarise(folder, manifest, profile, counts, too_large=too_large)
    failing = tuple(outcome.case.id for outcome in index.at(counts.worst[:MOST_LISTED]))
    summary = replace(summary, gates=gate_results(folder, manifest, summary), failing=failing)
    if ready:
        ready(summary)
    fingerprint = dict(summary.run.fingerprint)
    write_manifest(folder, replace(stored_manifest(folder), fingerprint=fingerprint))
    write_file(folder / "summary.json", json_text(summary.to_json()))
    write_file(folder / "report.txt", text_report(summary, profile))
    write_file(folder / "report.md", markdown_report(summary))
    figures = counts.tally.all
    failed = figures.count - figures.passed - figures.statuses[Status.SCORED]
    write_failures(folder, index.at(counts.worst), len(counts.worst), failed, profile)
    if with_page:
        from answerkey.reports.html import write_run_page  # the templates take a moment to load

        write_run_page(folder, summary)
    if charts:
        write_plots(folder / "plots", run_charts(summary, read_rows(folder), profile))
    return summary


def _count(
    folder: Path, manifest: Manifest, profile: Profile | None, index: JournalIndex | PartsIndex
) -> _Counted:
    """Count the cases, and write the files that have a row per case.

    The Parquet files of a large run are its rows already, and are not written again.
    """
    if isinstance(index, PartsIndex):
        return _Counted(merged(folder), worst_positions(folder, MOST_FROM_PARTS), {})
    return _Counted(*write_row_files(folder, manifest, profile, index))


def _summarise(
    folder: Path,
    manifest: Manifest,
    profile: Profile | None,
    counts: _Counted,
    *,
    too_large: bool,
) -> Summary:
    """The summary with the pass rate corrected by human labels, if there are any."""
    run = RunInfo.of_manifest(manifest)
    if too_large:
        note = f"no report.html: the run has more than {MOST_ON_PAGE:,} cases"
        run = replace(run, notes=(*run.notes, note))
    summary = summary_of(counts.tally, profile, run)
    labels = counts.labels | read_run_labels(folder).by_majority()
    if not labels:
        return summary
    rows = read_rows(folder)
    corrected = rate_of_cases(rows.id, rows.quality, rows.passed, labels)
    return replace(summary, corrected=corrected)
