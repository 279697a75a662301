"""What is known about a judge from earlier: its exam, its calibration, its flips; kept under its fingerprint.

The fingerprint has the model, its settings and every prompt, so a changed judge starts without a record.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from answerkey.cache import cache_folder, digest
from answerkey.errors import StorageError
from answerkey.files import json_text, write_file
from answerkey.types import Json


def recall(fingerprint: str) -> Json:
    """The record of a judge: `exam`, `calibration` by metric, `order_flips`; empty where nothing is known.

    >>> recall("no such judge")
    {}
    """
    with suppress(OSError, ValueError):
        record: Any = json.loads(_path(fingerprint).read_text("utf-8"))
        if isinstance(record, dict):
            return record  # pyright: ignore[reportUnknownVariableType]
    return {}


def remember(fingerprint: str, **results: Any) -> None:
    """Add results to the record of a judge; calibrations are kept per metric. Without a cache folder nothing is kept."""
    record = recall(fingerprint)
    for name, value in results.items():
        record[name] = {**record.get(name, {}), **value} if name == "calibration" else value
    path = _path(fingerprint)
    with suppress(OSError, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json_text({"judge": fingerprint, **record}), durable=False)


def _path(fingerprint: str) -> Path:
    return cache_folder() / "judges" / f"{digest(fingerprint)[:24]}.json"
