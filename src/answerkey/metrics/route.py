"""The route and the five dimensions of the `route-aware` profile. The word lists are the profile's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from answerkey.embed import Embedder
from answerkey.metrics.registry import metric
from answerkey.text import has_any, numbers
from answerkey.text import words as words_of
from answerkey.types import Case, Pair, Response, Score

Words = Mapping[str, tuple[str, ...]]
_NUMBERED_LIST = re.compile(r"(?:^|\s)\d+[.)]\s")
_LONG = 300


@metric(
    "route_score",
    family="operations",
    needs=("expected_route",),
    uses=("route",),
    empty="0 for a response with no route; not applicable to a case with no expected route",
)
def route_score(case: Case, response: Response) -> Score:
    """1.0 on the preferred route, 0.7 on an acceptable one, else 0."""
    if response.route is None:
        return Score(0.0, f"no route reported, expected {case.expected_route}")
    if response.route == case.expected_route:
        return Score(1.0, "the preferred route")
    if response.route in case.acceptable_routes:
        return Score(0.7, f"acceptable; preferred is {case.expected_route}")
    return Score(0.0, f"went to {response.route}, expected {case.expected_route}")


@metric(
    "semantic_relevance",
    family="correctness",
    batch=True,
    needs=("answer",),
    empty="0.3 for an empty answer, unless the case sets a lower limit: its cosine is 0",
)
def semantic_relevance(
    pairs: Sequence[Pair],
    *,
    words: Words,
    routes: Words,
    embed: Embedder | None = None,
    bonus: bool = True,
) -> list[Score]:
    """Cosine of question and answer; asking back or declining counts where the case wants it."""
    scores: list[Score | None] = [
        _asked_back_or_declined(case, response, words) for case, response in pairs
    ]
    open_pairs = [pair for pair, score in zip(pairs, scores, strict=True) if score is None]
    if embed is None:
        rest = iter([_by_keywords(case, response, words) for case, response in open_pairs])
    else:
        # `uniform` has no bonus (specification, section 5).
        rest = iter(_by_meaning(open_pairs, embed, words, routes["kpi"] if bonus else ()))
    return [next(rest) if score is None else score for score in scores]


@metric(
    "information_completeness",
    family="correctness",
    needs=("answer",),
    empty="0.35 for an empty answer with nothing asked of it",
)
def information_completeness(case: Case, response: Response) -> Score:
    """Whether the answer contains what the case asks for: 0.9 for all of must_contain in 50 to 200 characters."""
    answer = response.answer or ""
    required = case.criteria.must_contain
    score = 0.5
    notes = list[str]()
    if required:
        missing = [text for text in required if not has_any(answer, (text,))]
        if missing:
            score = 1 - len(missing) / len(required)
            notes.append(f"missing: {', '.join(missing)}")
        else:
            score = 0.9
            notes.append("all of must_contain")
    if case.criteria.must_contain_any and has_any(answer, case.criteria.must_contain_any):
        score = max(score, 0.75)
    extras = sum(has_any(answer, (text,)) for text in case.criteria.acceptable_if_includes)
    score += min(0.05 * extras, 0.2)
    if len(answer) < 50:
        score *= 0.7
        notes.append(f"only {len(answer)} characters")
    elif len(answer) > 200:
        score += 0.05
    return Score(_unit(score), "; ".join(notes))


@metric(
    "factual_accuracy",
    family="correctness",
    needs=("answer",),
    empty="0.5 (0.75 on document routes): no number to check",
)
def factual_accuracy(
    case: Case, response: Response, *, routes: Words, tolerance: float = 0.05, decimal: str = "."
) -> Score:
    """Whether a number in the answer is the expected one: 0.95 within 5 %, else 0.5."""
    stated = numbers(response.answer or "", decimal)
    if not stated:
        return Score(
            0.75 if response.route in routes["documents"] else 0.5, "no number in the answer"
        )
    if case.criteria.numerical_range is not None:
        low, high = case.criteria.numerical_range
        inside = any(low <= number.value <= high for number in stated)
        reason = f"{'a' if inside else 'no'} number in {low:,.10g} to {high:,.10g}"
        return Score(0.95 if inside else 0.4, reason)
    if true_values := _true_values(case, decimal):
        close = any(
            _near(number.value, value, tolerance) for number in stated for value in true_values
        )
        reason = f"{'a' if close else 'no'} number within {tolerance:.0%} of {true_values[0]:,.10g}"
        return Score(0.95 if close else 0.5, reason)
    return Score(0.75, "nothing to check the numbers against")


@metric(
    "presentation_quality",
    family="communication",
    needs=("answer",),
    empty="0.48 for an empty answer",
)
def presentation_quality(case: Case, response: Response, *, words: Words) -> Score:
    """0.8, more for structure, less for unwanted text, admitted invention and a very short answer."""
    answer = response.answer or ""
    unwanted = [text for text in case.criteria.must_not_contain if has_any(answer, (text,))]
    invented = [pattern for pattern in words["invention"] if _pattern(pattern).search(answer)]
    score = 0.8 - 0.15 * len(unwanted) - 0.2 * len(invented)
    if has_any(answer, words["structure"]) or _NUMBERED_LIST.search(answer):
        score += 0.1
    if len(answer) < 30:
        score *= 0.6
    if unwanted:
        notes = [f"contains {', '.join(unwanted)}"]
    else:
        notes = []
    return Score(_unit(score), "; ".join(notes + (["admits invention"] if invented else [])))


@metric(
    "executive_format",
    family="communication",
    needs=("answer",),
    empty="0 on a KPI route; not applicable on other routes",
)
def executive_format(case: Case, response: Response, *, words: Words, routes: Words) -> Score:
    """On a KPI route: has the answer a figure, a benchmark, a trend and an insight? 1 when it has all four."""
    if response.route not in routes["kpi"]:
        return Score.not_applicable("not a KPI route")
    answer = response.answer or ""
    if _currency_figure(words["currency"]).search(answer):
        figure = 0.30
    else:
        if numbers(answer):
            figure = 0.20
        else:
            figure = 0.0
    parts = {
        "figure": figure,
        "benchmark": 0.25 * has_any(answer, words["report_benchmark"]),
        "trend": 0.25 * has_any(answer, words["report_trend"]),
        "insight": 0.20 * has_any(answer, words["insight"]),
    }
    missing = [name for name, points in parts.items() if not points]
    return Score(_unit(sum(parts.values())), f"no {', no '.join(missing)}" if missing else "")


def _true_values(case: Case, decimal: str = ".") -> list[float]:
    """The numbers that an answer is compared with: the case's expected_value, else those of its expected answers."""
    if case.criteria.expected_value is not None:
        return [case.criteria.expected_value]
    return [number.value for expected in case.expected for number in numbers(expected, decimal)]


