"""Scores by the calibrated probability of a model that the user chose, in place of the shipped combination.

The combinations of words and model behind `groundedness` and `answer_agreement` were fitted with the packaged model; with
another one they would be wrong. After `answerkey models check` the card has a small combination of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from answerkey.entailment.calibrated import CalibratedPairModel
from answerkey.entailment.model_cards import ModelCard
from answerkey.entailment.pair_model import PairModel, TextPair, contradicted_odds, supported_odds
from answerkey.language.frames import is_frame, without_frame
from answerkey.language.refusal import refusal
from answerkey.language.sentences import Piece, pieces, sentence_spans
from answerkey.metrics.grounding.sentence_finding import SentenceFinding
from answerkey.types import Pair, Score

ANSWERS_AT_ONCE = 128  # answers whose pairs go to the model together
CONTRADICTED_FROM = 0.5  # probability from which an unsupported sentence is called contradicted
FEATURES = ("worst", "mean", "recall", "sentences")
_SHOWN = 80
_DEFAULT_THRESHOLD = 0.5
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer cut into the sentences that claim something."""

    text: str
    passages: tuple[str, ...]
    sentences: tuple[Piece, ...]

    @property
    def pairs(self) -> list[TextPair]:
        """Every sentence beside every passage."""
        return [
            (passage, self.text[piece.start : piece.end])
            for piece in self.sentences
            for passage in self.passages
        ]


def own_groundedness(
    pairs: Sequence[Pair],
    model: PairModel,
    *,
    skip_without_passages: bool = False,
    use_combination: bool = True,
) -> list[Score]:
    """Probability that the passages support the answer's worst sentence, or that of the card's combination."""
    if isinstance(model, CalibratedPairModel):
        card = model.card
    else:
        card = None
    scorer = _Scorer(model.title, model.name, card, skip_without_passages, use_combination)
    scores: list[Score] = []
    for start in range(0, len(pairs), ANSWERS_AT_ONCE):
        answers = [_read(pair) for pair in pairs[start : start + ANSWERS_AT_ONCE]]
        logits = model.logits([pair for answer in answers for pair in answer.pairs])
        supported = supported_odds(logits)
        denied = contradicted_odds(logits)
        end = 0
        for answer in answers:
            begin = end
            end += len(answer.pairs)
            shape = (len(answer.sentences), len(answer.passages))
            scores.append(
                scorer.score(
                    answer, supported[begin:end].reshape(shape), denied[begin:end].reshape(shape)
                )
            )
    return scores


def answer_features(pairs: Sequence[Pair], model: PairModel) -> list[dict[str, float] | None]:
    """The features of each answer, for fitting; None for one that claims nothing or has no passage."""
    answers = [_read(pair) for pair in pairs]
    odds = supported_odds(model.logits([pair for answer in answers for pair in answer.pairs]))
    rows: list[dict[str, float] | None] = []
    end = 0
    for answer in answers:
        begin = end
        end += len(answer.pairs)
        if not answer.pairs:
            rows.append(None)
            continue
        best = odds[begin:end].reshape(len(answer.sentences), len(answer.passages)).max(axis=1)
        rows.append(_features(answer, best))
    return rows


def _read(pair: Pair) -> _Answer:
    _, response = pair
    text = response.answer or ""
    if refusal(text) == "full":
        return _Answer(text, tuple(response.contexts), ())
    claims = [piece for piece in pieces(text) if not is_frame(text[piece.start : piece.end])]
    return _Answer(text, tuple(response.contexts), tuple(claims))


def _features(answer: _Answer, best: Floats) -> dict[str, float]:
    """`best` are the log-odds of each sentence beside the passage that supports it most."""
    stems = {stem for piece in answer.sentences for stem in piece.content_stems()}
    there = {stem for text in answer.passages for piece in pieces(text) for stem in piece.stems}
    return {
        "worst": float(best.min()),
        "mean": float(best.mean()),
        "recall": len(stems & there) / (len(stems) or 1),
        "sentences": float(np.log(len(best))),
    }


