"""Writes results.jsonl, results.csv and junit.xml, which have a row per case, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from answerkey.calibrate.labels import column_label
from answerkey.files import json_line, replace_file
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.junit import JunitFile, is_failure, is_skipped, junit_test
from answerkey.reports.result_columns import ResultColumns
from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.manifest import Manifest, stored_in
from answerkey.runs.records import result_line
from answerkey.runs.summary import GateResult, RunInfo, Summary, SummaryBuilder
from answerkey.types import Outcome, Profile, Status


@dataclass(frozen=True, slots=True)
class ReadRun:
    """The result of one pass over the outcomes of a run: its figures and its human labels."""

    summary: SummaryBuilder
    labels: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, n: int, outcome: Outcome) -> None:
        self.summary.add(outcome, n)
        label = column_label(outcome.case)
        if label is not None:
            self.labels[outcome.case.id] = label


def write_row_files(
    folder: Path,
    manifest: Manifest,
    profile: Profile | None,
    outcomes: Iterable[tuple[int, Outcome]],
) -> ReadRun:
    """Write a row per outcome to each of the three files; `outcomes` come with their positions."""
    run = ReadRun(SummaryBuilder(profile, RunInfo.of_manifest(manifest)))
    # One pass for three files and the summary: decoding the outcomes takes most of the time.
    with ExitStack() as stack:
        lines = stack.enter_context(replace_file(folder / "results.jsonl"))
        table = ResultsCsv(
            stack.enter_context(replace_file(folder / "results.csv")),
            ResultColumns.of_manifest(manifest),
        )
        junit = JunitFile(stack.enter_context(replace_file(folder / "junit.xml")), manifest.name)
        for n, outcome in outcomes:
            lines.write(json_line(result_line(outcome)).decode() + "\n")
            table.add(outcome)
            junit.add(
                junit_test(outcome, manifest.name),
                count=1,
                failures=int(is_failure(outcome)),
                errors=int(outcome.verdict.status == Status.ERROR),
                seconds=outcome.response.seconds or 0.0,
                skipped=int(is_skipped(outcome)),
            )
            run.add(n, outcome)
        # After all rows, because gates are about the whole run.
        junit.finish(manifest.partial, gate_results(folder, manifest, run.summary.summary()))
    return run


def gate_results(folder: Path, manifest: Manifest, summary: Summary) -> tuple[GateResult, ...]:
    """The gates of the run, answered by its summary."""
    with stored_in(folder):
        return tuple(answer_gates(parse_gates(manifest.gate), summary))
