"""The Python in the documentation runs, and needs no more lines than it claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak

DOCS = Path(__file__).resolve().parents[2] / "docs"
PYTHON = (DOCS / "how-to" / "python.md").read_text(encoding="utf-8")
OTHERS = (DOCS / "how-to" / "from-other-tools.md").read_text(encoding="utf-8")
JOBS = [
    (int(n), code) for n, code in re.findall(r"```python job=(\d)\n(.*?)```", PYTHON, re.DOTALL)
]
RUBRIC = (
    '{"accuracy": 5, "completeness": 4, "citation_quality": 3, "coherence": 3, "reasoning": "fine"}'
)
ROWS = [
    {"question": "How long can I return goods?", "answer": "30 days.", "expected": "30 days", "contexts": ["Within 30 days."]},
    {"question": "What does delivery cost?", "answer": "RM 8.", "expected": "RM 8", "contexts": ["Delivery costs RM 8."]},
]  # fmt: skip


def names() -> dict[str, Any]:
    import pandas

    run = ak.evaluate(ROWS, profile="uniform", embedding="none", progress=False)
    given = {"ak": ak, "df": pandas.DataFrame(ROWS), "run_a": run, "run_b": run}
    return given | {"my_bot": lambda question: "30 days", "my_llm": lambda prompt: RUBRIC}


@pytest.mark.parametrize("job", range(5))
def test_five_usual_jobs(job: int) -> None:
    claimed, code = JOBS[job]
    assert claimed <= (2, 2, 3, 2, 1)[job]
    assert len([line for line in code.splitlines() if line.strip()]) <= claimed
    table = [int(n) for n in re.findall(r"^\| [a-z ]+ \| (\d) \|$", PYTHON.lower(), re.MULTILINE)]
    assert table == [n for n, _ in JOBS]
    scope = names()
    exec(code, scope)
    if "run" in scope:
        assert len(scope["run"]) == 2


@pytest.mark.parametrize("code", re.findall(r"```python run\n(.*?)```", OTHERS, re.DOTALL))
def test_the_same_job_as_in_other_tools(code: str) -> None:
    ragas = [
        {"user_input": r["question"], "response": r["answer"], "reference": r["expected"], "retrieved_contexts": r["contexts"]}
        for r in ROWS
    ]  # fmt: skip
    deepeval = [
        {"input": r["question"], "actual_output": r["answer"], "retrieval_context": r["contexts"]}
        for r in ROWS
    ]
    scope: dict[str, Any] = {"rows": deepeval if "gates" in code else ragas}
    exec(code, scope)
    if "run" in scope:
        assert len(scope["run"]) == 2


def test_the_index_for_language_models_leads_somewhere() -> None:
    text = (DOCS / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 15
    assert all((DOCS / link).is_file() for link in links)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    unlisted = pages - set(links) - {"README.md"}
    assert unlisted <= {"how-to/migrate.md", "how-to/kpi-bot.md", "how-to/reports.md"}, unlisted
