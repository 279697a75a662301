"""Answers with human labels, from a case file or a run, and their scores by any metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs with a label each. `groups` are rows of one source, which belong together; `known` are a run's own scores."""

    pairs: list[Pair]
    labels: list[float]
    groups: list[str] | None
    unlabelled: int
    known: list[dict[str, float]]

    def __len__(self) -> int:
        return len(self.pairs)


def read_labelled(
    path: Path, label: str = "label", group: str = "group", limit: int | None = None
) -> Labelled:
    """Every row that has a label and an answer; rows without a label are counted, rows without an answer refused."""
    if is_run(path):
        rows = _run_rows(path)
    else:
        rows = _file_rows(path, label)
    read = [
        (pair, as_label(label_value, pair[0].id), scores)
        for pair, label_value, scores in islice(rows, limit)
    ]
    usable = [(pair, value, scores) for pair, value, scores in read if value is not None]
    if not usable:
        raise InputError(f"{path}: no row has a label; {_how_to_label(path, label)}")
    pairs = [pair for pair, _, _ in usable]
    groups: list[str] | None = [str(case.extra.get(group, "")) for case, _ in pairs]
    # Groups count only where every row has one.
    if not all(groups):
        groups = None
    return Labelled(
        pairs=pairs,
        labels=[value for _, value, _ in usable],
        groups=groups,
        unlabelled=len(read) - len(usable),
        known=[scores for _, _, scores in usable],
    )


# A pair, the label as it is written, and the scores of a run
_LabelRow = tuple[Pair, Any, dict[str, float]]


def _file_rows(path: Path, label: str) -> Iterator[_LabelRow]:
    if path.is_file():
        reader = ROW_READERS.get(path.suffix.lower())
    else:
        reader = None
    if reader:
        cases = check_cases(_read_tolerantly(reader(path, path.name), path), path.name)
    else:
        cases = read_cases([path])
    for case in cases:
        if case.recorded is None:
            raise InputError(
                f'{path}: case "{case.id}" has no answer to measure; add an "answer" column'
            )
        # Without any label, the error of `read_labelled` explains how to add them.
        if label not in case.extra and label != "label":
            raise InputError(
                f'{path}: case "{case.id}" has no column "{label}"{did_you_mean(label, case.extra)}'
            )
        yield (replace(case, recorded=None), case.recorded), case.extra.get(label), {}


def _read_tolerantly(rows: Iterator[Row], path: Path) -> Iterator[Case]:
    """As everywhere, but labelled data may lack questions: claims, replies and summaries are labelled too."""
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
        yield (outcome.case, outcome.response), labels.get(outcome.case.id), scores


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
    from answerkey.runs.score import in_chunks, make_scorer

    names = suite.metrics
    stored = labelled.known
    # A run already has these scores: nothing is computed or asked again.
    if repeats == 1 and all(any(name in scores for scores in stored) for name in names):
        return [{name: [Score(scores.get(name)) for scores in stored] for name in names}]
    # A cached reply would hide the noise that the repeats measure.
    if repeats > 1 and suite.judge is not None:
        suite = replace(suite, judge=without_cache(suite.judge))
    scorer = make_scorer(suite, None)
    try:
        done = 0
        total = repeats * len(labelled)
        passes: list[Columns] = []
        for _ in range(repeats):
            columns: Columns = {name: [] for name in names}
            for chunk in in_chunks(labelled.pairs, _CHUNK):
                for scores in scorer.plan.score(chunk):
                    for name in names:
                        columns[name].append(scores[name])
                done += len(chunk)
                if progress:
                    progress(done, total)
            passes.append(columns)
        return passes
    finally:
        scorer.close()
