"""`groundedness`: is the answer supported by the passages? A local detector, with no model service.

The value is the probability, 0 to 1, that the whole answer is supported. `details["sentences"]` has for every
sentence its place, the probability that it is *un*supported, the best supporting passage and span, and the reason.
It goes by words, numbers and names, and in English by the entailment model too; `groundedness:words` leaves the model out.
How well both agree with people, per data set, is in docs/validity.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from answerkey.entailment.packaged import load_model
from answerkey.entailment.pair_model import PairModel
from answerkey.errors import SettingsError
from answerkey.language.dates import Date, dates
from answerkey.language.figure_match import figures_agree, within
from answerkey.language.frames import is_frame, without_pointers
from answerkey.language.numbers import in_digits
from answerkey.language.quantities import FREQUENCY, Figure, figures
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.figure_context import differences
from answerkey.metrics.boosted_trees import SmallModel, from_json, load_numbers
from answerkey.metrics.entailment.contradiction import surely_contradicts
from answerkey.metrics.entailment.own_model import own_groundedness
from answerkey.metrics.grounding.sentence_features import (
    ANSWERS_AT_ONCE,
    ReadAnswer,
    ReadSentence,
    read_answers,
    remove_pointers,
)
from answerkey.metrics.grounding.sentence_finding import SentenceFinding
from answerkey.metrics.registry import metric
from answerkey.text import numbers, words
from answerkey.types import Pair, Score

EDIT_WEIGHT = (
    0.3  # of the log-odds for a small change of fact, beside those for words without support
)
MODEL_FEATURE = (
    "model_and_claims"  # the log-odds of the entailment model, beside the trees that use them
)
MODEL_WEIGHT = 1.5
FLAG_AT = 0.5
SURE = 0.9
LIKELY = 0.7  # probability that a sentence with an unknown figure is unsupported, and one the model denies
RARE = 2.0  # log-odds: half of the sentences fitted on are unsupported, far fewer in real answers
CONTRADICTED_FROM = 0.5  # log-odds of "contradicted" from which a flagged sentence is called that
HOURS = 8766.0  # of a year: every 8 hours is 8 hours apart
_ROUGHLY = re.compile(
    r"\b(?:about|nearly|almost|roughly|around|approximately|some|close to|just (?:under|over))\s+\S?$",
    re.IGNORECASE,
)
_ROUGH = 0.05  # share by which a figure after "about" may differ from that of a passage
SHORT = 14  # words: of a short sentence the figures are most of what it says
_PARTS = re.compile(r",\s+(?:and|but|or|so)\s+|;\s+")
_NO_CLAIM = frozenset(
    {"yes", "no", "correct", "sure", "ye", "right", "exact", "inde", "of", "cours"}
)
LONG_ANSWER = (
    1.0  # log-odds: how much less often an answer of four sentences or more is unsupported
)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Detector:
    """`coverage` is about whether the passages say it at all, `edits` about a changed number, name or negation.

    With the entailment model there are two models of coverage, one of them by words alone: their mean, and the model's own
    log-odds beside it, hold better on new data than either.
    """

    coverage: tuple[SmallModel, ...]
    edits: SmallModel
    sentence_curve: tuple[float, float]
    answer_curve: tuple[float, float]

    def sentence_scores(self, sentences: Sequence[ReadSentence]) -> Floats:
        covered = np.mean(
            [model.log_odds(_rows(sentences, model)) for model in self.coverage], axis=0
        )
        # The log-odds of the model exist only where two models of coverage were loaded.
        if len(self.coverage) > 1:
            covered -= MODEL_WEIGHT * np.array(
                [sentence.features[MODEL_FEATURE] for sentence in sentences]
            )
        return covered + EDIT_WEIGHT * self.edits.log_odds(_rows(sentences, self.edits))


@cache
def load_detector(by_model: bool) -> Detector:
    by_words = load_numbers("grounding/by_words")
    if by_model:
        written = load_numbers("grounding/by_model")
    else:
        written = by_words
    if by_model:
        models = (written, by_words)
    else:
        models = (by_words,)
    sentence, answer = (tuple(written["curves"][level]) for level in ("sentence", "answer"))
    coverage = tuple(from_json(model["coverage"]) for model in models)
    return Detector(coverage, from_json(written["edits"]), sentence, answer)


NO_STATEMENT = "the answer states nothing that a passage could support"
_EMPTY = (
    "not applicable to an answer without a statement, such as a greeting, and to a refusal; "
    "0 for an answer with no passage to support it"
)


@metric(
    "groundedness",
    family="correctness",
    batch=True,
    needs=("answer",),
    uses=("contexts", "question"),
    empty=_EMPTY,
    version=7,  # an answer without a statement is not applicable
)
def groundedness(
    pairs: Sequence[Pair],
    *,
    without_passages: str = "zero",
    pair_model: PairModel | None = None,
) -> list[Score]:
    """Probability that every sentence of the answer is supported by the passages.

    `without_passages` is "zero", or "skip" where a response without passages is not applicable.
    """
    model = pair_model or load_model()
    if model is None or model.is_fitted:
        return _scores(pairs, without_passages, model)
    return own_groundedness(pairs, model, skip_without_passages=without_passages == "skip")


@metric(
    "groundedness:words",
    family="correctness",
    batch=True,
    needs=("answer",),
    uses=("contexts", "question"),
    empty=_EMPTY,
    version=7,
)
def groundedness_by_words(pairs: Sequence[Pair], *, without_passages: str = "zero") -> list[Score]:
    """As groundedness, by words alone: ten times as fast, but blind to a fact that is changed in the same words."""
    return _scores(pairs, without_passages, None)


def _scores(pairs: Sequence[Pair], without_passages: str, model: PairModel | None) -> list[Score]:
    if without_passages not in ("zero", "skip"):
        raise SettingsError(f'without_passages is "{without_passages}", expected "zero" or "skip"')
    skip = without_passages == "skip"
    scores: list[Score] = []
    for start in range(0, len(pairs), ANSWERS_AT_ONCE):
        part = pairs[start : start + ANSWERS_AT_ONCE]
        answers = list(read_answers(part, model))
        by_sentence = score_sentences(answers)
        for (case, response), answer, fitted in zip(part, answers, by_sentence, strict=True):
            if skip and not response.passages:
                scores.append(Score.not_applicable("no passages retrieved"))
            else:
                scores.append(score_answer(answer, case.question, fitted))
    return scores


def score_sentences(answers: Sequence[ReadAnswer]) -> list[Floats]:
    """The detector's scores of each answer's sentences, from one call for all of them."""
    scores: list[Floats] = [np.zeros(0)] * len(answers)
    # One call per detector: English answers with the model, and all others.
    for by_model in (False, True):
        mine = [
            n
            for n, answer in enumerate(answers)
            if answer.by_model == by_model and answer.sentences
        ]
        if mine:
            rows = [sentence for n in mine for sentence in answers[n].sentences]
            ends = np.cumsum([len(answers[n].sentences) for n in mine])[:-1]
            parts = np.split(load_detector(by_model).sentence_scores(rows), ends)
            for n, part in zip(mine, parts, strict=True):
                scores[n] = part
    return scores


def score_answer(answer: ReadAnswer, question: str, fitted: Floats) -> Score:
    if refusal(answer.text) == "full":
        return Score.not_applicable("the answer declines and claims nothing")
    # A 1 here would pass "ok" and "Hello!" in a profile that has passages alone to go by.
    if not any(_states_something(answer, sentence, question) for sentence in answer.sentences):
        return Score.not_applicable(NO_STATEMENT)
    if not answer.index.sentences:
        sentences = [_describe(answer, sentence, 1.0) for sentence in answer.sentences]
        return Score(
            0.0, "no passage supports the answer: there is none", details={"sentences": sentences}
        )
    detector = load_detector(answer.by_model)
    scores = _apply_rules(detector, answer, question, fitted.copy())
    unsupported = probability(scores, detector.sentence_curve)
    whole = float(probability(np.array([any_unsupported(scores)]), detector.answer_curve)[0])
    sentences = [
        _describe(answer, s, float(p)) for s, p in zip(answer.sentences, unsupported, strict=True)
    ]
    value = round(1.0 - whole, 6)
    details = {"sentences": sentences, "by_model": answer.by_model}
    return Score(value, answer_reason(answer, sentences, value), details=details)


def _apply_rules(detector: Detector, answer: ReadAnswer, question: str, scores: Floats) -> Floats:
    """The scores of the sentences; rules overrule the model where they are sure.

    A figure or date that neither a passage nor the question has makes a sentence unsupported, and so does a name, number or
    contradiction by rules that the model calls contradicted. A refusal and a plain "Yes." claim nothing. A short sentence
    whose figures and dates are all there in another notation, `12,000 metres` for `12 km`, is supported.
    """
    slope, shift = detector.sentence_curve
    # Rules speak in probabilities and scores are before the curve, so the curve is inverted.
    surely, least = ((np.log(share / (1 - share)) - shift) / slope for share in (SURE, LIKELY))
    texts = (*answer.index.contexts, question)
    figures_of_texts = [figure for text in texts for figure in figures(text)]
    # "Three times a day" supports "every 8 hours", which no passage spells out.
    figures_of_texts += [
        Figure(HOURS / often.value, 0.01, dimension="time", size=3600.0)
        for often in figures_of_texts
        if often.dimension == FREQUENCY
    ]
    # "From 4 to 5" supports "by 1".
    figures_of_texts += [
        Figure(change, 0.01) for text in texts for change in differences(read(text))
    ]
    days = [date for text in texts for date in dates(text)]
    question_stems = content_stems(question)
    for n, sentence in enumerate(answer.sentences):
        text = _own_words(answer, sentence)
        if _claims_nothing(text, sentence):
            # Far below every threshold, so that the curve gives 0 whatever its slope.
            scores[n] = -30.0
        elif _adds_statement(answer, sentence, text, question_stems):
            scores[n] = max(scores[n], least)
        elif _is_unknown(text, figures_of_texts, days) or (
            sentence.evidence >= 0
            and surely_contradicts(text, answer.index.text_at(sentence.evidence))
        ):
            scores[n] = max(scores[n], surely)
        elif len(sentence.piece.stems) <= SHORT and _is_converted(text, figures_of_texts, days):
            scores[n] = min(scores[n], -least)
        elif _is_contradicted(sentence):
            scores[n] = max(scores[n], least)
    return scores


def _own_words(answer: ReadAnswer, sentence: ReadSentence) -> str:
    """The sentence without its pointers to sources."""
    return without_pointers(remove_pointers(answer.sentence_text(sentence)))


def _states_something(answer: ReadAnswer, sentence: ReadSentence, question: str) -> bool:
    """Whether the sentence says more than a frame does, and more than the question itself."""
    text = _own_words(answer, sentence)
    if _claims_nothing(text, sentence):
        return False
    return words(text) != words(question)


def _claims_nothing(text: str, sentence: ReadSentence) -> bool:
    """A refusal, a plain "Yes.", a greeting, a closing, a heading or a pointer to a source."""
    if set(sentence.piece.stems) <= _NO_CLAIM or refusal(text) == "full":
        return True
    return is_frame(text)


def _adds_statement(
    answer: ReadAnswer, sentence: ReadSentence, text: str, question_stems: set[str]
) -> bool:
    """Whether a part of a sentence has a name, or only words, that no passage has.

    "35 days, and stored in Iceland" is such a sentence.
    """
    parts = _PARTS.split(text)
    if len(parts) < 2 or not (answer.english and answer.one_language):
        return False
    if sentence.support.missing_names:
        return True
    passage_stems = answer.index.words.keys()
    added = [content_stems(part) - question_stems for part in parts]
    return any(len(stems) >= 2 and stems.isdisjoint(passage_stems) for stems in added)


def _is_unknown(text: str, known: Sequence[Figure], days: Sequence[Date]) -> bool:
    """Whether the sentence has a figure or a date that none of the texts has."""
    plain = in_digits(text)
    for figure in figures(text):
        # Counts ("two options") are the answer's own way to speak and are in no passage.
        if figure.count or any(figures_agree(figure, other) for other in known):
            continue
        if not (
            _ROUGHLY.search(plain[: figure.span[0]])
            and any(within(other, figure, _ROUGH) for other in known)
        ):
            return True
    # Complete dates only: a month alone may sum up the days of the passages.
    return any(
        date.month and date.day and all(date.agrees(other) == 0.0 for other in days)
        for date in dates(text)
    )


def _is_contradicted(sentence: ReadSentence) -> bool:
    """Whether the model sees a contradiction where rules see one too, or a name or number that no passage has."""
    lacks = (
        sentence.features["denied"]
        or sentence.support.missing_names
        or sentence.support.missing_numbers
    )
    return bool(lacks) and sentence.features.get("contradicted_first", -1.0) > 0


def _is_converted(text: str, known: Sequence[Figure], days: Sequence[Date]) -> bool:
    """Whether the sentence has figures with a unit, or complete dates, and all of them are in the texts."""
    stated = [figure for figure in figures(text) if not figure.count and not figure.year]
    whole = [date for date in dates(text) if date.parts == 3]
    return bool(stated or whole) and all(
        [any(figures_agree(figure, other) for other in known) for figure in stated]
        + [any(date.agrees(other) == 1.0 and other.parts == 3 for other in days) for date in whole]
    )


def any_unsupported(scores: Floats) -> float:
    """The log-odds that at least one sentence is unsupported, as if sentences were independent.

    Answers of several sentences are rarely unsupported: bots write them, where single sentences are claims to check.
    """
    if not len(scores):
        return 0.0
    # The log of the probability that every sentence is supported.
    # Clipping keeps expm1 below from rounding to 0, whose logarithm is infinite.
    none = -np.logaddexp(0.0, np.clip(scores - RARE, -30.0, 30.0)).sum()
    return float(np.log(-np.expm1(none)) - none) - LONG_ANSWER * min(max(len(scores) - 2, 0), 2) / 2


def probability(scores: Floats, curve: tuple[float, float]) -> Floats:
    slope, shift = curve
    return 1.0 / (1.0 + np.exp(-np.clip(slope * scores + shift, -30.0, 30.0)))


def _describe(answer: ReadAnswer, sentence: ReadSentence, unsupported: float) -> SentenceFinding:
    flag = unsupported >= FLAG_AT
    odds, place = sentence.contradicted_by
    contradicted = flag and odds >= CONTRADICTED_FROM
    at = place if contradicted else sentence.evidence
    if at >= 0:
        evidence = answer.index.sentences[at]
    else:
        evidence = None
    if contradicted:
        quote = _short(answer.index.text_at(at), 160)
        reason = f'contradicted by: "{quote}" (passage {answer.index.passages[at] + 1})'
    else:
        reason = sentence_reason(answer, sentence, flag)
    return {
        "text": answer.sentence_text(sentence),
        "start": sentence.piece.start,
        "end": sentence.piece.end,
        "probability": round(unsupported, 6),
        "flag": flag,
        "contradicted": contradicted,
        "passage": answer.index.passages[at] if evidence else None,
        "span": [evidence.start, evidence.end] if evidence else None,
        "reason": reason,
    }


def _rows(sentences: Sequence[ReadSentence], model: SmallModel) -> NDArray[np.float32]:
    rows = [[sentence.features[name] for name in model.features] for sentence in sentences]
    return np.array(rows, dtype=np.float32)


SHOWN = 4
UNSURE = (0.35, 0.65)


def sentence_reason(answer: ReadAnswer, sentence: ReadSentence, flag: bool) -> str:
    """For a flagged sentence what no passage has; otherwise where its words are found."""
    if sentence.evidence < 0:
        return "no passage to support it"
    passage = f"passage {answer.index.passages[sentence.evidence] + 1}"
    lacks = _lacks(answer, sentence)
    if flag:
        return (
            "; ".join(lacks)
            or f"low support: its words are there, but not together; nearest is {passage}"
        )
    share = sentence.features["recall_or_asked"]
    support = f"{share:.0%} of its words are in the passages, nearest is {passage}"
    if lacks and answer.one_language:
        return f"{support}; {'; '.join(lacks)}"
    return support


def _lacks(answer: ReadAnswer, sentence: ReadSentence) -> list[str]:
    piece = sentence.piece
    support = sentence.support
    spelled = [answer.text[start:end] for start, end in piece.spans]
    lacks: list[str] = []
    if support.missing_numbers:
        written = {
            number.value: number.text for number in numbers(answer.text[piece.start : piece.end])
        }
        shown = [written.get(value, f"{value:.12g}") for value in support.missing_numbers]
        lacks.append(f"{_list('number', shown)} in no passage")
    if not answer.one_language:
        return lacks
    if answer.english:
        names = [spelled[at] for at in support.missing_names]
    else:
        names = []
    if names:
        lacks.append(f"{_list('name', names)} in no passage")
    if answer.english and support.turned:
        lacks.append(
            f'"{support.turned[0]}" negates or limits the statement and is not near the evidence'
        )
    others = [
        word
        for at in support.missing
        if not (word := spelled[at])[0].isdigit() and word not in names
    ]
    if others:
        lacks.append(f"{_list('word', others)} in no passage")
    return lacks


def _list(noun: str, items: Sequence[str]) -> str:
    unique = list(dict.fromkeys(items))
    shown = ", ".join(f'"{item}"' for item in unique[:SHOWN])
    if len(unique) > SHOWN:
        more = f" and {len(unique) - SHOWN} more"
    else:
        more = ""
    if len(unique) == 1:
        return f"{noun} {shown}{more}"
    return f"{noun}s {shown}{more}"


def answer_reason(
    answer: ReadAnswer, sentences: Sequence[SentenceFinding], supported: float
) -> str:
    """How many sentences are flagged, the worst of them with its reason, and how weak the evidence is."""
    flagged = [sentence for sentence in sentences if sentence["flag"]]
    worst = max(sentences, key=lambda sentence: sentence["probability"])
    count = f"{len(flagged)} of {len(sentences)} sentences flagged as unsupported"
    if flagged:
        count = f'{count}; worst: "{_short(worst["text"])}": {worst["reason"]}'
    return "; ".join([count, *_caveats(answer, supported)])


def _caveats(answer: ReadAnswer, supported: float) -> list[str]:
    notes: list[str] = []
    if not answer.one_language:
        notes.append(
            "weak evidence: answer and passages are in different languages; only numbers are compared"
        )
    elif not answer.english:
        notes.append("weak evidence: by words only, as it is not English")
    elif not answer.by_model:
        notes.append("by words only, without the entailment model")
    if UNSURE[0] <= supported <= UNSURE[1]:
        notes.append("weak evidence: close to 50 %")
    elif supported > UNSURE[1] and not answer.by_model:
        notes.append("a single changed word is easily missed")
    return notes


def _short(text: str, longest: int = 80) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"
