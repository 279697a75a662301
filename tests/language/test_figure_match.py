"""When two figures are the same."""

from __future__ import annotations

import pytest

from answerkey.language.figure_match import figures_agree, within
from answerkey.language.quantities import figures


@pytest.mark.parametrize(
    ("expected", "stated", "same"),
    [
        ("3 km", "3000 m", True),
        ("90 minutes", "1.5 hours", True),
        ("90 minutes", "90 seconds", False),
        ("12 %", "0.12", True),
        ("12 euros a month", "144 euros a year", True),
        ("4711234", "4711243", False),
        ("83,149,300", "83 million", True),
        ("27", "28", False),
        ("8 pm", "20:00", True),
        ("350 °F", "175 °C", True),
        ("5 euros", "5 dollars", False),
    ],
)
def test_agreement(expected: str, stated: str, same: bool) -> None:
    assert figures_agree(figures(expected)[0], figures(stated)[0]) is same


def test_within_a_tolerance() -> None:
    assert within(figures("100")[0], figures("104")[0], 0.05)
    assert not within(figures("100")[0], figures("106")[0], 0.05)
    assert not within(figures("100 km")[0], figures("100 kg")[0], 0.5)
