"""The part of results.jsonl, results.csv, junit.xml and the summary that some cases add.

A large run is cut into spans of cases. Each span is made on its own, perhaps in another process,
and the parts are written one after the other.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from answerkey.calibrate.labels import column_label
from answerkey.files import json_line
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.junit import is_failure, junit_test
from answerkey.runs.records import result_line
from answerkey.runs.tally import RunTally
from answerkey.types import Outcome, Status


@dataclass(frozen=True, slots=True)
class CaseRows:
    """The rows of some cases: of results.jsonl, of results.csv (`table`), of junit.xml (`tests`).

    `failing` has the positions of the failed cases, each behind its `badness`; `labels` the human
    labels that the cases bring along.
    """

    lines: str
    table: str
    tests: str
    failures: int
    seconds: float
    failing: list[tuple[float, int]]
    labels: dict[str, float]
    tally: RunTally


def case_rows(
    numbered: Iterable[tuple[int, Outcome]], name: str, metrics: Sequence[str], cluster: str
) -> CaseRows:
    """The rows of these outcomes, each with its position, in a run of this name."""
    numbered = list(numbered)
    outcomes = [outcome for _, outcome in numbered]
    tally = RunTally(cluster=cluster)
    tally.add(*outcomes)
    cells = io.StringIO(newline="")
    table = ResultsCsv(cells, metrics, header=False)
    labels: dict[str, float] = {}
    for outcome in outcomes:
        table.add(outcome)
        label = column_label(outcome.case)
        if label is not None:
            labels[outcome.case.id] = label
    return CaseRows(
        lines="".join(json_line(result_line(outcome)).decode() + "\n" for outcome in outcomes),
        table=cells.getvalue(),
        tests="".join(junit_test(outcome, name) for outcome in outcomes),
        failures=sum(map(is_failure, outcomes)),
        seconds=math.fsum(outcome.response.seconds or 0.0 for outcome in outcomes),
        failing=[(badness(outcome), n) for n, outcome in numbered if _is_listed(outcome)],
        labels=labels,
        tally=tally,
    )


def _is_listed(outcome: Outcome) -> bool:
    """Whether the case belongs into failures.txt."""
    return not outcome.verdict.passed and outcome.verdict.status != Status.SCORED


def badness(outcome: Outcome) -> float:
    """The key that sorts failures worst first: an error before the lowest score."""
    score = outcome.verdict.score
    return -1.0 if score is None else score
