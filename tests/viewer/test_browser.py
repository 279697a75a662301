"""The viewer and the report page in a real browser."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.support.viewer_asking import Watch, charts_are_drawn

from answerkey.calibrate.labels import read_run_labels
from answerkey.runs.control import Options
from answerkey.runs.execute import execute_suite
from answerkey.runs.suite import load_suite

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_filter_sort_and_search(served: str, watch: Watch) -> None:
    """The table follows the chips, the headings and what is typed; the address can be sent to somebody."""
    watched = watch(f"{served}/run/bot_1")
    page = watched.page
    assert "ERROR" in page.locator(".cases tbody tr").first.inner_text()  # failing first
    page.locator(".chip", has_text="FAILED").click()
    page.wait_for_url("**status=FAILED**")
    statuses = page.locator(".cases tbody .badge").all_inner_texts()
    assert set(statuses) == {"FAILED"}
    assert len(statuses) > 3
    page.get_by_role("link", name="question", exact=False).first.click()
    page.wait_for_url("**sort=id**")
    ids = page.locator(".case-link .metric").all_inner_texts()
    assert ids == sorted(ids)
    assert "status=FAILED" in page.url
    page.locator("#search").press_sequentially("SHOP NUMBER 19 ")
    page.wait_for_url("**q=SHOP**")  # without Enter
    expect(page.locator(".case-link")).to_have_count(1)
    assert page.locator(".case-link").inner_text().startswith("case-019")
    page.locator("#search").press_sequentially("nowhere")
    page.get_by_text("No case matches").wait_for()
    page.get_by_role("link", name="Clear the filters").click()
    expect(page.locator(".case-link")).to_have_count(40)
    page.goto(f"{served}/run/bot_1?q=closed+on+day+13")  # words of an answer
    assert page.locator(".case-link").all_inner_texts()[0].startswith("case-012")
    assert watched.quiet()


def test_expected_and_answer_are_side_by_side(served: str, watch: Watch) -> None:
    page = watch(f"{served}/run/bot_1?q=number+19+").page
    expected, answer = page.locator(".cases .side").all()
    assert expected.inner_text() == "Shop 19 opens at 19 o'clock."
    assert answer.locator("mark.other").all_inner_texts() == ["20."]
    top = [cell.bounding_box()["y"] for cell in (expected, answer)]
    assert top[0] == top[1]
    assert page.locator(".cases .verdict").inner_text().split("\n")[:2] == ["FAILED", "other"]


def test_columns_are_chosen_and_kept(served: str, watch: Watch) -> None:
    page = watch(f"{served}/run/bot_1").page
    route = page.locator(".cases thead [data-column=route]")
    assert not route.is_visible()
    page.get_by_text("Columns").click()
    page.get_by_label("route", exact=True).check()
    assert route.is_visible()
    page.reload()
    assert page.locator(".cases thead [data-column=route]").is_visible()


def test_two_clicks_to_the_reason_and_one_key_to_a_label(
    served: str, viewed: Path, watch: Watch
) -> None:
    page = watch(f"{served}/").page
    page.locator(".suite-card a[href='/run/bot_2']").click()
    page.locator(".case-link").first.click()
    expect(page.get_by_text("No response: HTTP 503 from the bot")).to_be_visible()
    page.locator("html[data-ready]").wait_for(state="attached")
    page.keyboard.press("0")
    page.wait_for_url("**saved=1**")
    assert "case-007" in read_run_labels(viewed / "bot_2").by_majority()
    (viewed / "bot_2" / "labels.jsonl").unlink()


def test_on_a_phone_the_pass_rate_and_the_failing_cases_come_first(
    served: str, watch: Watch
) -> None:
    page = watch(f"{served}/run/bot_1", width=390, height=800).page
    assert page.locator(".strip-rate").bounding_box()["y"] < 300
    assert page.locator(".cases tbody tr").first.bounding_box()["y"] < 800


def test_keyboard_alone(served: str, watch: Watch) -> None:
    watched = watch(f"{served}/run/bot_1?sort=order")
    page = watched.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    for _ in range(2):
        page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/case/1**")
    page.keyboard.press("j")
    page.wait_for_url("**/case/2**")
    page.keyboard.press("k")
    page.wait_for_url("**/case/1**")
    page.keyboard.press("u")
    page.wait_for_url("**/run/bot_1**")
    assert watched.quiet()


def test_case_shows_why(served: str, watch: Watch) -> None:
    """The unsupported sentence is marked, the supporting span too, and the sum gives the verdict."""
    page = watch(f"{served}/run/bot_1/case/3").page
    assert page.locator("span.unsupported").all_inner_texts() == ["It is closed on day 4."]
    assert page.locator("mark.supports").all_inner_texts() == ["it opens at 3 o'clock"]
    total = " ".join(page.locator(".sum").inner_text().split())
    assert total == "0.110 · 60 % + 0.500 · 40 % = 0.266"
    sentence = page.locator(".sentence").inner_text()
    assert sentence == "Failed: the score 0.266 is below the pass mark 0.6."
    page.get_by_text("Judge", exact=True).click()
    page.get_by_text("raw reply").click()
    assert page.locator("pre").first.inner_text() == '{"score": 4}'


def test_label_is_kept_and_read_by_calibrate(served: str, viewed: Path, watch: Watch) -> None:
    watched = watch(f"{served}/run/bot_2/case/5")
    page = watched.page
    page.keyboard.press("n")
    page.keyboard.type("day 6 is\u2028invented <b>")
    page.get_by_role("button", name="Wrong").click()
    page.wait_for_url("**saved=1**")
    assert page.get_by_text("Saved.").is_visible()
    assert page.get_by_role("button", name="Wrong").get_attribute("aria-pressed") == "true"
    assert read_run_labels(viewed / "bot_2").by_majority() == {"case-005": 0}
    page.keyboard.press("1")
    expect(page.locator("button[value=right]").first).to_have_attribute("aria-pressed", "true")
    assert read_run_labels(viewed / "bot_2").by_majority() == {"case-005": 1}
    lines = [
        json.loads(line) for line in (viewed / "bot_2" / "labels.jsonl").read_text().splitlines()
    ]
    assert [line["note"] for line in lines] == ["day 6 is\u2028invented <b>"] * 2
    page.goto(f"{served}/run/bot_2?label=right")
    assert page.locator(".case-link").count() == 1
    assert watched.quiet()


def _take_name(page: Any, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Use").click()
    expect(page.get_by_text(f"labelled by {name}")).to_be_visible()
    page.locator("html[data-ready]").wait_for(state="attached")


def _label(page: Any, key: str) -> str:
    """The question that was labelled with one key, once the page with the next one listens to keys."""
    question = page.locator("h1").inner_text()
    page.keyboard.press(key)
    expect(page.locator("h1")).not_to_have_text(question)
    page.locator("html[data-ready]").wait_for(state="attached")
    return question


def test_two_people_label_by_keyboard_and_settle_a_disagreement(
    served: str, viewed: Path, watch: Watch
) -> None:
    first = watch(f"{served}/label/bot_1")
    page = first.page
    _take_name(page, "ana")
    assert len({_label(page, key) for key in "1101"}) == 4
    expect(page.get_by_text("4 of 40 labelled by ana")).to_be_visible()
    second = watch(f"{served}/label/bot_1")
    other = second.page
    _take_name(other, "ben")
    for key in "1111":
        _label(other, key)
    expect(other.get_by_text("ana and ben: Cohen's κ")).to_be_visible()
    labels = read_run_labels(viewed / "bot_1")
    assert labels.people() == ["ana", "ben"]
    (disputed,) = labels.disagreements()
    other.get_by_role("link", name=disputed).click()
    other.get_by_text("People differ").wait_for()
    other.locator("html[data-ready]").wait_for(state="attached")
    other.keyboard.press("0")
    other.get_by_text("Disagreements: 0").wait_for()
    assert read_run_labels(viewed / "bot_1").by_majority()[disputed] == 0
    assert first.quiet()
    assert second.quiet()
    (viewed / "bot_1" / "labels.jsonl").unlink()


def test_other_site_cannot_label(served: str, viewed: Path, watch: Watch) -> None:
    page = watch("data:text/html,<form method=post id=f><input name=label value=right></form>").page
    page.evaluate(
        f"document.getElementById('f').action = '{served}/run/bot_1/case/1/label'; document.getElementById('f').submit()"
    )
    page.wait_for_url("**/label")
    assert "only accepted from a page of this viewer" in page.content()
    assert not (viewed / "bot_1" / "labels.jsonl").exists()


SLOW_BOT = """
import time
def answer(question):
    time.sleep(0.15)
    return "It opens at nine."
