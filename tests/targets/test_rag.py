"""The bot over documents: extractive, and with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerkey.demo import FOLDER, routed_kpi
from answerkey.embed import load_embedder
from answerkey.errors import SettingsError
from answerkey.llm import Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.quality.assess import assess_answer
from answerkey.retrieval.retriever import open_retriever
from answerkey.targets.rag import OUT_OF_SCOPE, RagBot, build_prompt, make_rag, split_passage
from answerkey.types import Passage, Question, Turn


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> RagBot:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSWERKEY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return make_rag({"kind": "rag", "documents": "documents", "k": 3}, FOLDER)


def test_an_extracted_answer_holds_the_fact_and_its_citation(bot: RagBot) -> None:
    response = bot.ask(Question("q", "How long is maternity leave?"))
    assert "98 days" in (response.answer or "")
    assert response.sources[0] == "leave.md"
    assert len(response.passages) == 3
    checks = assess_answer(
        "How long is maternity leave?", response.answer, contexts=response.passages
    ).checks
    assert checks["citations_valid"] is True


def test_a_question_that_no_sentence_comes_near_is_declined(bot: RagBot) -> None:
    assert bot.ask(Question("q", "Who painted the Mona Lisa?")).answer == OUT_OF_SCOPE


def test_a_short_follow_up_is_searched_with_the_question_before_it(bot: RagBot) -> None:
    history = (Turn("What does standard delivery cost?", "RM 8."),)
    response = bot.ask(Question("q", "And to Sabah?", history))
    assert response.sources[0] == "delivery.md"


def test_pages_of_a_pdf_are_named(tmp_path: Path) -> None:
    pdf = make_rag({"documents": "handbook", "k": 1}, FOLDER)
    response = pdf.ask(Question("q", "How often are fire drills held?"))
    assert response.sources == ("page 11",)
    assert response.answer == "Fire drills are held every six months [1]."


def test_a_model_gets_numbered_passages_and_its_tokens_are_kept() -> None:
    embed = load_embedder()
    chat = ScriptedChat([Reply("98 days [1].", prompt_tokens=120, completion_tokens=5)])
    retriever = open_retriever({"documents": str(FOLDER / "documents")}, embed)
    response = RagBot(retriever, embed, chat, k=2, minimum=0.3).ask(
        Question("q", "How long is maternity leave?")
    )
    assert response.answer == "98 days [1]."
    assert (response.prompt_tokens, response.completion_tokens) == (120, 5)
    assert "[1] # Leave policy" in chat.asked[0][-1]["content"]
    assert "[2] " in chat.asked[0][-1]["content"]


def test_the_prompt_holds_the_history_in_order() -> None:
    question = Question("q", "And after?", (Turn("First?", "One."), Turn("Second?")))
    roles = [message["role"] for message in build_prompt(question, [Passage(text="text")])]
    assert roles == ["system", "user", "assistant", "user", "user"]


def test_sentences_keep_their_numbers_and_lose_the_headings() -> None:
    assert split_passage("# Title\n\nA car is paid RM 0.85 a kilometre. Tolls are added.") == [
        "A car is paid RM 0.85 a kilometre.",
        "Tolls are added.",
    ]
    assert split_passage("3. At the till\nGreet the customer.") == ["Greet the customer."]
    assert split_passage("") == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"documents": "documents", "k": 0}, "1 or more"),
        ({"documents": "documents", "alpa": 1}, 'did you mean "alpha'),
        ({}, "needs one of documents"),
    ],
)
def test_bad_settings_of_rag(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        make_rag(settings, FOLDER)


def test_the_routed_bot_takes_documents_for_the_rest() -> None:
    settings = {"tables": "tables", "kpis": "kpis.toml", "documents": "documents"}
    routed = routed_kpi.make_routed_kpi(settings, FOLDER)
    response = routed.ask(Question("q", "How long is maternity leave?"))
    assert response.route == "rag_docs"
    assert "98 days" in (response.answer or "")
    declined = routed.ask(Question("q", "Who painted the Mona Lisa?")).answer or ""
    assert declined.startswith(OUT_OF_SCOPE)
    assert "revenue" in declined
    routed.close()
