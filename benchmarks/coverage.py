"""How often the 95 % intervals cover the truth, and how often a comparison finds a change that is none.

python benchmarks/coverage.py [--runs N] [--only means,rates,labels,clusters,auroc,alarms,gate]

Prints a table per kind of figure. An interval must cover at least 93 % from 10 cases on and 90 % with 5;
a comparison must raise a false alarm in at most 5.5 %. Ends with code 1 if a cell is outside, beyond
what the number of simulated runs lets chance do (two standard errors).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from answerkey.calibrate.agreement import auroc_draws
from answerkey.calibrate.auroc_interval import auroc_interval
from answerkey.comparison.significance import difference, lowest_gain, mcnemar
from answerkey.corrected_rate import ppi_rate
from answerkey.intervals import cluster_interval, mean_interval, rate_interval

SEED = 7
SIZES = (5, 10, 20, 50, 200)
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table: the share of `runs` in which something happened, and what is allowed."""

    table: str
    row: str
    column: str
    share: float
    runs: int
    least: float = 0.0
    most: float = 1.0

    @property
    def is_good(self) -> bool:
        expected = self.least or self.most
        slack = 2 * math.sqrt(expected * (1 - expected) / self.runs)
        return self.least - slack <= self.share <= self.most + slack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default=",".join(TABLES), help="tables, comma-separated")
    options = parser.parse_args()
    bad = 0
    for name in options.only.split(","):
        cells = list(TABLES[name](options.runs))
        print(format_table(cells), flush=True)
        bad += sum(not cell.is_good for cell in cells)
    print(f"{bad} figures outside their limits")
    return 1 if bad else 0


def format_table(cells: list[Cell]) -> str:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    rows = list(dict.fromkeys(cell.row for cell in cells))
    shares = {(cell.row, cell.column): cell for cell in cells}
    lines = [f"{cells[0].table:44}" + "".join(f"{column:>11}" for column in columns)]
    for row in rows:
        line = f"{row:44}"
        for column in columns:
            cell = shares.get((row, column))
            text = "" if cell is None else f"{cell.share:.3f}{'' if cell.is_good else ' !'}"
            line += f"{text:>11}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def least_coverage(units: int) -> float:
    return 0.93 if units >= 10 else 0.90


# Means -----------------------------------------------------------------------------------------

Sampler = Callable[[Generator, int], np.ndarray]
RUBRIC = np.array([0.02, 0.03, 0.05, 0.15, 0.25, 0.5])
MEANS: dict[str, tuple[Sampler, float]] = {
    "normal": (lambda random, n: random.normal(0.5, 0.15, n), 0.5),
    "rubric 0 to 5": (
        lambda random, n: random.choice(6, n, p=RUBRIC).astype(float),
        float(np.dot(range(6), RUBRIC)),
    ),
    "Beta(5, 0.5), near the top": (lambda random, n: random.beta(5, 0.5, n), 5 / 5.5),
    "nine in ten 1, the rest anywhere": (
        lambda random, n: np.where(random.random(n) < 0.9, 1.0, random.random(n)),
        0.95,
    ),
}


def means(runs: int) -> Iterator[Cell]:
    """The interval of a metric's mean."""
    for row, (sample, truth) in MEANS.items():
        for n in SIZES:
            random = np.random.default_rng(SEED)
            top = 5.0 if row.startswith("rubric") else None
            covered = 0
            for _ in range(runs):
                interval = mean_interval(sample(random, n), 0.0 if top else None, top)
                assert interval is not None
                covered += interval.low <= truth <= interval.high
            yield Cell("mean of a metric", row, f"n={n}", covered / runs, runs, least_coverage(n))


def rates(runs: int) -> Iterator[Cell]:
    """The mean of a metric whose values are 0 and 1."""
    for truth in (0.5, 0.9, 0.95, 0.98):
        for n in SIZES:
            covered = 0.0
            # Every count has a known probability, so that this table is exact.
            for successes in range(n + 1):
                interval = rate_interval(successes, n)
                assert interval is not None
                if interval.low <= truth <= interval.high:
                    covered += (
                        math.comb(n, successes) * truth**successes * (1 - truth) ** (n - successes)
                    )
            yield Cell("0/1 metric, exact", f"true mean {truth}", f"n={n}", covered, runs, 0.90)


# Labels ----------------------------------------------------------------------------------------


def labels(runs: int) -> Iterator[Cell]:
    """The pass rate corrected by human labels; 200 cases, labels of a random sample of them."""
    for truth, accuracy in ((0.9, 0.9), (0.95, 0.95), (0.5, 0.8), (0.98, 0.95)):
        for count in (5, 10, 20, 40, 80):
            random = np.random.default_rng(SEED)
            covered = 0
            for _ in range(runs):
                right = random.random(200) < truth
                passed = np.where(random.random(200) < accuracy, right, ~right)
                rate = ppi_rate(
                    right[:count].astype(float).tolist(),
                    passed[:count].tolist(),
                    passed[count:].tolist(),
                )
                assert rate is not None
                assert 0.0 <= rate.low <= rate.rate <= rate.high <= 1.0
                covered += rate.low <= truth <= rate.high
            row = f"rate {truth}, verdicts {accuracy:.0%} right"
            least = least_coverage(count)
            yield Cell("corrected pass rate", row, f"{count} labels", covered / runs, runs, least)


