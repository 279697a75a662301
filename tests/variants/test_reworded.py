"""Paraphrases and translations are kept only where their meaning stayed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from answerkey.errors import SettingsError
from answerkey.llm.chat import CallFailed
from answerkey.llm.scripted import ScriptedChat
from answerkey.types import Case
from answerkey.variants.expand import VariantPlan, expand_cases
from answerkey.variants.reworded import reword

CASE = Case("q1", "How long can I return the 2 lamps?", ("30 days",))


def _reword(*replies: str, kind: str = "paraphrase") -> str | None:
    return reword(CASE, kind, ScriptedChat(list(replies)))


def test_a_paraphrase_that_asks_the_same_is_kept() -> None:
    variant = "Until when may I send back the 2 lamps?"
    assert _reword(f'"{variant}"', "Yes.") == variant


@pytest.mark.parametrize(
    "replies",
    [
        ("Until when may I send back the 2 lamps?", "No, the second asks for a date."),
        ("Until when may I send back the 3 lamps?", "yes"),
        ("Until when may I send back the lamps?", "yes"),
        ("", "yes"),
        ("Sure! " + "Here is a long text. " * 20 + "2", "yes"),
    ],
)
def test_a_variant_that_lost_its_meaning_is_left_out(replies: Sequence[str]) -> None:
    assert _reword(*replies) is None


def test_a_translation_names_the_language() -> None:
    chat = ScriptedChat(["Wie lange kann ich die 2 Lampen zurückgeben?", "yes"])
    assert reword(CASE, "translate:de", chat) == "Wie lange kann ich die 2 Lampen zurückgeben?"
    assert "code de" in str(chat.asked[0])


def test_a_call_that_fails_gives_no_variant() -> None:
    assert reword(CASE, "paraphrase", ScriptedChat([CallFailed("timeout")])) is None


def test_without_a_model_it_is_refused() -> None:
    with pytest.raises(SettingsError, match="needs a language model"):
        expand_cases([CASE], VariantPlan(("paraphrase",)))


def test_children_are_made_and_missing_ones_counted() -> None:
    chat = ScriptedChat(["Return period of the 2 lamps?", "yes", "Return period?", "yes"])
    other = Case("q2", "How long can I return 5 chairs?", ("30 days",))
    expansion = expand_cases([CASE, other], VariantPlan(("paraphrase",), chat=chat))
    assert [child.id for child in expansion.children] == ["q1~paraphrase"]
    assert expansion.impossible == {"paraphrase": 1}


def test_a_dry_run_counts_without_asking() -> None:
    expansion = expand_cases([CASE], VariantPlan(("translate:de",), is_dry=True))
    assert len(expansion.children) == 1
