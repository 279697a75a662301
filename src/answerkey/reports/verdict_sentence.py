"""The arithmetic of a verdict as one sentence, such as

Failed although the score 0.46 reaches the pass mark 0.4, because groundedness is required: it is
0.30, at least 0.7 is needed.
"""

from __future__ import annotations

from answerkey.types import Outcome, Profile, ProfileLine, Score

_EPSILON = 1e-9  # a pass mark of 0.7 reached by a sum of products is reached


def verdict_sentence(outcome: Outcome, profile: Profile | None) -> str:
    """Why the numbers led to this verdict; empty for a verdict that no numbers made."""
    verdict = outcome.verdict
    quality = verdict.quality
    if profile is None or quality is None or verdict.score is None:
        return ""
    pass_mark = profile.rules_for(outcome.response.route).pass_mark
    if profile.route_weight:
        name = "quality"
    else:
        name = "score"
    value = f"the {name} {quality:.3g}"
    if verdict.passed:
        return f"Passed: {value} reaches the pass mark {pass_mark:g}."
    if quality + _EPSILON < pass_mark:
        return f"Failed: {value} is below the pass mark {pass_mark:g}."
    reasons = _other_reasons(outcome, profile, verdict.score)
    although = f"Failed although {value} reaches the pass mark {pass_mark:g}"
    if not reasons:
        return f"{although}: its band, {verdict.band or verdict.status}, does not pass."
    return f"{although}, because {'; '.join(reasons)}."


def _other_reasons(outcome: Outcome, profile: Profile, score: float) -> list[str]:
    """The required metrics and the case's own minimum that were missed."""
    reasons: list[str] = []
    for line in profile.rules_for(outcome.response.route).lines:
        if line.required:
            reason = _missed_floor(line, outcome.scores.get(line.metric))
            if reason:
                reasons.append(f"{line.metric} is required: {reason}")
    minimum = outcome.case.min_score
    if minimum is not None and score + _EPSILON < minimum:
        reasons.append(f"this case needs a score of {minimum:g} and has {score:.3g}")
    return reasons


def _missed_floor(line: ProfileLine, score: Score | None) -> str:
    if score is None or score.value is None:
        if line.floor is None:
            return "it is not applicable"
        return ""
    if line.floor is None:
        return ""
    if line.better == "lower" and score.value > line.floor:
        return f"it is {score.value:.3g}, at most {line.floor:g} is allowed"
    if line.better != "lower" and score.value < line.floor:
        return f"it is {score.value:.3g}, at least {line.floor:g} is needed"
    return ""
