"""What people say of a run's cases: `labels.jsonl` in the run's folder, one line a saying, the latest counts.

`answerkey calibrate` reads the same file. A label is 1 (good), 0 (bad) or null (withdrawn).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from answerkey.errors import InputError, StorageError
from answerkey.types import Json

FILE = "labels.jsonl"
LONGEST_NOTE = 5000
VALUES = {"good": 1, "bad": 0, "": None}


def read_labels(folder: Path) -> dict[str, Json]:
    """The latest label of each case; a line that is no label is passed over."""
    labels: dict[str, Json] = {}
    with suppress(OSError), (folder / FILE).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):
                record: Json = json.loads(line)
                labels[str(record["id"])] = {"note": "", "at": "", **record}
    return labels


def add_label(folder: Path, case: str, label: str, note: str) -> None:
    """One durable write; plain ASCII, so that no reader can take a line for two."""
    if label not in VALUES:
        raise InputError(f'label: expected good, bad or nothing, got "{label[:40]}"')
    if len(note) > LONGEST_NOTE:
        raise InputError(f"note: {len(note):,} characters, at most {LONGEST_NOTE:,}")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"id": case, "label": VALUES[label], "note": note, "at": at}
    try:
        file = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, (json.dumps(record) + "\n").encode("ascii"))
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StorageError(f"{folder / FILE}: cannot be written: {error.strerror or error}") from None
