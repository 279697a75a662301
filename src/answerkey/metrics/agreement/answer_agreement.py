"""`answer_agreement`: does the answer agree with one of the expected answers? Local, with no model service.

The value is the probability, 0 to 1, that a person would call the answer right. Two fitted models follow each other: the first
goes by words, spellings, figures, dates, names, refusals and negations; the second adds what the entailment model says, in
English. How well the value agrees with people is in docs/validity.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from answerkey.entailment.pair_model import PairModel
from answerkey.language.frames import without_frame
from answerkey.language.refusal import answering_part, refusal
from answerkey.language.sentences import language_of, pieces, sentence_spans
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.features import compare_answers, repeats, says_more
from answerkey.metrics.agreement.long_answers import LongVerdict, long_verdicts
from answerkey.metrics.agreement.model_verdict import VERDICT_FEATURES, model_verdicts
from answerkey.metrics.agreement.rules import log_odds
from answerkey.metrics.boosted_trees import SmallModel, from_json, load_fitted, load_numbers
from answerkey.metrics.entailment.own_model import own_agreement
from answerkey.metrics.refusal import should_decline
from answerkey.metrics.registry import metric
from answerkey.types import Case, Pair, Response, Score

BEST_OF = ("contains", "recall_new", "partial")  # also given as the best over all expected answers
LONGEST_ALIAS = 8  # words: a slash in longer parts is one of a sentence, not of a list
ALIASES = 2  # this many more make a list of names for one thing
UNSURE = (0.35, 0.65)
# Share of the question's words in what an answer declines: from here on it declines what was asked.
MOST = 0.7
# The fitted models know the rules' log-odds as one feature. The part above FROM counts once more, and what the models often
# miss overrules them: a different sign or bound, an answer that is denied, and junk.
SURELY_RULED = 0.6
FROM = 4.0
OVERRULED = -5.0
# Log-odds at least, of "WMO" for "World Meteorological Organization": the trees have seen too few of these.
ABBREVIATED = 1.5
UNRELATED = -1.5  # log-odds at most, of an answer that shares nothing with the expected one
LONGEST_DENIED = 6  # words of an expected answer that can be denied as a whole
LEAST_JUNK = 40  # words
# What the second model uses beside the log-odds of the first and the entailment model's: when to trust which.
BESIDE = (
    "exact",
    "contains",
    "squashed",
    "recall_new",
    "precision_new",
    "figures",
    "figures_found",
    "date",
    "same_side",
    "opposed_side",
    "by_rules",
    "declines",
    "asks_count",
    "answer_length",
    "reference_length",
)
_NEGATION = re.compile(r"\b(?:no|not|never)\b|n['’]t\b", re.IGNORECASE)
_OFFERS = re.compile(r"\bor\b", re.IGNORECASE)
_INVERTED = re.compile(r"^([^\s,]+(?: [^\s,]+)?), ([^\s,]+(?: [^\s,]+)?)$")
_SURNAME = re.compile(r"(?:[A-Z]\.\s?)+[A-Z][\w'’-]+$")
_NOTE = re.compile(r"(?<=\w)\s+\((?!the\b)([^()\d\s]+(?: [^()\d\s]+){0,3})\)\s*$")
_ALIASES = re.compile(
    r"(?<!\d)\s+/\s+(?![$€£]?\d)|\s*\|+\s*|(?<=[^\W\d_]{3})/(?=[A-ZÀ-Þ][^\W\d_]{3})"
)


@metric(
    "answer_agreement",
    family="correctness",
    batch=True,
    needs=("answer", "expected"),
    uses=("question",),
    empty="0 for an empty answer",
    version=15,  # an abbreviation agrees with the name that it stands for
)
def answer_agreement(pairs: Sequence[Pair], *, pair_model: PairModel | None = None) -> list[Score]:
    """Probability that the answer says the same as one of the expected answers: near 1 for `in Paris` and `Paris`."""
    # The shipped trees were fitted with the packaged model; another one has its own scale.
    if pair_model is not None and not pair_model.is_fitted:
        return own_agreement(pairs, pair_model)
    features = [word_features(*pair) for pair in pairs]
    odds = iter(
        agreement_odds(
            [f for f in features if f], [pair for pair, f in zip(pairs, features, strict=True) if f]
        )
    )
    return [
        _score(pair, f, next(odds), verdict) if f else Score(0.0, "the answer is empty")
        for pair, f, verdict in zip(pairs, features, long_verdicts(pairs), strict=True)
    ]


def word_features(case: Case, response: Response) -> dict[str, float] | None:
    """The features against the nearest expected answer; None for an empty answer."""
    answer = _compared_part(case, response)
    if not any(ch.isalnum() for ch in answer):
        return None
    f = features_of(compared_with(answer, case.expected, case.question))
    f["by_rules"] = log_odds(f)
    f["denied_outright"] = float(_is_denied(answer, references(case.expected)))
    f["junk"] = float(_is_junk(answer))
    return f


def _is_denied(answer: str, expected: Sequence[str]) -> bool:
    """Whether the answer names the expected answer only to deny it: "Paris is not the capital"."""
    plain = answer.casefold()
    for text in expected:
        name = re.escape(text.casefold().strip(" .!"))
        # A negative answer can't be denied this way, and a long one is hardly repeated whole.
        if not name or _NEGATION.search(text) or len(text.split()) > LONGEST_DENIED:
            return False
        mentions = len(re.findall(rf"(?<!\w){name}(?!\w)", plain))
        denials = re.findall(
            rf"(?:\bnot|n['’]t)\s(?:in\s|at\s|on\s|the\s|an?\s)*{name}(?!\w)"
            rf"|(?<!\w){name}\s(?:is|was|are|were|does|did|do)(?:\snot|n['’]t)\b",
            plain,
        )
        # One mention that is not denied is enough: "Paris is no port, but it is Paris".
        if mentions and len(denials) >= mentions:
            return True
    return False


def _is_junk(answer: str) -> bool:
    """Whether a long text repeats a few words, or is a list of numbers."""
    tokens = read(answer).tokens
    if len(tokens) < LEAST_JUNK:
        return False
    figures = sum(token[0].isdigit() for token in tokens)
    return len(set(tokens)) < 0.25 * len(tokens) or figures > 0.8 * len(tokens)


def _compared_part(case: Case, response: Response) -> str:
    """The answer without its frame and the clauses that decline, unless it should decline."""
    answer = without_frame(response.answer or "")
    # An expected refusal is compared with the clauses that decline, so they stay.
    if refusal(case.expected[0]) != "none":
        return answer
    return answering_part(answer)


def agreement_odds(features: Sequence[Mapping[str, float]], pairs: Sequence[Pair]) -> list[float]:
    """The log-odds of each answer: by words, then with the entailment model where it knows the language."""
    return with_models(features, second_rows(features, [0.0] * len(features), pairs))


def with_models(
    features: Sequence[Mapping[str, float]], rows: Sequence[Mapping[str, float] | None]
) -> list[float]:
    """The log-odds by both models and the rules. `rows` has the entailment model's verdicts, None without any."""
    if not features:
        return []
    by_words = load_fitted("agreement/agreement")
    odds = by_words.log_odds(_matrix(features, by_words.features))
    places = [n for n, row in enumerate(rows) if row]
    if places:
        second = _second()
        inputs = [
            {**(rows[n] or {}), **{name: features[n][name] for name in BESIDE}, "words": odds[n]}
            for n in places
        ]
        odds[places] = second.log_odds(_matrix(inputs, second.features))
    odds = odds + [rule_odds(f) for f in features]
    for n, (f, row) in enumerate(zip(features, rows, strict=True)):
        # With nothing in common, only the entailment model may call the answer right.
        if _shares_nothing(f) and not (row and row["model"] > 0):
            odds[n] = min(odds[n], UNRELATED)
        if f["initials"] and f["by_rules"] >= 0:
            odds[n] = max(odds[n], ABBREVIATED)
    return odds.tolist()


