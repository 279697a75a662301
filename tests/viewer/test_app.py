"""The viewer's pages as answers to requests: what they say, to whom, and how much of it."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, outcome, plain

from answerkey.errors import InputError
from answerkey.reports.rows import read_rows
from answerkey.types import Case, Outcome, Response, Score, Verdict
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

pytestmark = pytest.mark.xdist_group("browser")  # one worker makes the world once

PAGES = [
    "/", "/run/bot_1", "/run/bot_1/case/3", "/run/bot_1/live", "/compare", "/compare?a=bot_1&b=bot_2", "/sweep/bot_sweep_1",
    "/run/hostile_1", "/run/hostile_1/case/9", "/run/bot_1?tab=charts", "/run/bot_1?tab=tables", "/run/bot_1?tab=about", "/trend?suite=bot", "/label/bot_1", "/compare?a=bot_1&b=bot_2&show=changed",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_page_as_html_and_as_strict_json(page: str, app: Any) -> None:
    shown = ask(app, page)
    assert (shown.status, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    joint = "&" if "?" in page else "?"
    value = ask(app, f"{page}{joint}format=json")
    assert value.headers["content-type"] == "application/json"
    assert isinstance(value.json(), dict)
    for reply in (shown, value):
        policy = reply.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str, app: Any) -> None:
    links = {html.unescape(link) for link in re.findall(r'href="([^"#]+)', ask(app, page).text)}
    inside = [
        urljoin(page, link) for link in links if not link.startswith(("http:", "https:", "data:"))
    ]
    assert [link for link in inside if ask(app, link).status != 200] == []


def test_json_of_a_case_says_everything(app: Any) -> None:
    case = ask(app, "/run/bot_1/case/3?format=json").json()["case"]
    assert case["id"] == "case-003"
    assert [piece["flag"] for piece in case["answer"] if piece["flag"] is not None] == [False, True]
    assert (
        "".join(piece["text"] for piece in case["answer"])
        == "The shop opens at 3 o'clock. It is closed on day 4."
    )
    verdict = case["verdict"]
    assert sum(part["points"] for part in verdict["parts"]) == pytest.approx(verdict["quality"])
    assert [score["kind"] for score in case["scores"]] == [
        "value",
        "value",
        "value",
        "not applicable",
    ]
    assert case["judge"] == [
        {
            "metrics": ["rubric.accuracy"],
            "model": "m",
            "raw": ['{"score": 4}'],
            "reasoning": ["Mostly right, says the judge."],
        }
    ]


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("/run/none", "no run &#34;none&#34; here"),
        ("/run/../../etc", "no run"),
        ("/run/%2e%2e/x", "no run"),
        ("/run/bot_1/case/4000", "no case 4000 here: the run has 40"),
        ("/run/bot_1?sort=keyword_recal", "did you mean &#34;keyword_recall&#34;"),
        ("/run/bot_1?page=0", "page: expected a whole number from 1"),
        ("/run/bot_1?under=x", "under: expected a number"),
        ("/compare?a=bot_1&b=bot_2&show=worse", "show: no"),
        ("/run/bot_1/file/run.lock", "no file"),
        ("/run/bot_1/file/../run.json", "no file"),
        ("/run/bot_1/file/plots/../../run.json", "no file"),
        ("/sweep/bot_1", "no sweep"),
        ("/nothing", "There is no such page"),
        ("/trend?suite=none", "no suite"),
        ("/label/bot_1?case=400", "no case 400"),
    ],
)
def test_wrong_wishes_are_told(page: str, told: str, app: Any) -> None:
    reply = ask(app, page)
    assert reply.status == 404
    assert told in reply.text


def test_reports_are_downloads(app: Any) -> None:
    page = ask(app, "/run/bot_1/file/report.html")
    assert (
        "attachment" in page.headers["content-disposition"]
    )  # never shown in the viewer's own name


def test_a_page_stays_small_whatever_the_answers(viewed: Path, tmp_path: Path) -> None:
    """3,000 answers of 4,000 characters: the page holds excerpts of a hundred."""

    def large(n: int) -> Outcome:
        return Outcome(
            Case(f"c{n}", f"question {n} " * 20),
            Response("word " * 800),
            {"m": Score(n / 3000)},
            Verdict("SCORED"),
        )

    make_run(tmp_path / "results" / "large", map(large, range(3000)), "large", reports=False)
    app = make_app(tmp_path / "results", Rules())
    for page in ("/run/large", "/run/large?format=json", "/run/large?q=word&page=30"):
        assert len(ask(app, page).body) < 320_000


def test_rows_follow_the_database(tmp_path: Path) -> None:
    """Rows are read again as soon as the database changes."""
    folder = make_run(tmp_path / "results" / "grows", map(plain, range(3)), "grows", reports=None)
    assert read_rows(folder).id == ["case-000", "case-001", "case-002"]
    source = make_run(tmp_path / "results" / "longer", map(plain, range(5)), "longer", reports=None)
    (folder / "run.sqlite").write_bytes((source / "run.sqlite").read_bytes())
    assert len(read_rows(folder)) == 5


def test_run_without_reports_is_shown_and_called_interrupted(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "results" / "cut", map(plain, range(9)), "cut", reports=None)
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(
        json.dumps({**manifest, "partial": "in progress", "count": 20})
    )
    os.utime(folder / "run.sqlite", (1, 1))
    app = make_app(folder, Rules())  # a run's own folder is as good
    assert ask(app, "/?format=json").json()["runs"][0]["state"] == "interrupted"
    told = ask(app, "/run/cut?format=json").json()
    assert told["summary"]["totals"]["cases"] == 9
    assert "Interrupted run" in ask(app, "/run/cut").text


def test_the_comparison_opens_where_there_are_cases(app: Any, viewed: Path) -> None:
    """The second version only mends; looked at backwards, it only breaks."""
    assert ask(app, "/compare?a=bot_1&b=bot_2&format=json").json()["show"] == "newly passing"
    assert ask(app, "/compare?a=bot_2&b=bot_1&format=json").json()["show"] == "newly failing"
    assert ask(app, "/compare?a=bot_1&b=bot_1&format=json").json()["show"] == "all"
    assert ask(app, "/compare?a=bot_1&b=bot_2&show=lower&format=json").json()["found"] == 0


def test_an_acceptable_route_is_not_called_wrong(viewed: Path, tmp_path: Path) -> None:
    def routed(n: int, *acceptable: str) -> Outcome:
        case = Case(f"c{n}", "q?", ("a",), expected_route="sales_kpi", acceptable_routes=acceptable)
        return outcome(case, Response("a", route="rag"), {"keyword_recall": Score(0.5)})

    make_run(tmp_path / "routes", [routed(0, "rag"), routed(1)], "routes", reports=None)
    app = make_app(tmp_path, Rules())
    page = ask(app, "/run/routes").text
    assert page.count('<span class="warn small">acceptable, expected sales_kpi</span>') == 1
    assert page.count('<span class="bad small nowrap">not sales_kpi</span>') == 1
    assert (
        '<span class="warn">(acceptable, expected sales_kpi)</span>'
        in ask(app, "/run/routes/case/0").text
    )
    assert '<span class="bad">(expected sales_kpi)</span>' in ask(app, "/run/routes/case/1").text


@pytest.mark.parametrize(
    "damage", ["empty manifest", "no json", "odd types", "half a database", "odd summary", "binary"]
)
def test_a_damaged_run_gives_a_page_and_the_rest_works(damage: str, tmp_path: Path) -> None:
    make_run(tmp_path / "whole", map(plain, range(3)), "whole", reports=False)
    bad = make_run(tmp_path / "bad", map(plain, range(3)), "bad", reports=False)
    files = {
        "empty manifest": ("run.json", b"{}"), "no json": ("run.json", b"nothing"),
        "odd types": ("run.json", b'{"format": 1, "name": 7, "created": [], "profile": 3, "fingerprint": null}'),
        "half a database": ("run.sqlite", (bad / "run.sqlite").read_bytes()[:40_000]),
        "odd summary": ("summary.json", b'{"totals": 5}'), "binary": ("run.sqlite", bytes(range(256)) * 9),
    }  # fmt: skip
    name, content = files[damage]
    (bad / name).write_bytes(content)
    app = make_app(tmp_path, Rules())
    for page in (
        "/run/bad",
        "/run/bad?tab=charts",
        "/run/bad/case/0",
        "/run/bad/live",
        "/compare?a=whole&b=bad",
    ):
        assert ask(app, page).status < 500, page
    assert ask(app, "/").status == 200
    assert ask(app, "/run/whole").status == 200


@pytest.mark.parametrize("host", ["[", "[::1", "a]b", "\u00e9", "127.0.0.1:x"])
def test_an_odd_host_header_is_refused_quietly(host: str, app: Any) -> None:
    assert ask(app, "/", host=host).status in (200, 421)


def test_facts_and_criteria_are_on_the_case_page_and_in_the_report(app: Any, viewed: Path) -> None:
    case = ask(app, "/run/bot_1/case/3?format=json").json()["case"]
    assert [fact["state"] for fact in case["facts"]] == ["contradicted", "missing", "found"]
    assert [(each["ask"], each["state"]) for each in case["criteria"]] == [
        ("Greets the customer", "not met"),
        ("Gives the hour", "met"),
    ]
    shown = ask(app, "/run/bot_1/case/3").text
    report = (viewed / "bot_1" / "report.html").read_text(encoding="utf-8")
    for page in (shown, report):
        assert "Expected facts: 1 contradicted, 1 found, 1 missing" in page
        assert '<q class="quote" dir="auto">It is closed on day 4.</q>' in page
        assert "Criteria: 1 met, 1 not met" in page


def test_a_judges_preferences_stand_beside_the_answers(cli: Any, tmp_path: Path) -> None:
    for version in (1, 2):
        make_run(
            tmp_path / f"bot_{version}", (plain(n, version) for n in range(9)), "bot", reports=None
        )
    told = cli("prefer", tmp_path / "bot_1", tmp_path / "bot_2", "--judge", "local", "--json")
    assert told.code == 0, told.err
    app = make_app(tmp_path, Rules())
    page = ask(app, "/compare?a=bot_1&b=bot_2&show=all&format=json").json()
    assert page["preference"]["sentence"] == told.json["sentence"]
    assert page["shows"]["A preferred"] == told.json["wins_a"]
    assert {c["id"]: c["preferred"]["winner"] for c in page["cases"]} == {
        c["id"]: c["winner"] for c in told.json["results"]
    }
    assert told.json["sentence"] in html.unescape(
        ask(app, "/compare?a=bot_1&b=bot_2&show=all").text
    )
    assert ask(app, "/compare?a=bot_2&b=bot_1&format=json").json()["preference"] is None
    for damaged in ("{", "{}", '{"results": 3}', "[]"):
        (tmp_path / "bot_2" / "preferred_over_bot_1.json").write_text(damaged)
        assert ask(app, "/compare?a=bot_1&b=bot_2&format=json").json()["preference"] is None


def test_the_label_desk_is_blind(app: Any) -> None:
    told = ask(app, "/label/bot_1?format=json").json()
    assert set(told["case"]) == {
        "id", "question", "history", "expected", "has_expected", "error", "answer_length", "answer_cut", "sources", "answer", "passages",
        "sentences", "unsupported",
    }  # fmt: skip
    page = ask(app, "/label/bot_1").text
    assert "keyword_recall" not in page
    assert "FAILED" not in page


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        make_app(tmp_path / "none", Rules())


@pytest.mark.network
def test_command_serves_until_interrupted(viewed: Path) -> None:
    """The address is the one line on standard output; Ctrl-C ends it cleanly, even with a live page open."""
    served = subprocess.Popen(
        [sys.executable, "-m", "answerkey", "view", str(viewed), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert served.stdout is not None
    try:
        root = served.stdout.readline().strip()
        assert root.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{root}?format=json") as reply:
            assert {"bot_1", "bot_2"} <= {run["run"] for run in json.load(reply)["runs"]}
        with urllib.request.urlopen(f"{root}run/bot_1/events") as live:
            assert live.readline().startswith(b"data: ")
            served.send_signal(signal.SIGINT)
            rest, said = served.communicate()
    finally:
        served.kill()
        served.wait()
        served.stdout.close()
    assert (served.returncode, rest) == (0, "")
    assert said.splitlines() == ["press Ctrl-C to stop", "DONE: the viewer has stopped"]
