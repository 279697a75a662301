"""What the entailment model says of an answer: does it state what the expected answer states, and the other way round?

The model was trained on right and wrong answers in this form (tools/train_entailment/written.py): both texts after the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from answerkey.entailment.packaged import load_model
from answerkey.entailment.pair_model import (
    TextPair,
    contradicted_odds,
    probabilities,
    supported_odds,
)
from answerkey.language.claims import claims
from answerkey.language.frames import is_frame
from answerkey.language.numbers import in_digits
from answerkey.language.sentences import language_of, pieces, sentence_spans
from answerkey.text import words

# Log-odds: the answer states what is expected; the other way round; the least of the expected facts that the answer
# states; the most of the answer's claims that the expected answer denies.
VERDICT_FEATURES = (
    "model",
    "model_back",
    "least_fact",
    "worst_claim",
)
MOST_WORDS = 130  # of the answer and of the expected answer: a longer text is cut to its sentences nearest to the other
MOST_CLAIMS = 12
MOST_SENTENCES = 40  # of a text whose sentences are asked about one by one
Verdict = tuple[float, ...]


class AnswerPairs(NamedTuple):
    """Both answers against each other; the facts of the expected one against the answer; the answer's claims against it."""

    whole: Sequence[TextPair] = ()
    facts: Sequence[TextPair] = ()
    claimed: Sequence[TextPair] = ()


def model_verdicts(texts: Sequence[tuple[str, str, Sequence[str]]]) -> list[Verdict | None]:
    """For each question, answer and expected answers the log-odds of `VERDICT_FEATURES`; None without a model, or in
    another language."""
    model = load_model()
    if model is None:
        return [None] * len(texts)
    parts = [
        _pairs(question, answer, nearest(answer, expected)) for question, answer, expected in texts
    ]
    logits = model.logits(
        [pair for part in parts for pair in (*part.whole, *part.facts, *part.claimed)]
    )
    supported = supported_odds(logits)
    denied = contradicted_odds(logits)
    verdicts: list[Verdict | None] = []
    start = 0
    for part in parts:
        if not part.whole:
            verdicts.append(None)
            continue
        middle, last, end = np.cumsum([start + len(part.whole), len(part.facts), len(part.claimed)])
        forth = float(supported[start])
        back = float(supported[start + 1])
        # An expected answer without a claim of its own is judged as a whole.
        if part.facts:
            least = float(supported[middle:last].min())
        else:
            least = forth
        if part.claimed:
            worst = float(denied[last:end].max())
        else:
            worst = float(denied[start + 1])
        verdicts.append((forth, back, least, worst))
        start = end
    return verdicts


def _is_english(text: str) -> bool:
    spoken = language_of(text)
    # Short answers ("42 km") have too few words to tell a language; ASCII is the next best sign.
    return spoken == "english" or (spoken == "unclear" and text.isascii())


def _pairs(question: str, answer: str, expected: str) -> AnswerPairs:
    """What the model is asked about an answer; nothing in another language than English."""
    if not _is_english(f"{question} {answer} {expected}"):
        return AnswerPairs()
    # One notation for both sides: "twenty-seven" and "27" must look alike to the model.
    answer = in_digits(answer)
    expected = in_digits(expected)
    said, meant = (
        f"{question} {text}" for text in (_cut(answer, expected), _cut(expected, answer))
    )
    facts = [(said, fact) for fact in claims(expected)[:MOST_CLAIMS]]
    claimed = [(meant, claim) for claim in claims(answer)[:MOST_CLAIMS]]
    return AnswerPairs([(said, meant), (meant, said)], facts, claimed)


def sentence_support(texts: Sequence[tuple[str, str, str]]) -> list[float | None]:
    """How far a text supports the sentences of another one, by the entailment model.

    For each (question, text, other text) the mean probability over the sentences of the other text;
    0 where it has none, None without a model or in another language.
    """
    model = load_model()
    if model is None:
        return [None] * len(texts)
    sides = [_sentence_pairs(*each) if _is_english(" ".join(each)) else None for each in texts]
    logits = model.logits([pair for side in sides for pair in side or ()])
    if len(logits):
        supported = probabilities(logits)[:, 0]
    else:
        supported = np.zeros(0)
    means: list[float | None] = []
    start = 0
    for side in sides:
        if side is None:
            means.append(None)
            continue
        end = start + len(side)
        means.append(float(supported[start:end].mean()) if side else 0.0)
        start = end
    return means


def _sentence_pairs(question: str, text: str, other: str) -> list[TextPair]:
    premise = in_digits(text)
    statements = in_digits(other)
    sentences = [statements[start:end] for start, end in sentence_spans(statements)]
    telling = [one for one in sentences if any(ch.isalnum() for ch in one) and not is_frame(one)]
    return [(f"{question} {_cut(premise, one)}", one) for one in telling[:MOST_SENTENCES]]


def nearest(answer: str, expected: Sequence[str]) -> str:
    """The expected answer that has the largest share of its words in the answer."""
    if len(expected) == 1:
        return expected[0]
    answer_words = set(words(answer))
    return max(
        expected,
        key=lambda text: len(answer_words & set(words(text))) / (len(set(words(text))) or 1),
    )


def _cut(text: str, other: str) -> str:
    """A long text cut to the sentences that share most words with the other one."""
    if len(text.split()) <= MOST_WORDS:
        return text
    other_stems = {stem for piece in pieces(other) for stem in piece.content_stems()}
    spans = sentence_spans(text)
    shared = [
        len(other_stems & {stem for piece in pieces(text[a:b]) for stem in piece.content_stems()})
        for a, b in spans
    ]
    kept: list[int] = []
    room = MOST_WORDS
    for at in sorted(range(len(spans)), key=lambda at: -shared[at]):
        room -= len(text[slice(*spans[at])].split())
        # The first sentence stays even if it is too long: an empty premise supports nothing.
        if room < 0 and kept:
            break
        kept.append(at)
    # In the order of the text, as a sentence may refer to the one before it.
    return " ".join(text[slice(*spans[at])] for at in sorted(kept))
