"""Is a difference between paired numbers more than chance?

Every figure, or a note that says why it is missing. Conventions: the difference is B − A; tests are
two-sided. `p` is the exact sign-flip test's if at most 24 cases (or clusters) differ, otherwise
Student's paired t. Wilcoxon is exact up to 200 pairs that differ, otherwise normal. McNemar is exact
under 25 discordant pairs, otherwise χ² with continuity correction. Holm corrects over the metrics.
Dependent cases: sign flips of whole clusters, Wilcoxon over cluster means, bootstrap over clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from answerkey.comparison.exact_tests import (
    ENUMERATED_PAIRS,
    clear_differences,
    sign_flip_p,
    wilcoxon_p,
)
from answerkey.distributions import (
    chi2_tail,
    noncentrality,
    normal_quantile,
    sign_test_p,
    t_cdf,
    t_quantile,
)
from answerkey.intervals import Interval, cluster_error, cluster_interval, mean_interval
from answerkey.types import Better

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

ALPHA = 0.05  # level of every test; intervals are 95 %
POWER = 0.80  # of "smallest detectable" and of the number of cases needed
EXACT_BELOW = 25  # discordant pairs of McNemar's test, as in statsmodels
MIN_UNITS = 10  # fewer independent cases never pass a gate
_FLAT = 1e-9  # spread below this share of the difference is rounding


class Test(StrEnum):
    """The test whose p decides."""

    __test__ = False  # not a test of pytest's

    T = "t"
    SIGN_FLIPS = "sign flips"
    RANKS = "Wilcoxon"


@dataclass(frozen=True, slots=True)
class Difference:
    """One measurement of the same cases in two runs.

    `p` is that of `test`; `t` and `t_p` are Student's. `d_pooled` is Cohen's d with the population
    standard deviations of both runs. `error` is the standard error of the difference, `clusters` the
    number of clusters of dependent cases, if any. `span` is the largest possible change of a case.
    """

    n: int
    better: Better = "higher"
    mean_a: float | None = None
    mean_b: float | None = None
    diff: float | None = None
    interval: Interval | None = None
    t: float | None = None
    t_p: float | None = None
    p: float | None = None
    p_holm: float | None = None
    wilcoxon_p: float | None = None
    test: Test | None = None
    d_pooled: float | None = None
    d_z: float | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    smallest_detectable: float | None = None
    note: str = ""
    error: float | None = None
    clusters: int | None = None
    span: float = 1.0

    @property
    def units(self) -> int:
        """The number of independent units: clusters, or cases."""
        if self.clusters is None:
            return self.n
        return self.clusters

    @property
    def changed_cases(self) -> int:
        return self.wins + self.losses

    @property
    def gain(self) -> float:
        """The difference, positive where B is better."""
        sign = -1 if self.better == "lower" else 1
        return (self.diff or 0.0) * sign

    @property
    def sure(self) -> bool:
        """Whether both tests find a difference.

        The test of ranks cannot be dominated by a few extreme cases. One test alone gives a false
        alarm 5 times in 100; the two together about 4, at a small loss of power.
        """
        return all(p is not None and p < ALPHA for p in (self.p, self.wilcoxon_p))


@dataclass(frozen=True, slots=True)
class McNemar:
    """Pass and fail of the same cases: do the changes go in one direction?"""

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float | None
    method: str

    @property
    def n(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither


def difference(
    a: NumberArray,
    b: NumberArray,
    clusters: NumberArray | None = None,
    better: Better = "higher",
    span: float | None = None,
) -> Difference:
    """Every figure of two equally long arrays of finite numbers.

    `clusters` numbers the clusters of dependent values. `span` is the largest possible change of one
    value; by default 1, or the range of the values if that is larger.
    """
    import numpy as np

    n = len(a)
    if n == 0:
        return Difference(0, better, note="no case has this value in both runs")
    clear = clear_differences(a, b)
    figures = _count_changes(a, b, clear, better)
    if span is None:
        span = max(1.0, float(max(a.max(), b.max()) - min(a.min(), b.min())))
    figures = replace(figures, span=span)
    if n == 1:
        return replace(figures, note="one case: no test and no interval")
    if clusters is not None and len(np.unique(clusters)) < n:
        return _compare_clusters(b - a, clear, clusters, figures)
    return _compare_cases(a, b, clear, figures)


def _count_changes(
    a: NumberArray, b: NumberArray, clear: NumberArray, better: Better
) -> Difference:
    import numpy as np

    up = int(np.sum(clear > 0))
    down = int(np.sum(clear < 0))
    wins = down if better == "lower" else up
    return Difference(
        n=len(a),
        better=better,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        diff=float((b - a).mean()),
        wins=wins,
        losses=up + down - wins,
        ties=len(a) - up - down,
    )


def _compare_cases(
    a: NumberArray, b: NumberArray, clear: NumberArray, figures: Difference
) -> Difference:
    """Interval, effect sizes and tests of independent cases."""
    import numpy as np

    changes = b - a
    diff = figures.diff or 0.0
    # Population standard deviations: the plain scripts that people compare with use them.
    pooled = math.sqrt((float(a.var()) + float(b.var())) / 2)
    figures = replace(
        figures,
        interval=_interval_of_changes(changes, figures),
        d_pooled=diff / pooled if pooled > _FLAT * abs(diff) else None,
    )
    sd = float(changes.std(ddof=1))
    if not figures.changed_cases or sd <= _FLAT * float(np.abs(changes).max()):
        note = f"equal in all {figures.n} cases"
        if figures.changed_cases:
            note = "every case moved by the same amount: p is Wilcoxon's"
        return _rank_test_only(figures, wilcoxon_p(clear), note)
    figures = replace(figures, d_z=diff / sd)
    if figures.changed_cases <= ENUMERATED_PAIRS:
        exact = sign_flip_p(clear)
    else:
        exact = None
    return _add_tests(figures, sd / math.sqrt(figures.n), wilcoxon_p(clear), exact)


def _interval_of_changes(changes: NumberArray, figures: Difference) -> Interval | None:
    """The interval of the mean change; the scale reaches as far as the largest change seen."""
    import numpy as np

    if figures.changed_cases:
        most = float(np.abs(changes).max())
    else:
        most = figures.span
    return mean_interval(changes, -most, most)


def _compare_clusters(
    changes: NumberArray, clear: NumberArray, clusters: NumberArray, figures: Difference
) -> Difference:
    """The same figures where cases of one cluster depend on each other."""
    import numpy as np

    _, group = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(group).astype(float)
    sums = np.bincount(group, weights=changes)
    clear_sums = np.bincount(group, weights=clear)
    figures = replace(figures, clusters=len(sizes))
    if len(sizes) < 2:
        return replace(figures, note="one cluster: no test and no interval")
    figures = replace(figures, interval=cluster_interval(sizes.tolist(), sums.tolist()))
    p_ranks = wilcoxon_p(clear_sums / sizes)
    error = cluster_error(sizes, sums - (figures.diff or 0.0) * sizes)
    if not np.any(clear_sums) or error <= _FLAT * float(np.abs(changes).max()):
        note = f"equal in all {figures.n} cases"
        if np.any(clear):
            note = "the clusters do not differ: p is Wilcoxon's"
        return replace(_rank_test_only(figures, p_ranks, note), error=0.0)
    # The cluster-robust t gives up to 24 % false alarms with one large cluster; flips do not.
    return _add_tests(figures, error, p_ranks, sign_flip_p(clear_sums))


def _rank_test_only(figures: Difference, p: float, note: str) -> Difference:
    """Without spread there is no t, and nothing is known about what could have been detected."""
    return replace(figures, p=p, wilcoxon_p=p, test=Test.RANKS, smallest_detectable=0.0, note=note)


def _add_tests(
    figures: Difference, error: float, p_ranks: float, p_exact: float | None
) -> Difference:
    """Add the tests of the difference, whose standard error is `error`."""
    units = figures.units
    t = (figures.diff or 0.0) / error
    t_p = t_test_p(t, units)
    p = t_p
    test = Test.T
    if p_exact is not None:
        p = p_exact
        test = Test.SIGN_FLIPS
    return replace(
        figures,
        t=t,
        t_p=t_p,
        p=p,
        test=test,
        wilcoxon_p=p_ranks,
        smallest_detectable=smallest_detectable(units, error * math.sqrt(units)),
        error=error,
    )


def lowest_gain(figures: Difference) -> float:
    """The lower end of the 95 % interval of the gain, wide enough for losses that nobody has seen.

    The wider of the interval and Student's t. If most cases did not change, the few changes say
    little about rare losses: 0 of n cases can hide a loss of 3/n. Then one loss and one gain of the
    whole span are added, as Bonett and Price (2012) do for paired rates.
    """
    diff = figures.diff or 0.0
    error = figures.error or 0.0
    units = figures.units
    half = float(t_quantile(units - 1, 1 - ALPHA / 2)) * error
    if figures.interval is not None:
        below = diff - figures.interval.low
        if figures.better == "lower":
            below = figures.interval.high - diff
        half = max(half, below)
    lowest = figures.gain - half
    if 2 * figures.changed_cases > figures.n:
        return lowest
    squares = error**2 * units * (units - 1) + units * diff**2 + 2 * figures.span**2
    mean = figures.gain * units / (units + 2)
    variance = (squares - (units + 2) * mean**2) / (units + 1)
    half = float(t_quantile(units + 1, 1 - ALPHA / 2)) * math.sqrt(variance / (units + 2))
    return min(lowest, mean - half)


def highest_gain(figures: Difference) -> float:
    """The upper end of the 95 % interval of the gain."""
    half = float(t_quantile(figures.units - 1, 1 - ALPHA / 2)) * (figures.error or 0.0)
    if figures.interval is not None:
        above = figures.interval.high - (figures.diff or 0.0)
        if figures.better == "lower":
            above = (figures.diff or 0.0) - figures.interval.low
        half = max(half, above)
    return figures.gain + half


def cases_needed(figures: Difference, margin: float) -> int | None:
    """How many cases would show with 80 % power that an equally good B is within the margin.

    None if it cannot be estimated.
    """
    if margin <= 0:
        return None
    per_unit = figures.n / figures.units
    spread = (figures.error or 0.0) * math.sqrt(figures.units)
    z = normal_quantile(1 - ALPHA / 2) + normal_quantile(POWER)
    units = (z * spread / margin) ** 2
    if 2 * figures.changed_cases <= figures.n:
        # At least 3 spans per margin: fewer cases can hide a loss of the margin.
        units = max(units, 3 * figures.span / margin)
    elif not spread:
        return None
    return math.ceil(max(units, MIN_UNITS) * per_unit)


def t_test_p(t: float, n: int) -> float:
    """Two-sided p of Student's t with n − 1 degrees of freedom."""
    return 2 * float(t_cdf(n - 1, -abs(t)))


