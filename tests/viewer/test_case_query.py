"""Which cases a page shows: filters, order, search and export."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.stored_run import query
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

pytestmark = pytest.mark.xdist_group("browser")  # one worker makes the world once


@pytest.mark.parametrize(
    ("wish", "first"),
    [
        ("", "case-007"),  # an error comes first
        ("?status=FAILED", "case-019"),
        ("?sort=keyword_recall&down=1", "case-027"),
        ("?sort=seconds&down=1", "case-039"),
        ("?q=NUMBER+17+", "case-017"),
        ("?q=closed+on+day+9.", "case-008"),
        ("?route=sales&sort=order", "case-001"),
        ("?type=kind+2&sort=order", "case-002"),
        ("?metric=keyword_recall&under=0.05&sort=order", "case-000"),
        ("?sort=id&down=1", "case-039"),
    ],
)
def test_filter_sort_and_search(wish: str, first: str, app: Any) -> None:
    page = ask(app, f"/run/bot_1{wish}{'&' if wish else '?'}format=json").json()
    assert page["cases"][0]["id"] == first


def test_filters_join_and_pages_split(viewed: Path, tmp_path: Path) -> None:
    make_run(tmp_path / "results" / "many", map(plain, range(250)), "many", reports=False)
    app = make_app(tmp_path / "results", Rules())
    seen: list[str] = []
    for page in (1, 2, 3):
        told = ask(app, f"/run/many?page={page}&sort=order&format=json").json()
        assert (told["pages"], told["found"]) == (3, 250)
        seen += [case["id"] for case in told["cases"]]
    assert seen == [f"case-{n:03}" for n in range(250)]
    told = ask(app, "/run/many?status=FAILED&route=sales&type=kind+1&format=json").json()
    assert told["found"] == sum(
        (o := plain(n)).verdict.status == "FAILED"
        and o.response.route == "sales"
        and o.case.type == "kind 1"
        for n in range(250)
    )
    assert ask(app, "/run/many?page=99&format=json").json()["page"] == 3


def test_case_keeps_the_filter(app: Any) -> None:
    told = ask(app, "/run/bot_1/case/19?status=FAILED&format=json").json()
    assert (told["place"], told["previous"]) == (0, None)
    assert told["query"] == "?status=FAILED"
    assert (
        f"/run/bot_1/case/{told['next']}?status=FAILED"
        in ask(app, "/run/bot_1/case/19?status=FAILED").text
    )


def test_an_export_of_a_run_with_a_damaged_case_is_an_error_page(tmp_path: Path) -> None:
    make_run(tmp_path / "bot", map(plain, range(5)), "bot")
    damaged = json.dumps({"answer": ["not", "text"]})
    query(tmp_path / "bot", "UPDATE answers SET response_json = ? WHERE place = 4", damaged)
    app = make_app(tmp_path, Rules())
    for kind in ("csv", "jsonl"):
        reply = ask(app, f"/run/bot/export/{kind}")
        assert reply.status in (404, 422), reply.status
        assert "damaged record" in reply.text


def test_the_filtered_cases_can_be_exported(app: Any) -> None:
    lines = ask(app, "/run/bot_1/export/jsonl?status=ERROR&sort=id").body.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["case-007", "case-018", "case-029"]
    text = ask(app, "/run/bot_1/export/csv?status=ERROR&sort=id").text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in table] == ["case-007", "case-018", "case-029"]
    assert ask(app, "/run/bot_1/export/exe").status == 404


@pytest.mark.parametrize(
    "query",
    [
        "page=9999999999999999999999",
        "page=%C2%B2",
        "under=nan",
        "sort=%00",
        "q=%ff%fe",
        "tab=x",
        "down=down",
    ],
)
def test_an_odd_query_is_answered(query: str, app: Any) -> None:
    assert ask(app, f"/run/bot_1?{query}").status < 500
