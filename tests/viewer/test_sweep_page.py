"""The page of a sweep."""

from __future__ import annotations

import html
from typing import Any

import pytest
from tests.support.viewer_asking import ask

pytestmark = pytest.mark.xdist_group("browser")  # one worker makes the world once


def test_a_sweep_is_shown_by_metric_type_and_k(app: Any) -> None:
    told = ask(app, "/sweep/bot_sweep_1?metric=recall&k=3&format=json").json()
    assert [row["k"] for row in told["rows"]] == [3, 3, 3]
    assert [row["type"] for row in told["rows"]] == ["dense", "hybrid", "sparse"]
    assert len(told["chosen_charts"]["chosen"]["data"]["values"]) == 3
    assert len(ask(app, "/sweep/bot_sweep_1?type=hybrid&format=json").json()["rows"]) == 2
    assert "recall of the chosen settings" in ask(app, "/sweep/bot_sweep_1?metric=recall").text
    assert ask(app, "/sweep/bot_sweep_1?metric=recal").status == 404
    assert "did you mean" in html.unescape(ask(app, "/sweep/bot_sweep_1?metric=recal").text)
