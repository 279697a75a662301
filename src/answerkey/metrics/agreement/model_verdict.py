"""What the entailment model says of an answer: does it state what the expected answer states, and the other way round?

The model was trained on right and wrong answers in this form (tools/train_entailment/written.py): both texts after the question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from answerkey.metrics.entailment.model import TextPair, contradicted_odds, load_model, supported_odds
from answerkey.metrics.sentences import language, pieces, sentence_spans
from answerkey.text import words

VERDICT_FEATURES = ("model", "model_denies", "model_back", "model_back_denies")
MOST_WORDS = 130  # of the answer and of the expected answer: a longer text is cut to its sentences nearest to the other


def model_verdicts(asked: Sequence[tuple[str, str, Sequence[str]]]) -> list[NDArray[np.float64] | None]:
    """For each question, answer and expected answers four log-odds; None without a model, or in another language."""
    verdicts: list[NDArray[np.float64] | None] = [None] * len(asked)
    model = load_model()
    if model is None:
        return verdicts
    places: list[int] = []
    pairs: list[TextPair] = []
    for n, (question, answer, expected) in enumerate(asked):
        wanted = nearest(answer, expected)
        if language(f"{question} {answer} {wanted}") not in {"english", "unclear"}:
            continue
        places.append(n)
        said, meant = (f"{question} {text}" for text in (_cut(answer, wanted), _cut(wanted, answer)))
        pairs += [(said, meant), (meant, said)]
    logits = model.logits(pairs)
    both = np.stack([supported_odds(logits), contradicted_odds(logits)], axis=1).reshape(-1, 4)
    for n, verdict in zip(places, both, strict=True):
        verdicts[n] = verdict
    return verdicts


def nearest(answer: str, expected: Sequence[str]) -> str:
    """The expected answer that has the largest share of its words in the answer."""
    if len(expected) == 1:
        return expected[0]
    given = set(words(answer))
    return max(expected, key=lambda text: len(given & set(words(text))) / (len(set(words(text))) or 1))


def _cut(text: str, other: str) -> str:
    """A long text cut to the sentences that share most words with the other one."""
    if len(text.split()) <= MOST_WORDS:
        return text
    known = {stem for piece in pieces(other) for stem in piece.content_stems()}
    spans = sentence_spans(text)
    shared = [len(known & {stem for piece in pieces(text[a:b]) for stem in piece.content_stems()}) for a, b in spans]
    kept: list[int] = []
    room = MOST_WORDS
    for at in sorted(range(len(spans)), key=lambda at: -shared[at]):
        room -= len(text[slice(*spans[at])].split())
        if room < 0 and kept:
            break
        kept.append(at)
    return " ".join(text[slice(*spans[at])] for at in sorted(kept))
