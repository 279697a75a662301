"""The files of a run and of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from answerkey.calibrate.label_order import rate_of_cases
from answerkey.calibrate.labels import read_run_labels
from answerkey.comparison.comparison import Comparison, comparison_json
from answerkey.errors import StorageError
from answerkey.files import json_text, read_as, read_json, remove_strays, replacing, write_file
from answerkey.processes import Processes, jobs_for
from answerkey.reports.case_files import CaseRows, JunitFile, ResultsCsv, case_rows
from answerkey.reports.chart_style import can_draw, write_plots
from answerkey.reports.comparison import (
    SHOWN_CASES,
    comparison_charts,
    comparison_markdown,
    comparison_text,
)
from answerkey.reports.failure_screen import failure_screen
from answerkey.reports.rows import read_rows
from answerkey.reports.run_charts import run_charts
from answerkey.reports.text import markdown_report, text_report
from answerkey.runs.engines.parts import PARTS, PartsIndex, merged, worst_positions
from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.journal_index import RecordPlaces, attempts_at
from answerkey.runs.manifest import Manifest, stored_in, stored_manifest, write_manifest
from answerkey.runs.store import JournalIndex, profile_of, read_index, read_manifest
from answerkey.runs.summary import GateResult, RunInfo, Summary, summary_of
from answerkey.runs.tally import MOST_LISTED, RunTally, tally_from_json, tally_to_json
from answerkey.types import Profile, Status

MOST_ON_PAGE = 100_000  # report.html holds a row per case in memory
MOST_FROM_PARTS = 1_000  # failures written in full of a run that is Parquet
_SPAN = 2_048  # cases whose rows are made at once
_ENOUGH = 8_000  # cases that pay for starting processes


def write_reports(
    folder: Path, *, charts: bool | None = None, ready: Callable[[Summary], None] | None = None
) -> Summary:
    """Write every report of the run and return the summary.

    With `charts` also plots/*.png, which needs the extra `charts`; with `charts=False` report.html is left out.
    `ready` is called with the summary as soon as it is known, before the reports are written.
    The Parquet files of a large run are its rows already, and are not written again.
    """
    manifest, profile = read_manifest(folder), profile_of(folder)
    remove_strays(folder)
    index = read_index(folder)
    if isinstance(index, PartsIndex):
        tally, worst, labels = (
            merged(folder),
            worst_positions(folder, MOST_FROM_PARTS),
            dict[str, float](),
        )
    else:
        tally, worst, labels = _write_rows(folder, manifest, profile, index)
    run = RunInfo.of_manifest(manifest)
    with_page = charts is not False and tally.all.count <= MOST_ON_PAGE
    if charts is not False and not with_page:
        run = replace(
            run, notes=(*run.notes, f"no report.html: the run has more than {MOST_ON_PAGE:,} cases")
        )
    summary = summary_of(tally, profile, run)
    if labels := labels | read_run_labels(folder).by_majority():
        rows = read_rows(folder)
        summary = replace(
            summary, corrected=rate_of_cases(rows.id, rows.quality, rows.passed, labels)
        )
    failing = tuple(outcome.case.id for outcome in index.at(worst[:MOST_LISTED]))
    summary = replace(summary, gates=_gates(folder, manifest, summary), failing=failing)
    if ready:
        ready(summary)
    write_manifest(
        folder, replace(stored_manifest(folder), fingerprint=dict(summary.run.fingerprint))
    )
    write_file(folder / "summary.json", json_text(summary.to_json()))
    write_file(folder / "report.txt", text_report(summary, profile))
    write_file(folder / "report.md", markdown_report(summary))
    failed = tally.all.count - tally.all.passed - tally.all.statuses[Status.SCORED]
    _write_failures(index, worst, failed, profile)
    if with_page:
        from answerkey.reports.html import write_run_page  # the templates take a moment to load

        write_run_page(folder, summary)
    if charts:
        write_plots(folder / "plots", run_charts(summary, read_rows(folder), profile))
    return summary


def _gates(folder: Path, manifest: Manifest, summary: Summary) -> tuple[GateResult, ...]:
    with stored_in(folder):
        return tuple(answer_gates(parse_gates(manifest.gate), summary))


def _write_rows(
    folder: Path, manifest: Manifest, profile: Profile | None, index: JournalIndex
) -> tuple[RunTally, list[int], dict[str, float]]:
    """The reports with a row per case, from one pass over the journals; returns the tally, the failed, worst first, and
    the human labels that the cases have."""
    tally, labels, failing = RunTally(), dict[str, float](), list[tuple[float, int]]()
    with ExitStack() as stack:
        lines = stack.enter_context(replacing(folder / "results.jsonl"))
        table = stack.enter_context(replacing(folder / "results.csv"))
        junit = JunitFile(stack.enter_context(replacing(folder / "junit.xml")), manifest.name)
        ResultsCsv(table, manifest.metrics)
        for rows in _all_rows(folder, manifest, index):
            lines.write(rows.lines)
            table.write(rows.table)
            junit.add(rows)
            tally.merge(rows.tally)
            failing += rows.failing
            labels |= rows.labels
        gates = _gates(folder, manifest, summary_of(tally, profile, RunInfo.of_manifest(manifest)))
        junit.finish(manifest.partial, gates)
    return tally, [n for _, n in sorted(failing)], labels


def _all_rows(folder: Path, manifest: Manifest, index: JournalIndex) -> Iterator[CaseRows]:
    """The rows of one span of cases after another, computed in several processes where there are many."""
    spans = [range(start, start + _SPAN) for start in range(0, index.last, _SPAN)]
    jobs = jobs_for(manifest.settings.run.jobs, len(spans), enough=index.last >= _ENOUGH)
    if jobs == 1:
        yield from (_rows_at(folder, manifest, index.places(span)) for span in spans)
        return
    with closing(Processes(jobs, f"{__name__}:rows_here", str(folder.resolve()))) as processes:
        asked = ((span, list(index.places(span))) for span in spans)
        yield from (
            tally_from_json(CaseRows, read_json(found)) for _, found in processes.map(asked)
        )


def rows_here(folder: str) -> Callable[[bytes], object]:
    """In a process: the function that makes the rows of some answers."""
    path = Path(folder)
    manifest = stored_manifest(path)
    return lambda places: tally_to_json(
        _rows_at(path, manifest, read_as(places, list[RecordPlaces]))
    )


def _rows_at(folder: Path, manifest: Manifest, places: Iterable[RecordPlaces]) -> CaseRows:
    outcomes = manifest.repeats.combined(attempts_at(folder, places, stopped=True), whole=False)
    return case_rows(
        outcomes, manifest.name, manifest.metrics, manifest.settings.statistics.cluster
    )


def _write_failures(
    index: JournalIndex | PartsIndex,
    worst_first: Sequence[int],
    total: int,
    profile: Profile | None,
) -> None:
    """failures.txt: each failed case in full, worst first; no file where nothing failed.

    `worst_first` are the positions of the failed cases, or of the worst of `total` where there are very many.
    """
    path = index.folder / "failures.txt"
    if not worst_first:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as file:
        file.write(f"{total} failed, worst first\n")
        if total > len(worst_first):
            file.write(
                f"the {len(worst_first)} worst are shown; all are in the Parquet files of {PARTS}/\n"
            )
        for outcome in index.at(worst_first):
            file.write(f"\n{'=' * 88}\n{failure_screen(outcome, profile)}\n")


def write_comparison(comparison: Comparison, folder: Path, cases: int = SHOWN_CASES) -> list[Path]:
    """Write comparison.txt, .md, .json and .html, and plots/*.png where the extra `charts` is installed; returns the paths."""
    from answerkey.reports.html import comparison_page

    files = {
        "comparison.txt": comparison_text(comparison, cases),
        "comparison.md": comparison_markdown(comparison, cases),
        "comparison.json": json_text(comparison_json(comparison, cases)),
        "comparison.html": comparison_page(comparison, cases),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_strays(folder)
        for name, content in files.items():
            write_file(folder / name, content)
        drawn = write_plots(folder / "plots", comparison_charts(comparison)) if can_draw() else []
    except (OSError, StorageError) as error:
        raise StorageError(f"{error}; choose another folder with --out") from None
    return [*(folder / name for name in files), *drawn]
