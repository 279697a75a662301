"""Sentences, their words, and the language of a text."""

from __future__ import annotations

import pytest

from answerkey.language.sentences import language_of, pieces, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def test_abbreviations_initials_and_list_numbers_end_no_sentence() -> None:
    assert sentences("Dr. Lee met J. Doe. 1. Wash it. 2. Dry it.") == [
        "Dr. Lee met J. Doe.",
        "1. Wash it.",
        "2. Dry it.",
    ]


def test_other_scripts_and_lines() -> None:
    assert sentences("铁塔高330米。它在巴黎。") == ["铁塔高330米。", "它在巴黎。"]
    assert sentences("a line\nanother\n---\n") == ["a line", "another"]


def test_a_stretch_without_an_end_is_cut() -> None:
    parts = sentences("word " * 300)
    assert len(parts) > 3
    assert max(map(len, parts)) <= 400


def test_a_sentence_taken_apart() -> None:
    (piece,) = pieces("The Louvre doesn't close at nine.")
    assert piece.content_stems() == ["louvr", "clos", "nin"]
    assert piece.named[1]
    assert piece.negations == 1
    assert piece.numbers == (9.0,)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The shop is open.", "english"),
        ("Der Laden ist nicht auf.", "other"),
        ("铁塔", "cjk"),
        ("Paris", "unclear"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language
