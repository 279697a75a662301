"""How templates show values: counts, shares, times, labels, and the tone of a status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from answerkey.percentages import format_percent, format_percent_range
from answerkey.profiles.decide import share_of
from answerkey.reports.comparison import move_status
from answerkey.reports.numbers import format_figure
from answerkey.text import capitalise, short_label
from answerkey.types import Profile, ProfileLine

_STATUS_TONES = {
    "PERFECT": "good",
    "PASSED": "good",
    "ACCEPTABLE": "fair",
    "FAILED": "bad",
    "ERROR": "failed",
    "UNSCORED": "plain",
    "SCORED": "plain",
}
_SHARE_TONES = ((0.8, "good"), (0.6, "fair"), (0.4, "warn"))
_HEAT_EDGES = (0.4, 0.6, 0.7, 0.85)


def status_tone(status: str) -> str:
    return _STATUS_TONES.get(status, "warn")


def share_tone(share: float) -> str:
    for edge, tone in _SHARE_TONES:
        if share >= edge:
            return tone
    return "bad"


def weighed_criteria(profile: Profile | None) -> dict[str, ProfileLine]:
    """The metrics that the profile weighs, by name: only of these it is known which value is good."""
    if profile is None:
        return {}
    # Informational metrics have no weight, and no value of theirs is called bad.
    weighed = {criterion.metric: criterion for criterion in profile.lines if criterion.weight}
    if profile.route_weight:
        weighed["route_score"] = ProfileLine("route_score")
    return weighed


def heat_class(value: float | None, criterion: ProfileLine | None) -> str:
    """The class of a tint from bad to good; empty for a metric that is not weighed."""
    if value is None or criterion is None:
        return ""
    share = share_of(criterion, value)
    return f"heat-{sum(share >= edge for edge in _HEAT_EDGES)}"


def _percent(share: float | None) -> str:
    return "-" if share is None else format_percent(share)


def _percent_range(ends: Sequence[float] | None) -> str:
    """`30–75 %`; `-` without an interval."""
    return format_percent_range(ends[0], ends[1]) if ends else "-"


def format_weight(weight: float) -> str:
    """`16.7 %`: with a decimal where a whole percent would not give the sum that is shown."""
    return f"{100 * weight:.1f}".removesuffix(".0") + " %"


def format_evidence(value: float) -> str:
    """A likelihood ratio: figures beyond 1,000 say no more than `> 1,000`."""
    return "> 1,000" if value > 1000 else f"{value:.2f}"


def group_digits(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def format_seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.3g} s"


def format_moment(created: str) -> str:
    """The time of a run: `2026-01-02 03:04 UTC`."""
    if created.endswith(("+00:00", "Z")):
        zone = " UTC"
    else:
        zone = ""
    return f"{created[:16].replace('T', ' ')}{zone}"


def _label(text: Any, longest: int = 60) -> str:
    return short_label(str(text), longest)


def _path(text: Any) -> str:
    """The name of a run as part of an address; its slashes stay."""
    # Half a surrogate pair has no place in an address.
    return quote(str(text), safe="/", errors="replace")


def _breakable(text: str) -> Markup:
    """A long name that may wrap after its underscores."""
    # Escaped before it is joined: the name is a user's text.
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


FILTERS: dict[str, Any] = {
    "breakable": _breakable,
    "count": group_digits,
    "evidence": format_evidence,
    "figure": format_figure,
    "heat": heat_class,
    "label": _label,
    "moment": format_moment,
    "move_status": move_status,
    "path": _path,
    "percent": _percent,
    "percent_range": _percent_range,
    "seconds": format_seconds,
    "sentence": capitalise,
    "share_tone": share_tone,
    "tone": status_tone,
    "weight": format_weight,
}
