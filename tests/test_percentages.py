"""Shares and their intervals in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.percentages import format_percent, format_percent_range, format_rate


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.004, "0.4 %"),
        (0.00001, "<0.01 %"),
        (0.56, "56 %"),
        (0.996, "99.6 %"),
        (0.99999, ">99.99 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_in_percent(share: float, text: str) -> None:
    assert format_percent(share) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_only_nothing_is_0_and_only_everything_is_100_percent(share: float) -> None:
    assert format_percent(share) not in ("0 %", "100 %")


def test_an_interval_follows_the_share() -> None:
    assert format_rate(0.533, (0.301, 0.752)) == "53 %, 95 % interval 30–75 %"
    assert format_rate(0.533, None) == "53 %"
    assert format_percent_range(0.0, 1.0) == "0–100 %"
