"""Templates that cannot be tricked: every value is escaped, made inert, and must exist."""

from __future__ import annotations

from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from answerkey.profiles.decide import share_of
from answerkey.reports.inert import label, shown_value
from answerkey.reports.text import figure
from answerkey.runs.summary import SATISFYING
from answerkey.types import Criterion, Profile

_TONES = {
    "PERFECT": "good", "PASSED": "good", "ACCEPTABLE": "fair", "FAILED": "bad", "ERROR": "broken",
    "UNSCORED": "plain", "SCORED": "plain",
}  # fmt: skip


def environment(*packages: str) -> Environment:
    """The templates of the reports, with those of other rooms before them."""
    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, "answerkey.reports")])
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "count": count, "figure": figure, "heat": heat, "label": _label, "percent": percent, "seconds": seconds,
        "share_tone": share_tone, "tone": tone,
    }  # fmt: skip
    made.filters.update(filters)
    return made


def tone(status: str) -> str:
    return _TONES.get(status, "warn")


def share_tone(share: float) -> str:
    return "good" if share >= 0.8 else "fair" if share >= 0.6 else "warn" if share >= 0.4 else "bad"


def directions(profile: Profile | None) -> dict[str, Criterion]:
    """What the profile weighs: only there is it known which values are good."""
    if profile is None:
        return {}
    known = {
        c.metric: c
        for ruler in (profile.rules, *profile.group_rules.values())
        for c in ruler.criteria
        if c.weight
    }
    return {**known, "route_score": Criterion("route_score")} if profile.route_weight else known


def satisfying(profile: Profile | None) -> str:
    """The statuses that count as satisfied, of those the profile gives: `perfect or acceptable`, `passed`."""
    rulers = (profile.rules, *profile.group_rules.values()) if profile else ()
    given = {band.status for ruler in rulers for band in ruler.bands}
    return (
        " or ".join(status.lower() for status in SATISFYING if status in given) or "no status of the profile"
    )


def heat(value: float | None, criterion: Criterion | None) -> str:
    """A tint from bad to good; none for a metric that is not weighed."""
    if value is None or criterion is None:
        return ""
    return f"heat-{sum(share_of(criterion, value) >= edge for edge in (0.4, 0.6, 0.7, 0.85))}"


def percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}" if abs(share * 100 - round(share * 100)) < 1e-9 else f"{share:.1%}"


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.3g} s"


def _label(text: Any, longest: int = 60) -> str:
    return label(str(text), longest)
