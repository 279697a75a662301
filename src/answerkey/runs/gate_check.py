"""Gates before the first question: a condition on a figure that this run can never have is refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from answerkey.errors import SettingsError, did_you_mean
from answerkey.profiles.decide import ERROR
from answerkey.runs.gate import BROKE, Condition, answer_gates, part_of
from answerkey.runs.summary import Summary
from answerkey.types import Band, Case, Outcome, Profile, Response, Score, Verdict

_MOST_NAMED = 20
_OF_VERDICTS = ("score", "quality", "performance", "user_satisfaction", "success", "pass_rate")


@dataclass(slots=True)
class Seen:
    """What the cases tell of the parts a run can be split into.

    `expected` is whether any names its route; `whole` that these are all cases of the suite, not a selection; `open`
    that the target may report routes of which nothing is known before.
    """

    types: set[str] = field(default_factory=set[str])
    routes: set[str] = field(default_factory=set[str])
    expected: bool = False
    whole: bool = True
    open: bool = False

    def add(self, case: Case) -> None:
        if case.type is not None:
            self.types.add(case.type)
        if case.expected_route is not None:
            self.expected = True
            self.routes.update((case.expected_route, *case.acceptable_routes))
        if case.recorded is not None and case.recorded.route is not None:
            self.routes.add(case.recorded.route)


def check_gates(
    conditions: Sequence[Condition], seen: Seen, metrics: Sequence[str], profile: Profile | None
) -> tuple[str, ...]:
    """Refuses the first condition that cannot hold, and says why; what only the target can tell comes back as warnings."""
    if not conditions:
        return ()
    known = seen.types | seen.routes
    if profile is not None:
        known = known.union(*profile.routes.values())
    unknown = [
        condition for condition in conditions if seen.whole and part_of(condition) not in {None, *known}
    ]
    for condition in unknown:
        _refuse_part(condition, known, closed=seen.expected or not seen.open)
    parts = {part for condition in conditions if (part := part_of(condition)) is not None}
    example = _example(parts, metrics, profile, routed=seen.expected or not seen.whole).figures()
    for condition, answer in zip(conditions, answer_gates(conditions, example), strict=True):
        if answer.value is None and not answer.note.endswith(BROKE):
            raise SettingsError(f'gate "{condition.text}": {_why(condition, answer.note, metrics, profile)}')
    return tuple(
        f'gate "{condition.text}": no case speaks of "{part_of(condition)}"; it fails unless the target reports that route'
        for condition in unknown
    )


def _refuse_part(condition: Condition, known: Collection[str], *, closed: bool) -> None:
    """Unless the target may report a route of that name."""
    part = part_of(condition) or ""
    near = did_you_mean(part, known)
    if near or closed:
        named = ", ".join(sorted(known)[:_MOST_NAMED]) or "none"
        raise SettingsError(
            f'gate "{condition.text}": no case has the type or route "{part}"{near}; there is: {named}'
        )


def _why(condition: Condition, note: str, metrics: Sequence[str], profile: Profile | None) -> str:
    about = condition.of if condition.figure == "mean" else condition.figure
    if profile is None and (about or "").startswith(_OF_VERDICTS):
        return "this figure needs a profile; give one with --profile, or in the suite"
    if condition.figure == "route_accuracy":
        return "no case has an expected_route to be right about"
    if note.startswith("no metric"):
        return note if "did you mean" in note else f"{note}; measured are {', '.join(metrics)}"
    return f"{note}; summary.json of an earlier run shows what there is"


def _example(
    parts: Collection[str], metrics: Sequence[str], profile: Profile | None, *, routed: bool
) -> Summary:
    """A run in which everything that can happen has happened: what it has no figure for, no run will have."""
    summary = Summary(profile)
    scores = {name: Score(1.0) for name in metrics}
    response = Response(answer="", route="", seconds=1.0)
    for part in (None, *parts):
        case = Case("", "", type=part, expected_route="" if routed else None)
        for verdict in (*_verdicts(profile), Verdict(ERROR)):
            summary.add(Outcome(case, response, scores, verdict))
    return summary


def _verdicts(profile: Profile | None) -> list[Verdict]:
    if profile is None:
        return [Verdict("SCORED"), Verdict("SCORED")]
    bands = [band for ruler in (profile.rules, *profile.group_rules.values()) for band in ruler.bands]
    judged = [*bands, Band("", 0.0, "FAILED"), Band("", 0.0, "UNSCORED")]
    return [Verdict(band.status, 1.0, 1.0, band=band.name) for band in judged]
