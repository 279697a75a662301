"""The page of a run: groups of failures, chips, the user's own columns, readable settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import Watch, ask, charts_are_drawn
from tests.support.viewer_server import serve_folder
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    outcomes = [plain(n) for n in range(30)]
    owned = [
        replace(each, case=replace(each.case, extra={"team": f"team {n % 2}", "note <b>": n}))
        for n, each in enumerate(outcomes)
    ]
    settings = {
        "target": {"kind": "python", "call": "bot:answer"},
        "judge": {"preset": "ollama", "model": "small"},
        "selection": {"limit": 30},
    }
    make_run(root / "run", owned, "bot", reports="page", settings=settings)
    return root


@pytest.fixture
def app(root: Path) -> Any:
    return make_app(root, Rules())


def test_failures_are_grouped_by_kind_and_cause_and_lead_to_their_cases(app: Any) -> None:
    data = ask(app, "/run/run?format=json").json()
    counts = [group["count"] for group in data["groups"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 30 - data["summary"]["totals"]["passed"]
    first = data["groups"][0]
    chosen = ask(app, f"/run/run{first['address']}&format=json").json()
    assert {case["kind"] for case in chosen["cases"]} == {first["kind"]}
    page = ask(app, f"/run/run{first['address']}").text
    assert f"failure: {first['kind']}" in page  # the chip that removes the filter


def test_own_columns_can_be_shown(app: Any) -> None:
    data = ask(app, "/run/run?format=json").json()
    assert data["own_columns"] == ["team", "note <b>"]
    assert data["cases"][0]["own"]["team"].startswith("team ")
    page = ask(app, "/run/run").text
    assert 'data-column="own-team"' in page
    assert "note <b>" not in page


def test_the_setup_is_in_words_and_hashes_are_folded(app: Any) -> None:
    setup = ask(app, "/run/run?tab=about&format=json").json()["setup"]
    assert setup["bot"] == "bot:answer"
    assert setup["judge"] == "ollama, small"
    assert setup["profile"] == "two-part"
    assert setup["selected"] == "limit 30"
    page = ask(app, "/run/run?tab=about").text
    assert page.index("<details><summary>Fingerprint") < page.index("<dt>cases</dt>")


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_click_on_a_bar_shows_its_cases(root: Path, watch: Watch) -> None:
    with serve_folder(root) as address:
        page = watch(f"{address}/run/run?tab=charts").page
        charts_are_drawn(page)
        chart = page.locator(".chart[data-parameter=route]")
        chart.locator("svg .mark-symbol path").first.click()
        page.wait_for_url("**route=**")
        shown = page.locator("[role=status]").first.inner_text()
    assert " of 30 cases" in shown
    assert not shown.startswith("30 ")
