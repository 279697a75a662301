"""Writes results.jsonl, results.csv and junit.xml, which have a row per case, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from answerkey.files import read_as, read_json, replace_file
from answerkey.processes import Processes, jobs_for
from answerkey.reports.case_rows import CaseRows, case_rows
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.junit import JunitFile
from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.journal_index import RecordPlaces, attempts_at
from answerkey.runs.manifest import Manifest, stored_in, stored_manifest
from answerkey.runs.store import JournalIndex
from answerkey.runs.summary import GateResult, RunInfo, Summary, summary_of
from answerkey.runs.tally import RunTally, tally_from_json, tally_to_json
from answerkey.types import Profile

_SPAN = 2_048  # cases whose rows are made at once
_ENOUGH = 8_000  # below this number of cases, starting processes costs more than it saves


def write_row_files(
    folder: Path, manifest: Manifest, profile: Profile | None, index: JournalIndex
) -> tuple[RunTally, list[int], dict[str, float]]:
    """Returns the tally, the positions of the failed cases (worst first) and the human labels."""
    tally = RunTally()
    labels: dict[str, float] = {}
    failing: list[tuple[float, int]] = []
    with ExitStack() as stack:
        lines = stack.enter_context(replace_file(folder / "results.jsonl"))
        table = stack.enter_context(replace_file(folder / "results.csv"))
        junit = JunitFile(stack.enter_context(replace_file(folder / "junit.xml")), manifest.name)
        ResultsCsv(table, manifest.metrics)  # writes the header
        for rows in _all_rows(folder, manifest, index):
            lines.write(rows.lines)
            table.write(rows.table)
            figures = rows.tally.all
            junit.add(rows.tests, figures.count, rows.failures, figures.error_count, rows.seconds)
            tally.merge(rows.tally)
            failing += rows.failing
            labels |= rows.labels
        summary = summary_of(tally, profile, RunInfo.of_manifest(manifest))
        junit.finish(manifest.partial, gate_results(folder, manifest, summary))
    return tally, [n for _, n in sorted(failing)], labels


def gate_results(folder: Path, manifest: Manifest, summary: Summary) -> tuple[GateResult, ...]:
    """The gates of the run, answered by its summary."""
    with stored_in(folder):
        return tuple(answer_gates(parse_gates(manifest.gate), summary))


def _all_rows(folder: Path, manifest: Manifest, index: JournalIndex) -> Iterator[CaseRows]:
    """The rows of one span of cases after another, made in several processes for a large run."""
    spans = [range(start, start + _SPAN) for start in range(0, index.last, _SPAN)]
    jobs = jobs_for(manifest.settings.run.jobs, len(spans), enough=index.last >= _ENOUGH)
    if jobs == 1:
        for span in spans:
            yield _rows_at(folder, manifest, index.places(span))
        return
    with closing(Processes(jobs, f"{__name__}:rows_here", str(folder.resolve()))) as processes:
        places = ((span, list(index.places(span))) for span in spans)
        for _, reply in processes.map(places):
            yield tally_from_json(CaseRows, read_json(reply))


def rows_here(folder: str) -> Callable[[bytes], object]:
    """In a worker process: the function that makes the rows of some cases."""
    path = Path(folder)
    manifest = stored_manifest(path)

    def make_rows(places: bytes) -> object:
        return tally_to_json(_rows_at(path, manifest, read_as(places, list[RecordPlaces])))

    return make_rows


def _rows_at(folder: Path, manifest: Manifest, places: Iterable[RecordPlaces]) -> CaseRows:
    outcomes = manifest.repeats.combined(attempts_at(folder, places, stopped=True), whole=False)
    cluster = manifest.settings.statistics.cluster
    return case_rows(outcomes, manifest.name, manifest.metrics, cluster)
