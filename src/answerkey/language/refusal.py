"""Does an answer decline, in whole or in part? In ten languages, by rules and a small classifier.

A refusal is about the bot or its documents: "I can't help with that", "the documents do not mention
it". A limit for people is an ordinary answer: "You can't bring pets". An answer that declines one
part and answers another is a partial refusal. The rules are in `words/*.toml`, the classifier is
fitted by `tools/fit_refusals.py`.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

import msgspec

from answerkey.language.frames import is_frame, opening_end
from answerkey.language.refusal_rules import matches_rule
from answerkey.language.sentences import sentence_spans
from answerkey.language.words import LANGUAGES, read_words
from answerkey.text import CITATION, UNSPACED, fold

Refusal = Literal["full", "partial", "none"]

KINDS = ("refuses", "courtesy", "answers")  # the classes of the classifier
# Chosen on the fifth set of docs/validity.md: the least probability without a rule, and with one.
SURE = 0.7
RULED = 0.05
LONGEST_CLAUSE = 400  # characters
_SUBSTANCE = 3  # words of a clause that says something
_REMARK = 4  # one refusing clause among more than this many others is a remark

_QUOTED = re.compile(r'"[^"]*"')
_WORDS = re.compile(rf"[{UNSPACED}]{{1,2}}|[^\W_{UNSPACED}]+")
_FIGURE = re.compile(r"\d")
_RUN = re.compile(rf"[{UNSPACED}]{{2,}}")
_BULLETS = " -*•\t"


def _joining_words(kind: str) -> str:
    """The words of all languages that join clauses in one way, as alternatives."""
    return "|".join(
        word for code in LANGUAGES for word in read_words(code)["clauses"].get(kind, ())
    )


@cache
def _turn() -> re.Pattern[str]:
    """Where a sentence turns to another statement: "but", a semicolon, a Chinese comma."""
    but = rf"(?:{_joining_words('but')})\b,?\s"
    after_comma = [read_words(code)["clauses"].get("turn") for code in LANGUAGES]
    turns = "|".join(turn for turn in after_comma if turn)
    # Begins with one set of characters and looks back at it, so that others are skipped fast.
    return re.compile(
        rf"[\s,;:，](?:(?<=\s)(?:{but}|-\s)|(?<=[,;:])\s{but}|(?<=;)\s"
        rf"|(?<=,)(?:{turns})|(?<=[,，])(?=[\u3400-\u9fff]))"
    )


@cache
def _concession() -> re.Pattern[str]:
    return re.compile(rf"^((?:{_joining_words('concession')})[^,，]*)[,，]")


@cache
def _condition() -> re.Pattern[str]:
    return re.compile(rf"^(?:{_joining_words('condition')})\b")


@lru_cache(maxsize=4096)
def refusal(answer: str) -> Refusal:
    """`full`, `partial` or `none`.

    >>> refusal("I'm sorry, the documents don't mention the price.")
    'full'
    >>> refusal("I can't say what it costs, but it comes in black.")
    'partial'
    >>> refusal("You can't bring pets into the building.")
    'none'
    """
    clauses = clauses_of(answer)
    weak = [clause for clause in clauses if _declines_weakly(clause)]
    others = [clause for clause in clauses if clause not in weak and _is_answer(clause)]
    refused = len(clauses) - len(others) - len(weak)
    if not refused and not weak:
        return "none"
    substance = sum(_has_substance(clause) for clause in others)
    if not substance:
        return "full"
    # One refusing clause among many is a remark about a detail.
    if refused and refused * _REMARK >= substance:
        return "partial"
    return "none"


@lru_cache(maxsize=4096)
def answering_part(answer: str) -> str:
    """A partial refusal without the clauses that decline; any other answer unchanged.

    >>> answering_part("I can't give tax advice, but costs up to 500 euros are deductible.")
    'costs up to 500 euros are deductible.'
    """
    if refusal(answer) != "partial":
        return answer
    kept: list[str] = []
    for start, end in sentence_spans(answer, longest=2_000):
        parts = [part for part in _turn().split(answer[start:end]) if part.strip()]
        kept += [part for part in parts if not _declines(fold(part).strip(_BULLETS))]
    # Only declining clauses may be left if the rules disagree at a cut; then nothing is removed.
    return " ".join(kept) or answer


def clauses_of(answer: str) -> list[str]:
    """The parts of the folded sentences between "but" and the like, without quotations."""
    clauses: list[str] = []
    answer = CITATION.sub("", answer)
    answer = answer[opening_end(answer) :] or answer
    for start, end in sentence_spans(answer, longest=2_000):
        # A quoted "I can't help" is somebody else's refusal.
        sentence = _QUOTED.sub(" quoted ", fold(answer[start:end]))
        sentence = _concession().sub(r"\1; ", sentence)
        clauses += [part.strip(_BULLETS) for part in _turn().split(sentence) if part.strip()]
    return clauses


def _declines(clause: str) -> bool:
    """By a rule that the classifier does not find absurd, or by the classifier where it is sure."""
    if is_frame(clause):
        return False
    chance = _chances(clause)[0]
    # A single word is too little for the classifier: "figur:found" was a refusal.
    if chance >= SURE and (" " in clause or _RUN.search(clause)):
        return True
    return chance >= RULED and matches_rule("refuses", clause)


def _declines_weakly(clause: str) -> bool:
    """Whether a clause declines only where nothing else is stated: "I can't recommend it"."""
    return _chances(clause)[0] >= RULED and matches_rule("weak", clause)


def _is_answer(clause: str) -> bool:
    # "If the documents do not mention it, ask us" is advice, no refusal.
    return not _declines(clause) or _condition().match(clause) is not None


def _has_substance(clause: str) -> bool:
    is_long = len(_WORDS.findall(clause)) >= _SUBSTANCE or _FIGURE.search(clause)
    return bool(is_long) and not _is_courtesy(clause)


def _is_courtesy(clause: str) -> bool:
    return is_frame(clause) or matches_rule("courtesy", clause) or _chances(clause)[1] >= SURE


def ngrams(clause: str) -> set[str]:
    """Words cut to five letters, and pairs of them; of Chinese, runs of characters."""
    words = ["^", *[word[:5] for word in _WORDS.findall(clause)], "$"]
    grams = {*words, *[f"{first} {second}" for first, second in pairwise(words)]}
    if clause.isascii():
        # Only scripts without spaces need the runs of characters, and none of them is ASCII.
        return grams
    for run in _RUN.findall(clause):
        for size in (2, 3, 4):
            grams.update(run[at : at + size] for at in range(len(run) - size + 1))
    return grams


@lru_cache(maxsize=4096)
def _chances(clause: str) -> tuple[float, float]:
    """The probabilities that a clause declines, and that it adds nothing."""
    weights, shift = _weights()
    grams = ngrams(clause[:LONGEST_CLAUSE])
    # Long clauses have more n-grams; without the root they would always be extreme.
    scale = 1 / math.sqrt(len(grams))
    declines, courtesy = shift
    for gram in weights.keys() & grams:
        declines += weights[gram][0] * scale
        courtesy += weights[gram][1] * scale
    # `exp` overflows beyond 700.
    declines_odds = math.exp(min(declines, 30.0))
    courtesy_odds = math.exp(min(courtesy, 30.0))
    total = 1 + declines_odds + courtesy_odds
    return declines_odds / total, courtesy_odds / total


@cache
def _weights() -> tuple[dict[str, list[float]], list[float]]:
    file = files("answerkey.language") / "fitted" / "refusal.json"
    data = msgspec.json.decode(file.read_bytes())
    return data["weights"], data["shift"]
