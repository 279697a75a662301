"""The verdict of a comparison in one word and one sentence, and the gate for CI.

The word is decided on the profile's overall score alone, where t-test and Wilcoxon agree at α = 0.05, so that
chance is called a change less than 1 time in 20 however many metrics there are. Without an overall score the metrics
decide with Holm's correction, and must agree. The gate is a non-inferiority test: B must be shown to be no worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from answerkey.comparison.changed import Changed
from answerkey.comparison.pair import Noise
from answerkey.comparison.significance import ALPHA, MIN_UNITS, Difference, cases_needed
from answerkey.distributions import t_quantile
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, SettingsError
from answerkey.metrics.registry import find
from answerkey.text import format_count

if TYPE_CHECKING:
    from answerkey.comparison.comparison import Comparison

BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no detectable difference"
NOT_COMPARABLE = "not comparable"
DEFAULT_MARGIN = 0.05  # of the scale


def reach_verdict(
    changed: Changed,
    overall: Difference,
    with_errors: Difference,
    metrics: Mapping[str, Difference],
    noise: Noise | None = None,
    scale: float | None = None,
) -> tuple[str, str]:
    """The verdict and its sentence. `with_errors` counts B's errors as a score of 0; `scale` is the highest score."""
    if changed.shared == 0:
        return NOT_COMPARABLE, "not comparable: the two runs share no unchanged case"
    if not any(d.n for d in (overall, *metrics.values())):
        return NOT_COMPARABLE, "not comparable: no case has a score in both runs"
    if changed.scoring:
        return NOT_COMPARABLE, _other_scoring(changed, overall)
    if not changed.bot:
        moved = f"; the change in score of {_change(overall)} is noise of the metrics or the judge"
        same = f"{_identical(changed)}, and the scoring setup is unchanged"
        return NO_DIFFERENCE, same if overall.ties == overall.n else f"{same}{moved}"
    word, sentence = _by_score(overall, noise, scale) if overall.n else _by_metrics(metrics)
    doubt, lost = "", with_errors.n - overall.n
    if changed.removed:
        doubt = f"{format_count(len(changed.removed), 'case')} of A missing in B"
    elif lost and not (with_errors.sure and with_errors.gain > 0):
        doubt = f"{format_count(lost, 'case')} with a score in A ended in an error in B"
    if word == BETTER and doubt:
        return NOT_COMPARABLE, f"not comparable: {doubt}; {sentence.removeprefix('B is better: ')}"
    return word, sentence


def _other_scoring(changed: Changed, overall: Difference) -> str:
    parts = _listed(changed.scoring)
    if changed.bot:
        return (
            f"not comparable: the bot changed ({changed.shared - changed.identical} of {changed.shared} answers differ) "
            f"and so did the {parts}; score both runs with one profile and judge first: `answerkey rescore`"
        )
    moved = (
        f"; the change in score of {_change(overall)} comes from the {parts}" if overall.n else ""
    )
    return f"{_identical(changed)}; the {parts} did{moved}: not comparable as an improvement"


def _by_score(overall: Difference, noise: Noise | None, scale: float | None) -> tuple[str, str]:
    clusters = f" in {overall.clusters} clusters" if overall.clusters is not None else ""
    change = f"over {overall.n} cases{clusters} the score changed by {_change(overall)}"
    least, more = overall.smallest_detectable, ""
    if overall.sure and not (noise and abs(overall.gain) <= noise.floor):
        word = BETTER if overall.gain > 0 else WORSE
        return word, f"B is {word}: {change}"
    if overall.p is None:
        more = "; one case cannot show more"
    elif overall.sure and noise:
        more = f", within the ±{format_number(noise.floor, 2)} by which {noise.runs} runs of the same bot differ"
    elif overall.p < ALPHA:
        p = f"p = {overall.wilcoxon_p or 0.0:.3f}"
        more = f", but the signed-rank test does not agree ({p}): the mean depends on a few cases"
    elif beyond(overall, scale):
        more = f"; too few cases to detect any difference on this scale (0 to {scale:g})"
    elif least:
        more = f"; a true difference of {format_number(least, 2)} is detectable with 80 % power"
    return NO_DIFFERENCE, f"{NO_DIFFERENCE}: {change}{more}"


def beyond(overall: Difference, scale: float | None) -> bool:
    """Whether even the largest difference on the scale would most likely be missed."""
    return scale is not None and (overall.smallest_detectable or 0.0) > scale


def _by_metrics(metrics: Mapping[str, Difference]) -> tuple[str, str]:
    corrected = {
        name: d for name, d in metrics.items() if d.p_holm is not None and d.p_holm < ALPHA
    }
    sure = {name: d for name, d in corrected.items() if d.better != "neither" and d.sure}
    up = [name for name, d in sure.items() if d.gain > 0]
    down = [name for name, d in sure.items() if d.gain < 0]
    if up and down:
        both = f"{_listed(up)} got better and {_listed(down)} got worse"
        return NOT_COMPARABLE, f"not comparable as a whole: {both}; choose a profile to weight them"
    if not sure:
        none = f"{NO_DIFFERENCE} in any of {len(metrics)} metrics (Holm-corrected)"
        return NO_DIFFERENCE, f"{none}; no profile gave a score"
    word, names = (BETTER, up) if up else (WORSE, down)
    return (
        word,
        f"B is {word} in {_listed(names)} (Holm-corrected p < {ALPHA}); no profile gave a score",
    )


