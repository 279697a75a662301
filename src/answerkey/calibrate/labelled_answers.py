"""Answers with human labels, from a case file or a run, and their scores by any metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.calibrate.labels import LABELS_FILE, as_label, read_run_labels
from answerkey.cases.check import check_cases
from answerkey.cases.loader import read_cases
from answerkey.cases.rows import case_of_row
from answerkey.coerce.rows import Row
from answerkey.coerce.tables import ROW_READERS
from answerkey.errors import InputError, did_you_mean
from answerkey.runs.store import is_run, read_outcomes
from answerkey.runs.suite import Suite
from answerkey.types import Case, Pair, Score

if TYPE_CHECKING:
    from answerkey.runs.score import Scorer


@dataclass(frozen=True, slots=True)
class Labelled:
    """Answers with a label each, in order.

    `groups` names the source of each row, as rows of one source belong together. `known` has the
    scores that a run already computed.
    """

    pairs: list[Pair]
    labels: list[float]
    groups: list[str] | None
    unlabelled: int
    known: list[dict[str, float]]

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, slots=True)
class _LabelRow:
    """An answer, its label as it is written, and the scores that a run has for it."""

    pair: Pair
    label: Any
    scores: dict[str, float]


def read_labelled(
    path: Path, label: str = "label", group: str = "group", limit: int | None = None
) -> Labelled:
    """Read answers with labels from a case file or a run.

    A row without a label is counted; a row without an answer is an error.
    """
    rows = _run_rows(path) if is_run(path) else _file_rows(path, label)
    unlabelled = 0
    labels: list[float] = []
    labelled_rows: list[_LabelRow] = []
    for row in islice(rows, limit):
        value = as_label(row.label, row.pair[0].id)
        if value is None:
            unlabelled += 1
        else:
            labels.append(value)
            labelled_rows.append(row)
    if not labels:
        raise InputError(f"{path}: no row has a label; {_how_to_label(path, label)}")
    pairs = [row.pair for row in labelled_rows]
    groups = [str(case.extra.get(group, "")) for case, _ in pairs]
    return Labelled(
        pairs=pairs,
        labels=labels,
        # Groups count only where every row has one.
        groups=groups if all(groups) else None,
        unlabelled=unlabelled,
        known=[row.scores for row in labelled_rows],
    )


def _file_rows(path: Path, label: str) -> Iterator[_LabelRow]:
    for case in _read_labelled_cases(path):
        if case.recorded is None:
            raise InputError(
                f'{path}: case "{case.id}" has no answer to measure; add an "answer" column'
            )
        # Without any label, the error of `read_labelled` explains how to add them.
        if label not in case.extra and label != "label":
            raise InputError(
                f'{path}: case "{case.id}" has no column "{label}"{did_you_mean(label, case.extra)}'
            )
        pair = (replace(case, recorded=None), case.recorded)
        yield _LabelRow(pair, case.extra.get(label), scores={})


def _read_labelled_cases(path: Path) -> Iterator[Case]:
    reader = ROW_READERS.get(path.suffix.lower())
    if path.is_file() and reader is not None:
        return check_cases(_read_tolerantly(reader(path, path.name), path), path.name)
    return read_cases([path])


def _read_tolerantly(rows: Iterator[Row], path: Path) -> Iterator[Case]:
    """The cases of rows that may lack a question: claims, replies and summaries are labelled too."""
    for number, (row, place) in enumerate(rows, start=1):
        default_id = f"{path.stem}#{number}"
        if str(row.get("question") or "").strip():
            yield case_of_row(row, place, default_id=default_id)
            continue
        # The row reader refuses an empty question, so it gets a stand-in that is dropped again.
        case = case_of_row({**row, "question": "-"}, place, default_id=default_id)
        yield replace(case, question="")


def _run_rows(path: Path) -> Iterator[_LabelRow]:
    if not (path / LABELS_FILE).is_file():
        raise InputError(f"{path}: no {LABELS_FILE}; {_how_to_label(path, 'label')}")
    labels = read_run_labels(path, strict=True).by_majority()
    for outcome in read_outcomes(path):
        scores = {
            name: score.value for name, score in outcome.scores.items() if score.value is not None
        }
        pair = (outcome.case, outcome.response)
        yield _LabelRow(pair, labels.get(outcome.case.id), scores)


def _how_to_label(path: Path, label: str) -> str:
    if is_run(path):
        return f'label answers in `answerkey view`, or write {LABELS_FILE} into the run: {{"id": …, "label": 1}}'
    return f'add a column "{label}" of 0 and 1, or name yours with --label'


_CHUNK = 256  # rows between two lines of progress
Progress = Callable[[int, int], None]
Columns = dict[str, list[Score]]  # the scores of each metric


def measure_labelled(
    labelled: Labelled, suite: Suite, repeats: int = 1, progress: Progress | None = None
) -> list[Columns]:
    """For each repeat, the column of scores of every metric of the suite. A judge is asked anew each time."""
    # Imported here because most users of labelled answers measure nothing.
    from answerkey.metrics.judge.judged_metrics import without_cache
    from answerkey.runs.score import make_scorer

    names = suite.metrics
    # A run already has these scores: nothing is computed or asked again.
    if repeats == 1 and all(any(name in row for row in labelled.known) for name in names):
        return [{name: [Score(row.get(name)) for row in labelled.known] for name in names}]
    # A cached reply would hide the noise that the repeats measure.
    if repeats > 1 and suite.judge is not None:
        suite = replace(suite, judge=without_cache(suite.judge))
    total = repeats * len(labelled)
    passes: list[Columns] = []
    with closing(make_scorer(suite, None)) as scorer:
        for n in range(repeats):
            columns: Columns = {name: [] for name in names}
            done = n * len(labelled)
            for scores in _score_in_chunks(scorer, labelled.pairs):
                for name in names:
                    columns[name] += [row[name] for row in scores]
                done += len(scores)
                if progress:
                    progress(done, total)
            passes.append(columns)
    return passes


def _score_in_chunks(
    scorer: Scorer, pairs: Sequence[Pair]
) -> Iterator[Sequence[Mapping[str, Score]]]:
    from answerkey.runs.score import in_chunks

    for chunk in in_chunks(pairs, _CHUNK):
        yield scorer.plan.score(chunk)
