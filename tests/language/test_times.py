"""Times of day and frequencies."""

from __future__ import annotations

import pytest

from answerkey.language.times import adverb_rates, clock_times, frequencies


@pytest.mark.parametrize(
    ("text", "minutes", "certain"),
    [
        ("8 pm", 1200, True),
        ("half past eight", 510, False),
        ("quarter to nine in the evening", 1245, True),
        ("at midnight", 0, True),
        ("until noon", 720, True),
        ("20:15", 1215, True),
        ("8:15", 495, False),
    ],
)
def test_clock_times(text: str, minutes: int, certain: bool) -> None:
    ((_, _, found, sure),) = clock_times(text)
    assert (found, sure) == (minutes, certain)


def test_what_is_no_time() -> None:
    assert clock_times("a ratio of 4:1, 25 pm, 12:30:15") == []


@pytest.mark.parametrize(
    ("text", "times"),
    [("twice a year", 2.0), ("every six months", 2.0), ("every other month", 6.0)],
)
def test_frequencies(text: str, times: float) -> None:
    assert frequencies(text)[0][2] == times


def test_an_adverb_counts_only_where_it_is_one() -> None:
    assert [rate for *_, rate in adverb_rates("It is paid monthly.")] == [12.0]
    assert adverb_rates("the monthly fee") == []
