"""`answerkey compare` and `answerkey baseline`, from scored files to exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "<script>alert(1)</script>|`x` [a](javascript:alert(1)) \x1b[31m"
PROFILE = """
name = "words"
pass = 0.5
[[criteria]]
metric = "token_f1"
[[criteria]]
metric = "keyword_recall"
"""


def rows(good: int, total: int = 40, wording: str = "the river runs") -> list[dict[str, Any]]:
    """The first `good` answers are right, the others wrong in words that differ from row to row."""
    return [
        {
            "id": f"q{n}",
            "question": f"{HOSTILE} {n}",
            "expected": f"the river runs north {n}",
            "answer": f"{wording} north {n}"
            if n < good
            else f"nothing is known of place {n} today",
            "route": "sales_kpi" if n % 2 else "rag",
            "expected_route": "sales_kpi",
        }
        for n in range(total)
    ]


@pytest.fixture
def score(
    cli: Callable[..., Any],
    write: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """`score("a", rows)`: a run in the test's folder, without models and pictures."""
    monkeypatch.chdir(tmp_path)
    profile = write("words.toml", PROFILE)

    def run(name: str, cases: list[dict[str, Any]], *options: str) -> str:
        path = write(f"{name}.jsonl", cases)
        options = options or ("--profile", str(profile))
        shown = cli(
            "score", path, "--name", name, *options, "--model", "none", "--no-charts", "--quiet"
        )
        assert shown.code == 0, shown.err
        return str(next(Path("results").glob(f"{name}_*")))

    return run


def test_the_same_answers_under_uniform_and_route_aware(
    cli: Callable[..., Any], score: Callable[..., str]
):
    a = score("before", rows(20, 50), "--profile", "uniform")
    b = score("after", rows(20, 50), "--profile", "route-aware")
    shown = cli("compare", a, b)
    assert shown.code == 0
    assert shown.out.startswith(
        "the bot did not change: 50 of 50 answers are identical; the profile did"
    )
    data = cli("compare", a, b, "--json").json
    assert data["verdict"] == "not comparable"
    assert data["identical_answers"] == 50
    assert data["changed"]["profile"] is True
    assert data["changed"]["answers"] is False
    assert data["overall"]["n"] == 50
    assert data["metrics"]["semantic_relevance"]["mean_b"] is not None
    gate = cli("compare", a, b, "--gate")
    assert (gate.code, gate.last_line.startswith("FAIL: the bot did not change")) == (1, True)


def test_worse_fails_the_gate_and_a_margin_forgives(
    cli: Callable[..., Any], score: Callable[..., str]
):
    a, b = score("good", rows(35)), score("bad", rows(10))
    shown = cli("compare", a, b, "--gate")
    assert shown.code == 1
    assert shown.out.startswith("B is worse: ")
    assert shown.last_line.startswith("FAIL: B is worse by more than the margin")
    assert cli("compare", b, a, "--gate").code == 0
    forgiven = cli("compare", a, b, "--gate", "--margin", "0.9", "--json")
    assert (forgiven.code, forgiven.json["gate"]["passed"], forgiven.json["verdict"]) == (
        0,
        True,
        "worse",
    )
    assert cli("compare", a, b, "--gate", "--margin", "0.1").code == 1
    assert cli("compare", a, b, "--margin", "0.1").code == 2
    assert cli("compare", a, b).last_line == "DONE: worse; 25 newly fail, 0 newly pass"
    for margin in ("nan", "inf", "-1"):
        invalid = cli("compare", a, b, "--gate", "--margin", margin)
        assert (invalid.code, "--margin is" in invalid.err) == (2, True)
    allowed = ("--gate", "--margin", "0.9", "--max-new-failures")
    assert cli("compare", a, b, *allowed, "25").code == 0
    new = cli("compare", a, b, *allowed, "24")
    assert (new.code, "25 cases newly fail, 24 allowed: q10, q11, q12, …" in new.last_line) == (
        1,
        True,
    )


