"""Distributions: the score with its pass marks, each metric, response times. From binned counts, never raw points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.reports.charts.style import BLUE, COUNTS, RED, Spec, beside, layer, name, number, scale_of, titled
from answerkey.reports.rows import Rows
from answerkey.text import short_label
from answerkey.types import Json, Profile, ScoringRules

BINS = 20
_CASES = number("cases", "cases", axis=COUNTS)


def score_chart(rows: Rows, profile: Profile | None) -> Spec | None:
    """The distribution of the value that is compared with the pass mark, coloured by status, with each pass mark."""
    measured = [n for n, quality in enumerate(rows.quality) if quality is not None]
    if profile is None or not measured:
        return None
    step = profile.scale / BINS
    counts = Counter((_bin(rows.quality[n] or 0.0, step), rows.status[n]) for n in measured)
    statuses = list(dict.fromkeys(band.status for band in profile.rules.bands))
    statuses += sorted({status for _, status in counts} - set(statuses))
    values = [
        {**_edges(place, step), "status": status, "order": statuses.index(status), "cases": count}
        for (place, status), count in sorted(counts.items())
    ]
    measure = "quality" if profile.route_weight else "score"
    x = _binned(measure, step, scale={"domain": [0, profile.scale]})
    colour = {**name("status"), "scale": scale_of(statuses)}
    encoding = {"x": x, "x2": {"field": "to"}, "y": {**_CASES, "stack": True}, "color": colour}
    bars = layer("bar", {**encoding, "order": {"field": "order"}}, tooltip=True, binSpacing=1)
    marks = _pass_marks(rows, profile)
    spec = {"data": {"values": values}, "height": 200, "layer": [bars, _dashes(marks)]}
    of = f" of {len(rows):,}" if len(measured) < len(rows) else ""
    subtitle = f"{len(measured):,}{of} cases; dashed: pass mark {', '.join(marks.values())}"
    return titled(f"Distribution of {measure}", spec, subtitle)


def _pass_marks(rows: Rows, profile: Profile) -> dict[float, str]:
    """Each pass mark used in this run, with its routes where there are several."""
    marks: dict[float, dict[str, None]] = {}
    for route in dict.fromkeys(rows.route):
        rules = profile.rules_for(route)
        group = next((group for group, other in profile.group_rules.items() if other is rules), "others")
        marks.setdefault(rules.pass_mark, {})[group] = None
    if len(marks) == 1:
        return {at: f"{at:g}" for at in marks}
    return {at: f"{at:g} ({short_label(', '.join(names))})" for at, names in sorted(marks.items())}


def metric_chart(figures: Json, rows: Rows, profile: Profile | None) -> Spec | None:
    """One strip per metric: the distribution of its values from 0 to its maximum, with the mean and its interval."""
    maxima = {c.metric: c.maximum for r in _all_rules(profile) for c in r.criteria}
    strips: list[Json] = []
    means: list[Json] = []
    for metric, column in rows.metrics.items():
        values = [value for value in column if isinstance(value, (int, float))]
        high = maxima.get(metric, 1.0)
        if not values or min(values) < 0 or max(values) > high:
            continue  # a descriptor such as a length or a time has no common range
        counts = Counter(_bin(value, high / BINS) for value in values)
        strips += [
            {"metric": short_label(metric), **_edges(n, 1 / BINS), "cases": count, "share": count / len(values)}
            for n, count in sorted(counts.items())
        ]
        about = figures["average_scores"].get(metric, {})
        if about.get("mean") is not None:
            means.append({"metric": short_label(metric), **_mean(about, high)})
    return _strips(strips, means) if strips else None


def _mean(about: Json, high: float) -> Json:
    low, top = about["ci95"] or (about["mean"], about["mean"])
    subtitle = f"{about['mean']:.2f}  ({about['n']:,}/{about['of']:,})"
    return {"mean": about["mean"] / high, "low": low / high, "high": top / high, "note": subtitle}


def _strips(strips: list[Json], means: list[Json]) -> Spec:
    y = name("metric", scale={"paddingInner": 0.35})
    x = number("from", "value as a share of its maximum", scale={"domain": [0, 1]}, axis={"format": ".1f"})
    strength = number("share", scale={"range": [0.12, 1]}, legend=None)
    cells = layer("bar", {"x": x, "x2": {"field": "to"}, "y": y, "opacity": strength}, color=BLUE, tooltip=True)
    tick = layer("tick", {"x": number("mean"), "y": y}, thickness=3, size=22, color=RED, tooltip=True)
    rule = layer("rule", {"x": number("low"), "x2": {"field": "high"}, "y": y}, strokeWidth=2, color=RED)
    over = {"data": {"values": means}, "layer": [rule, tick, beside("note", {"datum": 1}, y)]}
    spec = {"height": {"step": 28}, "layer": [{"data": {"values": strips}, **cells}, over]}
    return titled("Distribution of each metric", spec, "darker: more cases; red: mean with its 95 % interval")


def time_chart(about: Mapping[str, Any], seconds: Sequence[float | None]) -> Spec | None:
    """Response times in bins up to the 99th percentile; slower ones are counted in the last bin."""
    known = sorted(value for value in seconds if value is not None)
    if len(known) < 2 or known[-1] <= 0:
        return None
    top = known[round(0.99 * (len(known) - 1))] or known[-1]
    times, unit = (1000.0, "ms") if top < 1 else (1.0, "s")
    step = _round_step(top * times / BINS)
    counts = Counter(_bin(value * times, step) for value in known)
    values = [{**_edges(n, step), "cases": count} for n, count in sorted(counts.items())]
    x = _binned(f"response time, {unit}", step, scale={"domainMin": 0})
    bars = layer("bar", {"x": x, "x2": {"field": "to"}, "y": _CASES}, tooltip=True, binSpacing=1)
    marks = [min(about[key] * times, step * BINS) for key in ("p50", "p95") if about.get(key) is not None]
    spec = {"data": {"values": values}, "height": 160, "layer": [bars, _dashes(marks)]}
    keys = [key for key in ("p50", "p95", "max") if about.get(key) is not None]
    subtitle = ", ".join(f"{key} {about[key] * times:.3g} {unit}" for key in keys)
    return titled("Response time", spec, f"{subtitle} over {len(known):,} cases; dashed: p50 and p95")


def _binned(title: str, step: float, **more: Any) -> Spec:
    return number("from", title, bin={"binned": True, "step": step}, **more)


def _edges(place: int, step: float) -> Json:
    return {"from": round(place * step, 9), "to": round((place + 1) * step, 9)}


def _dashes(places: Iterable[float]) -> Spec:
    dashed = layer("rule", {"x": number("at")}, strokeDash=[5, 4], strokeWidth=1.5)
    return {"data": {"values": [{"at": place} for place in places]}, **dashed}


def _round_step(least: float) -> float:
    """The next of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= least * (1 - 1e-9))


def _bin(value: float, step: float) -> int:
    """A value on a bin's edge belongs above it, even where a sum of products came out a hair too low."""
    return min(max(int(value / step + 1e-9), 0), BINS - 1)


def _all_rules(profile: Profile | None) -> Iterable[ScoringRules]:
    return (profile.rules, *profile.group_rules.values()) if profile else ()
