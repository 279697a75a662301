"""Expected answers that a reader corrected, kept beside the run.

The case file of a suite is never written to: it may be shared, generated, or under version control.
A correction is a line of corrections.jsonl in the run folder; the last line of a case counts. The
export `corrected` of a run has every case with the corrected expected answer.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from answerkey.errors import InputError, StorageError
from answerkey.files import json_line, read_json
from answerkey.types import Case, Outcome

CORRECTIONS = "corrections.jsonl"
LONGEST_EXPECTED = 20_000  # characters of an edited expected answer


@dataclass(frozen=True, slots=True)
class Correction:
    """The corrected expected answer of one case; an empty one takes the correction back."""

    id: str
    expected: str
    before: tuple[str, ...] = ()
    by: str = ""
    at: str = ""


def add_correction(folder: Path, case: Case, expected: str, by: str) -> None:
    """Append one correction with one durable write."""
    text = read_expected(expected)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    correction = Correction(case.id, text, case.expected, by, at)
    path = folder / CORRECTIONS
    try:
        with path.open("ab", buffering=0) as file:
            file.write(json_line(asdict(correction)) + b"\n")
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None


def read_expected(text: str) -> str:
    """An expected answer from a form."""
    cleaned = text.replace("\r\n", "\n").strip()
    if len(cleaned) > LONGEST_EXPECTED:
        raise InputError(f"the expected answer is longer than {LONGEST_EXPECTED:,} characters")
    return cleaned


def read_corrections(folder: Path) -> dict[str, Correction]:
    """The corrections that hold, by case id; a damaged line is skipped."""
    path = folder / CORRECTIONS
    if not path.is_file():
        return {}
    corrections: dict[str, Correction] = {}
    for line in path.read_bytes().split(b"\n"):
        try:
            row = read_json(line)
            texts = {key: str(row.get(key) or "") for key in ("id", "expected", "by", "at")}
        except (ValueError, AttributeError):
            continue
        corrections[texts["id"]] = Correction(
            texts["id"], texts["expected"], by=texts["by"], at=texts["at"]
        )
    return {case: each for case, each in corrections.items() if each.expected}


def apply_correction(outcome: Outcome, corrections: dict[str, Correction]) -> Outcome:
    """The outcome with the corrected expected answer; its scores and verdict stay as they were."""
    correction = corrections.get(outcome.case.id)
    if correction is None:
        return outcome
    return replace(outcome, case=replace(outcome.case, expected=(correction.expected,)))
