"""The order of the label desk: fewer labels for the same interval, and an unbiased estimate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median

import pytest

from answerkey.calibrate.label_order import label_order, strata_of
from answerkey.calibrate.pass_rate import corrected_pass_rate, stratified_rate
from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.types import Case, Response

CASES = 600


def run_of(seed: int) -> tuple[list[float | None], list[bool], list[float]]:
    """Scores near 0 and 1, as most metrics give them."""
    random = Random(seed)
    scores = [round(random.betavariate(0.3, 0.3), 2) for _ in range(CASES)]
    labels = [float(random.random() < 0.04 + 0.92 * score) for score in scores]
    return [*scores], [score >= 0.6 for score in scores], labels


def test_every_case_once_and_labels_do_not_reorder_the_rest() -> None:
    scores, passed, labels = run_of(1)
    order = list(label_order(scores, passed, {}))
    assert sorted(order) == list(range(CASES))
    assert sorted(n for cases in strata_of(scores, passed) for n in cases) == list(range(CASES))
    first = order[0]
    assert first not in list(label_order(scores, passed, {first: labels[first]}))
    assert list(label_order([], [], {})) == []


def test_fewer_labels_give_the_same_interval_without_bias() -> None:
    """At most 70 of 100 labels here; on real answers fewer."""
    errors, ratios, covered = [], [], 0
    for seed in range(12):
        scores, passed, truth = run_of(seed)
        labels: dict[int, float] = {}
        for n in label_order(scores, passed, labels):
            labels[n] = truth[n]
            if len(labels) == 120:
                break
        found = stratified_rate(strata_of(scores, passed), passed, labels)
        mean, half = found.rate, (found.high - found.low) / 2
        share = sum(truth) / CASES
        errors.append(mean - share)
        covered += abs(mean - share) <= half
        plain = next(
            k
            for k in range(30, CASES)
            if 1.96 * math.sqrt(share * (1 - share) / k * (1 - k / CASES)) <= half
        )
        ratios.append(120 / plain)
    assert abs(sum(errors) / len(errors)) < 0.015
    assert covered >= 10
    assert sum(ratios) / len(ratios) < 0.7


@pytest.mark.slow
def test_the_desk_needs_at_most_60_percent_of_the_labels_of_a_random_order(
    shared_data: Path,
) -> None:
    """Answers with human labels: labels until the corrected pass rate is known to ± 3 points, from 50 labels on."""
    lines = (shared_data / "evouna" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in Random(1).sample(lines, 1500)]
    pairs = [
        (Case(row["id"], row["question"], tuple(row["reference"])), Response(row["answer"]))
        for row in rows
    ]
    scores = [
        score.value or 0.0
        for start in range(0, 1500, 250)
        for score in answer_agreement(pairs[start : start + 250])
    ]
    passed, truth = [score >= 0.5 for score in scores], [float(row["label"]) for row in rows]

    def needed(following: Callable[[dict[int, float]], list[int]]) -> int:
        labels: dict[int, float] = {}
        while True:
            labels.update({n: truth[n] for n in following(labels)})
            found = corrected_pass_rate(scores, passed, labels)
            if len(labels) >= 50 and found is not None and found.high - found.low <= 0.06:
                return len(labels)

    def at_random(seed: int) -> int:
        order = Random(seed).sample(range(1500), 1500)
        return needed(lambda labels: order[len(labels) : len(labels) + 10])

    desk = needed(lambda labels: list(islice(label_order([*scores], passed, labels), 10)))
    random = median(at_random(seed) for seed in range(7))
    print(f"the desk needs {desk} labels, a random order {random}")
    assert desk <= 0.6 * random


def test_without_labels_there_is_no_estimate() -> None:
    assert corrected_pass_rate([0.5], [False], {}) is None