@dataclass(frozen=True, slots=True)
class CompareGate:
    """What `compare --gate` accepts. `margin` is a loss in the mean score (None: 5 % of the scale)."""

    margin: float | None = None
    max_new_failures: int | None = None
    max_errors: int = 0

    def __post_init__(self) -> None:
        if self.margin is not None and not (math.isfinite(self.margin) and self.margin >= 0):
            raise SettingsError(f"--margin is {self.margin}, expected a number of 0 or more")


def gate_failures(comparison: Comparison, gate: CompareGate | None = None) -> list[str]:
    """Why the gate fails; empty if it passes. It passes only if B is shown to be no worse than A by more than the
    margin. Anything unknown fails: runs that are not comparable or unfinished, too few cases, errors in B, cases of A
    missing in B."""
    gate = gate or CompareGate()
    changed = comparison.changed
    reasons = list(changed.unfinished)
    if changed.removed and not changed.partial_b:
        reasons.append(
            f"{format_count(len(changed.removed), 'case')} of A missing in B: {_some(changed.removed)}"
        )
    if comparison.errors_b > gate.max_errors:
        allowed = f", {gate.max_errors} allowed" if gate.max_errors else ""
        lost = f"; with a verdict in A: {_some(comparison.lost)}" if comparison.lost else ""
        reasons.append(
            f"{format_count(comparison.errors_b, 'case')} of B with an error{allowed}{lost}"
        )
    newly = comparison.newly_failing
    if gate.max_new_failures is not None and len(newly) > gate.max_new_failures:
        found = format_count(len(newly), "case newly fails", "cases newly fail")
        reasons.append(
            f"{found}, {gate.max_new_failures} allowed: {_some([flip.id for flip in newly])}"
        )
    if comparison.verdict == NOT_COMPARABLE and (
        changed.scoring or changed.shared == 0 or not comparison.scored
    ):
        return [*reasons, comparison.sentence]
    if not changed.bot:
        return reasons
    decisive = {"score": comparison.overall}  # otherwise each metric
    if not comparison.overall.n:
        decisive = {
            name: d for name, d in comparison.metrics.items() if d.better != "neither" and d.n
        }
    for name, d in decisive.items():
        top = comparison.scale or 1.0 if d is comparison.overall else _range_of(name)
        reasons.append(
            _worse_than(d, DEFAULT_MARGIN * top if gate.margin is None else gate.margin, name)
        )
    return [reason for reason in reasons if reason]


def end_of_comparison(comparison: Comparison, failures: Sequence[str] | None) -> Ending:
    """The last line and exit code of `compare`; `failures` is None without --gate."""
    if failures is None:
        flips = f"{len(comparison.newly_failing)} newly fail, {len(comparison.newly_passing)} newly pass"
        return Ending(EXIT_OK, f"{comparison.verdict}; {flips}", gated=False)
    if failures:
        return Ending(EXIT_GATE, "; ".join(failures))
    return Ending(EXIT_OK, f"B is no worse than A ({comparison.verdict})")


def _range_of(name: str) -> float:
    try:
        facts = find(name).facts
    except SettingsError:
        return 1.0
    return (facts.high - facts.low) if facts.high is not None and facts.low is not None else 1.0


def _worse_than(d: Difference, margin: float, name: str) -> str:
    """Why this difference may be a loss larger than the margin; empty if it is shown not to be."""
    needed = cases_needed(d, margin)
    enough = f"; about {needed} cases would be enough" if needed and needed > d.n else ""
    if d.units < MIN_UNITS:
        unit = "case" if d.clusters is None else "cluster"
        return (
            f"too few cases to tell: {format_count(d.units, unit)}; at least {MIN_UNITS} are needed "
            f"(the {name} changed by {format_number(d.diff or 0.0, sign='+')})"
        )
    # The ends of the 95 % interval of the gain: of bootstrap and t the wider, for small samples.
    below = above = float(t_quantile(d.units - 1, 1 - ALPHA / 2)) * (d.error or 0.0)
    if d.interval is not None:
        ends = (d.diff or 0.0) - d.interval.low, d.interval.high - (d.diff or 0.0)
        below, above = (max(below, end) for end in (ends[::-1] if d.better == "lower" else ends))
    if d.gain - below > -margin:
        return ""
    shown = f"the {name} changed by {_change(d)}, margin {margin:g}"
    if d.gain + above < -margin:
        return f"B is worse by more than the margin: {shown}"
    if d.gain < -margin:
        return f"B is probably worse by more than the margin: {shown}"
    return f"too few cases to tell: {shown}{enough}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _identical(changed: Changed) -> str:
    return f"the bot did not change: {changed.identical} of {changed.shared} answers are identical"


def _change(d: Difference) -> str:
    interval = ""
    if d.interval:
        interval = f"95 % interval {format_number(d.interval.low, sign='+')} to {format_number(d.interval.high, sign='+')}, "
    p = "no test" if d.p is None else "p < 0.001" if d.p < 0.001 else f"p = {d.p:.3f}"
    return f"{format_number(d.diff or 0.0, sign='+')} ({interval}{p})"


def format_number(value: float, digits: int = 3, sign: str = "-") -> str:
    """A number with that many significant digits, at most 6 decimals, and never an exponent: `0.0912`, `150`."""
    value = round(value, 6) + 0.0  # no minus before a zero
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:{sign},.{min(max(places, 0), 6)}f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
