"""Equal to scipy's functions, from one degree of freedom to a million."""

from __future__ import annotations

import numpy as np
import pytest

from answerkey.comparison.exact_tests import EXACT_RANK_PAIRS, wilcoxon_p
from answerkey.distributions import (
    average_ranks,
    beta_cdf,
    binomial_cdf,
    chi2_tail,
    noncentrality,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_quantile,
)  # fmt: skip

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
FREEDOM = [1, 2, 3, 4, 5, 9, 29, 49, 99, 664, 9_999, 999_999]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_students_t(freedom: int) -> None:
    for t in (-40.0, -3.2, -0.1, 0.0, 0.4, 1.96, 5.0, 12.0):
        assert t_cdf(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-9, abs=1e-290)
    for p in (0.001, 0.025, 0.3, 0.5, 0.8, 0.95, 0.975, 0.9999):
        assert t_quantile(freedom, p) == pytest.approx(
            special.stdtrit(freedom, p), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize("freedom", FREEDOM)
def test_chi_squared_and_the_noncentral_t(freedom: int) -> None:
    for x in (0.0, 0.01, 0.5, 3.84, 20.0, 60.0):
        if freedom < 1000:
            assert chi2_tail(freedom, x) == pytest.approx(
                special.chdtrc(freedom, x), rel=1e-9, abs=1e-290
            )
    critical = t_quantile(freedom, 0.975)
    assert noncentrality(freedom, 0.2, critical) == pytest.approx(stats.nct(freedom, 0).ppf(0.975) * 0 + special.nctdtrinc(freedom, 0.2, critical), rel=1e-6)  # fmt: skip


def test_normal_binomial_and_beta() -> None:
    for z in (-9.0, -1.96, 0.0, 0.5, 3.0):
        assert normal_cdf(z) == pytest.approx(special.ndtr(z), rel=1e-12)
    for p in (1e-6, 0.025, 0.5, 0.8, 0.975):
        assert normal_quantile(p) == pytest.approx(special.ndtri(p), rel=1e-9, abs=1e-12)
    for n in (1, 5, 24, 133, 5_000):
        for k in (-1, 0, 1, n // 3, n - 1, n):
            for p in (0.0, 0.01, 0.5, 0.9, 1.0):
                expected = special.bdtr(k, n, p) if k >= 0 else 0.0
                assert binomial_cdf(k, n, p) == pytest.approx(expected, rel=1e-9, abs=1e-250)
    for a, b, x in ((0.5, 0.5, 0.3), (2, 30, 0.05), (5_000, 4_000, 0.55), (1e5, 0.5, 0.99999)):
        assert beta_cdf(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 13, 14, 30, 50, 51, 300])
@pytest.mark.parametrize("kind", ["distinct", "ties", "zeros"])
def test_ranks_and_wilcoxon(n: int, kind: str) -> None:
    d = np.random.default_rng(n).normal(0.3, 1.0, n)
    d = {"distinct": d, "ties": np.round(d * 2) / 2 + 0.25, "zeros": np.round(d)}[kind]
    assert average_ranks(d).tolist() == stats.rankdata(d).tolist()
    unequal = d[d != 0]
    if kind == "distinct" and len(unequal) <= EXACT_RANK_PAIRS:
        assert wilcoxon_p(d) == pytest.approx(
            min(1.0, float(stats.wilcoxon(unequal, method="exact").pvalue)), rel=1e-9
        )
    elif len(unequal) > EXACT_RANK_PAIRS:
        assert wilcoxon_p(d) == pytest.approx(float(stats.wilcoxon(unequal).pvalue), rel=1e-9)
