"""Scores to a verdict: the weighted mean of what applies, its band, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.types import Band, Case, Criterion, Part, Profile, Response, Score, ScoringRules, Verdict

ERROR, UNSCORED = "ERROR", "UNSCORED"
_STRONG, _WEAK = 0.8, 0.6
_EPSILON = 1e-9  # 0.7 reached by a sum of products is 0.7


def decide(profile: Profile, case: Case, response: Response, scores: Mapping[str, Score]) -> Verdict:
    """The verdict on one case. Broken is ERROR; what does not apply is left out and the weights renormalised."""
    if response.error is not None:
        return Verdict(ERROR, justification=f"No response: {response.error}", shortfalls=("no response",))
    rules = profile.rules_for(response.route)
    route = scores.get("route_score") if profile.route_weight else None
    broken = _broken(rules, scores, route)
    if broken:
        return Verdict(ERROR, justification=f"Could not be scored: {broken}", shortfalls=(broken,))
    parts = _parts(rules.criteria, scores, profile.scale)
    route_score = route.value if route else None
    if not parts:
        told = "No criterion of the profile applies to this case"
        return Verdict(UNSCORED, route_score=route_score, justification=told, shortfalls=(told,))
    quality = sum(part.points for part in parts)
    weight = profile.route_weight if route_score is not None else 0.0
    score = weight * (route_score or 0.0) * profile.scale + (1 - weight) * quality
    shortfalls, failed_floor = _shortfalls(rules.criteria, scores)
    band = _band(rules, quality, route_score)
    shares = {part.metric: part.points / part.weight / profile.scale for part in parts}
    passed = _passes(rules, quality, score, case) and not failed_floor
    status = band.status if passed or band.status == "FAILED" else "FAILED"
    return Verdict(
        status=status,
        score=score,
        quality=quality,
        route_score=route_score,
        band=band.name,
        justification=_justify(shares, scores, route, shortfalls),
        shortfalls=tuple(shortfalls),
        parts=parts,
        passed=passed,
    )


def _broken(rules: ScoringRules, scores: Mapping[str, Score], route: Score | None) -> str:
    names = [criterion.metric for criterion in rules.criteria]
    missing = next((name for name in names if name not in scores), None)
    if missing is not None:
        return f"{missing} was not computed"
    needed = {name: scores[name] for name in names}
    return told_broken({**needed, "route_score": route} if route else needed)


def told_broken(scores: Mapping[str, Score]) -> str:
    """`a, b broke: no key; c broke: too long`: every metric that broke, those of one cause together; else nothing."""
    causes: dict[str, list[str]] = {}
    for name, score in scores.items():
        if score.error is not None:
            causes.setdefault(score.error, []).append(name)
    return "; ".join(f"{', '.join(names)} broke: {cause}" for cause, names in causes.items())


def _parts(criteria: Sequence[Criterion], scores: Mapping[str, Score], scale: float) -> tuple[Part, ...]:
    given = [(c, v) for c in criteria if c.weight > 0 and (v := scores[c.metric].value) is not None]
    total = sum(criterion.weight for criterion, _ in given)
    return tuple(
        Part(c.metric, v, c.maximum, c.weight / total, scale * share_of(c, v) * c.weight / total)
        for c, v in given
    )


def share_of(criterion: Criterion, value: float) -> float:
    """The value as a share of its maximum, 0..1, turned round where lower is better."""
    share = min(max(value / criterion.maximum, 0.0), 1.0)
    return 1 - share if criterion.better == "lower" else share


def _shortfalls(criteria: Sequence[Criterion], scores: Mapping[str, Score]) -> tuple[list[str], bool]:
    told: list[str] = []
    failed = False
    for criterion in criteria:
        value, floor = scores[criterion.metric].value, criterion.floor
        if value is None:
            failed |= criterion.required
            if criterion.required:
                told.append(f"{criterion.metric} is required and does not apply")
        elif floor is not None and (value > floor if criterion.better == "lower" else value < floor):
            failed |= criterion.required
            sign = ">" if criterion.better == "lower" else "<"
            told.append(
                f"{criterion.metric} {value:.2f} {sign} {floor:g}{f': {criterion.reading}' if criterion.reading else ''}"
            )
    return told, failed


def _band(rules: ScoringRules, quality: float, route_score: float | None) -> Band:
    wrong_route = route_score is not None and route_score < 1.0
    reached = [
        band
        for band in rules.bands
        if quality + _EPSILON >= band.at and not (band.needs_route and wrong_route)
    ]
    return reached[0] if reached else rules.bands[-1]


def _passes(rules: ScoringRules, quality: float, score: float, case: Case) -> bool:
    own_mark = case.extra.get("min_score")
    return quality + _EPSILON >= rules.pass_mark and (own_mark is None or score + _EPSILON >= float(own_mark))


def _justify(
    shares: Mapping[str, float], scores: Mapping[str, Score], route: Score | None, shortfalls: Sequence[str]
) -> str:
    low = [_told(metric, scores[metric]) for metric, share in shares.items() if share < _WEAK]
    strong = [metric for metric, share in shares.items() if share >= _STRONG]
    sentences: list[str] = []
    if low:
        sentences.append(f"Low: {', '.join(low)}.")
    if shortfalls:
        sentences.append(f"Below its floor: {'; '.join(shortfalls)}.")
    if route and route.value is not None and route.value < 1:
        sentences.append(f"Route: {route.reason}.")
    if strong:
        sentences.append(f"Strong: {', '.join(strong)}.")
    return " ".join(sentences) or "Nothing stands out: every criterion is middling."


def _told(name: str, score: Score) -> str:
    value = f"{name} {score.value:.2f}"
    return f"{value} ({score.reason})" if score.reason else value
