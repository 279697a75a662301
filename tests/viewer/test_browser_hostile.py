"""Hostile text of a bot in a real browser: it is shown, and does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.viewer_asking import Watch, charts_are_drawn
from tests.support.viewer_server import serve_folder
from tests.support.viewer_world import HOSTILE, hostile, make_run, outcome, plain
from tests.viewer.test_rich_text import SAMPLES

from answerkey.comparison.comparison import compare_runs
from answerkey.reports.comparison_files import write_comparison
from answerkey.types import Case, Response, Score, Turn

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("browser")]


HOSTILE_PAGES = [
    "/", "/run/hostile_1", "/compare?a=hostile_1&b=hostile_1&show=all", "/run/hostile_1/live", "/sweep/bot_sweep_1",
    "/run/hostile_1?tab=charts", "/run/hostile_1?tab=tables", "/run/hostile_1?tab=about", "/label/hostile_1", "/trend?suite=bot",
    "/compare", f"/trend?suite={quote(HOSTILE[0])}", "/label/hostile_1?case=0&decide=1", f"/run/hostile_1?q={quote(HOSTILE[2])}",
    *(f"/run/hostile_1/case/{n}" for n in range(len(HOSTILE))), f"/run/hostile_1/case/{2 * len(HOSTILE)}",
]  # fmt: skip


def test_hostile_text_is_inert(served: str, watch: Watch) -> None:
    watched = watch(f"{served}/")
    for address in HOSTILE_PAGES:
        watched.said.clear()
        watched.page.goto(f"{served}{address}")
        charts_are_drawn(watched.page)
        _inert(watched)


def test_hostile_text_is_inert_in_the_comparison(
    viewed: Path, tmp_path: Path, watch: Watch
) -> None:
    folder = tmp_path / "other"
    make_run(folder, (plain(n) if n % 2 else hostile(n) for n in range(len(HOSTILE))), HOSTILE[2])
    write_comparison(compare_runs(viewed / "hostile_1", folder), tmp_path / "comparison")
    watched = watch(f"file://{tmp_path}/comparison/comparison.html")
    charts_are_drawn(watched.page)
    _inert(watched)


def test_hostile_text_is_inert_in_the_report(viewed: Path, watch: Watch) -> None:
    watched = watch(f"file://{viewed}/hostile_1/report.html")
    watched.page.get_by_role("button", name="Open all").click()
    _inert(watched)
    assert (viewed / "hostile_1" / "report.html").stat().st_size < 3_000_000


def test_hostile_markdown_is_inert_in_answers_and_turns(tmp_path: Path, watch: Watch) -> None:
    """Every sample as expected answer and answer of a case, and all of them in one conversation."""
    scores = {"keyword_recall": Score(0.2), "groundedness": Score(0.9)}
    outcomes = [
        outcome(Case(f"c{n}", "Is it safe?", (f"- {text}",)), Response(f"**So:** {text}"), scores)
        for n, text in enumerate(SAMPLES)
    ]
    turns = tuple(Turn("And this?", f"**So:** {text}") for text in SAMPLES)
    outcomes.append(outcome(Case("talk", "All?"), Response("end", turns=turns), scores))
    make_run(tmp_path / "run", outcomes, "markdown", reports=None)
    with serve_folder(tmp_path) as address:
        watched = watch(f"{address}/run/run")
        _inert(watched)
        for n in range(len(outcomes)):
            watched.page.goto(f"{address}/run/run/case/{n}")
            assert watched.page.locator(".rich").count() >= 1
            _inert(watched)
        assert watched.page.locator(".conversation .rich").count() >= 50


def _inert(watched: Any) -> None:
    page = watched.page
    page.mouse.move(300, 500)  # a tooltip of a chart is text too
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator(
            "main script, main style, main base, main [onerror], main [onload], a[href^='javascript:' i]"
        ).count()
        == 0
    )
    assert page.locator("img:not([src^='data:'])").count() == 0
    assert page.locator("form[action*='evil'], a[href*='evil']").count() == 0
    text = page.evaluate("document.documentElement.outerHTML")
    assert not set(text) & set("\x1b\x07\x00\u202e\u2066\ufeff"), (
        "a control character reached the page"
    )
    assert watched.quiet()