# Clusters --------------------------------------------------------------------------------------


def clusters(runs: int) -> Iterator[Cell]:
    """Means and rates of dependent cases: 4 cases in a cluster, half of the spread between clusters."""
    for row, is_rate in (("mean", False), ("rate 0.8", True)):
        for groups in (4, 10, 20, 50):
            random = np.random.default_rng(SEED)
            covered = 0
            for _ in range(runs):
                if is_rate:
                    chances = random.beta(4, 1, groups)
                    sums = random.binomial(4, chances).astype(float)
                    truth = 0.8
                else:
                    sums = random.normal(0.5, 0.1, groups) * 4 + random.normal(0, 0.2, groups)
                    truth = 0.5
                interval = cluster_interval([4.0] * groups, sums.tolist(), rate=is_rate)
                assert interval is not None
                covered += interval.low <= truth <= interval.high
            least = least_coverage(groups)
            yield Cell("by cluster", row, f"{groups} clusters", covered / runs, runs, least)


# AUROC -----------------------------------------------------------------------------------------


def auroc(runs: int) -> Iterator[Cell]:
    """The AUROC of a metric against labels; half of the rows are positive."""
    for truth, shift in ((0.7, 0.7416), (0.85, 1.4657), (0.95, 2.3262)):
        for n in (20, 30, 50):
            random = np.random.default_rng(SEED)
            covered = 0
            for _ in range(max(50, runs // 5)):
                positive = np.arange(n) < n // 2
                values = random.normal(0, 1, n) + shift * positive
                interval = auroc_interval(
                    values, positive, auroc_draws([values], positive, None)[0]
                )
                assert interval is not None
                covered += interval[0] <= truth <= interval[1]
            taken = max(50, runs // 5)
            yield Cell("AUROC", f"true {truth}", f"n={n}", covered / taken, taken, 0.93)


# Comparisons without a change ------------------------------------------------------------------


def alarms(runs: int) -> Iterator[Cell]:
    """B is called better or worse though each change is as likely up as down."""
    for n in (20, 50, 200):
        for changed in (3, 4, 5, 6, 8, 10):
            for kind in ("equal", "varying", "clustered"):
                random = np.random.default_rng(SEED)
                called = 0
                for _ in range(runs):
                    called += _is_false_alarm(random, n, changed, kind)
                row = f"{n} cases, {kind} changes"
                yield Cell(
                    "false alarms", row, f"{changed} changed", called / runs, runs, most=0.055
                )


def _is_false_alarm(random: Generator, n: int, changed: int, kind: str) -> bool:
    before = random.random(n)
    sizes = np.full(changed, 0.3)
    if kind == "varying":
        sizes = random.exponential(0.3, changed)
    change = np.zeros(n)
    change[:changed] = sizes * random.choice([-1.0, 1.0], changed)
    members = None
    if kind == "clustered":
        # Each changed cluster has two cases that move together.
        members = np.arange(n) // 2
        change = np.zeros(n)
        change[: 2 * changed] = np.repeat(0.3 * random.choice([-1.0, 1.0], changed), 2)[:n]
    return difference(before, before + change, members).sure


def mcnemar_alarms(runs: int) -> Iterator[Cell]:
    """McNemar's test by cluster finds a change of the pass rate though there is none."""
    for groups in (4, 6, 10, 30):
        random = np.random.default_rng(SEED)
        called = 0
        for _ in range(runs):
            size = 3
            members = np.repeat(np.arange(groups), size)
            direction = np.repeat(random.choice([-1, 1], groups), size)
            before = (direction < 0).astype(float)
            after = (direction > 0).astype(float)
            p = mcnemar(before, after, members).p
            called += p is not None and p < 0.05
        row = "McNemar by cluster"
        yield Cell("false alarms", row, f"{groups} clusters", called / runs, runs, most=0.055)


def gate(runs: int) -> Iterator[Cell]:
    """`compare --gate` passes though B loses 6 % of the cases, one more than the margin of 5 %."""
    for n in (10, 15, 20, 30, 60, 100, 200):
        random = np.random.default_rng(SEED)
        passed = 0
        for _ in range(runs):
            before = np.ones(n)
            after = before - (random.random(n) < 0.06)
            passed += lowest_gain(difference(before, after)) > -MARGIN
        yield Cell(
            "gate passes a loss of 6 %", "0/1 scores", f"n={n}", passed / runs, runs, most=0.055
        )


TABLES: dict[str, Callable[[int], Iterator[Cell]]] = {
    "means": means,
    "rates": rates,
    "labels": labels,
    "clusters": clusters,
    "auroc": auroc,
    "alarms": alarms,
    "mcnemar": mcnemar_alarms,
    "gate": gate,
}


if __name__ == "__main__":
    sys.exit(main())