def _shares_nothing(f: Mapping[str, float]) -> bool:
    """Whether no expected word, figure, date, spelling, yes or no is in the answer."""
    words = f["recall"] or f["best_contains"] or f["squashed"] or f["initials"]
    facts = (f["figures"] and f["figures_found"]) or f["date"] > 0.5 or f["same_side"] > 0
    return not words and not facts and f["partial"] < 0.6


def rule_odds(f: Mapping[str, float]) -> float:
    """What the rules add to the fitted log-odds."""
    odds = f["by_rules"]
    beyond = math.copysign(max(0.0, abs(odds) - FROM), odds)
    wrong = ("other_sign", "other_bound", "other_code", "denied_outright", "junk")
    is_wrong = any(f[name] for name in wrong)
    return SURELY_RULED * beyond + (OVERRULED if is_wrong else 0.0)


def second_rows(
    features: Sequence[Mapping[str, float]], odds: Sequence[float], pairs: Sequence[Pair]
) -> list[dict[str, float] | None]:
    """What the second model is given for each answer; None where there is no entailment model for it."""
    texts = [
        (case.question, _compared_part(case, response), case.expected) for case, response in pairs
    ]
    rows: list[dict[str, float] | None] = []
    for f, by_words, verdict in zip(features, odds, model_verdicts(texts), strict=True):
        if verdict is None:
            rows.append(None)
            continue
        row = {name: f[name] for name in BESIDE}
        row["words"] = by_words
        row |= zip(VERDICT_FEATURES, verdict, strict=True)
        rows.append(row)
    return rows


