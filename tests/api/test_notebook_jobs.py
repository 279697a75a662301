"""Five jobs of a new user in a notebook, each in at most two lines after the import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SETUP = """
import pandas as pd
import answerkey as ak
df = pd.DataFrame({
    "question": ["How many days of leave do I get?", "When is lunch?"],
    "expected": ["25 days", "At noon"],
    "answer": ["You get 28 days.", "Lunch is at noon."],
    "team": ["HR", "Office"],
})
better = df.assign(answer=["25 days", "Lunch is at noon."])
"""
JOBS = {
    "evaluate a data frame": "run = ak.evaluate(df)\nrun",
    "list the worst with reasons": 'run.to_pandas().query("passed == False")[["team", "answer", "why"]]',
    "compare two frames": "ak.compare(df, better)",
    "plot": "run.plot()",
    "save a report": 'run.to_html("report.html")',
    "look at one case": 'run["data#1"]',
}
WORDS = {
    "evaluate a data frame": "1 passed, 50 %",
    "list the worst with reasons": "Says 28 days, expected 25 days.",
    "compare two frames": "50 % → 100 % passed",
    "plot": "failures by kind",
    "save a report": "report.html",
    "look at one case": "wrong figure",
}


def test_a_job_is_at_most_two_lines() -> None:
    assert all(len(code.splitlines()) <= 2 for code in JOBS.values())


@pytest.mark.slow
def test_the_jobs_run_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    monkeypatch.chdir(tmp_path)
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *JOBS.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for (job, _), cell in zip(JOBS.items(), notebook.cells[1:], strict=True):
        assert WORDS[job] in _shown(cell), job
    assert (tmp_path / "report.html").is_file()


def _shown(cell: Any) -> str:
    """Everything that a cell shows: HTML where there is some, otherwise text."""
    data = [output.get("data", {}) for output in cell.outputs]
    return " ".join(each.get("text/html") or each.get("text/plain", "") for each in data)
