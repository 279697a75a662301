"""`compare --by` and `summary --by` on columns of the cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]
PROFILE = """
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
[[criteria]]
metric = "token_f1"
weight = 1
"""


@pytest.fixture
def runs(cli: Cli, write: Write, tmp_path: Path) -> list[Path]:
    """Two runs: in B the cases of type `hr` are better, those of `sales` are the same."""
    profile = write("p.toml", PROFILE)
    folders: list[Path] = []
    for name in ("a", "b"):
        rows: list[dict[str, object]] = []
        for n in range(24):
            kind = "hr" if n < 12 else "sales"
            is_right = kind == "sales" or name == "b" or n % 6 == 0
            answer = "It is Jane Roe." if is_right else "Nobody knows."
            rows.append(
                {"id": str(n), "type": kind, "team": kind.upper(), "tags": [f"t{n % 2}"],
                 "question": f"Who, {n}?", "expected": "It is Jane Roe.", "answer": answer}
            )  # fmt: skip
        out = tmp_path / name
        cases = write(f"{name}.json", rows)
        assert (
            cli("score", cases, "--profile", profile, "--out", out, "-q", "--no-charts").code == 0
        )
        folders.append(next(out.iterdir()))
    return folders


@pytest.mark.parametrize("column", ["type", "team"])
def test_before_and_after_per_group(cli: Cli, runs: list[Path], column: str) -> None:
    ended = cli("compare", *runs, "--by", column, "--json")
    assert ended.code == 0
    groups = {
        group["group"].lower(): group for group in json.loads(ended.out)["by_group"]["groups"]
    }
    assert groups["hr"]["n"] == 12
    assert groups["hr"]["difference"] > 0.5
    assert groups["hr"]["p_holm"] < 0.05
    assert groups["hr"]["ci95"][0] > 0
    assert groups["hr"]["passed_a"] < groups["hr"]["passed_b"] == 1.0
    assert groups["sales"]["difference"] == 0.0
    assert groups["sales"]["p_holm"] == 1.0


def test_the_table_is_printed_below_the_comparison(cli: Cli, runs: list[Path]) -> None:
    shown = cli("compare", *runs, "--by", "tag").out
    assert "By tag: overall score" in shown
    assert "t0" in shown.rpartition("By tag")[2]
    assert "p (Holm)" in shown.rpartition("By tag")[2]


def test_an_unknown_column_is_refused(cli: Cli, runs: list[Path]) -> None:
    assert cli("compare", *runs, "--by", "nothing").code == 2
    ended = cli("summary", runs[0], "--by", "taem")
    assert ended.code == 2
    assert 'did you mean "team"' in ended.err


def test_a_summary_by_any_column_of_the_cases(cli: Cli, runs: list[Path]) -> None:
    rows = json.loads(cli("summary", runs[0], "--by", "team", "--json").out)
    assert {row["name"]: row["cases"] for row in rows} == {"HR": 12, "SALES": 12}
    assert {row["name"]: row["passed"] for row in rows} == {"HR": 2, "SALES": 12}
    by_tag = json.loads(cli("summary", runs[0], "--by", "tag", "--json").out)
    assert [row["cases"] for row in by_tag] == [12, 12]
