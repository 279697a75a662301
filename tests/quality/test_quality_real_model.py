"""`improve_answer` and the bots that ask a model, against a real llama.cpp server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.llama_server import LlamaServer

from answerkey import improve_answer
from answerkey.targets.full_context import make_full_context
from answerkey.targets.rag import make_rag
from answerkey.types import Question

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("llama")]


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    with LlamaServer() as server:
        yield server


def test_a_real_model_rewrites_and_the_best_is_kept(llama: LlamaServer) -> None:
    contexts = ["Goods may be returned within 30 days of purchase."]
    question = "How long may goods be returned?"
    result = improve_answer(
        question, "", contexts=contexts, model=llama.settings(max_tokens=60), attempts=2
    )
    assert result.error is None
    assert result.rewrites >= 1
    assert result.changed
    assert result.answer.strip()
    assert len(result.assessment.findings) <= 1


def test_a_model_that_is_not_there_leaves_the_answer() -> None:
    settings = {"base_url": "http://127.0.0.1:9/v1", "model": "none", "timeout": 1}
    result = improve_answer(
        "How long?", "30 days.", contexts=["30 days."], model=settings, attempts=1
    )
    assert result.answer == "30 days."
    assert result.error


def test_the_full_context_bot_gets_a_real_reply(llama: LlamaServer, tmp_path: Path) -> None:
    (tmp_path / "knowledge.md").write_text("The shop opens at 10 am and closes at 10 pm.")
    bot = make_full_context(
        {"knowledge": "knowledge.md", "llm": llama.settings(max_tokens=40)}, tmp_path
    )
    response = bot.ask(Question("q", "When does the shop open?"))
    bot.close()
    assert response.answer
    assert response.prompt_tokens
    assert response.completion_tokens


def test_the_rag_bot_writes_with_a_real_model(llama: LlamaServer, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "hours.md").write_text("The shop opens at 10 am and closes at 10 pm.")
    bot = make_rag(
        {"documents": "documents", "k": 1, "llm": llama.settings(max_tokens=40)}, tmp_path
    )
    response = bot.ask(Question("q", "When does the shop open?"))
    bot.close()
    assert response.answer
    assert response.sources == ("hours.md",)
    assert response.completion_tokens
