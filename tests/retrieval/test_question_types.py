"""The kind of a question, by rules: on questions of five kinds, in several languages, and in a bot that routes by kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.made_documents import WordEmbedder, write_suite

from answerkey.errors import SettingsError
from answerkey.retrieval.question_types import classify
from answerkey.retrieval.retriever import open_retriever

QUESTIONS = {
    "factual": [
        "What is the capital of Kedah?",
        "How many days of annual leave do staff get?",
        "When was the plant opened?",
        "What does HTN stand for?",
        "Who approves travel claims?",
        "What is the maximum load of the lift?",
        "Which form is needed for parental leave?",
        "List the three common cancers targeted for screening.",
        "Wie viele Urlaubstage gibt es?",
        "Is the office open on Sunday?",
    ],
    "procedural": [
        "How do I reset my password?",
        "What are the steps to file a claim?",
        "How to install the printer driver",
        "Describe the proper placement of the cuff when measuring BP.",
        "How can a customer return an item?",
        "Walk me through setting up two-factor login",
        "What is the procedure for reporting an injury?",
        "Wie beantrage ich Elternzeit?",
        "如何申请退款？",
        "How should I clean the filter?",
    ],
    "diagnostic": [
        "The printer doesn't print, what now?",
        "Why is my invoice missing?",
        "I get error 504 when logging in",
        "What should I do if the engine overheats?",
        "The app crashes on start",
        "Why does the pump make no pressure?",
        "My card was declined, why?",
        "Der Drucker funktioniert nicht",
        "Login fails after the update",
        "What is the root cause of the leak?",
    ],
    "conceptual": [
        "Explain how interest is calculated in principle",
        "Why do leaves change colour?",
        "How does a heat pump work?",
        "What is the purpose of the audit committee?",
        "What does net zero mean?",
        "Why is insulin important?",
        "What is the concept of herd immunity?",
        "Warum gibt es Schaltjahre?",
        "What is the role of the ombudsman?",
        "What is meant by fair use?",
    ],
    "comparison": [
        "What is the difference between a lease and a rental?",
        "Is plan A cheaper than plan B?",
        "Compare type 1 and type 2 diabetes",
        "Basic vs premium support?",
        "Which is better, diesel or petrol?",
        "How does the 2023 policy differ from the 2022 one?",
        "What are the advantages of solar over wind?",
        "Was ist der Unterschied zwischen GmbH und AG?",
        "苹果和梨有什么区别？",
        "How do the two warranties compare?",
    ],
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_most_questions_of_a_kind_are_recognised(kind: str) -> None:
    found = [classify(question).type for question in QUESTIONS[kind]]
    assert found.count(kind) >= 0.9 * len(found), found


def test_confidence_is_high_for_plain_cases_and_low_without_evidence() -> None:
    assert classify("What is the difference between a lease and a rental?").confidence >= 0.5
    assert classify("What signs or symptoms define it?").type == "factual"
    nothing = classify("zzz")
    assert (nothing.type, nothing.confidence) == ("factual", 0.2)
    assert all(
        0 <= classify(question).confidence <= 1 for kind in QUESTIONS.values() for question in kind
    )


def test_a_bot_takes_the_alpha_of_the_kind(tmp_path: Path) -> None:
    write_suite(tmp_path)
    settings = {"documents": str(tmp_path / "docs"), "alpha": 1.0, "route": {"comparison": 0.0}}
    retriever = open_retriever(settings, WordEmbedder())
    routed, plain = retriever(["compare the price of the engine", "the price of the engine"], 3)
    by_words = open_retriever({"documents": str(tmp_path / "docs"), "alpha": 0.0}, None)
    assert routed == by_words(["compare the price of the engine"], 3)[0]
    dense = open_retriever({"documents": str(tmp_path / "docs"), "alpha": 1.0}, WordEmbedder())
    assert [one.id for one in plain] == [one.id for one in dense(["the price of the engine"], 3)[0]]
    with pytest.raises(SettingsError, match=r"route\.factual = 2"):
        open_retriever({**settings, "route": {"factual": 2.0}}, WordEmbedder())