@dataclass(frozen=True, slots=True)
class _Scorer:
    """How the log-odds of an answer's sentences become its score."""

    title: str
    name: str
    card: ModelCard | None
    skip_without_passages: bool
    use_combination: bool

    def score(self, answer: _Answer, supported: Floats, denied: Floats) -> Score:
        """The score of one answer; a row per sentence, a column per passage."""
        # As in the packaged detector: a refusal is not a hallucination (specification, section 19).
        if refusal(answer.text) == "full":
            return Score.not_applicable("the answer declines and claims nothing")
        if not answer.passages and self.skip_without_passages:
            return Score.not_applicable("no passages retrieved")
        nothing = {"sentences": list[SentenceFinding]()}
        if not answer.sentences:
            return Score.not_applicable("the answer states nothing that a passage could support")
        if not answer.passages:
            return Score(0.0, "no passage supports the answer: there is none", details=nothing)
        if self.card:
            threshold = self.card.threshold
        else:
            threshold = _DEFAULT_THRESHOLD
        rows = [
            _describe(answer, n, supported[n], denied[n], threshold) for n in range(len(supported))
        ]
        value = self._value(answer, supported.max(axis=1))
        details = {"sentences": rows, "by_model": True, "model": self.name}
        return Score(round(value, 6), self._reason(rows), details=details)

    def _value(self, answer: _Answer, best: Floats) -> float:
        if self.use_combination and self.card is not None and self.card.combination is not None:
            return _sigmoid(self.card.combination.log_odds(_features(answer, best)))
        return _sigmoid(best.min())

    def _reason(self, rows: Sequence[SentenceFinding]) -> str:
        flagged = sum(row["flag"] for row in rows)
        parts = [f"{flagged} of {len(rows)} sentences not supported, by {self.title}"]
        if flagged:
            worst = max(rows, key=lambda row: row["probability"])
            parts.append(f'worst: "{worst["text"][:_SHOWN]}"')
        if self.card is None:
            parts.append("not calibrated on your data: answerkey models check")
        else:
            parts.append(f"calibrated on {self.card.rows} labels")
        return "; ".join(parts)


def _describe(
    answer: _Answer, n: int, supported: Floats, denied: Floats, threshold: float
) -> SentenceFinding:
    piece = answer.sentences[n]
    share = float(_sigmoid(supported.max()))
    flag = share < threshold
    passage = int(supported.argmax())
    # A sentence that one passage supports is not contradicted, whatever another one says.
    contradicted = flag and float(_sigmoid(denied.max())) >= CONTRADICTED_FROM
    if contradicted:
        # The reader is shown the passage that denies the sentence, not the nearest one.
        passage = int(denied.argmax())
    reason = f"{share:.0%} supported, most by passage {passage + 1}"
    if contradicted:
        reason = f"contradicted by passage {passage + 1}"
    return {
        "text": answer.text[piece.start : piece.end],
        "start": piece.start,
        "end": piece.end,
        "probability": round(1 - share, 6),
        "flag": flag,
        "contradicted": contradicted,
        "passage": passage,
        "span": _nearest_sentence(answer.passages[passage], piece),
        "reason": reason,
    }


def _nearest_sentence(passage: str, piece: Piece) -> list[int] | None:
    """The sentence of the passage that shares most words with the statement."""
    stems = set(piece.content_stems())
    spans = sentence_spans(passage)
    if not spans:
        return None
    shared = [
        len(stems & {stem for each in pieces(passage[a:b]) for stem in each.stems})
        for a, b in spans
    ]
    return list(spans[int(np.argmax(shared))])


def own_agreement(pairs: Sequence[Pair], model: PairModel) -> list[Score]:
    """Probability that the answer, after the question, supports one of the expected answers."""
    texts: list[TextPair] = []
    counts: list[int] = []
    for case, response in pairs:
        answer = without_frame(response.answer or "")
        # An answer of dots or dashes has no claim; a model would still give it a probability.
        if any(ch.isalnum() for ch in answer):
            expected = case.expected
        else:
            expected = ()
        texts += [(f"{case.question} {answer}", f"{case.question} {text}") for text in expected]
        counts.append(len(expected))
    odds = supported_odds(model.logits(texts))
    scores: list[Score] = []
    end = 0
    for count in counts:
        begin = end
        end += count
        if not count:
            scores.append(Score(0.0, "the answer is empty"))
            continue
        value = round(float(_sigmoid(odds[begin:end].max())), 6)
        reason = f"{value:.0%} probable that it says the expected, by {model.title}"
        scores.append(Score(value, reason, details={"by_model": True, "model": model.name}))
    return scores


def _sigmoid(odds: float | np.floating) -> float:
    return float(1 / (1 + np.exp(-np.clip(odds, -30.0, 30.0))))
