"""An answer read against its passages: each sentence with its features and its best evidence.

Words come first: they find the windows of the passages that a sentence may be about, and only those go to the entailment
model. The same functions give the features to the metric and to the command that fits the detector.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from answerkey.entailment.pair_model import (
    Logits,
    PairModel,
    TextPair,
    contradicted_odds,
    supported_odds,
)
from answerkey.language.claims import claims
from answerkey.language.frames import EMPHASIS, POINTER, opening_end
from answerkey.language.sentences import Piece, language_of, pieces
from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.grounding.word_support import PassageIndex, Support, lexical, without_english
from answerkey.text import CITATION
from answerkey.types import Pair

ANSWERS_AT_ONCE = 128  # answers whose pairs go to the model together
MOST_FOR_MODEL = 250  # sentences of an answer; a longer one is checked by words only
_POINTED_AT = r"(?:passages?|documents?|sources?|context)"
_OPENING = re.compile(
    rf"""\s*(?:(?:[-*•–·]\s+|\(?\d{{1,2}}[.)](?=\s)|\d{{1,2}}\s\s+)\s*
    |(?:yes|no),\s(?=\w+\s)|(?:according\sto|based\son)\s(?:the\s)?(?:(?:provided|given)\s)?{_POINTED_AT}[^,.]{{0,20}},\s)+""",
    re.IGNORECASE | re.VERBOSE,
)
# Not a word of the passages: the statement after "No, " is what they support.
_YES_NO = re.compile(r"(?m)(?:^\s*|(?<=[.!?]\s))(?:yes|no)(?=,\s\w+\s)", re.IGNORECASE)
_POINTER = re.compile(
    rf"\*\*|\s*\[[\d,\s–-]+\]|\s*\((?:see )?{_POINTED_AT} [\d,\s]+(?:and \d+)?\)|\b(?:{_POINTED_AT}|steps?) \d+",
    re.IGNORECASE,
)
LANGUAGE_FROM = 4000  # characters of the passages by which their language is detected
WINDOW_WORDS = 90
JOINED_WORDS = 150  # words of a premise: one window, and several joined
WINDOWS = 2
PLACES_JOINED = 32
# Log-odds in place of the model's: for a copy, for a sentence of which the passages have no word, and for one of these
# with so few words that it hardly claims anything ("That is interesting!").
COPIED = 2.0
ABSENT = -1.0
REMARK = 1.0
REMARK_WORDS = 2


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """`features` by words, and by the model too where it was asked. `evidence` is a place in the index.

    `contradicted_by` has the log-odds that the nearest window contradicts the sentence, and its place in the index.
    """

    piece: Piece
    support: Support
    features: Mapping[str, float]
    evidence: int
    contradicted_by: tuple[float, int] = (-np.inf, -1)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    text: str
    index: PassageIndex
    sentences: tuple[ReadSentence, ...]
    english: bool
    one_language: bool
    by_model: bool = False

    @property
    def suits_model(self) -> bool:
        """The model knows English only, and compares with something; a whole book would take it minutes."""
        few = len(self.sentences) <= MOST_FOR_MODEL
        return few and self.english and self.one_language and bool(self.index.sentences)

    def sentence_text(self, sentence: ReadSentence) -> str:
        return self.text[sentence.piece.start : sentence.piece.end]


@cache
def rarity() -> Mapping[str, float]:
    """How informative a stem is, 0 to 1, by how few English sentences contain it. Unlisted stems count 1."""
    return load_numbers("grounding/rarity")["stems"]


def read_answers(pairs: Sequence[Pair], model: PairModel | None = None) -> Iterator[ReadAnswer]:
    """Every answer with its features; without the model, or where a text is not English, by words only."""
    for start in range(0, len(pairs), ANSWERS_AT_ONCE):
        part = [_by_words(pair) for pair in pairs[start : start + ANSWERS_AT_ONCE]]
        yield from _by_model(part, model) if model else part


def _by_words(pair: Pair) -> ReadAnswer:
    case, response = pair
    text = response.answer or ""
    contexts = tuple(response.contexts)
    index = PassageIndex.of(contexts)
    question_stems = frozenset(
        stem for piece in pieces(case.question) for stem in piece.content_stems()
    )
    spoken = languages(text, contexts)
    english = spoken[0] == "english"
    one_language = spoken[0] == spoken[1]
    sentences: list[ReadSentence] = []
    for piece in pieces(_blank_marks(text)):
        # Rarity was counted in English; in other languages it would call every word rare.
        support = lexical(piece, index, question_stems, rarity() if english else {})
        features = support.features
        if not english or not one_language:
            features = without_english(features, one_language)
        if len(support.shared):
            evidence = int(support.shared.argmax())
        else:
            evidence = -1
        denied = (
            evidence >= 0
            and english
            and contradicts(
                remove_pointers(text[piece.start : piece.end]),
                remove_pointers(index.text_at(evidence)),
            )
        )
        sentences.append(
            ReadSentence(piece, support, {**features, "denied": float(denied)}, evidence)
        )
    return ReadAnswer(text, index, tuple(sentences), english, one_language)


def _blank_marks(text: str) -> str:
    """The text with blanks for what the passages can't support, so that all places stay the same.

    The numbers of citation marks are no figures; "Answer: No," is no statement.
    """
    for pattern in (CITATION, POINTER, EMPHASIS):
        text = pattern.sub(lambda mark: " " * len(mark[0]), text)
    end = opening_end(text)
    text = " " * end + text[end:]
    return _YES_NO.sub(lambda mark: " " * len(mark[0]), text)


def remove_pointers(text: str) -> str:
    """A sentence without what only points: the number of a list item, markers, and mentions of a passage.

    >>> remove_pointers("3. Based on passage 2, it opened in 1932 [1].")
    'it opened in 1932.'
    """
    opening = _OPENING.match(text)
    return _POINTER.sub("", text[opening.end() :] if opening else text).strip()


def languages(text: str, contexts: Sequence[str]) -> tuple[str, str]:
    """The languages of the answer and of the passages.

    An unclear one is taken to be that of the other text. Two unclear ones are taken to be that of
    both texts together, otherwise English.
    """
    passages = " ".join(contexts)[:LANGUAGE_FROM]
    own = language_of(text)
    of_passages = language_of(passages)
    if own == of_passages == "unclear":
        own = language_of(f"{text} {passages}")
    if own == of_passages == "unclear":
        own = "english"
    if of_passages == "unclear":
        return own, own
    if own == "unclear":
        return of_passages, of_passages
    return own, of_passages


def _by_model(answers: Sequence[ReadAnswer], model: PairModel) -> Iterator[ReadAnswer]:
    """The answers with the model's features, from one batch of pairs for all of them."""
    questions_of = [
        [_questions(answer, sentence) for sentence in answer.sentences] for answer in answers
    ]
    text_pairs = [
        pair for questions in questions_of for question in questions for pair in question.pairs
    ]
    logits = model.logits(text_pairs)
    start = 0
    for answer, questions in zip(answers, questions_of, strict=True):
        sentences: list[ReadSentence] = []
        for sentence, question in zip(answer.sentences, questions, strict=True):
            end = start + len(question.pairs)
            sentences.append(_with_model(sentence, question, logits[start:end]))
            start = end
        if answer.suits_model:
            yield replace(answer, sentences=tuple(sentences), by_model=True)
        else:
            yield answer


