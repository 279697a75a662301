"""`answerkey demo`, end to end: sockets are blocked in this test, so it is offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.golden import GOLDEN, demo_values

from answerkey.cli.main import command_line
from answerkey.errors import StorageError


@pytest.mark.slow
def test_three_bots_a_comparison_and_a_sweep(tmp_path: Path) -> None:
    done = CliRunner().invoke(command_line, ["demo", "--out", str(tmp_path / "demo"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    runs = told["runs"]
    assert {name: run["cases"] for name, run in runs.items()} == {
        "faq": 16,
        "docs": 26,
        "kpi-v1": 50,
        "kpi-v2": 50,
    }
    # Failures are seen in every run, and none fails whole.
    assert all(0 < run["passed"] < run["cases"] for run in runs.values())
    assert runs["kpi-v2"]["passed"] > runs["kpi-v1"]["passed"]
    assert told["comparison"]["verdict"] == "better"
    for run in runs.values():
        names = {path.name for path in Path(run["folder"]).iterdir()}
        assert {
            "summary.json",
            "report.txt",
            "report.md",
            "report.html",
            "failures.txt",
            "results.csv",
            "junit.xml",
        } <= names
    assert (Path(told["comparison"]["folder"]) / "comparison.html").is_file()
    assert len(list(Path(told["sweep"]["folder"], "plots").glob("*.png"))) == 5
    failures = (Path(runs["faq"]["folder"]) / "failures.txt").read_text(encoding="utf-8")
    assert "Points expire 12 months" in failures
    # The README shows what the demo prints.
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    printed = [
        line
        for line in done.stderr.splitlines()
        if line.startswith((*(f"{name} " for name in runs), "compare "))
    ]
    assert len(printed) == 5
    assert all(line in readme for line in printed), printed
    _assert_same(demo_values(tmp_path / "demo"), json.loads(GOLDEN.read_text(encoding="utf-8")))
    # The copy of the world is the user's own, and runs again.
    again = CliRunner().invoke(
        command_line,
        ["run", str(tmp_path / "demo" / "world" / "faq.toml"), "--quiet", "--no-charts"],
    )
    assert again.exit_code == 0, again.output


def _assert_same(found: Any, golden: Any, where: str = "demo") -> None:
    """Equal up to the embedding model's float noise, with the place that differs in the message."""
    if isinstance(golden, dict):
        assert set(found) == set(golden), where
        for name, value in golden.items():
            _assert_same(found[name], value, f"{where}.{name}")
    elif isinstance(golden, list):
        assert len(found) == len(golden), where
        for place, value in enumerate(golden):
            _assert_same(found[place], value, f"{where}[{place}]")
    elif isinstance(golden, float):
        # Vectors of one text differ by 1e-7 with the batch that it was embedded in.
        assert found == pytest.approx(golden, rel=1e-5, abs=1e-6), where
    else:
        assert found == golden, where


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(command_line, ["demo", "--out", str(tmp_path / "file")])
    assert isinstance(result.exception, StorageError)
