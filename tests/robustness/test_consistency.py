"""Consistency separates the same answer in other words from another answer.

AUROC at first sight: 0.989 on the first 40 questions, 0.986 on the other 40.
"""

from __future__ import annotations

import json
from pathlib import Path

from answerkey.robustness.run import score_agreement
from answerkey.types import Case, Response

PAIRS = [
    json.loads(line)
    for line in Path(__file__).with_name("answer_pairs.jsonl").read_text("utf-8").splitlines()
]


def agreements(column: str) -> list[float]:
    pairs = [
        (Case(str(n), pair["question"], (pair["first"],)), Response(pair[column]))
        for n, pair in enumerate(PAIRS)
    ]
    return [score.value or 0.0 for score in score_agreement(pairs)]


def test_the_same_answer_in_other_words_ranks_above_another_answer() -> None:
    same = agreements("same")
    other = agreements("other")
    wins = sum((a > b) + 0.5 * (a == b) for a in same for b in other)
    assert wins / (len(same) * len(other)) >= 0.95