"""


def test_live_page_follows_a_run(served: str, viewed: Path, watch: Watch) -> None:
    folder = viewed / "going"
    folder.mkdir()
    (folder / "viewer_slow_bot.py").write_text(SLOW_BOT)
    cases = [{"question": f"When, {n}?", "expected": "It opens at nine."} for n in range(24)]
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "suite.toml").write_text(
        'name = "going"\ncases = ["cases.json"]\nmetrics = ["keyword_recall"]\n'
        '[target]\nkind = "python"\ncall = "viewer_slow_bot:answer"\n[run]\nworkers = 1\nout = "results"\n'
    )
    running = threading.Thread(
        target=execute_suite, args=(load_suite(folder / "suite.toml"), Options())
    )
    running.start()
    while not (found := list(folder.glob("results/*/run.sqlite"))):
        time.sleep(0.02)
    watched = watch(f"{served}/run/going/results/{found[0].parent.name}/live")
    page = watched.page
    state = page.locator("[data-live=state]")
    done = page.locator("[data-live=done]")
    seen = {int(done.inner_text())}
    while state.inner_text() == "in progress":
        seen.add(int(done.inner_text()))
        time.sleep(0.1)
    running.join()
    assert len(seen) > 1, f"the page did not follow the run: {seen}"
    assert done.inner_text() == "24"
    assert page.get_by_text("The run is over").is_visible()
    assert page.locator("[data-live=latest] tr").count() == 12
    assert watched.quiet()


def test_report_page_filters_and_prints(viewed: Path, watch: Watch) -> None:
    watched = watch(f"file://{viewed}/bot_1/report.html")
    page = watched.page
    assert page.locator("details.case").count() == 40
    page.fill("#search", "shop number 12 ")
    assert page.locator("details.case:visible").count() == 1
    page.locator("details.case:visible summary").first.click()
    assert page.locator("mark.unsupported:visible").count() == 1
    page.fill("#search", "")
    page.select_option("#status", "ERROR")
    assert page.locator("#shown").inner_text() == "3 of 40 shown"
    charts_are_drawn(page)
    assert page.locator(".chart svg").count() >= 6
    page.emulate_media(media="print", color_scheme="dark")
    assert (
        page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 36, 43)"
    )  # ink on paper, whatever the screen
    assert len(page.pdf()) > 10_000
    assert watched.quiet()
