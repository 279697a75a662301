"""Dependent cases: intervals and gates by cluster, in a run and everywhere that shows it."""

import json

import numpy as np
import pytest

from answerkey import intervals
from answerkey.intervals import cluster_interval, interval_from_moments, rate_interval

PROFILE = """
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
criteria = [{ metric = "exact_match" }]
"""
SUITE = 'name = "bot"\ncases = ["rows.jsonl"]\nprofile = "words.toml"\n{more}'


def rows(column="cluster"):
    """20 documents with 10 questions each; the answers about one document are all right or all wrong."""
    return [
        {"id": f"q{n}", "question": f"q {n}?", "expected": "yes", "answer": "yes" if (n // 10) % 3 else "no", column: f"d{n // 10}"}
        for n in range(200)
    ]  # fmt: skip


@pytest.fixture
def summary_of(cli, write, tmp_path):
    def run(cases, more="", *options):
        write("rows.jsonl", cases)
        write("words.toml", PROFILE)
        shown = cli("run", write("bot.toml", SUITE.format(more=more)), "--no-charts", *options)
        folder = max((tmp_path / "results").glob("*"), key=lambda path: path.stat().st_mtime_ns)
        return json.loads((folder / "summary.json").read_text()), shown, folder

    return run


@pytest.mark.parametrize(
    ("column", "more", "clusters"),
    [
        ("cluster", "", 20), ("doc", '[statistics]\ncluster = "doc"', 20), ("doc", "", None),
        ("cluster", '[statistics]\ncluster = "none"', None), ("type", '[statistics]\ncluster = "type"', 20),
    ],
)  # fmt: skip
def test_the_interval_of_a_run_is_by_cluster(summary_of, column, more, clusters):
    summary, shown, _ = summary_of(rows(column), more)
    assert summary["clusters"] == clusters
    passed = [10 if n % 3 else 0 for n in range(20)]
    wanted = cluster_interval([10] * 20, passed, rate=True) if clusters else rate_interval(130, 200)
    assert summary["pass_rate_ci95"] == pytest.approx([wanted.low, wanted.high])
    mean = summary["average_scores"]["exact_match"]
    assert mean["ci95_method"] == ("cluster bootstrap" if clusters else "wilson")
    assert ("200 cases in 20 clusters" in shown.out) == bool(clusters)
    if clusters:
        assert summary["pass_rate_ci95"][1] - summary["pass_rate_ci95"][0] > 2.5 * 0.13


def test_a_column_that_no_case_has_is_refused(summary_of, cli, write):
    write("rows.jsonl", rows("customer"))
    write("words.toml", PROFILE)
    suite = write("bot.toml", SUITE.format(more='[statistics]\ncluster = "custmer"'))
    shown = cli("run", suite)
    assert shown.code == 2
    assert 'no case has this column; did you mean "customer"?' in shown.last_line


def test_gates_and_compare_use_the_clusters(summary_of, cli):
    summary, _, folder = summary_of(rows(), 'gate.require = ["pass_rate >= 0.5"]')
    (gate,) = summary["gates"]
    assert gate["ci95"] == summary["pass_rate_ci95"]
    found = cli("compare", folder, folder, "--json").json
    assert found["overall"]["clusters"] == 20
    better = [{**row, "answer": "yes"} if row["cluster"] < "d5" else row for row in rows()]
    _, _, changed = summary_of(better)
    assert "200 cases in 20 clusters" in cli("compare", folder, changed).out


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [20, 50, 100])
def test_cluster_intervals_cover_the_truth_and_plain_ones_do_not(clusters, monkeypatch):
    """1,000 runs with clusters of 2 to 20 dependent cases: right or wrong answers, and a metric."""
    monkeypatch.setattr(intervals, "DRAWS", 400)
    random = np.random.default_rng(clusters)
    runs, covered, plain = 1000, np.zeros(2), np.zeros(2)
    for _ in range(runs):
        sizes = random.integers(2, 21, clusters)
        passed = random.binomial(sizes, random.beta(1.4, 0.6, clusters))
        rate, wilson = (
            cluster_interval(sizes, passed, rate=True),
            rate_interval(int(passed.sum()), int(sizes.sum())),
        )
        values = random.normal(0, 0.2, clusters).repeat(sizes) + random.normal(
            0.6, 0.2, sizes.sum()
        )
        sums = np.add.reduceat(values, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
        mean = cluster_interval(sizes, sums)
        single = interval_from_moments(len(values), values.mean(), values.std(ddof=1))
        covered += [rate.low <= 0.7 <= rate.high, mean.low <= 0.6 <= mean.high]
        plain += [wilson.low <= 0.7 <= wilson.high, single.low <= 0.6 <= single.high]
    print(f"{clusters} clusters: by cluster {covered / runs}, plain {plain / runs}")
    assert ((covered / runs >= 0.93) & (covered / runs <= 0.97)).all()
    assert (plain / runs < 0.8).all()
