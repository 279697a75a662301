"""Two runs of 100,000 cases × 10 metrics compared, beside the same tests by scipy and statsmodels. Prints the ratio.

    python benchmarks/compare.py [--cases N] [--metrics N]

The peer is what a careful script calls for each metric: ttest_rel, wilcoxon, a bootstrap interval of the mean
difference (scipy.stats.bootstrap; timed on a few of its 10,000 resamples and scaled up), then Holm and McNemar once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from answerkey.comparison.comparison import compare_sides
from answerkey.comparison.pair import Side, read_side
from answerkey.intervals import DRAWS
from answerkey.types import Case, Outcome, Response, Score, Verdict

TIMED_DRAWS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=10)
    asked = parser.parse_args()
    random = np.random.default_rng(1)
    before = random.beta(4, 2, size=(asked.cases, asked.metrics))
    after = np.clip(before + random.normal(0.002, 0.1, size=before.shape), 0, 1)
    start = time.process_time()
    a, b = side("a", before), side("b", after)
    read = time.process_time() - start
    start = time.process_time()
    comparison = compare_sides(a, b)
    ours = time.process_time() - start
    theirs = peer(before, after)
    method = comparison.overall.interval.method if comparison.overall.interval else "none"
    print(f"{asked.cases:,} paired cases × {asked.metrics} metrics: {comparison.sentence}")
    print(
        f"processor time: read {read:.1f} s, compared {ours:.1f} s (intervals: {method})   "
        f"scipy {theirs:.1f} s   {theirs / ours:.0f} times as fast"
    )


def side(name: str, values: np.ndarray) -> Side:
    return read_side(name, {}, outcomes(name, values))


def outcomes(name: str, values: np.ndarray) -> Iterator[Outcome]:
    """One at a time, as a run's journal gives them."""
    names = [f"metric {n}" for n in range(values.shape[1])]
    for n, row in enumerate(values.tolist()):
        score = sum(row) / len(row)
        yield Outcome(
            Case(f"q{n}", f"What is {n}?"),
            Response(f"{name} says {n}"),
            {metric: Score(value) for metric, value in zip(names, row, strict=True)},
            Verdict("PASSED" if score >= 0.6 else "FAILED", score=score, passed=score >= 0.6),
        )


def peer(before: np.ndarray, after: np.ndarray) -> float:
    """Seconds of processor time for the same figures, one metric after the other and the mean as the overall score."""
    columns = [(before[:, n], after[:, n]) for n in range(before.shape[1])]
    columns.append((before.mean(axis=1), after.mean(axis=1)))
    exact = boot = 0.0
    ps: list[float] = []
    for a, b in columns:
        start = time.process_time()
        ps.append(float(stats.ttest_rel(b, a).pvalue))
        stats.wilcoxon(b, a)
        exact += time.process_time() - start
        start = time.process_time()
        stats.bootstrap((b - a,), np.mean, n_resamples=TIMED_DRAWS, batch=1, method="percentile")
        boot += time.process_time() - start
    start = time.process_time()
    multipletests(ps, method="holm")
    a, b = (column >= 0.6 for column in columns[-1])
    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    mcnemar(table, exact=False)
    return exact + boot * DRAWS / TIMED_DRAWS + time.process_time() - start


if __name__ == "__main__":
    main()
