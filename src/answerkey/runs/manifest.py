"""run.json: what made a run, enough to resume, rescore and read it without the suite."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path

import msgspec

from answerkey.config.declare import TomlTable
from answerkey.config.tables import ExecutionTable, StatisticsTable
from answerkey.errors import InputError, SettingsError, StorageError
from answerkey.files import json_text, read_json, write_file
from answerkey.profiles import load_profile
from answerkey.runs.control import Selection
from answerkey.runs.records import to_json
from answerkey.runs.repeats import Repeats
from answerkey.types import Profile, Requirement

MANIFEST = "run.json"
IN_PROGRESS = "in progress"  # `partial` in run.json until the run ends
_WRITTEN_IF_SET = ("suite_from_run", "folder", "order", "commit", "started_by", "records")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run, with every secret hidden; `metrics` are the settings of metrics."""

    cases: tuple[str, ...] = ()
    target: TomlTable | None = None
    judge: str | TomlTable | None = None
    embedding: str | TomlTable | None = None
    entailment: TomlTable | None = None
    run: ExecutionTable = field(default_factory=ExecutionTable)
    statistics: StatisticsTable = field(default_factory=StatisticsTable)
    metrics: TomlTable = field(default_factory=TomlTable)
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class AcceptedChange:
    """What changed before a resume with --accept-changes: the old and the new fingerprint of each part."""

    at: str
    changed: dict[str, tuple[str, str]]


class Completeness(Enum):
    """How much of a run is there. `Manifest.partial` says why, in a sentence for people."""

    COMPLETE = auto()
    IN_PROGRESS = auto()  # or killed
    STOPPED = auto()
    DAMAGED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """run.json. `partial` says why the run is incomplete; `records` are counted at its end, so that a loss is noticed.
    `folder` is the name of the folder that the run was started in, `suite_from_run` the way from there to its suite.
    `columns` are those of the user's data: our name to theirs. `order` is a hash of the cases in their order.
    `commit` was checked out where the suite lies; `started_by` is the name of who started the run.
    `damage` is found when the run is read, and not written."""

    format: int = 1
    name: str
    created: str = ""
    suite: str | None = None
    rescore_of: str | None = None
    profile: TomlTable | None = None
    profile_version: int | None = None
    profile_digest: str | None = None
    fingerprint: dict[str, str]
    notes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict[str, str])
    gate: tuple[str, ...] = ()
    criteria: tuple[Requirement, ...] = ()
    settings: RunSettings
    count: int | None = None
    partial: str = ""
    changes: tuple[AcceptedChange, ...] = ()
    suite_from_run: str | None = None
    folder: str | None = None
    order: str | None = None
    commit: str | None = None
    started_by: str | None = None
    records: dict[str, int] | None = None
    damage: str = ""

    @property
    def completeness(self) -> Completeness:
        if self.damage:
            return Completeness.DAMAGED
        if not self.partial:
            return Completeness.COMPLETE
        if self.partial == IN_PROGRESS:
            return Completeness.IN_PROGRESS
        return Completeness.STOPPED

    def as_begun(self) -> Manifest:
        """The same run, which has not ended or was killed."""
        return replace(self, partial=IN_PROGRESS, damage="")

    def with_damage(self, loss: str) -> Manifest:
        """The same run, which has lost something since it ended."""
        return replace(self, partial=f"damaged: {loss}", damage=loss)

    @property
    def repeats(self) -> Repeats:
        return Repeats.of_table(self.settings.run)

    def load_profile(self) -> Profile | None:
        if self.profile:
            return load_profile(self.profile)
        return None


def stored_manifest(folder: Path) -> Manifest:
    """run.json as it is, without a look at the database."""
    path = folder / MANIFEST
    _refuse_special_files(folder)
    try:
        return msgspec.convert(read_json(path.read_bytes()), Manifest)
    except FileNotFoundError:
        example = "such as results/<suite>_<time>"
        raise InputError(
            f"{folder}: not a run folder; expected one with a {MANIFEST}, {example}"
        ) from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read: {error}") from None


def _refuse_special_files(folder: Path) -> None:
    """Refuse a run folder with a pipe or a device in it: reading one waits for ever, or never ends."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            # A link that leads nowhere is harmless.
            if entry.is_file() or entry.is_dir() or not os.path.exists(entry.path):
                continue
            raise StorageError(f"{entry.path}: a pipe or a device, expected a file; remove it")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    record = msgspec.to_builtins(manifest, enc_hook=str) | {
        "criteria": [to_json(each) for each in manifest.criteria]
    }
    # Damage is found by reading; stored, it would outlive a repair.
    del record["damage"]
    kept = {
        name: value
        for name, value in record.items()
        if value is not None or name not in _WRITTEN_IF_SET
    }
    write_file(folder / MANIFEST, json_text(kept))


@contextmanager
def stored_in(folder: Path) -> Generator[None]:
    """A mistake in the settings that run.json holds names that file."""
    try:
        yield
    except (SettingsError, InputError) as error:
        raise StorageError(f"{folder / MANIFEST}: damaged: {error}") from None
