"""The trend of a suite, and the best run by each metric."""

from __future__ import annotations

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


def _score_runs(folder: Path, values: list[float], **more: Any) -> None:
    outcomes = [
        outcome(Case(f"c{n}", "q?"), Response("a"), {"keyword_recall": Score(value)})
        for n, value in enumerate(values)
    ]
    make_run(folder, outcomes, "bot", reports=None, **more)


@pytest.mark.parametrize(
    "other",
    [
        {"settings": {"metrics": {"keyword_recall": {"tolerance": 0.5}}}},
        {"fingerprint": {"cases": "c", "profile": "another", "metrics": "m", "judge": "none"}},
    ],
    ids=["settings of a metric", "profile"],
)
def test_a_run_with_another_scoring_setup_is_not_called_best(
    other: dict[str, Any], tmp_path: Path
) -> None:
    fingerprint = {"cases": "c", "profile": "p", "metrics": "m", "judge": "none"}
    values = [n / 30 for n in range(30)]
    day = "2026-01-0{}T00:00:00+00:00"
    _score_runs(tmp_path / "a", values, fingerprint=fingerprint, created=day.format(3))
    lower = [value / 2 for value in values]
    _score_runs(tmp_path / "b", lower, fingerprint=fingerprint, created=day.format(2))
    higher = [min(1.0, value + 0.3) for value in values]
    _score_runs(
        tmp_path / "c", higher, **{"fingerprint": fingerprint, **other}, created=day.format(1)
    )
    app = make_app(tmp_path, Rules())
    runs = ask(app, "/trend?suite=bot&format=json").json()["runs"]
    marks = {run["run"]: run["marks"].get("keyword_recall") for run in runs}
    assert marks == {"a": "best", "b": None, "c": None}
    page = ask(app, "/trend?suite=bot").text
    assert "1 run was scored by another setup and is not compared." in page
