"""Overlap of the answer with the expected answer: words, characters, exact text. The best of several expected answers counts.

Texts are compared after Unicode normalisation (NFKC) and case folding, with one spelling of quotes and dashes; Chinese,
Japanese and Thai are compared by pairs of characters. `chrf` keeps case, as sacrebleu does.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from rapidfuzz.distance import LCSseq

from answerkey.metrics.registry import metric
from answerkey.text import faq_tokens, normalise, space_words, unify_characters, words
from answerkey.types import Case, Pair, Response, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_FULL_STOPS = frozenset("。、।")  # beside pairs of characters; not in ASCII's punctuation
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# The longest n-grams of chrF2, and how much recall counts against precision.
ORDER = 6
BETA = 2
_AT_ONCE = 64  # pairs whose n-grams fit into the processor's cache
_KEY_BITS = 62  # of a signed 64-bit integer, without the bit for the side


@metric(
    "exact_match",
    family="correctness",
    needs=("answer", "expected"),
    empty="1 where both are empty, else 0",
)
def exact_match(case: Case, response: Response) -> float:
    """1 when the answer equals an expected one after normalisation: `" Paris"` for `"paris"`."""
    answer = normalise(response.answer or "")
    return float(any(normalise(expected) == answer for expected in case.expected))


@metric(
    "keyword_recall",
    family="correctness",
    needs=("answer", "expected"),
    empty="0 where the expected answer has no word",
)
def keyword_recall(case: Case, response: Response) -> Score:
    """Share of the expected answer's words that the answer contains: 0.5 for `Paris` of `Paris, France`.

    Words are those of the FAQ bot: cut at blanks, lower case, without punctuation at their ends.
    """
    # Chinese and Thai have no blanks to cut at, so pairs of characters are made first.
    answered = faq_tokens(space_words(response.answer or ""))
    best = -1.0
    missing = frozenset[str]()
    for expected in case.expected:
        keywords = faq_tokens(space_words(expected))
        if keywords:
            share = len(keywords & answered) / len(keywords)
        else:
            share = 0.0
        if share > best:
            best = share
            missing = keywords - answered
    return Score(best, f"missing: {', '.join(sorted(missing)[:8])}" if missing else "")


@metric(
    "token_f1",
    family="correctness",
    needs=("answer", "expected"),
    empty="1 where both are empty, else 0",
)
def token_f1(case: Case, response: Response) -> float:
    """Harmonic mean of word precision and recall as in SQuAD, without articles: 0.67 for `cat` of `the cat sat`."""
    return _best(_squad_f1, case, response)


@metric(
    "rouge_l", family="correctness", needs=("answer", "expected"), empty="0 where either is empty"
)
def rouge_l(case: Case, response: Response) -> float:
    """F-measure of the longest common subsequence of words: 0.67 for `b a` of `a b c b`."""
    return _best(_rouge_l, case, response)


@metric(
    "chrf",
    family="correctness",
    batch=True,
    low=0,
    high=100,
    needs=("answer", "expected"),
    empty="0 where either is empty",
)
def chrf(pairs: Sequence[Pair]) -> list[float]:
    """Character n-gram F2 score (chrF2, 1 to 6 characters), 0 to 100: 100 for the same text."""
    flat = [
        (unify_characters(response.answer or ""), unify_characters(expected))
        for case, response in pairs
        for expected in case.expected
    ]
    scores = iter(_chrf_scores([answer for answer, _ in flat], [expected for _, expected in flat]))
    return [max(islice(scores, len(case.expected))) for case, _ in pairs]


@metric(
    "answer_length",
    family="communication",
    low=0,
    high=None,
    better="neither",
    needs=("answer",),
    empty="0",
    unit="characters",
)
def answer_length(case: Case, response: Response) -> float:
    """Characters in the answer; a description, not a quality."""
    return float(len(response.answer or ""))


def _best(measure: Callable[[str, str], float], case: Case, response: Response) -> float:
    return max(measure(response.answer or "", expected) for expected in case.expected)


def _squad_f1(answer: str, expected: str) -> float:
    own = _squad_words(answer)
    key = _squad_words(expected)
    if not own or not key:
        # As in SQuAD: two empty texts are equal, one empty text shares nothing.
        return float(own == key)
    counts = Counter(own)
    key_counts = Counter(key)
    same = sum([min(counts[word], key_counts[word]) for word in counts.keys() & key_counts.keys()])
    return 2 * same / (len(own) + len(key))


@lru_cache(maxsize=4096)
def _squad_words(text: str) -> tuple[str, ...]:
    bare = space_words(text).translate(_NO_PUNCTUATION)
    parts = bare.split()
    if "".join(parts).isalnum():  # no mark inside a word could end an article
        return tuple(part for part in parts if part not in _ARTICLES)
    return tuple(part for part in _ARTICLE.sub(" ", bare).split() if part not in _FULL_STOPS)


def _rouge_l(answer: str, expected: str) -> float:
    # The library's own words are letters and digits alone: an underscore separates two words.
    own = words(answer.replace("_", " "))
    key = words(expected.replace("_", " "))
    if not own or not key:
        return 0.0
    return 2 * LCSseq.similarity(own, key) / (len(own) + len(key))


def _chrf_scores(answers: Sequence[str], expected: Sequence[str]) -> list[float]:
    """0 to 100 for each pair, as sacrebleu gives it for one sentence: white space is ignored, and precision and
    recall are means over the orders that both sides have.

    All 6-grams of many pairs are sorted at once; every shorter n-gram is a prefix of one of them.
    """
    import numpy as np

    left = ["".join(text.split()) for text in answers]
    right = ["".join(text.split()) for text in expected]
    sizes = np.array([[len(text) for text in left], [len(text) for text in right]])
    matches = np.zeros((ORDER, len(left)))
    for start in range(0, len(left), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        matches[:, here] = _grams_in_common(left[here], right[here])
    orders = np.arange(1, ORDER + 1)[:, None]
    counted = orders <= sizes.min(axis=0)
    effective = np.maximum(counted.sum(axis=0), 1)
    precision = (matches * counted / np.maximum(sizes[0] - orders + 1, 1)).sum(axis=0) / effective
    recall = (matches * counted / np.maximum(sizes[1] - orders + 1, 1)).sum(axis=0) / effective
    below = BETA**2 * precision + recall
    return (100 * (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1)).tolist()


def _grams_in_common(left: Sequence[str], right: Sequence[str]) -> Floats:
    """How many n-grams of each order, counted with repeats, each pair has in common."""
    import numpy as np

    pad = " " * (ORDER - 1)  # the texts have no white space of their own
    # Half a surrogate pair is no valid text, yet bots write it.
    joined = "".join(text + pad for text in (*left, *right)).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(joined, dtype=np.uint32)
    present = np.zeros(letters.max() + 1, dtype=bool)
    present[letters] = True
    # The padding has code 0, which marks the end of a text.
    present[ord(" ")] = False
    codes = (np.cumsum(present) * present)[letters]
    bits = int(codes.max()).bit_length()
    # A key must fit 64 bits: many different letters need more bits each.
    if (len(left) - 1).bit_length() + ORDER * bits > _KEY_BITS:
        return _in_halves(left, right)
    lengths = [len(text) + len(pad) for text in (*left, *right)]
    owner = np.repeat(np.arange(2 * len(left)), lengths)[: len(codes) - len(pad)]
    keys = owner % len(left)
    for n in range(ORDER):
        keys = keys << bits | codes[n : n + len(keys)]
    keys = (keys << 1 | (owner >= len(left)))[codes[: len(keys)] > 0]
    keys.sort()
    if not len(keys):
        return np.zeros((ORDER, len(left)))
    rights = np.concatenate([[0], np.cumsum(keys & 1)])
    keys >>= 1
    return np.array(
        [
            _matches(keys >> bits * (ORDER - n), rights, bits, n, len(left))
            for n in range(1, ORDER + 1)
        ]
    )


def _matches(grams: Ints, rights: Ints, bits: int, order: int, count: int) -> Floats:
    """For each pair the n-grams of one order that both sides have. A gram holds its pair, then its letters."""
    import numpy as np

    edges = np.flatnonzero(np.concatenate([[True], grams[1:] != grams[:-1], [True]]))
    on_the_right = np.diff(rights[edges])
    same = np.minimum(np.diff(edges) - on_the_right, on_the_right)
    shared = np.flatnonzero(same)
    gram = grams[edges[shared]]
    whole = (gram & ((1 << bits) - 1)) > 0  # the last letter is none where the text has ended
    return np.bincount(
        gram >> (bits * order), weights=same[shared] * whole, minlength=count
    ).astype(np.float64)


def _in_halves(left: Sequence[str], right: Sequence[str]) -> Floats:
    """For many different letters: fewer pairs at once, and one pair by plain counting."""
    import numpy as np

    if len(left) > 1:
        half = len(left) // 2
        return np.hstack(
            [
                _grams_in_common(left[:half], right[:half]),
                _grams_in_common(left[half:], right[half:]),
            ]
        )
    counted = [
        (_grams(left[0], order) & _grams(right[0], order)).total() for order in range(1, ORDER + 1)
    ]
    return np.array(counted, dtype=float)[:, None]


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))
