"""Measure `answer_agreement` for long answers: `python -m tools.local_judge.long_study --data DIR`.

The value is a plain sum of three terms, so that nothing is fitted but the curve that makes the sum a grade, which does not
change the order of answers. `--fit` fits the curve, on half of the questions of `bot_answers`, by hash, and on the
graded facts. The table shows the rank correlation with the known grade. Beside it: token F1, the number of characters,
and the sum of token F1 and entailment F1 by sentence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import spearmanr
from tools.local_judge.graded_answers import Graded, bot_answers, combined_answers, graded_facts
from tools.local_judge.measure import Array
from tools.local_judge.report import Line, filled
from tools.train_entailment.sources import fraction

from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.metrics.agreement.long_answers import LongTerms, long_terms
from answerkey.metrics.agreement.model_verdict import sentence_support
from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.facts import check_facts, fact_metrics
from answerkey.metrics.overlap import token_f1

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ROOT / "src" / "answerkey" / "metrics" / "agreement" / "fitted" / "long.json"
FACTS = ROOT / "tests" / "metrics" / "graded_facts.jsonl"
PAGE = ROOT / "docs" / "validity_tables.md"
SEEDS = (1, 2)  # each makes other changes to the bots' answers


def main() -> None:
    options = _options()
    bots = {seed: bot_answers(options.data, seed) for seed in SEEDS}
    if options.fit:
        rows = [row for row in bots[SEEDS[0]] if fraction(row.question) < 0.5]
        NUMBERS.write_text(json.dumps(fit([*rows, *graded_facts(FACTS)])) + "\n", encoding="utf-8")
        load_numbers.cache_clear()
    sets: dict[str, Sequence[Graded]] = {f"bots {seed}": rows for seed, rows in bots.items()}
    sets |= {
        "graded facts": list(graded_facts(FACTS)),
        "combined facts": list(combined_answers("long_answers")),
        "combined facts 2": list(combined_answers("long_answers_2")),
        "combined facts 3": list(combined_answers("long_answers_3", rounds=2)),
        "combined facts 4": list(combined_answers("long_answers_4", rounds=2)),
        "combined facts 5": list(combined_answers("long_answers_5", rounds=2)),
        "combined facts 6": list(combined_answers("long_answers_6", rounds=2)),
    }
    lines = [measure(name, graded) for name, graded in sets.items()]
    PAGE.write_text(filled(PAGE.read_text("utf-8"), {"long_answers": lines}), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument("--fit", action="store_true", help="fit the curve before measuring")
    return parser.parse_args()


def _terms(rows: Sequence[Graded]) -> list[LongTerms]:
    pairs = [row.pair for row in rows]
    return long_terms(pairs, check_facts(pairs))


def fit(rows: Sequence[Graded]) -> dict[str, float]:
    """The logistic curve from the sum of the terms to the grade."""
    totals = np.array([terms.total for terms in _terms(rows)])
    grades = np.array([row.grade for row in rows])

    def loss(numbers: Array) -> float:
        odds = numbers[0] + numbers[1] * totals
        return float((np.logaddexp(0.0, odds) - grades * odds).mean())

    intercept, slope = minimize(loss, np.zeros(2), method="L-BFGS-B").x
    return {"intercept": round(float(intercept), 3), "slope": round(float(slope), 3)}


def measure(name: str, rows: Sequence[Graded]) -> Line:
    pairs = [row.pair for row in rows]
    grades = np.array([row.grade for row in rows])
    words = np.array([float(token_f1(*pair)) for pair in pairs])
    stated = sentence_support([(row.question, row.answer, row.expected) for row in rows])
    backed = sentence_support([(row.question, row.expected, row.answer) for row in rows])
    entailed = np.array([_f1(a or 0.0, b or 0.0) for a, b in zip(stated, backed, strict=True)])
    values = np.array([score.value for score in answer_agreement(pairs)], dtype=float)
    facts = fact_metrics(pairs, names=("fact_f1",))["fact_f1"]
    columns: Mapping[str, Array] = {
        "answer_agreement": values,
        "fact_f1": np.array([score.value or 0.0 for score in facts]),
        "token F1": words,
        "token F1 + entailment F1": words + entailed,
        "length": np.array([len(row.answer) for row in rows], dtype=float),
    }
    figures = {title: (float(spearmanr(grades, column)[0]),) for title, column in columns.items()}
    figures["mean error"] = (float(np.abs(values - grades).mean()),)
    return Line(name, len(rows), figures)


def _f1(recall: float, precision: float) -> float:
    total = recall + precision
    return 2 * recall * precision / total if total else 0.0


if __name__ == "__main__":
    main()