@dataclass(frozen=True, slots=True)
class _Window:
    """Text of the passages to compare a sentence with, and the place in the index that shares most words with it."""

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class Questions:
    """What the model is asked about a sentence: the whole against each window, then each of its claims against its own."""

    sentence: str = ""
    windows: Sequence[_Window] = ()
    claims: Sequence[TextPair] = ()

    @property
    def pairs(self) -> list[TextPair]:
        return [*((window.text, self.sentence) for window in self.windows), *self.claims]


def is_settled(features: Mapping[str, float]) -> float | None:
    """The log-odds of a sentence that needs no model: a copy of a passage, or one that the passages have no word of."""
    # A copy in all but a number is not settled: the model must see it.
    if features["pairs_window"] == 1.0 and not features["numbers_missing"]:
        return COPIED
    if features["recall_all"] > 0.0:
        return None
    few = math.expm1(features["missing_count"]) < REMARK_WORDS + 0.5
    if few and not features["numbers_missing"] and not features["names_missing"]:
        return REMARK
    return ABSENT


def _questions(answer: ReadAnswer, sentence: ReadSentence) -> Questions:
    if not answer.suits_model or is_settled(sentence.features) is not None:
        return Questions()
    text = remove_pointers(answer.sentence_text(sentence))
    parts = claims(text)
    # A sentence of one claim was asked as a whole already.
    if len(parts) > 1:
        own = [(_nearest(answer.index, part), part) for part in parts]
    else:
        own = ()
    return Questions(text, _windows(answer, sentence), own)


