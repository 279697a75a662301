"""Texts made ready to compare: one spelling, figures and dates as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.language.dates import Date, dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure, figures
from answerkey.metrics.agreement.comparable import plainly, read


class TestWording:
    @pytest.mark.parametrize(
        ("written", "plain"),
        [
            ("byMissi Hale1", "by Missi Hale 1"), ("in 19741.", "in 1974 1."), ("a 12. 9 km bridge", "a 12.9 km bridge"),
            ("Dr.  B.  R.  Ambedkar", "Dr. Ambedkar"), ("vitamin C. The", "vitamin C. The"), ("the U. S. film", "the USA film"),
            ("Twenty-seven of thirty one, sixty in all", "27 of 31, 60 in all"), ("a loss of $(2,722) million", "a loss of -$2,722 million"),
        ],
    )  # fmt: skip
    def test_one_spelling(self, written: str, plain: str) -> None:
        assert plainly(written) == plain

    def test_numerals(self) -> None:
        assert read("World War II").tokens == read("World War Two").tokens
        assert read("Henry V").tokens[-1] == read("Henry the Fifth").tokens[-1] == "5"


class TestFigures:
    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("$1,577 million", "1.577 billion", True), ("24.26", "24.3", True), ("24.26", "25.3", False), ("12%", "0.12", True),
            ("1999", "2000", False), ("29,694", "29,802", False), ("$1.6 billion", "$1,577 million", True), ("two", "2", True),
            ("0", "5", False), ("-4.2%", "4.2%", True), ("$5.4 million", "$5.4 billion", False),
        ],
    )  # fmt: skip
    def test_when_two_agree(self, one: str, other: str, same: bool) -> None:
        assert figures_agree(figures(one)[0], figures(other)[0]) is same
        assert figures_agree(figures(other)[0], figures(one)[0]) is same

    @given(st.floats(0.01, 1e9, allow_nan=False))
    def test_a_figure_agrees_with_itself_in_millions(self, value: float) -> None:
        figure = Figure(value, 0.01, whole=False)
        assert figures_agree(figure, figure)
        assert figures_agree(figure, Figure(value * 1e6, 1.0, whole=False))

    def test_dates(self) -> None:
        assert (
            dates("on 8 December 1985")
            == dates("December 8, 1985")
            == dates("1985-12-08")
            == (Date(1985, 12, 8),)
        )
        assert dates("you may march") == ()
        assert Date(1985).agrees(Date(1985, 12)) == 1.0
        assert Date(1985, 11).agrees(Date(1985, 12)) == 0.0
        assert Date(1985).agrees(Date(None, 12)) == 0.5
