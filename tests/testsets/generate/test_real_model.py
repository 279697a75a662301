"""Generation against a real llama.cpp server: the plumbing, not the quality of a small model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.llama_server import LlamaServer

import answerkey as ak

DOCS = [
    {
        "id": "pool",
        "text": "# Pool\nThe pool of Arlen opens at nine. A ticket costs 7 euros a day.",
    },
    {"id": "tram", "text": "# Tram\nThe tram museum of Bodmar is closed on Mondays in the winter."},
]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.xdist_group("llama")
def test_a_real_model_is_asked_and_every_try_is_accounted_for(tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    with LlamaServer() as llama:
        settings = llama.settings(max_tokens=64)
        report = ak.generate(
            DOCS, out=out, judge=settings, count=1, kinds=["fact"], embedding="none"
        )
    assert report.tried == len(report.cases) + sum(report.rejected.values())
    assert report.tried > 0
    assert report.usage is not None
    assert report.usage.calls > 0
    assert report.usage.prompt_tokens
    assert out.is_file()
