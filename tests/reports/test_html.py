"""report.html and the plots, for runs of every kind and size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.stored_run import query
from tests.support.viewer_world import PROFILE, make_run, plain

import answerkey as ak
from answerkey.errors import SettingsError
from answerkey.profiles import load_profile
from answerkey.reports.case_details import describe_case
from answerkey.reports.chart_style import DARK, LIGHT, chart_config, scale_of
from answerkey.reports.html import MOST_CASES
from answerkey.reports.run_charts import run_charts
from answerkey.reports.write import write_reports
from answerkey.runs.store import open_reader, profile_of
from answerkey.runs.stored_table import read_stored_table
from answerkey.runs.summary import Summary
from answerkey.types import Case, Outcome, Passage, Response, Score, Verdict


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def scored(n: int, value: float | None = 0.5) -> Outcome:
    """A case that was measured without a profile."""
    return Outcome(
        Case(f"c{n}", f"question {n}"),
        Response(f"answer {n}"),
        {"own": Score(value)},
        Verdict("SCORED"),
    )


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        [scored(0)],
        [scored(n, None) for n in range(3)],
        [plain(7)],  # an error and nothing else
        [plain(n) for n in range(3)],
    ],
    ids=["no case", "one case, no profile", "nothing applies", "only an error", "three cases"],
)
def test_runs_of_every_kind_have_a_page(outcomes: list[Outcome], tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", outcomes, "small")
    page = page_of(folder)
    assert page.count('<details class="card case"') == len(outcomes)
    shown_part = page.partition("<main>")[2].partition("<script>")[0]
    assert not re.search(r"(nan|NaN|None|Undefined)", shown_part)
    assert not (folder / "plots").exists()  # only on request


@pytest.mark.slow
def test_large_run_shows_the_worst_and_says_so(tmp_path: Path) -> None:
    """The page and its charts grow with the bins, not with the cases."""
    small = make_run(tmp_path / "small", map(plain, range(250)), "small", reports=True)
    page = page_of(small)
    assert page.count('<details class="card case"') == MOST_CASES
    assert "The 200 worst of 250; <code>answerkey view</code> shows all of them." in page
    assert [path.name for path in sorted((small / "plots").glob("*.png"))] == [
        "bands.png", "metric_distributions.png", "pass_rate_by_route.png", "pass_rate_by_type.png", "response_times.png",
        "route_confusion.png", "score_distribution.png",
    ]  # fmt: skip
    specs = [
        _specs(small),
        _specs(make_run(tmp_path / "large", map(plain, range(2000)), "large", reports=False)),
    ]
    assert len(json.dumps(specs[1])) < 1.3 * len(json.dumps(specs[0]))


def test_every_link_of_the_page_leads_to_a_file(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", map(plain, range(5)), "small")
    links = set(re.findall('href="([^"#]+)"', page_of(folder)))
    assert {"results.csv", "results.jsonl", "failures.txt"} <= links
    assert all((folder / link).is_file() for link in links)


def test_a_page_written_elsewhere_has_no_link(tmp_path: Path) -> None:
    rows = [{"question": "When?", "answer": "at 9", "expected": "at 9"}]
    path = ak.evaluate(rows, metrics=["exact_match"], progress=False).to_html(tmp_path / "x.html")
    page = path.read_text(encoding="utf-8")
    assert "<h1>" in page
    assert re.findall('href="([^"#]+)"', page) == []


def _specs(folder: Path) -> dict[str, Any]:
    summary = Summary.of_json(json.loads((folder / "summary.json").read_text(encoding="utf-8")))
    return run_charts(summary, read_stored_table(open_reader(folder)), profile_of(folder))


def test_charts_count_every_case_once(tmp_path: Path) -> None:
    charts = _specs(make_run(tmp_path / "run", map(plain, range(40)), "run", reports=False))
    assert (
        sum(value["cases"] for value in charts["score_distribution"]["data"]["values"]) == 37
    )  # 3 errors have no score
    assert sum(value["cases"] for value in charts["bands"]["data"]["values"]) == 40
    assert sum(value["cases"] for value in charts["response_times"]["data"]["values"]) == 37
    assert sum(value["cases"] for value in charts["route_confusion"]["data"]["values"]) == 37
    passed = [
        value
        for value in charts["score_distribution"]["data"]["values"]
        if value["status"] != "FAILED"
    ]
    assert min(value["from"] for value in passed) == pytest.approx(
        0.6
    )  # no passed case lies under the pass mark


def test_a_plot_without_data_is_removed(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", map(plain, range(3)), "run", reports=False)
    (folder / "plots").mkdir()
    (folder / "plots" / "old.png").write_bytes(b"x")
    write_reports(folder, charts=True)
    assert (folder / "plots" / "bands.png").read_bytes().startswith(b"\x89PNG")
    assert not (folder / "plots" / "old.png").exists()


def test_page_allows_no_script_but_its_own(tmp_path: Path) -> None:
    page = page_of(make_run(tmp_path / "run", map(plain, range(3)), "run"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1].replace("&#39;", "'")
    assert "unsafe" not in policy[1]
    assert re.findall("<script[^>]*>", page) == ['<script type="text/plain" id="vega">', "<script>"]
    assert not re.search(r'(src|srcset)="(?!data:)', page)  # nothing is fetched


def test_explanation_adds_up() -> None:
    told: Any = describe_case(plain(3), load_profile(PROFILE))
    parts = told["verdict"]["parts"]
    assert sum(part.points for part in parts) == pytest.approx(told["verdict"]["quality"])
    assert sum(part.weight for part in parts) == pytest.approx(1)
    assert told["unsupported"] == 1


@pytest.mark.parametrize(
    "sentence",
    [
        {"flag": True, "start": -5, "end": 9999}, {"flag": True, "start": 4, "end": 2}, {"flag": True}, {"flag": True, "start": "a", "end": None},
        {"flag": False, "start": 0, "end": 6, "passage": 0, "span": [2, 1]}, {"flag": False, "start": 0, "end": 6, "passage": 7, "span": "x"},
        {"flag": False, "start": 0, "end": 6, "passage": 0, "span": "beyond the text"}, {"flag": False, "start": 0, "end": 6, "passage": 0, "span": "said"},
    ],
)  # fmt: skip
def test_marks_never_lose_a_letter(sentence: dict[str, Any]) -> None:
    """Whatever a detector says of places, all of the answer and of the passage is shown once."""
    response = Response("Answer é with 漢字.", (Passage("As it was said."),))
    score = Score(0.5, details={"sentences": [sentence, sentence]})
    told: Any = describe_case(
        Outcome(Case("c", "q"), response, {"groundedness": score}, Verdict("SCORED")), None
    )
    assert "".join(piece.text for piece in told["answer"] or ()) == response.answer
    assert "".join(piece.text for piece in told["passages"][0]["pieces"]) == "As it was said."


def test_satisfaction_is_explained_where_the_profile_defines_it(tmp_path: Path) -> None:
    explained = "perfect or acceptable by the profile; no user was asked, 95 %"
    assert explained in page_of(make_run(tmp_path / "run", [plain(1), plain(2)], "two"))


def test_charts_have_a_light_and_a_dark_background() -> None:
    light, dark = chart_config(), chart_config(dark=True)
    assert (light["background"], light["text"]["color"]) == (LIGHT["paper"], LIGHT["ink"])
    assert (dark["background"], dark["text"]["color"]) == (DARK["paper"], DARK["ink"])


def test_image_files_without_the_extra_name_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.reports.plots.can_draw", lambda: False)
    with pytest.raises(SettingsError, match=r"pip install 'answerkey\[charts\]'"):
        make_run(tmp_path / "run", map(plain, range(3)), "run", reports=True)


def test_bands_go_from_green_to_red_whatever_their_names() -> None:
    for count in range(1, 8):
        colours = scale_of([f"band {n}" for n in range(count)] + ["ERROR"])["range"]
        assert len(colours) == count + 1
        assert colours[0] == "#1b8a6b"
        assert count == 1 or colours[count - 1] == "#c8553d"


def test_a_stored_weight_of_zero_gives_a_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", map(plain, range(3)), "run", reports=False)
    for place, stored in query(run, "SELECT place, scored_json FROM verdicts"):
        text, changed = re.subn(r'"weight":[0-9.]+', '"weight":0.0', stored)
        assert changed
        query(run, "UPDATE verdicts SET scored_json = ? WHERE place = ?", text, place)
    write_reports(run)
    assert "the sum of the points" in page_of(run)