def smallest_detectable(n: int, sd: float) -> float:
    """The true mean difference that the paired t-test detects with 80 % power at α = 0.05."""
    critical = t_quantile(n - 1, 1 - ALPHA / 2)
    return float(noncentrality(n - 1, 1 - POWER, critical)) * sd / math.sqrt(n)


def effect_size(d: float | None) -> str:
    """The usual reading of Cohen's d."""
    if d is None:
        return "unknown"
    for limit, reading in ((0.2, "negligible"), (0.5, "small"), (0.8, "medium")):
        if abs(d) < limit:
            return reading
    return "large"


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for the number of tests, in the given order."""
    corrected = [0.0] * len(ps)
    highest = 0.0
    for rank, n in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        # A larger p must not become smaller than one before it.
        highest = max(highest, min(1.0, ps[n] * (len(ps) - rank)))
        corrected[n] = highest
    return corrected


def mcnemar(
    passed_a: NumberArray, passed_b: NumberArray, clusters: NumberArray | None = None
) -> McNemar:
    """McNemar's test of two arrays of 0 and 1; with clusters, of the change per cluster."""
    a = passed_a.astype(bool)
    b = passed_b.astype(bool)
    only_a = int((a & ~b).sum())
    only_b = int((~a & b).sum())
    if len(a) == 0:
        return McNemar(0, 0, 0, 0, None, "no case")
    if clusters is None:
        p, method = _mcnemar_of_cases(only_a, only_b)
    else:
        p, method = _mcnemar_by_cluster(a, b, clusters)
    return McNemar(int((a & b).sum()), only_a, only_b, int((~a & ~b).sum()), p, method)


def _mcnemar_of_cases(only_a: int, only_b: int) -> tuple[float, str]:
    discordant = only_a + only_b
    if discordant == 0:
        return 1.0, "no case changed between pass and fail"
    # The 1 is the continuity correction: counts are whole numbers, χ² is not.
    if discordant < EXACT_BELOW:
        return sign_test_p(only_a, only_b), "exact"
    return chi2_tail(1, (abs(only_a - only_b) - 1) ** 2 / discordant), "chi2"


def _mcnemar_by_cluster(a: NumberArray, b: NumberArray, clusters: NumberArray) -> tuple[float, str]:
    """Sign flips of the net change per cluster if few changed, otherwise Durkalski's test."""
    import numpy as np

    group = np.unique(clusters, return_inverse=True)[1]
    net = np.bincount(group, weights=b.astype(float) - a)
    changed = int(np.sum(net != 0))
    if not changed:
        return 1.0, "no cluster changed between pass and fail"
    if changed <= ENUMERATED_PAIRS:
        return sign_flip_p(net), "exact by cluster"
    # (Σ of the net changes)² / Σ of their squares is χ² with 1 degree of freedom.
    return chi2_tail(1, float(net.sum()) ** 2 / float((net * net).sum())), "clustered"
