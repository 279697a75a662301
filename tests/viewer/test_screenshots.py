"""Every page on a laptop, in the dark, on a tablet and on a phone: quiet, accessible, not too wide.

The pictures go to a folder below the system's temporary one; `pytest -s` prints its name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.viewer_asking import Watch, charts_are_drawn
from tests.support.viewer_server import serve_folder
from tests.support.viewer_world import make_run, make_world, outcome
from tests.viewer.test_watch_page import make_look

from answerkey.types import Case, ExpectedCall, ExpectedCalls, Response, Score, ToolCall, Turn
from answerkey.viewer.corrections import add_correction
from answerkey.viewer.run_notes import write_note
from answerkey.watch.state import open_state

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("browser")]

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
TIGHT_CARDS = """[...document.querySelectorAll('.card:not(.flush, .case)')]
    .filter(card => parseFloat(getComputedStyle(card).paddingLeft) < 5).map(card => card.outerHTML.slice(0, 80))"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Look(NamedTuple):
    width: int
    height: int
    scheme: str


LOOKS = {
    "laptop": Look(1440, 900, "light"),
    "dark": Look(1440, 900, "dark"),
    "tablet": Look(768, 1024, "light"),
    "phone": Look(390, 844, "light"),
}
PAGES = {
    "home": "/",
    "run": "/run/bot_1",
    "run-charts": "/run/bot_1?tab=charts",
    "run-tables": "/run/bot_1?tab=tables",
    "run-about": "/run/bot_1?tab=about",
    "no-match": "/run/bot_1?q=nowhere",
    "case": "/run/bot_1/case/3",
    "case-error": "/run/bot_1/case/7",
    "case-tools": "/run/agent_1/case/0",
    "case-conversation": "/run/agent_1/case/1",
    "compare": "/compare?a=bot_1&b=bot_2&show=newly+passing&by=type",
    "compare-choose": "/compare",
    "many": "/many?run=bot_1&run=bot_2&run=agent_1",
    "many-choose": "/many",
    "trend": "/trend?suite=bot",
    "label": "/label/bot_1",
    "label-decide": "/label/bot_1?case=3&decide=1",
    "sweep": "/sweep/bot_sweep_1",
    "watch": "/watch",
    "audit": "/audit/audited",
    "live": "/run/bot_1/live",
    "problem": "/run/none",
    "report": "bot_1/report.html",
    "comparison": "comparison/comparison.html",
}


def _make_agent_run(folder: Path) -> None:
    scores = {"keyword_recall": Score(0.2), "groundedness": Score(0.9)}
    calls = (
        ToolCall("search", {"city": "Oslo"}, "4 hotels", seconds=0.5),
        ToolCall("agent", calls=(ToolCall("book", {"id": 7}, error="card declined"),)),
    )
    expected = (ExpectedCalls((ExpectedCall("search", {"city": "Oslo"}),)), ExpectedCalls())
    case = Case("book", "Book a hotel in Oslo.", expected_tools=expected, extra={"team": "travel"})
    turns = (
        Turn("Hotels?", "There are **4**:\n\n- Grand\n- Plaza\n", calls[:1]),
        Turn("Thanks", "You're welcome."),
    )
    outcomes = [
        outcome(case, Response("Booked.", tools=calls), scores),
        outcome(Case("talk", "Hotels?"), Response("You're welcome.", turns=turns), scores),
    ]
    make_run(folder, outcomes, "agent", reports=None)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a viewer, and the folder that it shows."""
    root = make_world(tmp_path_factory.mktemp("shown") / "results")
    _make_agent_run(root / "agent_1")
    write_note(root / "bot_2", "with the new prompt", "release, staging")
    add_correction(root / "bot_1", Case("case-003", "q"), "Shop 3 opens at 4 o'clock.", "ana")
    with open_state(root / "watch") as state:
        for number, evidence in enumerate((0.4, 0.6, 31.0), start=1):
            state.add_look(make_look(number, 0.9 - number / 10, evidence))
    rows = [
        {"id": "a", "question": "How many days of annual leave do I have?", "expected": "28 days"},
        {"id": "b", "question": "How many annual leave days do I have?", "expected": "28"},
        {"id": "c", "question": "How long is it?", "expected": "30 days"},
    ]
    cases = root / "audited" / "cases.jsonl"
    cases.parent.mkdir()
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["-m", "answerkey", "audit", str(cases), "--save", "--model", "none", "-q"]
    subprocess.run([sys.executable, *command], check=True)
    with serve_folder(root) as address:
        yield address, root


@pytest.fixture(scope="module")
def pictures() -> Path:
    folder = Path(tempfile.gettempdir()) / "answerkey-screenshots"
    folder.mkdir(exist_ok=True)
    print(f"\nscreenshots: {folder}")
    return folder


def take_picture(page: Any, path: Path) -> None:
    from playwright.sync_api import Error

    try:
        page.screenshot(path=path)
    except Error:  # on a busy machine Chromium sometimes cannot capture the first time
        page.screenshot(path=path)


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, pages: tuple[str, Path], pictures: Path, watch: Watch) -> None:
    served, root = pages
    if PAGES[name].startswith("/"):
        address = f"{served}{PAGES[name]}"
    else:
        address = f"file://{root}/{PAGES[name]}"
    for look_name, look in LOOKS.items():
        watched = watch(address, look.scheme, look.width, look.height)
        page = watched.page
        take_picture(page, pictures / f"{name}-{look_name}.png")
        charts_are_drawn(page)
        assert page.evaluate(TIGHT_CARDS) == []
        wider = page.evaluate(TOO_WIDE)
        assert wider <= 0, f"{look_name}: the page is {wider} pixels too wide"
        assert serious_findings(page) == [], look_name
        if name != "problem":  # its 404 is rightly named in the console
            assert watched.quiet()


def serious_findings(page: Any) -> list[str]:
    page.evaluate(AXE + "; undefined")
    results = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]} {violation['nodes'][0]['failureSummary'][:300]}"
        for violation in results["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def test_on_a_laptop_the_first_reason_is_seen_without_scrolling(
    pages: tuple[str, Path], watch: Watch
) -> None:
    """Home, then the run, then its first failing case: two clicks."""
    served, _ = pages
    page = watch(f"{served}/", "light", 1440, 900).page
    page.locator(".suite-card a[href='/run/bot_2']").click()
    first = page.locator(".cases tbody tr").first
    why = first.locator(".why").bounding_box()
    assert why["y"] + why["height"] <= 900
    assert page.evaluate("scrollY") == 0
    first.locator(".case-link").click()
    reason = page.locator(".why-line .why").bounding_box()
    assert reason["y"] + reason["height"] <= 900


def test_a_print_has_no_buttons_and_dark_ink(pages: tuple[str, Path], watch: Watch) -> None:
    served, _ = pages
    for address in ("/", "/run/bot_1", "/run/bot_1/case/3", "/compare?a=bot_1&b=bot_2"):
        page = watch(f"{served}{address}", "dark").page
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 36, 43)"
        assert page.locator("header.top").is_hidden()
        assert len(page.pdf()) > 5000
