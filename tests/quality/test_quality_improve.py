"""`improve_answer`: rewrites with a model, keeps the best, and never leaves a live bot without an answer."""

from __future__ import annotations

import pytest

from answerkey import improve_answer
from answerkey.errors import EndpointError
from answerkey.llm import CallFailed
from answerkey.llm.scripted import ScriptedChat

QUESTION = "List the ways to return goods"
CONTEXTS = ["Goods may be sent back by post.", "Goods may be brought to any store."]
BAD = "By post or in a store."
HALF = "- by post\n- in a store"
GOOD = "- by post [1]\n- in a store [2]"


def test_without_a_model_the_answer_is_unchanged_with_its_findings() -> None:
    result = improve_answer(QUESTION, BAD, contexts=CONTEXTS, retrieval_scores=[0.8], run_id="r1")
    assert result.answer == BAD
    assert not result.changed
    assert result.rewrites == 0
    assert {finding.check for finding in result.assessment.findings} == {
        "citations_valid",
        "list_structure",
    }
    assert result.assessment.run_id == "r1"


def test_a_rewrite_that_passes_ends_it() -> None:
    chat = ScriptedChat([GOOD])
    result = improve_answer(QUESTION, BAD, contexts=CONTEXTS, model=chat, attempts=5)
    assert result.answer == GOOD
    assert result.changed
    assert result.assessment.passed
    assert result.rewrites == 1
    assert len(chat.asked) == 1


def test_the_prompt_has_the_findings_and_the_numbered_contexts() -> None:
    chat = ScriptedChat([GOOD])
    improve_answer(QUESTION, BAD, contexts=CONTEXTS, model=chat)
    asked = chat.asked[0][-1]["content"]
    for told in (
        "cites no context",
        "asks for a list",
        "[1] Goods may be sent",
        "[2] Goods may be brought",
        BAD,
    ):
        assert told in asked


def test_the_best_is_kept_when_later_rewrites_are_worse() -> None:
    result = improve_answer(
        QUESTION, BAD, contexts=CONTEXTS, model=ScriptedChat([HALF, "", BAD]), attempts=3
    )
    assert result.answer == HALF
    assert result.rewrites == 3
    assert [finding.check for finding in result.assessment.findings] == ["citations_valid"]


def test_a_worse_rewrite_never_replaces_the_answer() -> None:
    result = improve_answer(
        QUESTION, HALF, contexts=CONTEXTS, model=ScriptedChat([BAD]), attempts=2
    )
    assert result.answer == HALF
    assert not result.changed


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_at_most_so_many_rewrites(attempts: int) -> None:
    chat = ScriptedChat([BAD])
    assert (
        improve_answer(QUESTION, BAD, contexts=CONTEXTS, model=chat, attempts=attempts).rewrites
        == attempts
    )
    assert len(chat.asked) == attempts


def test_a_good_answer_and_findings_that_no_rewrite_can_fix_cost_no_call() -> None:
    chat = ScriptedChat([GOOD])
    assert not improve_answer(QUESTION, GOOD, contexts=CONTEXTS, model=chat).changed
    no_context = improve_answer("How long?", "30 days.", contexts=[], model=chat)
    assert [finding.check for finding in no_context.assessment.findings] == ["contexts_exist"]
    assert chat.asked == []


@pytest.mark.parametrize("error", [CallFailed("timed out"), EndpointError("no such model")])
def test_a_model_that_fails_leaves_the_best_so_far(error: Exception) -> None:
    result = improve_answer(
        QUESTION, BAD, contexts=CONTEXTS, model=ScriptedChat([HALF, error]), attempts=3
    )
    assert result.answer == HALF
    assert result.changed
    assert result.rewrites == 1
    assert result.error == str(error)


def test_an_empty_answer_can_be_filled() -> None:
    result = improve_answer("How?", None, contexts=CONTEXTS, model=ScriptedChat(["By post [1]."]))
    assert result.answer == "By post [1]."
    assert result.assessment.passed


@pytest.mark.parametrize("bad", ["", "Unable to generate an answer."])
def test_an_answer_that_says_nothing_never_wins(bad: str) -> None:
    """It has one finding where a real answer may have two."""
    result = improve_answer(QUESTION, bad, contexts=CONTEXTS, model=ScriptedChat([BAD]), attempts=1)
    assert result.answer == BAD
    assert (
        improve_answer(
            QUESTION, BAD, contexts=CONTEXTS, model=ScriptedChat([bad]), attempts=1
        ).answer
        == BAD
    )
