"""Turn the scores of a case into a verdict: the weighted mean of what is applicable, its band, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.profiles.load import FAILED
from answerkey.types import Case, Part, Profile, ProfileLine, Response, Score, Verdict

ERROR, UNSCORED = "ERROR", "UNSCORED"
Scores = Mapping[str, Score]
_STRONG, _WEAK = 0.8, 0.6
_EPSILON = 1e-9  # 0.7 reached by a sum of products is 0.7


def decide(profile: Profile, case: Case, response: Response, scores: Scores) -> Verdict:
    """The verdict on one case: `decide(profile, case, response, {"exact_match": Score(1.0)}).status`.

    An error in a metric makes it ERROR; a metric that is not applicable is left out and the weights renormalised.
    The band decides: its status passes or fails the case, unless a required floor or the case's own minimum is missed.
    """
    if response.error is not None:
        return Verdict(
            ERROR, justification=f"No response: {response.error}", shortfalls=("no response",)
        )
    rules = profile.rules_for(response.route)
    route = scores.get("route_score") if profile.route_weight else None
    names = [criterion.metric for criterion in rules.lines]
    missing = next((name for name in names if name not in scores), None)
    needed = {name: scores[name] for name in names if name in scores} | (
        {"route_score": route} if route else {}
    )
    if error := f"{missing} was not computed" if missing is not None else describe_errors(needed):
        return Verdict(ERROR, justification=f"Could not be scored: {error}", shortfalls=(error,))
    given = [
        (c, v) for c in rules.lines if c.weight > 0 and (v := scores[c.metric].value) is not None
    ]
    total = sum(criterion.weight for criterion, _ in given)
    parts = tuple(
        Part(
            c.metric,
            v,
            c.maximum,
            c.weight / total,
            profile.scale * share_of(c, v) * c.weight / total,
        )
        for c, v in given
    )
    route_score = route.value if route else None
    if not parts:
        nothing = "No criterion of the profile is applicable to this case"
        return Verdict(
            UNSCORED, route_score=route_score, justification=nothing, shortfalls=(nothing,)
        )
    quality = sum(part.points for part in parts)
    weight = profile.route_weight if route_score is not None else 0.0
    score = weight * (route_score or 0.0) * profile.scale + (1 - weight) * quality
    shortfalls, failed_floor = _shortfalls(rules.lines, scores)
    if case.min_score is not None and score + _EPSILON < case.min_score:
        failed_floor = True
        shortfalls.append(f"score {score:.2f} < {case.min_score:g}, the case's own min_score")
    wrong_route = route_score is not None and route_score < 1.0
    reached = (
        b for b in rules.bands if quality + _EPSILON >= b.at and not (b.needs_route and wrong_route)
    )
    band = next(reached, rules.bands[-1])
    if failed_floor and band.status != FAILED:
        band = next(lower for lower in rules.bands if lower.status == FAILED)
    shares = {part.metric: part.points / part.weight / profile.scale for part in parts}
    why, passed = _justify(shares, scores, route, shortfalls), band.status != FAILED
    return Verdict(
        band.status, score, quality, route_score, band.name, why, tuple(shortfalls), parts, passed
    )


def describe_errors(scores: Scores) -> str:
    """Every metric with an error, those of one cause together: `a, b: no key; c: too long`. Empty without errors."""
    causes: dict[str, list[str]] = {}
    for name, score in scores.items():
        if score.error is not None:
            causes.setdefault(score.error, []).append(name)
    return "; ".join(f"{', '.join(names)}: {cause}" for cause, names in causes.items())


def share_of(criterion: ProfileLine, value: float) -> float:
    """The value as a share of its maximum, 0..1, where 1 is best: `share_of(ProfileLine("a", maximum=5), 4)` is 0.8."""
    share = min(max(value / criterion.maximum, 0.0), 1.0)
    return 1 - share if criterion.better == "lower" else share


def _shortfalls(criteria: Sequence[ProfileLine], scores: Scores) -> tuple[list[str], bool]:
    """What is below its floor, and whether one of them is required."""
    notes: list[str] = []
    failed = False
    for criterion in criteria:
        value, floor = scores[criterion.metric].value, criterion.floor
        lower = criterion.better == "lower"
        if value is None and criterion.required and floor is None:
            notes.append(f"{criterion.metric} is required and not applicable")
        elif (
            value is not None and floor is not None and (value > floor if lower else value < floor)
        ):
            reading = f": {criterion.reading}" if criterion.reading else ""
            notes.append(
                f"{criterion.metric} {value:.2f} {'>' if lower else '<'} {floor:g}{reading}"
            )
        else:
            continue
        failed |= criterion.required
    return notes, failed


def _justify(
    shares: Mapping[str, float], scores: Scores, route: Score | None, shortfalls: Sequence[str]
) -> str:
    weak = {metric: scores[metric] for metric, share in shares.items() if share < _WEAK}
    low = [
        f"{metric} {score.value:.2f}{f' ({score.reason})' if score.reason else ''}"
        for metric, score in weak.items()
    ]
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
    return " ".join(sentences) or "All criteria are mid-range."
