"""How templates write values."""

from __future__ import annotations

import pytest

from answerkey.reports.filters import (
    FILTERS,
    format_evidence,
    format_moment,
    format_seconds,
    format_weight,
    share_tone,
    status_tone,
)


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0 %"), (0.684, "68 %"), (0.9996, "99.96 %")]
)
def test_shares(share: float | None, text: str) -> None:
    assert FILTERS["percent"](share) == text


def test_intervals_and_weights() -> None:
    assert FILTERS["percent_range"]((0.444, 0.858)) == "44–86 %"
    assert FILTERS["percent_range"](None) == "-"
    assert [format_weight(weight) for weight in (0.5, 1 / 6, 1.0)] == ["50 %", "16.7 %", "100 %"]


def test_evidence_beyond_a_thousand_is_not_spelled_out() -> None:
    assert [format_evidence(value) for value in (0.0, 31.04, 4.7e13)] == [
        "0.00",
        "31.04",
        "> 1,000",
    ]


def test_times() -> None:
    assert [format_seconds(value) for value in (None, 0.0042, 2.5)] == ["-", "4 ms", "2.5 s"]
    assert format_moment("2026-01-02T03:04:05+00:00") == "2026-01-02 03:04 UTC"
    assert format_moment("2026-01-02T03:04:05+02:00") == "2026-01-02 03:04"


def test_tones() -> None:
    assert [status_tone(status) for status in ("PASSED", "FAILED", "own band")] == [
        "good",
        "bad",
        "warn",
    ]
    assert [share_tone(share) for share in (0.9, 0.6, 0.4, 0.1)] == ["good", "fair", "warn", "bad"]
