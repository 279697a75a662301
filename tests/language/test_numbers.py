"""Numbers in words become digits where they are numbers."""

from __future__ import annotations

import pytest

from answerkey.language.numbers import in_digits


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("two and a half hours", "2.5 hours"),
        ("a quarter of an hour", "0.25 hour"),
        ("about a quarter.", "about 25 %."),
        ("the second quarter", "the quarter 2"),
        ("half a dozen eggs", "6 eggs"),
        ("three hundred and five", "305"),
        ("25 basis points", "0.25 %"),
        ("quatorze jours", "14 jours"),
        ("2 ½ cups", "2.5 cups"),
    ],
)
def test_number_words(text: str, plain: str) -> None:
    assert in_digits(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "Invoices are due at the end of a quarter.",
        "Rent is paid once a quarter.",
        "a third person",
        "one second",
        "Once upon a time",
    ],
)
def test_these_are_no_shares_and_no_counts(text: str) -> None:
    assert in_digits(text) == text