def _near(value: float, wanted: float, tolerance: float) -> bool:
    return math.isfinite(wanted) and abs(value - wanted) <= tolerance * abs(wanted) + 1e-12


def _asked_back_or_declined(case: Case, response: Response, words: Words) -> Score | None:
    answer = response.answer or ""
    if case.criteria.clarification_expected and has_any(answer, words["clarifies"]):
        return Score(0.9, "asks for the clarification that is needed")
    if case.criteria.out_of_scope and has_any(answer, words["declines"]):
        return Score(0.8, "declines what is out of scope")
    return None


def _by_meaning(
    pairs: Sequence[Pair], embed: Embedder, words: Words, bonus_routes: tuple[str, ...]
) -> list[Score]:
    if not pairs:
        return []
    vectors = embed.embed(
        [text for case, response in pairs for text in (case.question, response.answer or "")]
    )
    cosines = (vectors[0::2] * vectors[1::2]).sum(axis=1).tolist()
    return [
        _apply_limit(
            # A model gives an empty text some vector, but it answers nothing.
            cosine if (response.answer or "").strip() else 0.0,
            case,
            response,
            words,
            bonus_routes,
        )
        for cosine, (case, response) in zip(cosines, pairs, strict=True)
    ]


def _apply_limit(
    cosine: float, case: Case, response: Response, words: Words, bonus_routes: tuple[str, ...]
) -> Score:
    answer = response.answer or ""
    raw = cosine
    limit = case.criteria.min_semantic_similarity
    limit = 0.75 if limit is None else limit
    reason = f"cosine {cosine:.2f}"
    if response.route in bonus_routes:
        # The limit of KPI routes is fixed; that of the case is for the other routes.
        limit = 0.50
        earned = {name: points for name, points in _bonuses(answer, words).items() if points}
        raw = min(raw + sum(earned.values()), 1.0)
        reason += f", {raw:.2f} with bonus for {' and '.join(earned)}" if earned else ""
    # Below the limit a relevant answer still gets 0.3, as the specification says.
    value = raw if raw >= limit else max(0.3, raw)
    return Score(_unit(value), reason)


def _bonuses(answer: str, words: Words) -> dict[str, float]:
    return {
        "benchmark": 0.10 * has_any(answer, words["benchmark"]),
        "trend": 0.10 * has_any(answer, words["trend"]),
        "length": 0.05 * (len(answer) >= _LONG),
    }


def _by_keywords(case: Case, response: Response, words: Words) -> Score:
    stop = frozenset(words["stop"])
    question_words = [word for word in dict.fromkeys(words_of(case.question)) if word not in stop]
    if not question_words:
        return Score(0.5, "without embeddings: the question has no word to look for")
    answer = response.answer or ""
    share = sum(has_any(answer, (word,)) for word in question_words) / len(question_words)
    required = case.criteria.must_contain
    if required and all(has_any(answer, (text,)) for text in required):
        bonus = 0.2
    else:
        bonus = 0.0
    reason = f"without embeddings: {share:.0%} of the question's words"
    return Score(min(max(share + bonus, 0.3), 1.0), reason)


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@lru_cache(maxsize=16)
def _currency_figure(symbols: tuple[str, ...]) -> re.Pattern[str]:
    signs = "|".join(re.escape(symbol) for symbol in symbols)
    # "form 5" has the letters of RM, so no letter may stand before the sign.
    return re.compile(rf"(?<![a-z])(?:{signs})\s?[-−]?\d|\d\s?(?:{signs})(?![a-z])", re.IGNORECASE)


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
