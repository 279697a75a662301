"""Turn the scores of a case into a verdict: a weighted mean, its band, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from answerkey.profiles.explain import (
    LONGEST_WHY,
    SUPPORT_METRICS,
    Explanation,
    explain_failure,
    has_no_answer,
    is_error_message,
)
from answerkey.types import (
    AnswerCriteria,
    Band,
    Case,
    Evidence,
    Kind,
    Part,
    Profile,
    ProfileLine,
    Response,
    Score,
    ScoringRules,
    Status,
    Verdict,
)

Scores = Mapping[str, Score]
# Shares of the maximum at which the justification calls a criterion strong, and below which low.
_STRONG = 0.8
_WEAK = 0.6
_CALLS = "tool_f1"  # a profile with this metric is about tool calls
_CRITERIA = frozenset({"criteria", "answer_criteria"})  # of the cases; nothing else can help
_ABSTENTION = "abstention"
_EPSILON = 1e-9  # 0.7 reached by a sum of products is 0.7


def decide_verdict(profile: Profile, case: Case, response: Response, scores: Scores) -> Verdict:
    """The verdict on one case: PASSED, FAILED or another status of the profile's bands.

    - A metric with an error makes it ERROR.
    - A metric that is not applicable is left out, and the weights are renormalised.
    - Without a metric that can find a wrong answer it is UNSCORED; without any answer, FAILED.
    - Otherwise the band decides, unless a required floor or the case's own minimum is missed.
    """
    if response.error is not None:
        return verdict_of_error(f"No response: {response.error}", "no response")
    rules = profile.rules_for(response.route)
    route = scores.get("route_score") if profile.route_weight else None
    # An error is never a low score: the case has no verdict, and gates on it fail.
    if error := _find_error(rules.lines, scores, route):
        return verdict_of_error(f"Could not be scored: {error}", error)
    route_score = route.value if route else None
    # Nothing measured is not a pass: the metrics left over, such as relevance to the question,
    # are good for a wrong answer, too.
    lacks_answer = has_no_answer(response.answer) or is_error_message(case, response)
    if not _has_evidence(rules.lines, scores, case, lacks_answer=lacks_answer):
        if lacks_answer and _should_answer(case, response):
            return _verdict_without_answer(rules, case, response, scores, route_score)
        if not _fails_required(rules.lines, scores):
            return _unscored_verdict(rules.lines, case, response, scores, route_score)
    parts = _weigh_parts(profile, rules.lines, scores)
    quality = sum(part.points for part in parts)
    score = _add_route(profile, quality, route_score)
    shortfalls = _Shortfalls.find(rules.lines, scores)
    if case.min_score is not None and score + _EPSILON < case.min_score:
        note = f"score {score:.2f} < {case.min_score:g}, the case's own min_score"
        shortfalls = shortfalls.with_failure(note)
    band = _reach_band(rules, quality, route_score, has_failed=shortfalls.is_decisive)
    passed = band.status != Status.FAILED
    shares = {part.metric: part.points / part.weight / profile.scale for part in parts}
    verdict = Verdict(
        status=band.status,
        score=score,
        quality=quality,
        route_score=route_score,
        band=band.name,
        justification=_justify(shares, scores, route, shortfalls, passed=passed),
        # A case that passed has no shortfall that decided anything.
        shortfalls=() if passed else tuple(shortfalls.notes),
        parts=parts,
        passed=passed,
    )
    if passed:
        return verdict
    # Without a missed floor the mean was too low: the weak criteria explain it.
    failing = shortfalls.metrics or [name for name, share in shares.items() if share < _WEAK]
    return _add_explanation(verdict, explain_failure(case, response, scores, failing))


def _add_route(profile: Profile, quality: float, route_score: float | None) -> float:
    """The overall score: the quality and the route score, weighted."""
    # Without a route score the quality is the whole score, as with any metric that is not
    # applicable.
    if route_score is None:
        return quality
    weight = profile.route_weight
    return weight * route_score * profile.scale + (1 - weight) * quality


def verdict_of_error(justification: str, *shortfalls: str) -> Verdict:
    """The verdict on a case without a response, or with a metric that failed."""
    return Verdict(
        Status.ERROR,
        justification=justification,
        shortfalls=shortfalls,
        why=justification[:LONGEST_WHY],
    )


def describe_errors(scores: Scores) -> str:
    """Every metric with an error, those of one cause together: `a, b: no key; c: too long`."""
    metrics_by_error: dict[str, list[str]] = {}
    for name, score in scores.items():
        if score.error is not None:
            metrics_by_error.setdefault(score.error, []).append(name)
    return "; ".join(f"{', '.join(names)}: {error}" for error, names in metrics_by_error.items())


def share_of(line: ProfileLine, value: float) -> float:
    """The value as a share of its maximum, from 0 to 1, where 1 is best.

    >>> share_of(ProfileLine("rubric.accuracy", maximum=5), 4)
    0.8
    """
    # A value beyond the maximum must not outweigh the other criteria.
    share = min(max(value / line.maximum, 0.0), 1.0)
    if line.better == "lower":
        return 1 - share
    return share


def _find_error(lines: Sequence[ProfileLine], scores: Scores, route: Score | None) -> str:
    """The metric that was not computed, or the errors of those that were; empty without any."""
    needed: dict[str, Score] = {}
    for line in lines:
        # A metric that is missing is an error: "not applicable" would hide that nobody computed it.
        if line.metric not in scores:
            return f"{line.metric} was not computed"
        needed[line.metric] = scores[line.metric]
    if route is not None:
        needed["route_score"] = route
    return describe_errors(needed)


def _weigh_parts(
    profile: Profile, lines: Sequence[ProfileLine], scores: Scores
) -> tuple[Part, ...]:
    """The lines that are applicable and count, each with its share of the total weight."""
    values = {line: scores[line.metric].value for line in lines}
    applicable = {
        line: value for line, value in values.items() if line.weight > 0 and value is not None
    }
    total = sum(line.weight for line in applicable)
    parts: list[Part] = []
    for line, value in applicable.items():
        weight = line.weight / total
        points = profile.scale * share_of(line, value) * weight
        parts.append(Part(line.metric, value, line.maximum, weight, points))
    return tuple(parts)


def _has_evidence(
    lines: Sequence[ProfileLine], scores: Scores, case: Case, *, lacks_answer: bool
) -> bool:
    """Whether a metric that can find a wrong answer was applicable."""
    return any(
        _is_evidence(line, case, lacks_answer=lacks_answer)
        and scores[line.metric].value is not None
        for line in lines
    )


def _is_evidence(line: ProfileLine, case: Case, *, lacks_answer: bool) -> bool:
    # Without a statement there is none that the passages do not support.
    if lacks_answer and line.metric in SUPPORT_METRICS:
        return False
    if line.evidence == Evidence.LABELLED:
        declining_is_known = bool(case.expected or case.criteria.out_of_scope)
        # A text that the answer must contain says nothing about an answer that does not decline.
        if line.metric == _ABSTENTION:
            return declining_is_known
        return declining_is_known or bool(case.requirements) or case.criteria != AnswerCriteria()
    return line.evidence == Evidence.ALWAYS


def _fails_required(lines: Sequence[ProfileLine], scores: Scores) -> bool:
    """A missed required floor is a finding of its own: a bot may not decline without a reason."""
    return _Shortfalls.find(lines, scores).is_decisive


def _should_answer(case: Case, response: Response) -> bool:
    """A run of rankings alone has no answers; a bot that returned nothing at all has failed."""
    # An empty answer is recorded as such; a ranking alone has None.
    if case.expected or response.answer is not None:
        return True
    return response.retrieved is None and not response.passages


def _verdict_without_answer(
    rules: ScoringRules,
    case: Case,
    response: Response,
    scores: Scores,
    route_score: float | None,
) -> Verdict:
    explanation = explain_failure(case, response, scores, ())
    verdict = Verdict(
        status=Status.FAILED,
        score=0.0,
        quality=0.0,
        route_score=route_score,
        band=_failing_band(rules).name,
        justification=explanation.why,
        shortfalls=(Kind.NO_ANSWER.value,),
    )
    return _add_explanation(verdict, explanation)


def _unscored_verdict(
    lines: Sequence[ProfileLine],
    case: Case,
    response: Response,
    scores: Scores,
    route_score: float | None,
) -> Verdict:
    reason = _describe_missing_input(lines, case, response, scores)
    return Verdict(
        Status.UNSCORED,
        route_score=route_score,
        justification=f"Not scored: {reason}.",
        shortfalls=(reason,),
        why=f"Not scored: {reason}."[:LONGEST_WHY],
    )


def _describe_missing_input(
    lines: Sequence[ProfileLine], case: Case, response: Response, scores: Scores
) -> str:
    """The inputs that the metrics which can find a wrong answer would need."""
    if any(line.metric == _CALLS for line in lines):
        return _describe_missing_calls(case, response)
    if all(line.metric in _CRITERIA for line in lines):
        return "the case has no criteria that can be checked"
    missing: list[str] = []
    if not case.expected:
        missing.append("no expected answer")
    if not response.passages:
        missing.append("no passages")
    if len(missing) == 2:
        return " and ".join(missing)
    deciding = [scores[line.metric] for line in lines if line.evidence != Evidence.NEVER]
    # Two metrics may lack the same input.
    reasons = dict.fromkeys(score.reason for score in deciding if score.value is None)
    stated = [reason for reason in reasons if reason]
    return "; ".join(stated or missing) or "no criterion of the profile is applicable"


def _describe_missing_calls(case: Case, response: Response) -> str:
    if response.tools is None and case.expected_tools is not None:
        return "the response does not report its tool calls"
    return "no expected tools and no expected answer"


@dataclass(frozen=True, slots=True)
class _Shortfalls:
    """The lines below their floor; `is_decisive` where one of them is required."""

    metrics: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_decisive: bool = False

    @staticmethod
    def find(lines: Sequence[ProfileLine], scores: Scores) -> _Shortfalls:
        shortfalls = _Shortfalls()
        for line in lines:
            note = _describe_shortfall(line, scores[line.metric].value)
            if note:
                shortfalls = _Shortfalls(
                    (*shortfalls.metrics, line.metric),
                    (*shortfalls.notes, note),
                    shortfalls.is_decisive or line.required,
                )
        return shortfalls

    def with_failure(self, note: str) -> _Shortfalls:
        return _Shortfalls(self.metrics, (*self.notes, note), is_decisive=True)


def _describe_shortfall(line: ProfileLine, value: float | None) -> str:
    floor = line.floor
    if value is None:
        # With a floor, `required` holds only where the metric is applicable: `rag` requires
        # answer_agreement, but not of a case without an expected answer.
        if line.required and floor is None:
            return f"{line.metric} is required and not applicable"
        return ""
    if floor is None:
        return ""
    is_lower_better = line.better == "lower"
    if is_lower_better:
        is_missed = value > floor
    else:
        is_missed = value < floor
    if not is_missed:
        return ""
    sign = ">" if is_lower_better else "<"
    note = f"{line.metric} {value:.2f} {sign} {floor:g}"
    if line.reading:
        return f"{note}: {line.reading}"
    return note


def _reach_band(
    rules: ScoringRules, quality: float, route_score: float | None, *, has_failed: bool
) -> Band:
    """The highest band that the quality reaches; a failing one where a floor is missed."""
    if has_failed:
        # A quality that fails anyway keeps its own band, which may be below `needs review`.
        reached = _reach_band(rules, quality, route_score, has_failed=False)
        if reached.status == Status.FAILED:
            return reached
        return _failing_band(rules)
    # An acceptable route scores 0.7; the highest band asks for the preferred one, which scores 1.
    is_wrong_route = route_score is not None and route_score < 1.0
    for band in rules.bands:
        if quality + _EPSILON >= band.at and not (band.needs_route and is_wrong_route):
            return band
    return rules.bands[-1]


def _failing_band(rules: ScoringRules) -> Band:
    return next(band for band in rules.bands if band.status == Status.FAILED)


def _add_explanation(verdict: Verdict, explanation: Explanation) -> Verdict:
    return replace(
        verdict,
        why=explanation.why,
        kind=explanation.kind.value,
        cause=explanation.cause.value,
    )


def _justify(
    shares: Mapping[str, float],
    scores: Scores,
    route: Score | None,
    shortfalls: _Shortfalls,
    *,
    passed: bool,
) -> str:
    """The metrics behind the verdict. A reading stands only beside a failure that it decided."""
    sentences: list[str] = []
    if not passed:
        weak = [
            _describe_score(metric, scores[metric])
            for metric, share in shares.items()
            if share < _WEAK
        ]
        if weak:
            sentences.append(f"Low: {', '.join(weak)}.")
        if shortfalls.notes:
            sentences.append(f"Below its floor: {'; '.join(shortfalls.notes)}.")
    if route and route.value is not None and route.value < 1:
        sentences.append(f"Route: {route.reason}.")
    strong = [metric for metric, share in shares.items() if share >= _STRONG]
    if strong:
        sentences.append(f"Strong: {', '.join(strong)}.")
    return " ".join(sentences) or "All criteria are mid-range."


def _describe_score(metric: str, score: Score) -> str:
    text = f"{metric} {score.value:.2f}"
    if score.reason:
        return f"{text} ({score.reason})"
    return text
