"""The sentence that says why a case failed is the same in every output."""

from __future__ import annotations

import csv
import html
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, outcome, plain

import answerkey as ak
from answerkey.cli.main import command_line
from answerkey.types import Case, Outcome, Response, Score, Verdict
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_LEAVE = {
    "id": "leave",
    "question": "How much leave do I get?",
    "expected": "25 days",
    "answer": "You get 28 days.",
    "contexts": ["We are hiring.", "Lunch is at noon.", "You have 25 days of leave."],
}
WHY = "Says 28 days, expected 25; passage 3 says 25."


def _failed() -> Outcome:
    case = Case("leave", "How many days of leave?", ("25 days",))
    scores = {"keyword_recall": Score(0.1), "groundedness": Score(0.2)}
    failed = outcome(case, Response("28 days"), scores)
    explained = replace(failed.verdict, why=WHY, kind="wrong figure", cause="not used")
    return replace(failed, verdict=explained)


def _unscored() -> Outcome:
    verdict = Verdict("UNSCORED", justification="no criterion", why="No expected answer.")
    return Outcome(Case("open", "What else?"), Response("x"), {}, verdict)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("why")
    return make_run(root / "run", [_failed(), _unscored(), plain(0), plain(1)], "run")


@pytest.mark.parametrize("name", ["report.txt", "failures.txt", "report.md", "report.html"])
def test_reports_say_why(name: str, run: Path) -> None:
    text = (run / name).read_text(encoding="utf-8")
    assert WHY in html.unescape(text)
    assert "wrong figure" in text
    assert "not used" in text


def test_the_table_has_a_column_for_why_kind_and_cause(run: Path) -> None:
    with (run / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    leave = rows["leave"]
    assert (leave["why"], leave["kind"], leave["cause"]) == (WHY, "wrong figure", "not used")
    assert rows["open"]["status"] == "UNSCORED"


def test_junit_has_the_sentence_and_skips_what_was_not_measured(run: Path) -> None:
    suite = ElementTree.parse(run / "junit.xml").getroot()
    tests = {str(test.get("name")).partition(":")[0]: test for test in suite.iter("testcase")}
    failure = tests["leave"].find("failure")
    assert failure is not None
    assert str(failure.get("message")).endswith(f"(wrong figure): {WHY}")
    skipped = tests["open"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "No expected answer."
    assert suite.get("skipped") == "1"


@pytest.mark.parametrize("page", ["/run/run", "/run/run/case/0"])
def test_pages_say_why(page: str, run: Path) -> None:
    text = html.unescape(ask(make_app(run.parent, Rules()), page).text)
    assert WHY in text
    assert "wrong figure" in text
    assert "not used" in text


def test_the_home_page_counts_the_kinds(run: Path) -> None:
    data = ask(make_app(run.parent, Rules()), "/?format=json").json()
    assert ["wrong figure", 1] in data["suites"][0]["kinds"]


def test_failures_are_grouped_with_the_gain_of_each_fix(run: Path) -> None:
    text = (run / "report.txt").read_text(encoding="utf-8")
    lines = text.split("Failures by kind and cause\n")[1].splitlines()
    assert any("wrong figure, not used; fixing it would bring at most" in line for line in lines)


def test_one_sentence_in_every_output(tmp_path: Path) -> None:
    """One sentence in pandas, files, notebook, viewer, JUnit and pull request."""
    passing = {**_LEAVE, "answer": "You get 25 days."}
    before = ak.evaluate([passing], profile="rag", progress=False).save(tmp_path / "before")
    run = ak.evaluate([_LEAVE], profile="rag", progress=False)
    folder = run.save(tmp_path / "after")
    # As examples/github-action makes the comment.
    compared = CliRunner().invoke(command_line, ["compare", str(before), str(folder), "--markdown"])
    assert compared.exit_code == 0, compared.output
    why = "Says 28 days, expected 25 days; passage 3 says 25 days."
    outputs = {
        "pandas": run.to_pandas()["why"][0],
        "notebook": run._repr_html_(),
        "card": run[0]._repr_html_(),
        "viewer": ask(make_app(folder.parent, Rules()), f"/run/{folder.name}").text,
        "pull request": compared.stdout,
    }
    files = ("results.csv", "report.txt", "failures.txt", "report.md", "report.html", "junit.xml")
    outputs |= {name: (folder / name).read_text(encoding="utf-8") for name in files}
    assert len(why) <= 160
    for name, text in outputs.items():
        assert why in html.unescape(text), name
        assert "wrong figure" in text or name == "pandas", name
