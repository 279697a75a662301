"""One word and one sentence: better, worse, no detectable difference, or not comparable.

The word is decided on the profile's overall score alone, where t-test and Wilcoxon agree at α = 0.05, so that
chance calls a change less than 1 time in 20 however many metrics are looked at. Where the runs have no overall
score, the metrics decide with Holm's correction, and must agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from answerkey.comparison.changed import Changed
from answerkey.comparison.pair import Noise
from answerkey.comparison.significance import ALPHA, Difference

if TYPE_CHECKING:
    from answerkey.comparison.comparison import Comparison

BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no detectable difference"
NOT_COMPARABLE = "not comparable"


def decide(
    changed: Changed,
    overall: Difference,
    metrics: Mapping[str, Difference],
    noise: Noise | None,
    scale: float | None = None,
) -> tuple[str, str]:
    """The verdict and its sentence; `scale` is the highest score there can be, where it is known."""
    if changed.shared == 0:
        return NOT_COMPARABLE, "not comparable: the two runs share no unchanged case"
    scored = max([overall.n, *(d.n for d in metrics.values())])
    if scored == 0:
        return NOT_COMPARABLE, "not comparable: no case has a score in both runs"
    if changed.ruler:
        return _other_ruler(changed, overall)
    if not changed.bot:
        return _same_bot(changed, overall)
    if overall.n == 0:
        return _by_metrics(metrics)
    return _by_score(overall, noise, scale)


def _other_ruler(changed: Changed, overall: Difference) -> tuple[str, str]:
    ruler = _listed(changed.ruler)
    moved = f"; the score's move of {_move(overall)} is the ruler's" if overall.n else ""
    if not changed.bot:
        what = f"{_identical(changed)}; the {ruler} did"
        return NOT_COMPARABLE, f"{what}{moved}: not comparable as an improvement"
    return NOT_COMPARABLE, (
        f"not comparable: the bot changed ({changed.shared - changed.identical} of {changed.shared} answers differ) "
        f"and so did the {ruler}; score both runs with one ruler first: `answerkey rescore`"
    )


def _same_bot(changed: Changed, overall: Difference) -> tuple[str, str]:
    if overall.n == 0 or overall.ties == overall.n:
        return NO_DIFFERENCE, f"{_identical(changed)}, and so is the ruler"
    return NO_DIFFERENCE, (
        f"{_identical(changed)}, and so is the ruler; the score's move of {_move(overall)} "
        "is noise of the metrics or the judge"
    )


def _by_score(overall: Difference, noise: Noise | None, scale: float | None) -> tuple[str, str]:
    told = f"over {overall.n} cases the score moved by {_move(overall)}"
    if overall.p is None:
        return NO_DIFFERENCE, f"{NO_DIFFERENCE}: {told}; one case cannot show more"
    if not overall.sure:
        if overall.p < ALPHA:
            return NO_DIFFERENCE, (
                f"{NO_DIFFERENCE}: {told}, but the signed-rank test does not agree "
                f"(p = {overall.wilcoxon_p or 0.0:.3f}): a few cases make the mean"
            )
        return NO_DIFFERENCE, f"{NO_DIFFERENCE}: {told}{_could_find(overall, scale)}"
    if noise and abs(overall.gain) <= noise.floor:
        return NO_DIFFERENCE, (
            f"{NO_DIFFERENCE}: {told}, within the ±{plain(noise.floor, 2)} by which "
            f"{noise.runs} runs of the same bot differ"
        )
    word = BETTER if overall.gain > 0 else WORSE
    return word, f"B is {word}: {told}"


def _could_find(overall: Difference, scale: float | None) -> str:
    if not overall.smallest_detectable:
        return ""
    if beyond(overall, scale):
        return f"; so few cases with such a spread could show no difference, however large (0 to {scale:g})"
    return f"; a true difference of {plain(overall.smallest_detectable, 2)} would be found 4 times in 5"


def beyond(overall: Difference, scale: float | None) -> bool:
    """Whether even the largest difference that the scale allows would most likely be missed."""
    return scale is not None and (overall.smallest_detectable or 0.0) > scale


def _by_metrics(metrics: Mapping[str, Difference]) -> tuple[str, str]:
    sure = {name: d for name, d in metrics.items() if d.better != "neither" and d.sure and _survives(d)}
    up = [name for name, d in sure.items() if d.gain > 0]
    down = [name for name, d in sure.items() if d.gain < 0]
    if up and down:
        told = f"{_listed(up)} got better and {_listed(down)} got worse"
        return NOT_COMPARABLE, f"not comparable as a whole: {told}; choose a profile to weigh them"
    if not sure:
        return (
            NO_DIFFERENCE,
            f"{NO_DIFFERENCE} in any of {len(metrics)} metrics (Holm-corrected); no profile gave a score",
        )
    word, names = (BETTER, up) if up else (WORSE, down)
    return word, f"B is {word} in {_listed(names)} (Holm-corrected p < {ALPHA}); no profile gave a score"


def _survives(d: Difference) -> bool:
    return d.p_holm is not None and d.p_holm < ALPHA


def _identical(changed: Changed) -> str:
    return f"the bot did not change: {changed.identical} of {changed.shared} answers are identical"


def _move(d: Difference) -> str:
    ends = f"{plain(d.interval.low, sign='+')} to {plain(d.interval.high, sign='+')}" if d.interval else ""
    interval = f"95 % interval {ends}, " if ends else ""
    p = "no test" if d.p is None else "p < 0.001" if d.p < 0.001 else f"p = {d.p:.3f}"
    return f"{plain(d.diff or 0.0, sign='+')} ({interval}{p})"


def plain(value: float, digits: int = 3, sign: str = "-") -> str:
    """That many significant digits, at most 6 after the point, and never an exponent: `0.0912`, `150`."""
    value = round(value, 6) + 0.0  # no minus before a zero
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:{sign},.{min(max(places, 0), 6)}f}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def gate_failures(comparison: Comparison, margin: float | None = None) -> list[str]:
    """Why the gate fails; empty where it passes.

    Without a margin: B is worse by the test. With one, a loss of up to `margin` in the mean score is accepted,
    significant or not, and any larger loss fails. Cases that lost their verdict, runs that ended early and runs that
    cannot be compared fail: the gate is closed where nothing is known. Same answers under another ruler pass: the bot
    did not change.
    """
    tolerated = margin is not None and comparison.overall.n > 0
    unknown = comparison.verdict == NOT_COMPARABLE and not _only_the_ruler_changed(comparison)
    closed = unknown or (comparison.verdict == WORSE and not tolerated)
    reasons = [comparison.sentence] if closed else comparison.changed.unfinished
    if not closed and margin is not None and comparison.changed.bot and comparison.overall.gain < -margin:
        fall = -comparison.overall.gain
        reasons.append(f"the score fell by {plain(fall)}, more than the margin of {margin:g}")
    if comparison.lost:
        count = len(comparison.lost)
        some = ", ".join(comparison.lost[:3]) + (", …" if count > 3 else "")
        reasons.append(f"{count} case{'s' if count > 1 else ''} had a verdict in A and broke in B: {some}")
    return reasons


def _only_the_ruler_changed(comparison: Comparison) -> bool:
    changed, scored = comparison.changed, [comparison.overall, *comparison.metrics.values()]
    return changed.shared > 0 and not changed.bot and bool(changed.ruler) and any(d.n for d in scored)