@cache
def _second() -> SmallModel:
    return from_json(load_numbers("agreement/agreement")["with_model"])


def _matrix(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> np.ndarray:
    return np.array([[row[name] for name in names] for row in rows], dtype=np.float32)


def compared_with(answer: str, expected: Sequence[str], question: str) -> list[dict[str, float]]:
    """The features against each expected answer.

    Aliases that only repeat the question are left out, unless the question offers them or the answer says nothing else:
    `Scapula` doesn't answer `What is the common name of the scapula?`, though it is an alias of the shoulder blade. So are
    initials with a surname: `T. Roosevelt` could be any Roosevelt.
    """
    listed = references(expected)
    telling = [
        reference
        for reference in listed
        if not repeats(reference, question) and not _SURNAME.match(reference)
    ]
    # With one telling alias or none the whole list counts, so that it is never empty.
    if len(telling) < ALIASES or _OFFERS.search(question) or not says_more(answer, question):
        telling = listed
    return [compare_answers(answer, reference, question) for reference in telling]


def references(expected: Sequence[str]) -> list[str]:
    """The expected answers that differ, and the parts of a single one that lists aliases.

    `USA / United States` and `UK|Britain` are two aliases each; `Mercury (planet)` is expected without its note,
    `Kansas City (Missouri)` with and without. `Vine, David` is left out beside `David Vine`.
    """
    listed = list(expected)
    # Several expected answers are a list already; only a single text may pack its aliases into one.
    if len(listed) == 1:
        parts = [part.strip() for part in _ALIASES.split(" ".join(listed[0].split()))]
        if all(
            len(part.split()) <= LONGEST_ALIAS and part.count("(") == part.count(")")
            for part in parts
        ):
            listed += [part for part in parts if len(part) > 1]
    listed = [name for text in listed for name in _without_note(text)]
    # Aliases that differ by case only are one alias.
    distinct: dict[str, str] = {}
    for text in listed:
        distinct.setdefault(text.casefold(), text)
    return [
        text
        for text in distinct.values()
        if not (name := _INVERTED.match(text)) or f"{name[2]} {name[1]}".casefold() not in distinct
    ]


def _without_note(text: str) -> list[str]:
    note = _NOTE.search(text)
    if not note:
        return [text]
    bare = text[: note.start()]
    # "(planet)" only tells two things of one name apart; "(Missouri)" may be part of the name.
    if note[1].islower():
        return [bare]
    return [text, bare]


def features_of(compared: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The features against the nearest expected answer, and the best of a few over all of them."""
    nearest = max(compared, key=_nearness)
    return {**nearest, **{f"best_{name}": max(each[name] for each in compared) for name in BEST_OF}}


def _nearness(f: Mapping[str, float]) -> float:
    words = 2 * f["exact"] + 2 * f["contains"] + f["squashed"] + f["recall_new"] + f["partial"]
    return words + 0.5 * (f["figures_found"] + f["date"])


def _score(pair: Pair, f: Mapping[str, float], odds: float, verdict: LongVerdict | None) -> Score:
    case, response = pair
    # An exact copy of a long answer stays at the top; the graded sum has no such certainty.
    if verdict and not f["exact"]:
        odds = verdict.log_odds
    # Clipping keeps exp from overflowing on the log-odds that rules push far out.
    value = round(1.0 / (1.0 + float(np.exp(-np.clip(odds, -30, 30)))), 6)
    notes = _notes(f)
    if verdict and verdict.recall.value is not None:
        notes.append(f"{verdict.recall.value:.0%} of the expected facts are there")
    must_decline = should_decline(case)
    declined = refusal(response.answer or "")
    # A long answer that declines a part is graded by what it says: as a refusal it would get 0, which
    # lowered the rank correlation with bots' answers from 0.64 to 0.57.
    if (
        declined == "partial"
        and verdict is None
        and not f["contains"]
        and _declines_what_was_asked(case.question, response.answer or "")
    ):
        declined = "full"
    # A refusal is decided by rule: 1 where the case should be declined, otherwise 0.
    if declined == "full" or (must_decline and declined == "none" and not f["contains"]):
        value = float(must_decline and declined == "full")
        if must_decline:
            declines = "the answer declines, as expected"
        else:
            declines = "the answer declines"
        notes = [declines if declined == "full" else "the answer should decline, and doesn't"]
    if UNSURE[0] <= value <= UNSURE[1]:
        notes.append("weak evidence: close to 50 %")
    if language_of(f"{response.answer} {case.expected[0]}") not in {"english", "unclear"}:
        notes.append("by words only: not English")
    features = {name: round(number, 4) for name, number in f.items()}
    details = {"features": features, **(verdict.recall.details if verdict else {})}
    return Score(value, "; ".join(notes), details=details)


def _declines_what_was_asked(question: str, answer: str) -> bool:
    """Whether the sentences of a partial refusal that decline have most of the question's words."""
    kept = answering_part(answer)
    declined = " ".join(answer[a:b] for a, b in sentence_spans(answer) if answer[a:b] not in kept)
    topic = _stems(question)
    return bool(topic) and len(topic & _stems(declined)) >= MOST * len(topic)


def _stems(text: str) -> set[str]:
    return {stem for piece in pieces(text) for stem in piece.content_stems()}


def _notes(f: Mapping[str, float]) -> list[str]:
    """The evidence for and against, in words."""
    notes: list[str] = []
    if f["exact"]:
        notes.append("the same as an expected answer")
    elif f["contains"] or f["squashed"]:
        notes.append("contains an expected answer")
    else:
        notes.append(f"{f['recall']:.0%} of the expected words are there")
    if f["figures"]:
        notes.append(
            f"{f['figures_found']:.0%} of the expected figures are there"
            + (", others instead" if f["figures_wrong"] else "")
        )
    if f["date_parts"] and f["date"] != 0.5:
        notes.append("the date agrees" if f["date"] == 1.0 else "the date differs")
    if f["same_side"]:
        notes.append("the same yes or no" if f["same_side"] > 0 else "yes against no")
    elif f["opposed_side"]:
        notes.append("says the opposite")
    if f["declines"]:
        notes.append("the answer declines")
    if f["replaced_name"] == 1.0:
        notes.append("a different name next to the expected words")
    if f["other_sign"]:
        notes.append("the figure is on the other side of zero")
    if f["other_bound"]:
        notes.append('says "at most" for "at least", or the other way round')
    if f["exchanged"]:
        notes.append("a figure of something else, or with the other direction")
    if f["other_quantity"] and not f["contains"]:
        notes.append("another quantity of the same kind, or another unit")
    if f["other_names"]:
        notes.append("other names in place of the expected ones")
    return notes
