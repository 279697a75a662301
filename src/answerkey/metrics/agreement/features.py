"""How an answer compares with one expected answer: the features of the fitted model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure, in_unit
from answerkey.language.refusal import refusal
from answerkey.language.stems import stem
from answerkey.metrics.agreement.comparable import ARTICLES, Text, Word, read
from answerkey.metrics.agreement.figure_context import implied_figures
from answerkey.metrics.agreement.rules import conclusions
from answerkey.metrics.agreement.word_match import NEAR, closest, place, rareness

_ASKS = {
    "who": re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE),
    "when": re.compile(
        r"\b(?:when|(?:what|which) (?:year|date|day|month|decade|century))\b", re.IGNORECASE
    ),
    "where": re.compile(r"\bwhere\b", re.IGNORECASE),
    "count": re.compile(r"\bhow (?:many|much|long|old|far|tall|big|high|often)\b", re.IGNORECASE),
}
_DIGIT = re.compile(r"\d")
_SAME_WORD = 0.9
# Characters of the expected text and of the answer that are compared for near copies.
_LOOKED_THROUGH = (500, 4000)
_HEAD = re.compile(r"[,(\[;:]")


def compare_answers(answer: str, reference: str, question: str) -> dict[str, float]:
    """The features of one answer against one expected answer."""
    said = read(answer)
    wanted = read(reference)
    asked = read(question)
    # "Shoulderblade" would otherwise miss both expected words and lose every word feature.
    if _same_letters(said, wanted):
        wanted = said
    key = tuple(in_unit(figure, asked.unit) for figure in wanted.figures)
    said = replace(said, figures=(*said.figures, *implied_figures(said, wanted, key)))
    # In the order of the text: the order of a set differs between processes, and would decide ties.
    near = {token: closest(token, said, wanted, key) for token in dict.fromkeys(wanted.content)}
    new = [token for token in wanted.content if token not in asked.vocabulary]
    f = _words(reference, wanted, new, {token: score for token, (score, _) in near.items()})
    fits = all(any(figures_agree(figure, other) for other in said.figures) for figure in key)
    f |= _texts(said, wanted, fits)
    f["literal"] = float(
        fits and bool(re.search(rf"(?<!\w){re.escape(reference.strip())}(?!\w)", answer))
    )
    f |= place(said, wanted, tuple(dict.fromkeys(new or wanted.content)), near)
    f |= _beyond(said, wanted, asked.vocabulary)
    f |= _figures(said, key, asked)
    f |= _dates(said, wanted)
    # A refusal where a refusal is expected is no mistake.
    f["declines"] = float(said.declines and not wanted.declines)
    f |= conclusions(said, wanted, asked, key, near)
    f |= {f"asks_{name}": float(bool(pattern.search(question))) for name, pattern in _ASKS.items()}
    # "No, it does not include breakfast" has the words of a refusal, yet it answers the question.
    f["declines"] *= refusal(answer) != "none" or not f["same_side"]
    f["answer_length"] = math.log1p(len(said.tokens))
    f["reference_length"] = math.log1p(len(wanted.tokens))
    return f


def repeats(reference: str, question: str) -> bool:
    """Whether every word of it is in the question; the C of `Vitamin C` is a word, an article is not."""
    asked = read(question)
    own = [word.lower() for word in re.findall(r"\w+", reference)]
    sought = [
        stem(word)
        for n, word in enumerate(own)
        if word not in ARTICLES or (n and n == len(own) - 1)
    ]
    return bool(sought) and all(closest(word, asked, asked)[0] >= _SAME_WORD for word in sought)


def says_more(answer: str, question: str) -> bool:
    """Whether the answer has a word that is not in the question."""
    return not set(read(answer).content) <= read(question).vocabulary


def _same_letters(said: Text, wanted: Text) -> bool:
    """`Shoulderblade` and `Shoulder blade`; not for figures, which differ by their points and signs."""
    return (
        # Shorter runs of letters occur inside other words by chance.
        len(wanted.squashed) >= 4
        and said.squashed == wanted.squashed
        and not _DIGIT.search(wanted.squashed)
    )


def _words(
    reference: str, wanted: Text, new: Sequence[str], close: Mapping[str, float]
) -> dict[str, float]:
    """How many of the expected words the answer has; `new` ones are not in the question already."""
    recall = _mean([close[token] for token in wanted.content])
    head = [
        close[token]
        for token in read(_HEAD.split(reference, maxsplit=1)[0]).content
        if token in close
    ]
    # All expected words may be in the question ("tea or coffee?"); then they must count after all.
    sought = new or wanted.content
    weights = [rareness(token) ** 2 for token in sought]
    return {
        "recall": recall,
        "recall_new": _mean([close[token] for token in sought]),
        "telling": sum(w * close[t] for w, t in zip(weights, sought, strict=True))
        / (sum(weights) or 1.0),
        "missing_weight": max(
            (rareness(token) for token in new if close[token] < NEAR), default=0.0
        ),
        "head": _mean(head or [recall]),  # the part before a comma: `Surrey` of `Surrey, England`
    }


def _texts(said: Text, wanted: Text, fits: bool) -> dict[str, float]:
    """The two texts as runs of words and of letters. Without `fits` the digits may be equal, but not the unit."""
    if wanted.tokens and fits:
        at = said.joined.find(wanted.joined)
    else:
        at = -1
    sought, searched = _LOOKED_THROUGH
    return {
        "exact": float(fits and said.tokens == wanted.tokens),
        "contains": float(at >= 0),
        "squashed": float(fits and len(wanted.squashed) >= 4 and wanted.squashed in said.squashed),
        "inside": float(bool(said.tokens) and said.joined in wanted.joined),
        "early": 1.0 - at / len(said.joined) if at >= 0 else 0.0,
        "partial": fuzz.partial_ratio(wanted.joined[:sought], said.joined[:searched]) / 100,
        "token_set": fuzz.token_set_ratio(wanted.joined, said.joined) / 100,
        "sorted": fuzz.token_sort_ratio(wanted.joined, said.joined) / 100,
        "alike": fuzz.ratio(wanted.squashed, said.squashed) / 100,
        "initials": float(_initials(said, wanted) or _initials(wanted, said)),
    }


def _initials(short: Text, long: Text) -> bool:
    letters = "".join(token[0] for token in long.content).upper()
    # One letter is no abbreviation; capitals in an answer are collected up to six letters.
    return 2 <= len(letters) <= 6 and letters in short.capitals


def _beyond(said: Text, wanted: Text, known: frozenset[str]) -> dict[str, float]:
    """How much of what the answer adds to the question is expected, overall and in its first sentence."""
    fresh = [word for word in said.words if word.content and word.stem not in known]
    opening = [word for word in fresh if word.sentence == 0]
    named = [word for word in opening if word.capital]
    if fresh:
        precision = _hits(fresh, wanted)
    else:
        precision = float(wanted.vocabulary <= known)
    if opening:
        at_first = _hits(opening, wanted)
    else:
        at_first = precision
    return {
        "precision_new": precision,
        "opening": at_first,
        "opening_names": _hits(named, wanted) if named else at_first,
        "opening_rivals": min(6.0, sum(word.stem not in wanted.vocabulary for word in named)),
        "rivals": min(10.0, len(said.names - wanted.vocabulary - known)),
    }


def _hits(words: Sequence[Word], wanted: Text) -> float:
    return _mean([float(closest(word.stem, wanted, wanted)[0] >= NEAR) for word in words])


def _figures(said: Text, wanted: Sequence[Figure], asked: Text) -> dict[str, float]:
    """Figures of the question are ignored, and so are years next to other figures."""
    question_values = {figure.value for figure in asked.figures}
    key = [figure for figure in wanted if figure.value not in question_values]
    # A year beside another figure is context ("12 % in 2019"), unless years are all there is.
    key = [figure for figure in key if not figure.year] or key
    hits = [any(figures_agree(figure, other) for other in said.figures) for figure in key]
    fresh = [figure for figure in said.figures if figure.value not in question_values]
    return {
        "figures": min(3.0, len(key)),
        # 0.5 says "no evidence", so that trees don't read a missing figure as a wrong one.
        "figures_found": _mean([float(hit) for hit in hits]) if key else 0.5,
        "figures_wrong": float(bool(key) and bool(fresh) and not any(hits)),
    }


def _dates(said: Text, wanted: Text) -> dict[str, float]:
    """`date` is 1 where all parts that both have (year, month, day) agree, 0 where one differs, 0.5 without a date."""
    verdicts = [
        max((mine.agrees(other) for mine in said.dates), default=0.5) for other in wanted.dates
    ]
    parts = max((other.parts for other in wanted.dates), default=0)
    shared = max((mine.shared(other) for other in wanted.dates for mine in said.dates), default=0)
    return {
        "date": _mean(verdicts) if verdicts else 0.5,
        "date_parts": parts,
        "date_shared": shared,
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
