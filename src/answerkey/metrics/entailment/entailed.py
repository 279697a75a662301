"""The entailment model for direct use: `entail` for pairs of texts, and the metric `entailment`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerkey.errors import SettingsError
from answerkey.metrics.refusal import refusal
from answerkey.metrics.registry import metric
from answerkey.types import Pair, Score

if TYPE_CHECKING:
    from answerkey.metrics.entailment.model import Entailment
    from answerkey.metrics.grounding.sentence_features import ReadAnswer

NO_MODEL = "this installation has no entailment model"


def entail(pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
    """For each (premise, statement) the probabilities that the premise supports, ignores and contradicts the statement.

    English only, and at most about 180 words together: longer texts are cut.

    >>> entail([("It opened in 1932.", "It opened in 1951.")])[0].contradicted  # doctest: +SKIP
    0.93
    """
    from answerkey.metrics.entailment.model import Entailment, load_model, probabilities

    model = load_model()
    if model is None:
        raise SettingsError(f"{NO_MODEL}; install answerkey again")
    if not pairs:
        return []
    rows = probabilities(model.logits([(premise, statement) for premise, statement in pairs]))
    return [Entailment(*(round(float(number), 6) for number in row)) for row in rows]


@metric(
    "entailment",
    batch=True,
    needs=("answer", "contexts"),
    uses=("question",),
    empty="not applicable to a refusal, to an answer without a sentence, and to other languages than English",
)
def entailment(pairs: Sequence[Pair]) -> list[Score]:
    """Probability that the passages support the answer's worst sentence, by the entailment model alone."""
    from answerkey.metrics.entailment.model import load_model
    from answerkey.metrics.grounding.sentence_features import read_answers

    model = load_model()
    if model is None:
        return [Score.not_applicable(NO_MODEL) for _ in pairs]
    return [_score(answer) for answer in read_answers(pairs, model)]


def _score(answer: ReadAnswer) -> Score:
    import numpy as np

    if refusal(answer.text) == "full" or not answer.sentences:
        return Score.not_applicable("the answer claims nothing")
    if not answer.by_model:
        return Score.not_applicable("the entailment model knows English only")
    odds = [max(sentence.features["model_best"], sentence.features["model_joined"]) for sentence in answer.sentences]
    worst = int(np.argmin(odds))
    value = 1 / (1 + float(np.exp(-odds[worst])))
    shown = answer.sentence_text(answer.sentences[worst])[:80]
    return Score(round(value, 6), f'least supported of {len(odds)}: "{shown}"')
