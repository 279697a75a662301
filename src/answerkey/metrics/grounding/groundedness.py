"""`groundedness`: is the answer supported by the passages? A local detector, with no model service.

The value is the probability, 0 to 1, that the whole answer is supported. `details["sentences"]` gives for every
sentence its place, the probability that it is *un*supported, the best supporting passage and span, and the reason.
How far to believe it, set by set, is in docs/validity.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from answerkey.metrics.boosted_trees import SmallModel, from_json, load_numbers
from answerkey.metrics.grounding.reasons import answer_reason, sentence_reason
from answerkey.metrics.grounding.sentence_features import ReadAnswer, ReadSentence, read_answers
from answerkey.metrics.registry import metric
from answerkey.types import Json, Pair, Score

EDIT_WEIGHT = 0.3  # of the log-odds for a small change of fact, beside those for words without support
FLAG_AT = 0.5
RARE = 2.0  # the fit sees as many unsupported sentences as supported ones; in answers they are rarer by this log-odds
FITTED_FOR = "all-MiniLM-L6-v2"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Detector:
    """`coverage` asks whether the passages say it at all, `edits` whether a number, name or negation was changed.

    With meanings there are two for coverage, one of which goes by words alone: their mean holds better than either.
    """

    coverage: tuple[SmallModel, ...]
    edits: SmallModel
    sentence_curve: tuple[float, float]
    answer_curve: tuple[float, float]

    def sentence_scores(self, sentences: Sequence[ReadSentence]) -> Floats:
        covered = np.mean([model.log_odds(_rows(sentences, model)) for model in self.coverage], axis=0)
        return covered + EDIT_WEIGHT * self.edits.log_odds(_rows(sentences, self.edits))


@cache
def load_detector(by_meaning: bool) -> Detector:
    by_words = load_numbers("grounding/by_words")
    written = load_numbers("grounding/by_meaning") if by_meaning else by_words
    models = (written, by_words) if by_meaning else (by_words,)
    sentence, answer = (tuple(written["curves"][level]) for level in ("sentence", "answer"))
    coverage = tuple(from_json(model["coverage"]) for model in models)
    return Detector(coverage, from_json(written["edits"]), sentence, answer)


@metric(
    "groundedness",
    batch=True,
    needs=("answer",),
    uses=("contexts", "question"),
    empty="1 for an answer that says nothing; 0 for one with no passage to support it",
    version=2,
)
def groundedness(pairs: Sequence[Pair], *, embed: Any = None) -> list[Score]:
    """Probability that every sentence of the answer is supported by the passages.

    With another embedding model than all-MiniLM-L6-v2, for which it is fitted, or none, it goes by words alone.
    """
    usable = embed if _gives_token_vectors(embed) else None
    return [_score(answer) for answer in read_answers(pairs, usable)]


def _gives_token_vectors(embed: Any) -> bool:
    inner = getattr(embed, "inner", embed)
    return hasattr(inner, "embed_tokens") and str(getattr(embed, "name", "")).startswith(FITTED_FOR)


def _score(answer: ReadAnswer) -> Score:
    if not answer.sentences:
        return Score(1.0, "the answer says nothing that needs support", details={"sentences": []})
    if not answer.index.sentences:
        sentences = [_described(answer, sentence, 1.0) for sentence in answer.sentences]
        return Score(
            0.0, "no passage was given, so nothing supports the answer", details={"sentences": sentences}
        )
    detector = load_detector(answer.by_meaning)
    scores = detector.sentence_scores(answer.sentences)
    unsupported = probability(scores, detector.sentence_curve)
    whole = float(probability(np.array([any_unsupported(scores)]), detector.answer_curve)[0])
    sentences = [_described(answer, s, float(p)) for s, p in zip(answer.sentences, unsupported, strict=True)]
    value = round(1.0 - whole, 6)
    return Score(
        value,
        answer_reason(answer, sentences, value),
        details={"sentences": sentences, "by_meaning": answer.by_meaning},
    )


def any_unsupported(scores: Floats) -> float:
    """The log-odds that at least one sentence is unsupported, as if each failed on its own."""
    if not len(scores):
        return 0.0
    none = -np.logaddexp(
        0.0, np.clip(scores - RARE, -30.0, 30.0)
    ).sum()  # log of the chance that no sentence fails
    return float(np.log(-np.expm1(none)) - none)


def probability(scores: Floats, curve: tuple[float, float]) -> Floats:
    slope, shift = curve
    return 1.0 / (1.0 + np.exp(-np.clip(slope * scores + shift, -30.0, 30.0)))


def _described(answer: ReadAnswer, sentence: ReadSentence, unsupported: float) -> Json:
    """`probability` is that of being unsupported; `span` is the place of the best evidence in that passage."""
    evidence = answer.index.sentences[sentence.evidence] if sentence.evidence >= 0 else None
    flag = unsupported >= FLAG_AT
    return {
        "text": answer.text[sentence.piece.start : sentence.piece.end],
        "start": sentence.piece.start,
        "end": sentence.piece.end,
        "probability": round(unsupported, 6),
        "flag": flag,
        "passage": answer.index.passages[sentence.evidence] if evidence else None,
        "span": [evidence.start, evidence.end] if evidence else None,
        "reason": sentence_reason(answer, sentence, flag),
    }


def _rows(sentences: Sequence[ReadSentence], model: SmallModel) -> NDArray[np.float32]:
    rows = [[sentence.features[name] for name in model.features] for sentence in sentences]
    return np.array(rows, dtype=np.float32)
