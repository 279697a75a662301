"""The word files: every language has its refusals, and the English lists fit together."""

from __future__ import annotations

import pytest

from answerkey.language.words import LANGUAGES, opposites, poles, read_words, synonyms, word_list


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_how_it_declines(language: str) -> None:
    table = read_words(language)["refusal"]
    assert table["refuses"]
    assert table["courtesy"]
    assert isinstance(table["that"], str)


def test_opposites_point_both_ways() -> None:
    for word, others in opposites().items():
        assert all(word in opposites()[other] for other in others)
    assert "clos" in opposites()["open"]


def test_synonyms_point_both_ways() -> None:
    assert all(word in synonyms()[other] for word, others in synonyms().items() for other in others)
    assert "purchas" in synonyms()["buy"]


def test_a_relation_has_a_negative_axis() -> None:
    assert any(axis < 0 for axis, _ in poles()["larger"])


def test_negations_are_negators_too() -> None:
    assert word_list("negations") - word_list("negators") == {"nowhere"}
