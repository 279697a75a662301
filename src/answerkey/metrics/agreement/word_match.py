"""When two words are one: the same stem, a near spelling, a short form of a name, a country and its people."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from rapidfuzz import fuzz, process

from answerkey.metrics.agreement.comparable import Text
from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.quantities import Figure, figures_agree
from answerkey.metrics.sentences import stem, word_groups

NEAR = 0.74  # from here on two words count as one spelled in two ways
_LEAST = 0.75
_ROOT = 7  # letters: `archaeology` and `archaeologist` have one root
SURE = 0.85  # needed where the first letters differ: few people get that one wrong
_SCALES = frozenset(stem(word) for word in ("thousand", "million", "billion", "trillion"))


def closest(token: str, said: Text, wanted: Text, figures: tuple[Figure, ...] = ()) -> tuple[float, str]:
    """1 and the word for the same stem or figure, part of it for a near spelling, else 0.

    A number goes by the figure it is part of: the 17.7 of `17.7 billion` is not in `17.7 million`.
    """
    if token[0].isdigit() and (own := [figure for figure in figures if figure.written(token)]):
        return float(any(figures_agree(one, other) for one in own for other in said.figures)), token
    if token in said.vocabulary:
        return 1.0, token
    if token in _SCALES and _in_other_scale(said, figures):
        return 1.0, token
    if token[0].isdigit() or len(token) < 4:
        return 0.0, ""
    return _near_spelling(token, said.vocabulary, said.names if token in wanted.names else frozenset())


def _in_other_scale(said: Text, figures: tuple[Figure, ...]) -> bool:
    """`15,000,000` for `15 million`: the word is not there, but what it says is."""
    return any(figure.scaled and figures_agree(figure, other) for figure in figures for other in said.figures)


@lru_cache(maxsize=8192)
def _near_spelling(token: str, have: frozenset[str], names: frozenset[str]) -> tuple[float, str]:
    """The word most alike; `names` may also be a short form: `Thad` for `Thaddeus`."""
    kin = _nations().get(token)
    spelled = [
        found[0]
        for found in process.extract(token, have, scorer=fuzz.ratio, score_cutoff=100 * _LEAST, limit=None)
    ]
    candidates = (
        spelled if kin is None else [*spelled, *(word for word in have if _nations().get(word) == kin)]
    )
    best = max(((_alike(token, other), other) for other in candidates), default=(0.0, ""))
    if best[0] >= _LEAST:
        return best
    short = [name for name in names if len(name) >= 4 and (name.startswith(token) or token.startswith(name))]
    return (0.76, min(short)) if short else (0.0, "")


def _alike(one: str, other: str) -> float:
    if one in _SCALES or other in _SCALES:
        return 0.0
    if _nations().get(one, -1) == _nations().get(other, -2):
        return 0.85
    short, long = sorted((one, other), key=len)
    kin = len(short) >= _ROOT and long.startswith(short)
    likeness = fuzz.ratio(one, other) / 100 if len(long) - len(short) <= 2 + kin else 0.0
    return likeness if one[0] == other[0] or likeness >= SURE else 0.0


@cache
def _nations() -> dict[str, int]:
    return {stem(word): n for n, group in enumerate(word_groups("nations")) for word in group.split()}


def rareness(token: str) -> float:
    """1 for a word that few answers have, less for a common one."""
    return _rarity().get(token, 1.0)


@cache
def _rarity() -> Mapping[str, float]:
    return load_numbers("agreement/agreement").get("rarity", {})
