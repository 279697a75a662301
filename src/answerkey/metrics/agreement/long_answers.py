"""`answer_agreement` for long expected answers: a plain sum of three terms.

A long answer is right in part more often than as a whole. So its value is a grade: how many words
it shares with the expected answer, how much of the expected answer it states, and how much of what
it states is expected. The weights are set by hand: weights fitted on one kind of answers were worse
on others (docs/validity_tables.md). `tools/local_judge/long_study.py` fits the curve that makes the
sum a grade; a curve does not change the order of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.language.sentences import sentence_spans
from answerkey.metrics.agreement.model_verdict import nearest, sentence_support
from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.facts import CheckedFacts, check_facts, fact_recall
from answerkey.metrics.overlap import token_f1
from answerkey.types import Pair, Score

# Words of an expected answer of several sentences. A shorter one is a verdict with its reason, and
# the model for short answers is better there: AUROC 0.92 against 0.80 between 25 and 35 words.
LONG_FROM = 30
# Words of either text. Longer ones are left to the model for short answers: a document is no answer
# to one question, and each of its sentences would be compared with the whole other text.
LONGEST = 1_000
TOKEN_F1 = 0.4
RECALL = 0.4
PRECISION = 0.2


@dataclass(frozen=True, slots=True)
class LongTerms:
    """`recall` is about the expected statements, `precision` about those of the answer."""

    token_f1: float
    recall: float
    precision: float

    @property
    def total(self) -> float:
        return TOKEN_F1 * self.token_f1 + RECALL * self.recall + PRECISION * self.precision


@dataclass(frozen=True, slots=True)
class LongVerdict:
    """The log-odds of the grade, and the share of the expected facts with each fact in its details."""

    log_odds: float
    recall: Score


def is_long(answer: str, expected: Sequence[str]) -> bool:
    """Whether the expected answer nearest to the answer has several sentences and many words."""
    key = nearest(answer, expected)
    length = len(key.split())
    if length < LONG_FROM or max(length, len(answer.split())) > LONGEST:
        return False
    return len(sentence_spans(key)) > 1


def long_verdicts(pairs: Sequence[Pair]) -> list[LongVerdict | None]:
    """The verdict for each pair; None where the expected answer is short."""
    places = [
        n
        for n, (case, response) in enumerate(pairs)
        if is_long(response.answer or "", case.expected)
    ]
    long_pairs = [pairs[n] for n in places]
    checked = check_facts(long_pairs)
    curve = load_numbers("agreement/long")
    verdicts: list[LongVerdict | None] = [None] * len(pairs)
    for n, one, terms in zip(places, checked, long_terms(long_pairs, checked), strict=True):
        log_odds = float(curve["intercept"]) + float(curve["slope"]) * terms.total
        verdicts[n] = LongVerdict(log_odds, fact_recall(one))
    return verdicts


def long_terms(pairs: Sequence[Pair], checked: Sequence[CheckedFacts]) -> list[LongTerms]:
    """The terms of each pair.

    Recall and precision are each the mean of two: the entailment model's probabilities, sentence by
    sentence, and the share of claims that the facts metrics accept. Each is better where the other
    is weak: the first on changed figures and names, the second on long texts of bots.
    """
    texts = [
        (case.question, response.answer or "", nearest(response.answer or "", case.expected))
        for case, response in pairs
    ]
    stated = sentence_support([(question, answer, key) for question, answer, key in texts])
    backed = sentence_support([(question, key, answer) for question, answer, key in texts])
    return [
        LongTerms(
            token_f1=float(token_f1(*pair)),
            recall=_mean_with([decision.holds for decision in one.in_answer], stated[n]),
            precision=_mean_with([decision.holds for decision in one.in_expected], backed[n]),
        )
        for n, (pair, one) in enumerate(zip(pairs, checked, strict=True))
    ]


def _mean_with(accepted: Sequence[bool], by_model: float | None) -> float:
    """The mean of a share and the model's probability; the share alone without a model.

    A text without a claim has the share 0: leaving the share out was worse (0.62 for 0.63 on bots).
    """
    share = sum(accepted) / len(accepted) if accepted else 0.0
    if by_model is None:
        return share
    return (share + by_model) / 2
