"""Metrics against labels, on 300 answers written for these tests: a clone without other data guards them.

The tests with human labels (`shared_data`) are stricter, and run only where that data is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.pass_rate import corrected_pass_rate
from answerkey.corrected_rate import ppi_rate
from answerkey.language.refusal import refusal
from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.metrics.grounding.groundedness import groundedness, groundedness_by_words
from answerkey.types import Case, Passage, Response

SETS = Path(__file__).parent / "profiles"
Row = dict[str, Any]


def _read_rows() -> list[Row]:
    """Cases of the sets that no rule was fitted on, with an expected answer."""
    rows: list[Row] = []
    for name in ("blind", "tenth", "eleventh"):
        lines = (SETS / f"rag_{name}_cases.jsonl").read_text(encoding="utf-8").splitlines()
        rows += [json.loads(line) for line in lines]
    labelled = [row for row in rows if row.get("expected") and row.get("contexts")]
    return [{**row, "label": int(row["verdict"] == "pass")} for row in labelled[:300]]


ROWS = _read_rows()
LABELS = [row["label"] for row in ROWS]


def _pairs() -> list[tuple[Case, Response]]:
    return [
        (
            Case(row["id"], row["question"], (row["expected"],)),
            Response(row["answer"], tuple(map(Passage, row["contexts"]))),
        )
        for row in ROWS
    ]


@pytest.fixture(scope="module")
def agreement() -> list[float]:
    return [score.value or 0.0 for score in answer_agreement(_pairs())]


def test_the_sample_is_large_enough_and_has_both_labels() -> None:
    assert len(ROWS) == 300
    assert 0.3 < sum(LABELS) / len(LABELS) < 0.7


@pytest.mark.slow
def test_agreement_follows_the_labels(agreement: list[float]) -> None:
    right = [(value >= 0.5) == bool(label) for value, label in zip(agreement, LABELS, strict=True)]
    # Measured: 0.80 right, AUROC 0.859. The sets were written to be hard.
    assert sum(right) / len(right) >= 0.78
    assert roc_auc_score(LABELS, agreement) >= 0.84


@pytest.mark.slow
def test_passages_support_their_own_answers_and_not_those_of_other_cases() -> None:
    rows = [row for row in ROWS if row["label"] and refusal(row["expected"]) == "none"]
    others = rows[7:] + rows[:7]
    labels = [1] * len(rows) + [0] * len(rows)
    pairs = [
        (
            Case(row["id"], row["question"]),
            Response(row["expected"], tuple(map(Passage, source["contexts"]))),
        )
        for sources in (rows, others)
        for row, source in zip(rows, sources, strict=True)
    ]
    # Measured on 280 pairs: AUROC 0.935 and 0.948.
    for measure, least in ((groundedness, 0.915), (groundedness_by_words, 0.928)):
        values = [score.value or 0.0 for score in measure(pairs)]
        assert roc_auc_score(labels, values) >= least


def test_few_ordinary_answers_are_called_refusals() -> None:
    rows = [row for row in ROWS if row["label"] and refusal(row["expected"]) == "none"]
    refusals = [row["answer"] for row in rows if refusal(row["answer"]) == "full"]
    assert len(rows) >= 120
    # Measured: 2 of 140, and both do decline; their expected answer says it in other words.
    assert len(refusals) <= 0.02 * len(rows), refusals


@pytest.mark.slow
def test_calibrate_ranks_metrics_by_labels(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    columns = ("id", "question", "expected", "answer", "contexts", "label")
    lines = [json.dumps({name: row[name] for name in columns}) for row in ROWS]
    path.write_text("\n".join(lines), encoding="utf-8")
    names = ("answer_agreement", "keyword_recall", "answer_correctness")
    options = [part for name in names for part in ("--metric", name)]
    shown = cli("calibrate", path, *options, "--positive", "good", "--json")
    assert shown.code == 0, shown.err
    figures = shown.json["metrics"]
    assert {figures[name]["n"] for name in names} == {len(ROWS)}
    # Measured: 0.859, 0.478 and 0.549. Words and cosine do not see a changed figure or name.
    lowest = figures["answer_agreement"]["auroc_ci95"][0]
    assert lowest > figures["keyword_recall"]["auroc_ci95"][1]
    assert lowest > figures["answer_correctness"]["auroc_ci95"][1]


@pytest.mark.slow
def test_the_corrected_rate_covers_the_truth(agreement: list[float]) -> None:
    labels = np.array(LABELS, dtype=float)
    verdicts = np.array(agreement) >= 0.5
    random = np.random.default_rng(2024)
    covered = narrower = 0
    draws = 600
    for _ in range(draws):
        picked = random.choice(len(labels), 1100, replace=True)
        known = picked[:100]
        rate = ppi_rate(
            labels[known].tolist(), verdicts[known].tolist(), verdicts[picked[100:]].tolist()
        )
        covered += rate.low <= labels.mean() <= rate.high
        narrower += rate.high - rate.low < 2 * 1.96 * labels[known].std() / 10
    # Measured: 0.962 and 1.0.
    assert 0.93 <= covered / draws <= 0.98
    assert narrower / draws > 0.95


@pytest.mark.slow
def test_chosen_labels_need_fewer_than_random_ones(agreement: list[float]) -> None:
    passed = [value >= 0.5 for value in agreement]

    def count(following: Callable[[dict[int, float]], list[int]]) -> int:
        labels: dict[int, float] = {}
        while len(labels) < len(ROWS):
            labels.update({n: float(LABELS[n]) for n in following(labels)})
            rate = corrected_pass_rate(agreement, passed, labels)
            if len(labels) >= 50 and rate is not None and rate.high - rate.low <= 0.12:
                break
        return len(labels)

    def at_random(seed: int) -> int:
        order = Random(seed).sample(range(len(ROWS)), len(ROWS))
        return count(lambda labels: order[len(labels) : len(labels) + 10])

    chosen = count(lambda labels: list(islice(label_order([*agreement], passed, labels), 10)))
    random = median(at_random(seed) for seed in range(5))
    # Measured: 200 against 260.
    assert chosen <= 0.9 * random
