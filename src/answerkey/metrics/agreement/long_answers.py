"""`answer_agreement` for long expected answers: three plain terms and a logistic model.

A long answer is right in part more often than as a whole. So its value is the share of the expected
answer that it gives, less what it adds: shared words, expected statements that it makes, and own
statements that the expected answer supports. `tools/local_judge/long_study.py` fits the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.metrics.agreement.model_verdict import nearest, sentence_support
from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.facts import CheckedFacts, check_facts, fact_recall
from answerkey.metrics.overlap import token_f1
from answerkey.types import Pair, Score

# Words of an expected answer. Up to the first number the model for short answers decides, from the
# second on the three terms; in between both count. Measured by tools/local_judge/long_study.py.
SHORT_TO = 15
LONG_FROM = 40
# Words of either text. Longer ones are left to the model for short answers: a document is no answer
# to one question, and each of its sentences would be compared with the whole other text.
LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class LongTerms:
    """`recall` is about the expected statements, `precision` about those of the answer."""

    token_f1: float
    recall: float
    precision: float


@dataclass(frozen=True, slots=True)
class LongVerdict:
    """`weight`, 0 to 1, is how much it counts beside the model for short answers."""

    weight: float
    log_odds: float
    recall: Score


def long_weight(answer: str, expected: Sequence[str]) -> float:
    """0 for a short expected answer and for a text that is no answer, 1 for a long expected answer."""
    length = len(nearest(answer, expected).split())
    if max(length, len(answer.split())) > LONGEST:
        return 0.0
    return min(1.0, max(0.0, (length - SHORT_TO) / (LONG_FROM - SHORT_TO)))


def long_verdicts(pairs: Sequence[Pair]) -> list[LongVerdict | None]:
    """The verdict for each pair; None where the expected answer is short, or no text makes a claim."""
    weights = [long_weight(response.answer or "", case.expected) for case, response in pairs]
    places = [n for n, weight in enumerate(weights) if weight > 0]
    long_pairs = [pairs[n] for n in places]
    checked = check_facts(long_pairs)
    verdicts: list[LongVerdict | None] = [None] * len(pairs)
    for n, one, terms in zip(places, checked, long_terms(long_pairs, checked), strict=True):
        if one.facts and one.claims:
            verdicts[n] = LongVerdict(weights[n], _log_odds(terms), fact_recall(one))
    return verdicts


def long_terms(pairs: Sequence[Pair], checked: Sequence[CheckedFacts]) -> list[LongTerms]:
    """The terms of each pair.

    Recall and precision are each the mean of two: the entailment model's probabilities, sentence by
    sentence, and the share of claims that the facts metrics accept. Each is better where the other
    is weak: the first on long texts of bots, the second on changed figures and names.
    """
    texts = [
        (case.question, response.answer or "", nearest(response.answer or "", case.expected))
        for case, response in pairs
    ]
    stated = sentence_support([(question, answer, key) for question, answer, key in texts])
    backed = sentence_support([(question, key, answer) for question, answer, key in texts])
    terms: list[LongTerms] = []
    for n, (pair, one) in enumerate(zip(pairs, checked, strict=True)):
        recall = _mean([decision.holds for decision in one.in_answer])
        precision = _mean([decision.holds for decision in one.in_expected])
        terms.append(
            LongTerms(
                token_f1=float(token_f1(*pair)),
                recall=_mean([recall, recall if stated[n] is None else stated[n]]),
                precision=_mean([precision, precision if backed[n] is None else backed[n]]),
            )
        )
    return terms


def _log_odds(terms: LongTerms) -> float:
    numbers = load_numbers("agreement/long")
    weights: dict[str, float] = numbers["weights"]
    return (
        float(numbers["intercept"])
        + weights["token_f1"] * terms.token_f1
        + weights["recall"] * terms.recall
        + weights["precision"] * terms.precision
    )


def _mean(values: Sequence[float | None]) -> float:
    present = [float(value) for value in values if value is not None]
    if present:
        return sum(present) / len(present)
    return 0.0
