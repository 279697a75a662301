"""The trend of a suite, the best run by each metric, and sweeps."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, outcome

from answerkey.comparison.significance import holm
from answerkey.types import Case, Response, Score
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

pytestmark = pytest.mark.xdist_group("browser")  # one worker makes the world once


def test_runs_of_a_suite_have_a_trend_and_a_previous_run(app: Any) -> None:
    runs = {run["run"]: run for run in ask(app, "/?format=json").json()["runs"]}
    newer, older = sorted(("bot_1", "bot_2"), key=lambda name: runs[name]["previous"] is None)
    assert runs[newer]["previous"] == older
    assert runs[newer]["trend"] == [runs[older]["pass_rate"], runs[newer]["pass_rate"]]
    told = ask(app, "/trend?suite=bot&format=json").json()
    assert [run["run"] for run in told["runs"]] == [newer, older]
    assert "keyword_recall" in told["metrics"]
    chosen = ask(app, "/compare?format=json").json()
    assert (chosen["a"], chosen["b"]) == (older, newer)


def test_a_sweep_is_shown_by_metric_type_and_k(app: Any) -> None:
    told = ask(app, "/sweep/bot_sweep_1?metric=recall&k=3&format=json").json()
    assert [row["k"] for row in told["rows"]] == [3, 3, 3]
    assert [row["type"] for row in told["rows"]] == ["dense", "hybrid", "sparse"]
    assert len(told["chosen_charts"]["chosen"]["data"]["values"]) == 3
    assert len(ask(app, "/sweep/bot_sweep_1?type=hybrid&format=json").json()["rows"]) == 2
    assert "recall of the chosen settings" in ask(app, "/sweep/bot_sweep_1?metric=recall").text
    assert ask(app, "/sweep/bot_sweep_1?metric=recal").status == 404
    assert "did you mean" in html.unescape(ask(app, "/sweep/bot_sweep_1?metric=recal").text)


def test_the_best_run_per_metric_and_its_ties_are_marked(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    shifts = (0.0, 0.3, 0.31, 0.05)
    values = [np.clip(random.normal(0.4 + shift, 0.15, 60), 0, 1) for shift in shifts]
    for n, column in enumerate(values):
        cases = [Case(f"c{i}", "q?") for i in range(60)]
        outcomes = [
            outcome(c, Response("a"), {"keyword_recall": Score(float(v))})
            for c, v in zip(cases, column, strict=True)
        ]
        make_run(tmp_path / f"bot_{n}", outcomes, "bot", reports=None)
    app = make_app(tmp_path, Rules())
    runs = {
        run["run"]: run["marks"] for run in ask(app, "/trend?suite=bot&format=json").json()["runs"]
    }
    best = max(range(4), key=lambda n: values[n].mean())
    others = [n for n in range(4) if n != best]
    expected = holm([float(ttest_rel(values[best], values[n])[1]) for n in others])
    assert runs[f"bot_{best}"]["keyword_recall"] == "best"
    for n, p in zip(others, expected, strict=True):
        assert runs[f"bot_{n}"].get("keyword_recall") == ("tie" if p >= 0.05 else None)
    assert {mark.get("keyword_recall") for mark in runs.values()} == {"best", "tie", None}
    assert "≈" in ask(app, "/trend?suite=bot").text
