"""The record of a judge: its exam, its calibrations and its order flips, kept under its fingerprint.

The fingerprint has the model, its settings and every prompt: a changed judge starts without a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from answerkey.cache import cache_folder, digest
from answerkey.errors import StorageError
from answerkey.files import json_text, write_file


@dataclass(frozen=True, slots=True)
class KindResult:
    """How many exam items of a kind were right, of those that the judge took."""

    right: int
    of: int
    not_judged: int = 0

    @property
    def is_claimed(self) -> bool:
        return self.of > 0


@dataclass(frozen=True, slots=True)
class ExamResult:
    """The figures of an exam, without its items."""

    judge: str
    passed: bool
    right: int
    of: int
    not_judged: int
    pass_mark: float
    failed_kinds: list[str]
    kinds: dict[str, KindResult]

    @property
    def line(self) -> str:
        """`passed, 57 of 60 right (order 5/6, …)`."""
        kinds = ", ".join(f"{kind} {each.right}/{each.of}" for kind, each in self.kinds.items())
        return f"{'passed' if self.passed else 'failed'}, {self.right} of {self.of} right{f' ({kinds})' if kinds else ''}"


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """The agreement of one judged metric with human labels."""

    n: int
    auroc: float | None = None
    kappa: float | None = None
    spearman: float | None = None
    best_threshold: float | None = None
    accuracy_at_best: float | None = None


@dataclass(frozen=True, slots=True)
class OrderFlips:
    """How many preferences changed with the order in which the answers were shown."""

    flips: int
    of: int


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """Earlier results of a judge; None where there are none."""

    judge: str = ""
    exam: ExamResult | None = None
    calibration: dict[str, CalibrationResult] | None = None
    order_flips: OrderFlips | None = None


def track_record(fingerprint: str) -> TrackRecord:
    """The record of a judge; an empty one where there is none, or it can't be read.

    >>> track_record("no such judge").exam is None
    True
    """
    with suppress(OSError, ValueError):
        return msgspec.json.decode(_record_path(fingerprint).read_bytes(), type=TrackRecord)
    return TrackRecord(fingerprint)


def remember(
    fingerprint: str,
    *,
    exam: ExamResult | None = None,
    calibration: Mapping[str, CalibrationResult] | None = None,
    order_flips: OrderFlips | None = None,
) -> None:
    """Add results to the record of a judge; calibrations are kept per metric. Without a cache folder nothing is kept."""
    earlier = track_record(fingerprint)
    record = TrackRecord(
        fingerprint,
        exam or earlier.exam,
        {**(earlier.calibration or {}), **(calibration or {})} or None,
        order_flips or earlier.order_flips,
    )
    path = _record_path(fingerprint)
    # Records only inform: without a writable folder the exam still counts for this command.
    with suppress(OSError, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json_text(asdict(record)), durable=False)


def _record_path(fingerprint: str) -> Path:
    # A fingerprint holds a model's name, which may have slashes.
    return cache_folder() / "judges" / f"{digest(fingerprint)[:24]}.json"
