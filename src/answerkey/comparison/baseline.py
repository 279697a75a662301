"""The baseline: the run to compare with, recorded in `.answerkey/baseline.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os.path import relpath
from pathlib import Path

from answerkey.errors import InputError, StorageError
from answerkey.runs.store import DAMAGED, read_manifest

WHERE = Path(".answerkey") / "baseline.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """`run` is relative to the folder that contains `.answerkey`, so that a checkout can be moved."""

    run: str
    name: str
    created: str
    fingerprint: Mapping[str, str]


def set_baseline(run: Path, folder: Path) -> Path:
    """Record the run as the baseline of a folder; returns the file."""
    manifest, path = read_manifest(run), folder / WHERE
    if manifest.partial.startswith(DAMAGED):
        raise StorageError(f"{run}: {manifest.partial}; resume it first, or choose another run")
    kept = Baseline(relpath(run, folder), manifest.name, manifest.created, manifest.fingerprint)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None
    return path


def find_baseline(*folders: Path) -> tuple[Path, Baseline]:
    """The run folder and what was recorded about it, from the first of the folders that has a baseline."""
    for folder in folders:
        if (folder / WHERE).is_file():
            kept = _read(folder / WHERE)
            return Path(relpath(folder / kept.run)), kept
    looked = ", ".join(str(folder / WHERE) for folder in folders)
    raise InputError(f"no baseline in {looked}; set one with `answerkey baseline set RUN`, or name both runs")


def _read(path: Path) -> Baseline:
    try:
        return Baseline(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not a baseline ({error}); set it again with `answerkey baseline set RUN`") from None