def _nearest(index: PassageIndex, claim: str) -> str:
    """The sentence that shares most with the claim, each word counted by its rarity, with its neighbours."""
    shared = np.zeros(len(index.sentences))
    for stem in {stem for piece in pieces(claim) for stem in piece.content_stems()}:
        shared[index.words.get(stem, [])] += rarity().get(stem, 1.0)
    return " ".join(
        remove_pointers(index.text_at(at)) for at in sorted(index.around(int(shared.argmax())))
    )


def _windows(answer: ReadAnswer, sentence: ReadSentence) -> list[_Window]:
    """The windows that share most words with the sentence, best first, then several of them joined."""
    # A tenth of the sentence's own share breaks ties between windows that overlap.
    shares = sentence.support.windows + 0.1 * sentence.support.shared
    # A stable sort keeps the order of the passages for ties, on every platform.
    order = [int(place) for place in np.argsort(-shares, kind="stable")[:PLACES_JOINED]]
    chosen = order[:1]
    # A neighbouring place gives nearly the same window.
    chosen += [place for place in order[1:] if abs(place - order[0]) > 1][: WINDOWS - 1]
    single = [_window(answer.index, sentence.support, [place], WINDOW_WORDS) for place in chosen]
    return [*single, _window(answer.index, sentence.support, order, JOINED_WORDS)]


def _window(index: PassageIndex, support: Support, places: Sequence[int], most: int) -> _Window:
    """The sentences at those places and their neighbours, up to so many words, in the order of the passages."""
    kept: list[int] = []
    size = 0
    for near in (near for place in places for near in index.around(place)):
        if near not in kept:
            size += len(index.sentences[near].spans)
            if size > most and kept:
                break
            kept.append(near)
    text = " ".join(remove_pointers(index.text_at(at)) for at in sorted(kept))
    return _Window(text, max(kept, key=lambda at: support.shared[at]))


def _with_model(sentence: ReadSentence, asked: Questions, logits: Logits) -> ReadSentence:
    windows = asked.windows
    if windows:
        whole = logits[: len(windows)]
        claimed = logits[len(windows) :]
        supported = supported_odds(whole)
        contradicted = contradicted_odds(whole)
        if len(claimed):
            weakest = float(supported_odds(claimed).min())
        else:
            weakest = float(supported.max())
    else:
        # Two values stand for one window and the joined one, so that the slices below work.
        supported = np.array([is_settled(sentence.features) or 0.0] * 2)
        contradicted = -np.abs(supported)
        weakest = float(supported.max())
    apart = supported[:-1]
    joined = supported[-1]
    features = {
        "model_best": float(apart.max()),
        "model_worst": float(apart.min()),
        "model_first": float(apart[0]),
        "model_joined": float(joined),
        "model_top": float(supported.max()),
        "model_and_claims": (float(supported.max()) + weakest) / 2,
        "model_mean": float((apart.max() + joined) / 2),
        "contradicted_first": float(contradicted[0]),
        "contradicted_most": float(contradicted.max()),
        "contradicted_joined": float(contradicted[-1]),
    }
    return replace(
        sentence,
        features={**sentence.features, **features},
        contradicted_by=(float(contradicted[0]), windows[0].place if windows else -1),
    )
