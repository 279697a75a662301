"""Answers with human labels, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from answerkey.calibrate.labels import LABELS_FILE, as_label, read_labels
from answerkey.cases.loader import checked, load_cases
from answerkey.coerce.rows import case_of_row
from answerkey.coerce.tables import ROW_READERS, Row
from answerkey.errors import InputError, did_you_mean
from answerkey.metrics.judge.judged_metrics import without_cache
from answerkey.runs.score import in_chunks, make_scorer
from answerkey.runs.store import is_run, read_outcomes
from answerkey.runs.suite import Suite
from answerkey.types import Case, Pair, Response, Score


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


def read_labelled(path: Path, label: str = "label", group: str = "group", limit: int | None = None) -> Labelled:
    """Every row that has a label and an answer; rows without a label are counted, rows without an answer refused."""
    rows = _run_rows(path) if is_run(path) else _file_rows(path, label)
    pairs: list[Pair] = []
    labels: list[float] = []
    known: list[dict[str, float]] = []
    unlabelled = 0
    for pair, given, scores in islice(rows, limit):
        value = as_label(given, pair[0].id)
        if value is None:
            unlabelled += 1
            continue
        pairs.append(pair)
        labels.append(value)
        known.append(scores)
    if not pairs:
        raise InputError(f"{path}: no row has a label; {_how_to_label(path, label)}")
    groups = [str(case.extra.get(group, "")) for case, _ in pairs]
    return Labelled(pairs, labels, groups if all(groups) else None, unlabelled, known)


_Given = tuple[Pair, Any, dict[str, float]]


def _file_rows(path: Path, label: str) -> Iterator[_Given]:
    for case in _cases(path):
        if case.recorded is None:
            raise InputError(f'{path}: case "{case.id}" has no answer to measure; add an "answer" column')
        if label not in case.extra and label != "label":
            raise InputError(f'{path}: case "{case.id}" has no column "{label}"{did_you_mean(label, case.extra)}')
        yield (replace(case, recorded=None), case.recorded), case.extra.get(label), {}


def _cases(path: Path) -> Iterator[Case]:
    """As everywhere, but labelled data may lack questions: claims, replies and summaries are labelled too."""
    reader = ROW_READERS.get(path.suffix.lower())
    if reader is None or not path.is_file():
        yield from load_cases([path])
        return
    yield from checked(_tolerant(reader(path, path.name), path), path.name)


def _tolerant(rows: Iterator[Row], path: Path) -> Iterator[Case]:
    for number, (row, place) in enumerate(rows, start=1):
        asked = bool(str(row.get("question") or "").strip())
        case = case_of_row(row if asked else {**row, "question": "-"}, place, default_id=f"{path.stem}#{number}")
        yield case if asked else replace(case, question="")


def _run_rows(path: Path) -> Iterator[_Given]:
    if not (path / LABELS_FILE).is_file():
        raise InputError(f"{path}: no {LABELS_FILE}; {_how_to_label(path, 'label')}")
    labels = read_labels(path, strict=True).resolved()
    for outcome in read_outcomes(path):
        response: Response = outcome.response
        scores = {name: score.value for name, score in outcome.scores.items() if score.value is not None}
        yield (outcome.case, response), labels.get(outcome.case.id), scores


def _how_to_label(path: Path, label: str) -> str:
    if is_run(path):
        return f'label answers in `answerkey view`, or write {LABELS_FILE} into the run: {{"id": …, "label": 1}}'
    return f'add a column "{label}" of 0 and 1, or name yours with --label'


CHUNK = 256
Progress = Callable[[int, int], None]


def measure(
    labelled: Labelled, suite: Suite, repeats: int = 1, progress: Progress | None = None
) -> list[dict[str, list[Score]]]:
    """For each repeat, the column of scores of every metric of the suite. A judge is asked anew each time."""
    names = suite.metrics
    if repeats == 1 and all(any(name in known for known in labelled.known) for name in names):
        return [{name: [Score(known.get(name)) for known in labelled.known] for name in names}]
    if repeats > 1 and suite.judge is not None:
        suite = replace(suite, judge=without_cache(suite.judge))
    scorer = make_scorer(suite, None)
    try:
        done, total = 0, repeats * len(labelled)
        passes: list[dict[str, list[Score]]] = []
        for _ in range(repeats):
            columns: dict[str, list[Score]] = {name: [] for name in names}
            for chunk in in_chunks(labelled.pairs, CHUNK):
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
