"""results.csv, safe to open in a spreadsheet, and junit.xml, so that CI lists the failing cases: a row or test per case."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from answerkey.calibrate.labels import column_label
from answerkey.coerce.values import is_list
from answerkey.files import json_line
from answerkey.profiles.decide import ERROR
from answerkey.runs.records import result_line
from answerkey.runs.summary import GateResult
from answerkey.runs.tally import RunTally
from answerkey.text import printable, spreadsheet_text
from answerkey.types import Outcome, Score, Status

_COLUMNS = (
    "id",
    "source_file",
    "question_num",
    "type",
    "question",
    "expected_answer",
    "answer",
    "route",
    "expected_route",
    "sources",
    "response_time",
    "error",
)
_VERDICT = ("status", "score", "quality", "route_score", "band", "justification")
_TAKEN = {*_COLUMNS, *_VERDICT}


class ResultsCsv:
    """Column names are unique: the verdict's `route_score` is the metric's, and is written once; any other metric
    with the name of a column is `scores.<name>`, its path in results.jsonl.
    """

    def __init__(self, file: IO[str], metrics: Sequence[str], header: bool = True) -> None:
        self._metrics = [name for name in metrics if name != "route_score"]
        self._writer = csv.writer(file)
        named = [f"scores.{name}" if name in _TAKEN else name for name in self._metrics]
        if header:
            self._writer.writerow([*_COLUMNS, *_VERDICT, *named])

    def add(self, outcome: Outcome) -> None:
        case, response, verdict, scores = (
            outcome.case,
            outcome.response,
            outcome.verdict,
            outcome.scores,
        )
        cells: tuple[object, ...] = (
            case.id,
            case.source_file,
            case.question_num,
            case.type,
            case.question,
            case.expected[0] if len(case.expected) == 1 else list(case.expected) or None,
            response.answer,
            response.route,
            case.expected_route,
            response.sources,
            response.seconds,
            response.error,
            verdict.status,
            verdict.score,
            verdict.quality,
            _score(scores.get("route_score")),
            verdict.band,
            verdict.justification,
        )
        self._writer.writerow([*map(csv_cell, cells), *map(_score, map(scores.get, self._metrics))])


def csv_cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a quote in front; controls are made visible.

    Numbers stay numbers; results.jsonl keeps the original text.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return value if value[:1].isalnum() else spreadsheet_text(value)
    if is_list(value):
        value = " | ".join(str(item) for item in value)
    text = printable(str(value).replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    return spreadsheet_text(text)


def _score(score: Score | None) -> object:
    """A number; empty where the metric is not applicable; ERROR where it failed."""
    return "" if score is None else "ERROR" if score.error is not None else score.value


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD_LENGTH = 200  # the counts are known last: the head is written over this many blanks


class JunitFile:
    def __init__(self, file: IO[str], name: str) -> None:
        self._file, self._name = file, name
        self._tests = self._failures = self._errors = 0
        self._seconds = 0.0
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._head = file.tell()
        file.write(" " * (_HEAD_LENGTH + len(name.encode())) + "\n")

    def add(self, rows: CaseRows) -> None:
        self._tests += rows.tally.all.count
        self._failures += rows.failures
        self._errors += rows.tally.all.error_count
        self._seconds += rows.seconds
        self._file.write(rows.tests)

    def finish(self, partial: str = "", gates: Sequence[GateResult] = ()) -> None:
        """Each gate is a test. An incomplete run adds an error, so that CI never reports it as complete."""
        for gate in gates:
            self._tests += 1
            self._failures += not gate.passed
            self._file.write(f'<testcase classname="gates" name={_attribute(gate.condition)}')
            value = "no figure" if gate.value is None else f"{gate.value:.4g}"
            message = _attribute(f"{value} {gate.note}".strip())
            self._file.write(
                "/>\n" if gate.passed else f"><failure message={message}/></testcase>\n"
            )
        if partial:
            self._tests += 1
            self._errors += 1
            group, error = (
                _attribute(self._name),
                f"<error message={_attribute(f'partial run: {partial}')}/>",
            )
            self._file.write(
                f'<testcase classname={group} name="the whole run">{error}</testcase>\n'
            )
        self._file.write("</testsuite>\n")
        self._file.seek(self._head)
        self._file.write(
            f'<testsuite name={_attribute(self._name)} tests="{self._tests}" failures="{self._failures}" '
            f'errors="{self._errors}" time="{self._seconds:.3f}">'
        )


def _test_case(outcome: Outcome, name: str) -> str:
    case, verdict, seconds = outcome.case, outcome.verdict, outcome.response.seconds or 0.0
    group = _attribute(case.type or case.source_file or name)
    start = f'<testcase classname={group} name={_attribute(f"{case.id}: {case.question}"[:200])} time="{seconds:.3f}"'
    if verdict.status == ERROR:
        return f"{start}><error message={_attribute(verdict.justification[:300])}/></testcase>\n"
    if not _fails(outcome):
        return f"{start}/>\n"
    message = f"{verdict.status} {verdict.score:.3g}: {verdict.justification}"
    body = f"expected: {' / '.join(case.expected)}\nanswer: {outcome.response.answer or ''}"
    return f"{start}><failure message={_attribute(message[:300])}>{escape(_NOT_XML.sub('�', body))}</failure></testcase>\n"


def _fails(outcome: Outcome) -> bool:
    verdict = outcome.verdict
    return verdict.status != ERROR and not verdict.passed and verdict.score is not None


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


@dataclass(frozen=True, slots=True)
class CaseRows:
    """What some cases of a run add to results.jsonl, results.csv (`table`), junit.xml (`tests`) and the summary.

    `failing` are the positions of the failed ones, each with its place in the order of worst first; `labels` the human
    labels that the cases have.
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
    """The rows of these outcomes in a run of this name."""
    tally, cells = RunTally(cluster=cluster), io.StringIO(newline="")
    table = ResultsCsv(cells, metrics, header=False)
    outcomes = list(numbered)
    tally.add(*(outcome for _, outcome in outcomes))
    for _, outcome in outcomes:
        table.add(outcome)
    labels = {outcome.case.id: column_label(outcome.case) for _, outcome in outcomes}
    return CaseRows(
        "".join(json_line(result_line(outcome)).decode() + "\n" for _, outcome in outcomes),
        cells.getvalue(),
        "".join(_test_case(outcome, name) for _, outcome in outcomes),
        failures=sum(_fails(outcome) for _, outcome in outcomes),
        seconds=math.fsum(outcome.response.seconds or 0.0 for _, outcome in outcomes),
        failing=[
            (badness(outcome), n)
            for n, outcome in outcomes
            if not outcome.verdict.passed and outcome.verdict.status != Status.SCORED
        ],
        labels={key: label for key, label in labels.items() if label is not None},
        tally=tally,
    )


def badness(outcome: Outcome) -> float:
    """The key that sorts failures worst first: an error before the lowest score."""
    return -1.0 if outcome.verdict.score is None else outcome.verdict.score
