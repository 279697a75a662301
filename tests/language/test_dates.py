"""Dates in their usual notations, and what is no date."""

from __future__ import annotations

import pytest

from answerkey.language.dates import Date, dates, without_dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 3 July 2020", [Date(2020, 7, 3)]),
        ("July 3rd, 2020", [Date(2020, 7, 3)]),
        ("2020-07-03", [Date(2020, 7, 3)]),
        ("03.07.2020", [Date(2020, 7, 3)]),
        ("03/07/2020", [Date(2020, 7, 3), Date(2020, 3, 7)]),
        ("end of February 2024", [Date(2024, 2, 29)]),
        ("in 1932", [Date(1932)]),
        ("You may go", []),
        ("$1999", []),
    ],
)
def test_dates(text: str, expected: list[Date]) -> None:
    assert list(dates(text)) == expected


def test_parts_that_both_have_must_agree() -> None:
    assert Date(2020, 7).agrees(Date(2020, 7, 3)) == 1.0
    assert Date(2020, 7).agrees(Date(2021, 7, 3)) == 0.0
    assert Date(month=7).agrees(Date(2020)) == 0.5
    assert Date(2020, 7).shared(Date(2020, 7, 3)) == 2


def test_texts_without_dates() -> None:
    assert without_dates("on 3 July 2020 in 1999").split() == ["on", "in", "1999"]