def test_newly_failing_cases_come_first_in_every_form(
    cli: Callable[..., Any], score: Callable[..., str]
):
    a, b = score("good", rows(35)), score("bad", rows(10))
    text, markdown = cli("compare", a, b).out, cli("compare", a, b, "--markdown").out
    assert text.index("Newly failing: 25") < text.index("95 % interval   ")
    assert markdown.index("**Newly failing: 25") < markdown.index("<summary>Statistics")
    data = cli("compare", a, b, "--json").json
    assert (data["newly_failing"]["count"], data["newly_passing"]["count"]) == (25, 0)
    assert data["newly_failing"]["cases"][0]["id"] == "q10"
    assert data["quality"]["n"] == 40


def test_one_run_is_compared_with_the_baseline(cli: Callable[..., Any], score: Callable[..., str]):
    a, b = score("good", rows(35)), score("bad", rows(10))
    missing = cli("compare", b)
    assert missing.code == 2
    assert "answerkey baseline set" in missing.err
    assert cli("baseline", "set", a).code == 0
    assert cli("baseline", "show", "--json").json["exists"] is True
    assert cli("compare", b, "--json").json["a"] == a
    assert cli("compare", b, "--gate").code == 1
    assert cli("baseline", "set", "nowhere").code == 2


def test_files_for_readers_hold_hostile_text_as_text(
    cli: Callable[..., Any], score: Callable[..., str], tmp_path: Path
):
    a, b = score("good", rows(35)), score("bad", rows(10))
    assert cli("compare", a, b, "--out", tmp_path / "cmp").code == 0
    page = (tmp_path / "cmp/comparison.html").read_text()
    tags: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    reader.feed(page)
    assert tags.count("script") == 2, "the chart library and our own"
    assert tags.count("figure") == 2
    assert "img" not in tags
    assert "&lt;script&gt;" in page
    markdown = (tmp_path / "cmp/comparison.md").read_text()
    assert "<script" not in markdown
    assert not re.search(r"(?<!\\)\]\(javascript", markdown)
    assert "\x1b" not in cli("compare", a, b).out + markdown
    assert json.loads((tmp_path / "cmp/comparison.json").read_text())["degraded"]["count"] == 25
    for plot in ("compare_cases", "compare_metrics"):
        assert (tmp_path / f"cmp/plots/{plot}.png").read_bytes().startswith(b"\x89PNG")


def test_repeats_of_the_same_bot_give_a_noise_floor(
    cli: Callable[..., Any], score: Callable[..., str]
):
    a, again = score("one", rows(30)), score("two", rows(28))
    b = score("new", rows(29, wording="a river runs"))
    data = cli("compare", a, b, "--repeats", again, "--json").json
    assert data["noise"]["runs"] == 2
    assert data["noise"]["floor"] > 0
    assert data["noise"]["flaky_cases"] == ["q28", "q29"]


def test_a_run_that_stopped_early_is_called_partial_and_fails_the_gate(
    cli: Callable[..., Any], score: Callable[..., str], write: Callable[..., Path]
):
    a = score("whole", rows(40))
    write("part.jsonl", rows(15))
    suite = write(
        "part.toml",
        'name = "part"\ncases = ["part.jsonl"]\nprofile = "words.toml"\n'
        '[target]\nkind = "recorded"\n[embedding]\nmodel = "none"\n',
    )
    assert cli("run", suite, "--stop-on-fail", "--quiet", "--no-charts").code == 1
    b = str(next(Path("results").glob("part_*")))
    shown = cli("compare", a, b, "--gate")
    assert shown.out.startswith("B is a partial run (15 of 40 cases: stopped at q15")
    assert (shown.code, shown.last_line[:35]) == (1, "FAIL: B is a partial run (15 of 40 ")
    data = cli("compare", a, b, "--json").json
    assert data["partial"]["a"] is None
    assert data["partial"]["b"].startswith("15 of 40 cases")


def test_a_folder_that_is_no_run_is_one_line(
    cli: Callable[..., Any], score: Callable[..., str], tmp_path: Path
):
    shown = cli("compare", tmp_path, tmp_path)
    assert shown.code == 2
    assert "not a run folder" in shown.err
