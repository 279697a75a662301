"""The charts of a sweep: true axes, and files in two forms."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.made_documents import WordEmbedder, write_suite

from answerkey.experiments.choice import draw_conclusions
from answerkey.experiments.sweep import prepare_sweep, run_sweep
from answerkey.reports.sweep_charts import spread_labels, sweep_charts
from answerkey.runs.suite import load_suite


def test_the_alpha_chart_has_its_ticks_at_the_values_and_ends_at_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "answerkey.experiments.sweep.load_embedder", lambda **options: WordEmbedder()
    )
    suite = write_suite(tmp_path, more="alphas = [0.0, 0.25, 0.75, 1.0]\nks = [5]")
    sweep = run_sweep(prepare_sweep(load_suite(suite)))
    found = draw_conclusions(sweep)
    charts = sweep_charts(sweep, found)
    told = json.dumps(charts["2_alpha_sensitivity"])
    assert '"format": "~g", "grid": false, "values": [0.0, 0.25, 0.75, 1.0]' in told
    assert '"domain": [0, 1.0], "nice": false' in told
    assert {point["metric"] for point in charts["2_alpha_sensitivity"]["data"]["values"]} == {
        "Hit rate", "Recall", "MRR", "nDCG", "F1", "Precision",
    }  # fmt: skip
    same = replace(sweep, values=np.full_like(sweep.values, 0.5))
    assert "5_radar_chart" in charts
    assert "5_radar_chart" not in sweep_charts(same, found)


def test_labels_stay_apart_and_below_the_top() -> None:
    ends = [
        {"metric": "a", "mean": 0.99},
        {"metric": "b", "mean": 1.0},
        {"metric": "c", "mean": 0.2},
    ]
    assert [point["label_y"] for point in spread_labels(ends, 1.0)] == pytest.approx(
        [0.2, 0.95, 1.0]
    )
