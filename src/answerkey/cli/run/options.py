"""The options of `answerkey run`, and the suite and run settings that they make."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.cli.scoring_options import ScoringOptions
from answerkey.config.declare import TomlTable
from answerkey.errors import InputError, SettingsError
from answerkey.runs.control import Cluster, Options, Selection
from answerkey.runs.store import read_manifest
from answerkey.runs.suite import Suite, load_suite


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options typed after `answerkey run`, one field each."""

    suite: Path
    scoring: ScoringOptions
    resume: bool
    resume_limit: int | None
    accept_changes: bool
    investigate: bool
    stop_on_fail: str | None  # a number, or "pass" for the profile's own pass mark
    limit: int | None
    per_type: int | None
    smoke: bool
    only: str | None
    file: str | None
    datasets: tuple[Path, ...]
    tag: str | None
    collection: str | None
    workers: int | None
    timeout: float | None
    repeats: int | None
    max_cost: float | None
    max_minutes: float | None
    out: Path | None
    assignments: tuple[str, ...]
    gates: tuple[str, ...]
    variants: str | None
    per_case: int | None
    engine: str
    address: str | None
    dry_run: bool
    debug: bool
    quiet: bool
    as_json: bool

    def load_suite(self, path: Path) -> Suite:
        """The suite of the file, overridden by the options."""
        overrides = parse_assignments(self.assignments)
        limits = {
            "workers": self.workers,
            "repeats": self.repeats,
            "timeout": self.timeout,
            "max_cost": self.max_cost,
            "max_minutes": self.max_minutes,
            # A typed path is relative to the current folder, not to the suite.
            "out": self.out and str(self.out.resolve()),
            "stop_below": _threshold(self.stop_on_fail),
            "jobs": self.scoring.jobs,
        }
        overrides |= {f"run.{name}": value for name, value in limits.items() if value is not None}
        if self.variants is not None:
            kinds = [kind.strip() for kind in self.variants.split(",") if kind.strip()]
            overrides["variants.kinds"] = kinds
        if self.per_case is not None:
            overrides["variants.per_case"] = self.per_case
        if self.datasets:
            overrides["cases"] = [str(path.resolve()) for path in self.datasets]
        scoring = self.scoring.settings()
        # Metrics and modules add to those of the suite; every other option replaces its setting.
        metrics = scoring.pop("metrics", [])
        modules = scoring.pop("modules", [])
        suite = load_suite(path, {**overrides, **scoring}, self.collection)
        return replace(
            suite,
            profile=self.scoring.profile_without(suite.profile),
            metrics=tuple(dict.fromkeys([*suite.metrics, *metrics])),
            modules=tuple(dict.fromkeys([*suite.modules, *modules])),
            gate=(*suite.gate, *self.gates),
        )

    def for_engine(self, resumed: Path | None) -> Options:
        """The options for the engine; a resumed run keeps its selection of cases by default."""
        limit = self.limit
        if limit is None and self.smoke:
            limit = 1
        selection = Selection(limit, self.only, self.file, self.tag, self.per_type)
        if resumed is not None and selection.whole:
            selection = read_manifest(resumed).settings.selection
        cluster = None
        if self.engine == "ray":
            cluster = Cluster(self.address, self.workers)
        return Options(
            selection=selection,
            resume=resumed,
            resume_limit=self.resume_limit,
            accept_changes=self.accept_changes,
            stop_on_fail=self.stop_on_fail == "pass",
            debug=self.debug,
            cluster=cluster,
        )


def parse_assignments(assignments: tuple[str, ...]) -> TomlTable:
    """`--set run.workers=3`: each value parsed as TOML, otherwise taken as text."""
    settings: TomlTable = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f'--set "{assignment}": expected name=value, as in run.workers=3')
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        # A bare word, as in judge=groq, is no TOML.
        except (ValueError, RecursionError):
            settings[name.strip()] = value
    return settings


def suite_path_of(folder: Path) -> Path:
    """The suite file that a run was started from."""
    path = read_manifest(folder).suite
    if not path:
        raise InputError(
            f"{folder}: this run was not started from a suite file; run `answerkey score` again instead"
        )
    if not Path(path).is_file():
        fix = "give the suite's new path instead of the run folder"
        raise InputError(f"{folder}: its suite {path} no longer exists; {fix}")
    return Path(path)


def _threshold(text: str | None) -> float | None:
    if text is None or text == "pass":
        return None
    try:
        return float(text)
    except ValueError:
        expected = "expected a number on the profile's scale, or no value"
        raise SettingsError(f'--stop-on-fail "{text}": {expected}') from None
