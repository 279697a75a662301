"""Is a difference between paired numbers more than chance? Every figure, or a note that says why it is missing.

Conventions: the difference is B − A; two-sided tests; Student's paired t; Wilcoxon exact for few pairs, otherwise normal;
McNemar exact under 25 discordant pairs, otherwise χ² with continuity correction; Holm over the metrics. Dependent cases:
cluster-robust t with (clusters − 1) degrees of freedom, Wilcoxon over cluster means, bootstrap over clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from answerkey import distributions
from answerkey.distributions import average_ranks, normal_cdf, normal_quantile, t_cdf, t_quantile
from answerkey.intervals import Interval, cluster_error, cluster_interval, mean_interval
from answerkey.types import Better

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

ALPHA = 0.05
POWER = 0.80
EXACT_BELOW = 25
MIN_UNITS = 10  # fewer independent cases never pass a gate
_SAME = 1e-6  # relative: what float32 embeddings differ by from batch to batch
_FLAT = 1e-9  # spread below this share of the difference is rounding


@dataclass(frozen=True, slots=True)
class Difference:
    """One measurement of the same cases in two runs. `p` is the t-test's, or Wilcoxon's where t has no spread. `error`
    is the standard error of the difference; `clusters` is the number of clusters of dependent cases, if any."""

    n: int
    better: Better = "higher"
    mean_a: float | None = None
    mean_b: float | None = None
    diff: float | None = None
    interval: Interval | None = None
    t: float | None = None
    p: float | None = None
    p_holm: float | None = None
    wilcoxon_p: float | None = None
    d_pooled: float | None = None
    d_z: float | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    smallest_detectable: float | None = None
    note: str = ""
    error: float | None = None
    clusters: int | None = None

    @property
    def units(self) -> int:
        """The number of independent units: clusters, or cases."""
        return self.n if self.clusters is None else self.clusters

    @property
    def gain(self) -> float:
        """The difference, positive where B is better."""
        return (self.diff or 0.0) * (-1 if self.better == "lower" else 1)

    @property
    def sure(self) -> bool:
        """Both tests find it: the t-test of the mean, and the test of ranks, which a few extreme cases cannot dominate.
        One test alone gives a false alarm 5 times in 100; the two together about 4, at a small loss of power."""
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


def difference(
    a: NumberArray, b: NumberArray, clusters: NumberArray | None = None, better: Better = "higher"
) -> Difference:
    """Every figure of two equally long arrays of finite numbers; `clusters` numbers the clusters of dependent values."""
    import numpy as np

    n = len(a)
    if n == 0:
        return Difference(0, better, note="no case has this value in both runs")
    d = b - a
    equal = np.abs(d) <= _SAME * np.maximum(np.abs(a), np.abs(b))
    clear = np.where(equal, 0.0, d)  # in a rank test, rounding noise would count as a change
    up, down = int(np.sum(clear > 0)), int(np.sum(clear < 0))
    wins, losses = (down, up) if better == "lower" else (up, down)
    mean_a, mean_b, diff = float(a.mean()), float(b.mean()), float(d.mean())
    found = Difference(
        n, better, mean_a, mean_b, diff, wins=wins, losses=losses, ties=n - up - down
    )
    if n == 1:
        return replace(found, note="one case: no test and no interval")
    if clusters is not None and len(np.unique(clusters)) < n:
        return _clustered(d, clear, clusters, found)
    sd = float(d.std(ddof=1))
    spread = math.sqrt((float(a.var(ddof=1)) + float(b.var(ddof=1))) / 2)
    pooled = diff / spread if spread > _FLAT * abs(diff) else None
    found = replace(found, interval=mean_interval(d), d_pooled=pooled)
    if up + down == 0 or sd <= _FLAT * float(np.abs(d).max()):
        p, moved = wilcoxon_p(clear), up + down > 0
        note = (
            "every case moved by the same amount: p is Wilcoxon's"
            if moved
            else f"equal in all {n} cases"
        )
        return replace(found, p=p, wilcoxon_p=p, smallest_detectable=0.0, note=note)
    return _tested(replace(found, d_z=diff / sd), sd / math.sqrt(n), wilcoxon_p(clear))


def _clustered(
    d: NumberArray, clear: NumberArray, clusters: NumberArray, found: Difference
) -> Difference:
    """The same figures where cases of one cluster depend on each other."""
    import numpy as np

    _, group = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(group).astype(float)
    sums, moved = np.bincount(group, weights=d), np.bincount(group, weights=clear)
    count, diff = len(sizes), found.diff or 0.0
    found = replace(found, clusters=count)
    if count < 2:
        return replace(found, note="one cluster: no test and no interval")
    found = replace(found, interval=cluster_interval(sizes.tolist(), sums.tolist()))
    p_ranks = wilcoxon_p(moved / sizes)
    error = cluster_error(sizes, sums - diff * sizes)
    if not np.any(moved) or error <= _FLAT * float(np.abs(d).max()):
        note = (
            f"equal in all {found.n} cases"
            if not np.any(clear)
            else "the clusters do not differ: p is Wilcoxon's"
        )
        return replace(
            found, p=p_ranks, wilcoxon_p=p_ranks, smallest_detectable=0.0, error=0.0, note=note
        )
    return _tested(found, error, p_ranks)


def _tested(found: Difference, error: float, p_ranks: float) -> Difference:
    """With the t-test of the difference, whose standard error is given."""
    units, t = found.units, (found.diff or 0.0) / error
    least = smallest_detectable(units, error * math.sqrt(units))
    return replace(
        found, t=t, p=t_test_p(t, units), wilcoxon_p=p_ranks, smallest_detectable=least, error=error
    )


def cases_needed(found: Difference, margin: float) -> int | None:
    """How many cases show with 80 % power that an equally good B is within the margin; None if it cannot be estimated."""
    if not found.error or margin <= 0:
        return None
    spread = found.error * math.sqrt(found.units)
    units = ((normal_quantile(1 - ALPHA / 2) + normal_quantile(POWER)) * spread / margin) ** 2
    return math.ceil(max(units, MIN_UNITS) * found.n / found.units)


def t_test_p(t: float, n: int) -> float:
    """Two-sided p of Student's t over n pairs."""
    return float(2 * t_cdf(n - 1, -abs(t)))


