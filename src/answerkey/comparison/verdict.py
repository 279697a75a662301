"""The verdict of a comparison in one word and one sentence.

The word is decided on the profile's overall score alone, where both tests agree at α = 0.05, so that
chance is called a change less than 1 time in 20 however many metrics there are. Without an overall
score the metrics decide with Holm's correction, and must agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from answerkey.comparison.changed import Changed
from answerkey.comparison.noise import Noise
from answerkey.comparison.number_text import format_change, format_number, format_p, format_rates
from answerkey.comparison.significance import ALPHA, Difference, McNemar, Test
from answerkey.text import format_count


class ComparisonVerdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no detectable difference"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class ComparisonEvidence:
    """The figures that a verdict rests on.

    `unscored` cases have a score in A and could not be scored in B; they count as 0 in `overall`.
    `with_errors` also counts B's errors as 0. `scale` is the highest score.
    """

    changed: Changed
    overall: Difference
    with_errors: Difference
    metrics: Mapping[str, Difference]
    passes: McNemar | None = None
    unscored: int = 0
    noise: Noise | None = None
    scale: float | None = None


def reach_verdict(evidence: ComparisonEvidence) -> tuple[ComparisonVerdict, str]:
    """The verdict and its sentence."""
    changed = evidence.changed
    overall = evidence.overall
    if changed.shared == 0:
        return _not_comparable("the two runs share no unchanged case")
    if not any(figures.n for figures in (overall, *evidence.metrics.values())):
        return _not_comparable("no case has a score in both runs")
    if changed.scoring:
        return ComparisonVerdict.NOT_COMPARABLE, _describe_other_scoring(changed, overall)
    if not changed.bot:
        return ComparisonVerdict.NO_DIFFERENCE, _describe_same_bot(changed, overall)
    if not overall.n:
        return _decide_by_metrics(evidence)
    return _decide_by_score(evidence)


def _not_comparable(why: str) -> tuple[ComparisonVerdict, str]:
    return ComparisonVerdict.NOT_COMPARABLE, f"not comparable: {why}"


def _describe_other_scoring(changed: Changed, overall: Difference) -> str:
    parts = join_names(changed.scoring)
    if changed.bot:
        other = changed.shared - changed.identical
        return (
            f"not comparable: the bot changed ({other} of {changed.shared} answers differ) "
            f"and so did the {parts}; score both runs with one profile and judge first: "
            "`answerkey rescore`"
        )
    moved = ""
    if overall.n:
        moved = f"; the change in score of {format_change(overall)} comes from the {parts}"
    identical = _describe_identical(changed)
    return f"{identical}; the {parts} did{moved}: not comparable as an improvement"


def _describe_same_bot(changed: Changed, overall: Difference) -> str:
    same = f"{_describe_identical(changed)}, and the scoring setup is unchanged"
    if overall.ties == overall.n:
        return same
    change = format_change(overall)
    return f"{same}; the change in score of {change} is noise of the metrics or the judge"


def _describe_identical(changed: Changed) -> str:
    identical = f"{changed.identical} of {changed.shared} answers are identical"
    if not changed.cases:
        return f"the bot did not change: {identical}"
    others = len(changed.added) + len(changed.removed) + len(changed.edited)
    left_out = format_count(others, "case")
    # Nothing is known about the answers to those.
    return (
        f"{identical}; {left_out} with an edited question, or in one run only, cannot be compared"
    )


def _decide_by_score(evidence: ComparisonEvidence) -> tuple[ComparisonVerdict, str]:
    overall = evidence.overall
    noise = evidence.noise
    change = _describe_score(evidence)
    if not overall.sure or (noise and abs(overall.gain) <= noise.floor):
        change += _describe_limits(evidence)
        return ComparisonVerdict.NO_DIFFERENCE, f"no detectable difference: {change}"
    if overall.gain < 0:
        return ComparisonVerdict.WORSE, f"B is worse: {change}"
    if doubt := _find_doubt(evidence):
        return _not_comparable(f"{doubt}; {change}")
    return ComparisonVerdict.BETTER, f"B is better: {change}"


def _find_doubt(evidence: ComparisonEvidence) -> str:
    """Why a better score does not make B better; empty if nothing speaks against it."""
    removed = evidence.changed.removed
    if removed:
        return f"{format_count(len(removed), 'case')} of A missing in B"
    with_errors = evidence.with_errors
    errors = with_errors.n - evidence.overall.n
    if errors and not (with_errors.sure and with_errors.gain > 0):
        return f"{format_count(errors, 'case')} with a score in A ended in an error in B"
    return ""


def _describe_score(evidence: ComparisonEvidence) -> str:
    """The pass rates, and the change of the mean score."""
    overall = evidence.overall
    clusters = ""
    if overall.clusters is not None:
        clusters = f" in {overall.clusters} clusters"
    rates = ""
    if evidence.passes is not None and evidence.passes.n:
        rates = f"{format_rates(evidence.passes)} passed; "
    unscored = ""
    if evidence.unscored:
        lost = format_count(evidence.unscored, "case")
        unscored = f"; {lost} that could be scored in A alone count as 0 in B"
    change = format_change(overall)
    cases = format_count(overall.n, "case")
    return f"{rates}over {cases}{clusters} the score changed by {change}{unscored}"


def _describe_limits(evidence: ComparisonEvidence) -> str:
    """Why the difference is not called one, or what could have been detected."""
    overall = evidence.overall
    noise = evidence.noise
    if overall.p is None:
        return "; one case cannot show more"
    if overall.sure and noise:
        floor = format_number(noise.floor, 2)
        return f", within the ±{floor} by which {noise.runs} runs of the same bot differ"
    if overall.p < ALPHA:
        p = format_p(overall.wilcoxon_p)
        return f", but the signed-rank test does not agree ({p}): the mean depends on a few cases"
    if is_beyond_scale(overall, evidence.scale):
        return f"; too few cases to detect any difference on this scale (0 to {evidence.scale:g})"
    if overall.smallest_detectable:
        least = format_number(overall.smallest_detectable, 2)
        return f"; a true difference of {least} is detectable with 80 % power"
    return ""


def is_beyond_scale(overall: Difference, scale: float | None) -> bool:
    """Whether even the largest difference on the scale would most likely be missed."""
    return scale is not None and (overall.smallest_detectable or 0.0) > scale


def _decide_by_metrics(evidence: ComparisonEvidence) -> tuple[ComparisonVerdict, str]:
    up = [name for name, figures in _changed_metrics(evidence) if figures.gain > 0]
    down = [name for name, figures in _changed_metrics(evidence) if figures.gain <= 0]
    if up and down:
        both = f"{join_names(up)} got better and {join_names(down)} got worse"
        return (
            ComparisonVerdict.NOT_COMPARABLE,
            f"not comparable as a whole: {both}; choose a profile to weight them",
        )
    if not up and not down:
        count = len(evidence.metrics)
        none = f"no detectable difference in any of {count} metrics (Holm-corrected)"
        return ComparisonVerdict.NO_DIFFERENCE, f"{none}; no profile gave a score"
    where = f"{join_names(up or down)} (Holm-corrected p < {ALPHA}); no profile gave a score"
    if down:
        return ComparisonVerdict.WORSE, f"B is worse in {where}"
    if doubt := _find_doubt(evidence):
        return _not_comparable(f"{doubt}; B is better in {where}")
    return ComparisonVerdict.BETTER, f"B is better in {where}"


def _changed_metrics(evidence: ComparisonEvidence) -> Iterator[tuple[str, Difference]]:
    """The metrics that have a better direction and whose tests all find a difference."""
    for name, figures in evidence.metrics.items():
        is_corrected = figures.p_holm is not None and figures.p_holm < ALPHA
        if is_corrected and figures.sure and figures.better != "neither":
            yield name, figures


def describe_test(overall: Difference) -> str:
    """The test whose p the sentence gives, if it is not the usual one."""
    if overall.test is not Test.SIGN_FLIPS:
        return ""
    if overall.clusters is not None:
        return "p by sign flips of whole clusters"
    changed = format_count(overall.changed_cases, "case changed", "cases changed")
    return f"p by exact sign flips: {changed}, too few for the t-test"


def join_names(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
