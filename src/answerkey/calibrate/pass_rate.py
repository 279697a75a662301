"""The corrected pass rate of a run, whatever the order in which its cases were labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.calibrate.label_order import Passed, Scores, strata_of
from answerkey.corrected_rate import CorrectedRate, ppi_rate
from answerkey.distributions import chi2_tail
from answerkey.intervals import wilson_ends

# A stratum's few labels can all agree by chance. For its variance it gets imagined labels, of which
# this share agrees with the verdict.
_PRIOR_LABELS = 1.5
_PRIOR_AGREEMENT = 0.8
_RANDOM_SAMPLE = 0.01  # level of the χ² test that the labels are spread as the cases are


def rate_of_cases(
    ids: Sequence[str], scores: Scores, passed: Passed, labels: Mapping[str, float]
) -> CorrectedRate | None:
    """As `corrected_pass_rate`, with labels by case id."""
    positions = {n: labels[case] for n, case in enumerate(ids) if case in labels}
    return corrected_pass_rate(scores, passed, positions)


def corrected_pass_rate(
    scores: Scores, passed: Passed, labels: Mapping[int, float]
) -> CorrectedRate | None:
    """The share of right answers in the whole run; None for fewer than two labels.

    By PPI++ if the labels are spread over the strata as the cases are. Labels that prefer some
    strata, as those given in `label_order` do, are weighted by stratum instead: PPI++ would be
    biased.
    """
    if len(labels) < 2:
        return None
    strata = strata_of(scores, passed)
    if not _is_random_sample(strata, len(passed), labels):
        return stratified_rate(strata, passed, labels)
    rest = [passed[n] for n in range(len(passed)) if n not in labels]
    return ppi_rate([labels[n] >= 0.5 for n in labels], [passed[n] for n in labels], rest)


def _is_random_sample(
    strata: Sequence[Sequence[int]], cases: int, labels: Mapping[int, float]
) -> bool:
    if len(strata) < 2:
        return True
    counts = [sum(n in labels for n in stratum) for stratum in strata]
    statistic = 0.0
    for stratum, count in zip(strata, counts, strict=True):
        expected = len(stratum) * sum(counts) / cases
        statistic += (count - expected) ** 2 / expected
    return chi2_tail(len(strata) - 1, statistic) > _RANDOM_SAMPLE


def stratified_rate(
    strata: Sequence[Sequence[int]], passed: Passed, labels: Mapping[int, float]
) -> CorrectedRate:
    """The mean of the strata, with Wilson's interval for the number of labels that they are worth.

    That number is the one of a random sample with the same variance (Korn and Graubard 1998).
    """
    total = sum(map(len, strata))
    share_of_all = sum(label >= 0.5 for label in labels.values()) / len(labels)
    mean = 0.0
    smoothed = 0.0
    variance = 0.0
    for cases in strata:
        weight = len(cases) / total
        own = [labels[n] >= 0.5 for n in cases if n in labels]
        # A stratum without labels is taken to be like the labelled ones.
        mean += weight * (sum(own) / len(own) if own else share_of_all)
        likely = _PRIOR_AGREEMENT if passed[cases[0]] else 1 - _PRIOR_AGREEMENT
        share = (sum(own) + _PRIOR_LABELS * likely) / (len(own) + _PRIOR_LABELS)
        smoothed += weight * share
        variance += weight**2 * share * (1 - share) / max(len(own), 1)
    # The imagined labels keep the variance above 0.
    worth = smoothed * (1 - smoothed) / variance
    low, high = wilson_ends(min(mean, 1.0), worth)
    # Half the width takes four times the labels.
    more = 3 * len(labels)
    rest = total - len(labels)
    more_to_halve = more if more <= rest else None
    return CorrectedRate(mean, low, high, len(labels), rest, more_to_halve, "stratified labels")