def wilcoxon_p(d: NumberArray) -> float:
    """Two-sided p of the signed-rank test without the equal pairs; 1 if all are equal."""
    import numpy as np

    unequal = d[d != 0]
    n = len(unequal)
    if n == 0:
        return 1.0
    ranks = average_ranks(np.abs(unequal))
    above = float(ranks[unequal > 0].sum())
    counts = np.unique(ranks, return_counts=True)[1]
    if len(d) <= 13 or (len(d) <= 50 and n == len(d) == len(counts)):
        # How often each sum of ranks comes up when every sign is drawn; ranks are doubled to be whole.
        sums = np.ones(1)
        for rank in (2 * ranks).astype(int).tolist():
            grown = np.zeros(len(sums) + rank)
            grown[: len(sums)] += sums / 2
            grown[rank:] += sums / 2
            sums = grown
        place = round(2 * above)
        return min(1.0, 2 * float(min(sums[: place + 1].sum(), sums[place:].sum())))
    spread = n * (n + 1) * (2 * n + 1) - float((counts**3 - counts).sum()) / 2
    return min(1.0, 2 * normal_cdf(-abs(above - n * (n + 1) / 4) / math.sqrt(spread / 24)))


def smallest_detectable(n: int, sd: float) -> float:
    """The true mean difference that the paired t-test detects with 80 % power at α = 0.05, given the observed spread."""
    critical = t_quantile(n - 1, 1 - ALPHA / 2)
    return float(distributions.noncentrality(n - 1, 1 - POWER, critical)) * sd / math.sqrt(n)


def effect_size(d: float | None) -> str:
    """The usual reading of Cohen's d."""
    if d is None:
        return "unknown"
    size = abs(d)
    return (
        "negligible"
        if size < 0.2
        else "small"
        if size < 0.5
        else "medium"
        if size < 0.8
        else "large"
    )


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for the number of tests, in the order given."""
    corrected = [0.0] * len(ps)
    highest = 0.0
    for rank, n in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, ps[n] * (len(ps) - rank)))
        corrected[n] = highest
    return corrected


def mcnemar(
    passed_a: NumberArray, passed_b: NumberArray, clusters: NumberArray | None = None
) -> McNemar:
    """From two arrays of 0 and 1 over the same cases. With clusters the test compares the changes per cluster."""
    a, b = passed_a.astype(bool), passed_b.astype(bool)
    both, only_a = int((a & b).sum()), int((a & ~b).sum())
    only_b, neither = int((~a & b).sum()), int((~a & ~b).sum())
    discordant, p, method = only_a + only_b, None, "no case"
    if clusters is not None and len(a):
        # Durkalski's test: (Σ of the net changes per cluster)² / Σ of their squares is χ² with 1 degree of freedom.
        import numpy as np

        net = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=b.astype(float) - a)
        squares = float((net * net).sum())
        p, method = 1.0, "no cluster changed between pass and fail"
        if squares:
            p, method = (
                float(distributions.chi2_tail(1, float(net.sum()) ** 2 / squares)),
                "clustered",
            )
    elif len(a) and discordant == 0:
        p, method = 1.0, "no case changed between pass and fail"
    elif len(a) and discordant < EXACT_BELOW:
        p, method = (
            min(1.0, 2 * float(distributions.binomial_cdf(min(only_a, only_b), discordant, 0.5))),
            "exact",
        )
    elif len(a):
        p, method = (
            float(distributions.chi2_tail(1, (abs(only_a - only_b) - 1) ** 2 / discordant)),
            "chi2",
        )
    return McNemar(both, only_a, only_b, neither, p, method)
