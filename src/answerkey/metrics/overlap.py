"""Deterministic metrics of an answer beside the expected one: words, characters, exact text.

Where a case has several expected answers, the best counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice

from rapidfuzz.distance import LCSseq

from answerkey.metrics.chrf import chrf_scores
from answerkey.metrics.registry import metric
from answerkey.text import normalise, words
from answerkey.types import Case, Pair, Response, Score

_ARTICLES, _ARTICLE = frozenset({"a", "an", "the"}), re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@metric("exact_match", needs=("answer", "expected"), empty="1 where both are empty, else 0")
def exact_match(case: Case, response: Response) -> float:
    """1 when the answer equals an expected one, lower-cased, trimmed, white space collapsed."""
    answer = normalise(response.answer or "")
    return float(any(normalise(expected) == answer for expected in case.expected))


@metric("keyword_recall", needs=("answer", "expected"), empty="0 where the expected answer has no word")
def keyword_recall(case: Case, response: Response) -> Score:
    """Share of the expected answer's words that the answer holds."""
    given = set(words(response.answer or ""))
    best, missing = -1.0, frozenset[str]()
    for expected in case.expected:
        wanted = frozenset(words(expected))
        share = len(wanted & given) / len(wanted) if wanted else 0.0
        if share > best:
            best, missing = share, wanted - given
    return Score(best, f"missing: {', '.join(sorted(missing)[:8])}" if missing else "")


@metric("token_f1", needs=("answer", "expected"), empty="1 where both are empty, else 0")
def token_f1(case: Case, response: Response) -> float:
    """Harmonic mean of word precision and recall, as SQuAD measures it: no articles, no punctuation."""
    return _best(_squad_f1, case, response)


@metric("rouge_l", needs=("answer", "expected"), empty="0 where either is empty")
def rouge_l(case: Case, response: Response) -> float:
    """F-measure of the longest common subsequence of words."""
    return _best(_rouge_l, case, response)


@metric("chrf", batch=True, low=0, high=100, needs=("answer", "expected"), empty="0 where either is empty")
def chrf(pairs: Sequence[Pair]) -> list[float]:
    """Character n-gram F2 score (chrF2, 1 to 6 characters), 0 to 100."""
    flat = [(response.answer or "", expected) for case, response in pairs for expected in case.expected]
    scores = iter(chrf_scores([answer for answer, _ in flat], [expected for _, expected in flat]))
    return [max(islice(scores, len(case.expected))) for case, _ in pairs]


@metric("answer_length", low=0, high=None, better="neither", needs=("answer",), empty="0", unit="characters")
def answer_length(case: Case, response: Response) -> float:
    """Characters in the answer; a description, not a quality."""
    return float(len(response.answer or ""))


def _best(measure: Callable[[str, str], float], case: Case, response: Response) -> float:
    return max(measure(response.answer or "", expected) for expected in case.expected)


def _squad_f1(answer: str, expected: str) -> float:
    given, wanted = _squad_words(answer), _squad_words(expected)
    if not given or not wanted:
        return float(given == wanted)
    same = _in_common(given, wanted)
    return 2 * same / (len(given) + len(wanted))


def _in_common(given: Sequence[str], wanted: Sequence[str]) -> int:
    """How many words both have, counted with repeats."""
    left = Counter(wanted)
    same = 0
    for word in given:
        if count := left.get(word):
            left[word] = count - 1
            same += 1
    return same


@lru_cache(maxsize=4096)
def _squad_words(text: str) -> tuple[str, ...]:
    plain = text.lower().translate(_NO_PUNCTUATION)
    parts = plain.split()
    if "".join(parts).isalnum():  # no mark within a word could end an article
        return tuple(part for part in parts if part not in _ARTICLES)
    return tuple(_ARTICLE.sub(" ", plain).split())


def _rouge_l(answer: str, expected: str) -> float:
    # The library's own words: letters and digits alone, so an underscore parts two words.
    given, wanted = words(answer.replace("_", " ")), words(expected.replace("_", " "))
    if not given or not wanted:
        return 0.0
    return 2 * LCSseq.similarity(given, wanted) / (len(given) + len(wanted))
