"""The page of a sweep."""

from __future__ import annotations

import html
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

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


def _make_sweep(folder: Path, **more: Any) -> Any:
    settings = [
        {"setting": f"s{n}", "alpha": n / 40, "k": 3, "chunking": "heading 60/0", "f1@3": n / 40}
        for n in range(30)
    ]
    best = {
        "setting": "s20",
        "alpha": 0.5,
        "k": 3,
        "chunking": "heading 60/20",
        "sentence": "s20 is best",
    }
    searched = {
        "chunking": ["heading 60/0", "words 80/20"],
        "embedding": [{"name": "mini", "digest": "10412c47"}],
        "bm25": {"k1": 1.5, "detected": True},
    }
    warnings = {"warnings": ["page 7 is named twice"]}
    summary = {"best": best | more, "settings": settings, "searched": searched, "labels": warnings}
    folder.mkdir()
    (folder / "sweep.json").write_text(json.dumps(summary))
    return make_app(folder.parent, Rules())


def test_lines_for_the_suite_and_no_text_of_python(tmp_path: Path) -> None:
    app = _make_sweep(tmp_path / "sweep")
    data = ask(app, "/sweep/sweep?format=json").json()
    suite = tomllib.loads("\n".join(data["suite_lines"]))
    assert suite["target"] == {"k": 3}
    assert suite["retrieval"]["alpha"] == 0.5
    assert suite["retrieval"]["chunks"] == {"by": "heading", "size": 60, "overlap": 20}
    assert data["setup"]["chunking"] == "heading 60/0, words 80/20"
    assert data["setup"]["embedding"] == "mini"
    assert data["setup"]["bm25"] == "k1 1.5 detected yes"
    page = ask(app, "/sweep/sweep").text
    assert "&#39;heading" not in page
    assert page.index("page 7 is named twice") < page.index("For your suite")
    assert "18 more settings" in page


def test_the_default_is_named_where_nothing_is_better(tmp_path: Path) -> None:
    default = {"alpha": 0.25, "k": 5, "chunking": "page"}
    app = _make_sweep(tmp_path / "sweep", keep_default=True, default=default)
    lines = ask(app, "/sweep/sweep?format=json").json()["suite_lines"]
    assert lines == ["[target]", "k = 5", "", "[retrieval]", "alpha = 0.25"]
