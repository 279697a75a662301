"""Several runs in one table: the best, those that are not detectably worse, and the cheapest of them."""

from __future__ import annotations

import pytest
from scipy.stats import chi2
from tests.support.compare_building import outcome, side

from answerkey.comparison.many import PASS_RATE, Standing, rank_sides
from answerkey.comparison.pair import Side
from answerkey.errors import InputError
from answerkey.reports.many import many_text, short_names

CASES = 40


def run_with(name: str, passes: int, cost: float | None = None, **fingerprint: str) -> Side:
    """A run of 40 cases of which the first `passes` pass."""
    rows = [
        outcome(f"q{n}", float(n < passes), f"{name} {n}", {"token_f1": 0.5}, cost=cost)
        for n in range(CASES)
    ]
    return side(name, rows, **fingerprint)


def test_the_best_run_comes_first_and_each_other_is_tested_against_it():
    table = rank_sides([run_with("poor", 10), run_with("good", 36), run_with("close", 35)])
    assert table.measure == PASS_RATE
    assert [row.run for row in table.rows] == ["good", "close", "poor"]
    best, close, poor = table.rows
    assert best.standing is Standing.BEST
    assert best.value == 0.9
    assert close.standing is Standing.NOT_WORSE
    assert poor.standing is Standing.WORSE
    assert poor.figures is not None
    assert poor.figures.diff == pytest.approx(-26 / 40)
    # 26 cases pass only in the best run: McNemar's chi-squared with continuity correction.
    assert poor.figures.p == pytest.approx(chi2.sf(25**2 / 26, 1))
    # Holm doubles the smaller of the two values.
    assert poor.figures.p_holm == pytest.approx(2 * (poor.figures.p or 0.0))
    assert "good has the best pass rate (90 %); no detectable difference: close" in table.sentence


def test_the_cheapest_run_that_is_not_worse_is_marked():
    runs = [run_with("large", 36, 0.02), run_with("small", 35, 0.001), run_with("tiny", 5, 0.0001)]
    table = rank_sides(runs)
    assert table.cheapest is not None
    assert table.cheapest.run == "small"
    assert [row.is_cheapest for row in table.rows] == [False, True, False]


def test_without_the_cost_of_every_run_none_is_called_the_cheapest():
    assert rank_sides([run_with("a", 36, 0.02), run_with("b", 36)]).cheapest is None


def test_a_run_with_another_profile_is_not_compared():
    table = rank_sides([run_with("a", 36), run_with("b", 20, profile="p2")])
    other = table.rows[1]
    assert other.standing is Standing.NOT_COMPARABLE
    assert other.obstacle == "another profile"
    assert other.figures is None
    assert "not comparable with the best: another profile" in many_text(table)


def test_without_verdicts_the_first_common_metric_decides():
    rows = {
        "a": [outcome(f"q{n}", None, "x", {"token_f1": 0.2}) for n in range(5)],
        "b": [outcome(f"q{n}", None, "y", {"token_f1": 0.8}) for n in range(5)],
    }
    table = rank_sides([side(name, outcomes) for name, outcomes in rows.items()])
    assert table.measure == "token_f1"
    assert [row.run for row in table.rows] == ["b", "a"]


def test_runs_without_a_common_metric_are_refused():
    a = side("a", [outcome("q", None, "x", {"token_f1": 0.2})])
    b = side("b", [outcome("q", None, "x", {"chrf": 0.2})])
    with pytest.raises(InputError, match="no metric in common"):
        rank_sides([a, b])


def test_the_text_fits_a_terminal_and_counts_failures():
    runs = [
        run_with(f"results/a_long_suite_name_20260102_03040{n}", 30 + n, 0.01) for n in range(4)
    ]
    text = many_text(rank_sides(runs))
    table = [line for line in text.splitlines() if line.startswith("a_long_suite_name")]
    assert len(table) == 4
    assert all(len(line) <= 100 for line in table)


def test_absolute_and_relative_paths_of_runs_are_mixed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(tmp_path / "results" / "a"), "results/b", "results/c"]
    assert short_names(paths) == ["a", "b", "c"]
    apart = ["/elsewhere/a", "results/b"]
    assert short_names(apart) == apart


def run_bot(cli, write, folder, name: str, right: int) -> None:
    """A run of 30 questions to a bot whose first `right` answers are right."""
    write(
        "cases.json", [{"id": f"q{n}", "question": f"q {n}", "expected": "yes"} for n in range(30)]
    )
    code = f"def {name}(q):\n    return 'yes' if int(q.split()[1]) < {right} else 'no'\n"
    write(f"{name}_bot.py", code)
    suite = f"""
        name = "s"
        cases = ["cases.json"]
        metrics = {{exact_match = 1}}
        target.call = "{name}_bot:{name}"
    """
    shown = cli("run", write(f"{name}.toml", suite), "--out", folder, "--no-charts", "-q")
    assert shown.code == 0, shown.err


def test_compare_of_three_runs_prints_a_table(cli, write, tmp_path):
    for name, right in {"good": 29, "close": 28, "bad": 3}.items():
        run_bot(cli, write, tmp_path / name, name, right)
    runs = [next((tmp_path / name).iterdir()) for name in ("bad", "good", "close")]
    shown = cli("compare", *runs)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "has the best pass rate (97 %)" in lines[0]
    assert lines[3].startswith("good")
    assert lines[5].startswith("bad")
    data = cli("compare", *runs, "--json").json
    assert next(row["standing"] for row in data["runs"]) == "best"
    refused = cli("compare", *runs, "--gate")
    assert refused.code == 2
    assert "compare two runs" in refused.last_line


def test_summary_table_takes_the_newest_full_run_of_each_bot(cli, write, tmp_path):
    for name, right in {"good": 29, "bad": 3}.items():
        run_bot(cli, write, tmp_path / "all", name, right)
    shown = cli("summary", tmp_path / "all", "--table")
    assert shown.code == 0, shown.err
    assert "has the best pass rate (97 %)" in shown.out
    lonely = cli("summary", tmp_path / "nothing", "--table")
    assert lonely.code == 2
