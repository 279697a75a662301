"""The record of a judge: added to, kept apart by fingerprint, never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.metrics.judge.track_record import (
    CalibrationResult,
    ExamResult,
    KindResult,
    OrderFlips,
    TrackRecord,
    remember,
    track_record,
)

EXAM = ExamResult("m", True, 9, 10, 0, 8, [], {"right": KindResult(5, 5)})


def test_results_are_added_to_the_record() -> None:
    remember("m 1", exam=EXAM)
    remember("m 1", calibration={"a": CalibrationResult(10, auroc=0.9)})
    remember("m 1", calibration={"b": CalibrationResult(20)}, order_flips=OrderFlips(1, 8))
    record = track_record("m 1")
    assert record.exam == EXAM
    assert set(record.calibration or {}) == {"a", "b"}
    assert record.order_flips == OrderFlips(1, 8)
    assert track_record("m 2") == TrackRecord("m 2")


def test_the_line_names_the_kinds() -> None:
    assert EXAM.line == "passed, 9 of 10 right (right 5/5)"
    assert KindResult(0, 0, 3).is_claimed is False


def test_a_record_that_cannot_be_read_or_written_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ANSWERKEY_CACHE", str(blocked))
    remember("m 1", exam=EXAM)
    assert track_record("m 1").exam is None
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    remember("m 1", exam=EXAM)
    (file,) = (tmp_path / "cache" / "judges").iterdir()
    file.write_text("{")
    assert track_record("m 1").exam is None
