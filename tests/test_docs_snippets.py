"""Every Python snippet of the documentation runs, in a folder with the files that its pages name."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.docs_world import make_world

import answerkey as ak
from answerkey.metrics import registry

ROOT = Path(__file__).resolve().parents[1]
SNIPPETS = [
    (page, number, code)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.parent.name != "reference"  # its examples are doctests of the code
    for number, code in enumerate(
        re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
    if not re.search(r"from (ragas|deepeval)", code)  # "before" of a page on leaving another tool
]
RUBRIC = (
    '{"accuracy": 5, "completeness": 4, "citation_quality": 3, "coherence": 3, "reasoning": "fine"}'
)
ROWS = [
    {
        "id": "q17",
        "question": "How long can I return goods?",
        "answer": "30 days.",
        "expected": "30 days",
        "contexts": ["Within 30 days."],
    },
    {
        "id": "q18",
        "question": "What does delivery cost?",
        "answer": "RM 8.",
        "expected": "RM 8",
        "contexts": ["Delivery costs RM 8."],
    },
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snippets") / "world"
    folder.mkdir()
    make_world(folder)
    return folder


def _names() -> dict[str, Any]:
    """The values that the pages take for granted."""
    import pandas

    def my_llm(prompt: str) -> str:
        return RUBRIC if "accuracy" in prompt else "[]"

    run = ak.evaluate(ROWS, profile="rag", progress=False)
    return {
        "__name__": "snippet",
        "ak": ak,
        "improve_answer": ak.improve_answer,  # imported by the snippet above on the same page
        "rows": ROWS,
        "df": pandas.DataFrame(ROWS),
        "run": run,
        "run_a": run,
        "run_b": run,
        "my_bot": lambda question: "30 days",
        "bot": lambda question: "30 days",
        "my_llm": my_llm,
        "question": "How long can I return goods?",
        "answer": "30 days [1].",
        "contexts": ["Within 30 days."],
        "scores": [0.9],
        "run_id": "1",
        "log": logging.getLogger("snippets"),
        "cross_encoder": lambda question, passage: 1.0,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "number", "code"),
    SNIPPETS,
    ids=[f"{page.relative_to(ROOT)}-{number}" for page, number, _ in SNIPPETS],
)
def test_a_snippet_runs(
    page: Path, number: int, code: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    # A metric that a snippet registers is gone afterwards.
    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))
    scope = _names()
    if '"preset"' in code:
        # A model that runs elsewhere: a function stands for it.
        code = re.sub(r"model=\{.*?\}", "model=my_llm", code)
    exec(compile(code, f"{page.name} {number}", "exec"), scope)
    if "names_its_period" in scope:
        ak.score("names_its_period", answer="In 2024.")
    if "def score(question, passages)" in code:
        assert scope["expand"]("PTO") == "paid time off"


def test_no_page_has_a_snippet_that_is_not_python() -> None:
    for page, number, code in SNIPPETS:
        compile(code, f"{page.name} {number}", "exec")
