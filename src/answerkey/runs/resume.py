"""Resuming a run: which one, which cases are left, what changed since, and whether the change was accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from os.path import relpath
from pathlib import Path

import msgspec

from answerkey.coerce.values import is_mapping
from answerkey.config.declare import toml_text
from answerkey.errors import SettingsError, StorageError
from answerkey.runs.ask import Numbered
from answerkey.runs.control import GroupCounts, Options
from answerkey.runs.format1 import is_format1
from answerkey.runs.manifest import (
    MANIFEST,
    AcceptedChange,
    Manifest,
    stored_manifest,
    write_manifest,
)
from answerkey.runs.prepare import Prepared, manifest_of
from answerkey.runs.records import SCORING, changed_parts, digest_of, to_json
from answerkey.runs.repair import prepare_resume
from answerkey.runs.shards import take_over_shards
from answerkey.runs.source_commit import source_commit
from answerkey.runs.started_by import starter_name
from answerkey.runs.state import Progress, RunState
from answerkey.runs.store import (
    FolderStore,
    open_reader,
    read_manifest,
    with_record_counts,
)
from answerkey.runs.suite import Suite
from answerkey.text import short_label

_ORDER = "order of the cases"


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a run starts from; `cases` replaces the suite's cases where those changed."""

    manifest: Manifest
    state: RunState
    cases: Callable[[], Iterator[Numbered]] | None = None


class AlreadyFinished(SettingsError):
    """Not a mistake: there is nothing left to do."""

    exit_code = 0

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(
            f"{folder}: this run is finished, all {count} cases are done; nothing to resume"
        )
        self.folder = folder


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run of a suite, with its time of creation in UTC."""

    folder: Path
    created: datetime
    manifest: Manifest

    @property
    def name(self) -> str:
        """The folder that the run was started in; that of a copy is another one."""
        return self.manifest.folder or self.folder.name

    @property
    def preference(self) -> tuple[bool, bool, datetime]:
        """An unfinished run before a finished one, a run before a rescore, a newer one before an older one."""
        return bool(self.manifest.partial), not self.manifest.rescore_of, self.created


def belongs_to(manifest: Manifest, folder: Path, suite: Suite) -> bool:
    """Whether a run was made from this suite: the same file and name. A project may have been moved as a whole."""
    if suite.path is None or manifest.name != suite.name or not manifest.suite:
        return False
    path = suite.path.resolve()
    recorded = Path(manifest.suite)
    if recorded == path:
        return True
    relative = manifest.suite_from_run
    # A copied project has two suites; only one that was moved has lost its old path.
    return (
        bool(relative) and not recorded.exists() and (folder.resolve() / relative).resolve() == path
    )


def runs_of(suite: Suite, *, checked: bool = True) -> list[StartedRun]:
    """The runs of a suite in its folder of results. Of a run and its copies only the run itself.

    If `checked`, a run that has lost something counts as unfinished; that takes a look into each.
    """
    if checked:
        read = read_manifest
    else:
        read = stored_manifest
    copies_by_name: dict[str, list[StartedRun]] = {}
    for path in sorted((suite.folder / suite.run.out).glob(f"*/{MANIFEST}")):
        folder = path.parent
        try:
            manifest = read(folder)
            created = datetime.fromisoformat(manifest.created)
        except (StorageError, ValueError):
            continue  # not a run that could be resumed
        if belongs_to(manifest, folder, suite):
            run = StartedRun(
                folder, created.replace(tzinfo=created.tzinfo or UTC).astimezone(UTC), manifest
            )
            copies_by_name.setdefault(run.name, []).append(run)
    originals = {
        name: [run for run in copies if run.folder.name == name]
        for name, copies in copies_by_name.items()
    }
    return [run for name, copies in copies_by_name.items() for run in originals[name] or copies]


def run_to_resume(suite: Suite, rescored: Path | None = None) -> Path | None:
    """The newest unfinished run of the suite, otherwise the newest; with `rescored` the unfinished rescore of that run.
    Refuses where the creation times do not tell which run is the newest."""
    runs = runs_of(suite)
    if rescored is not None:
        source = str(rescored.resolve())
        runs = [run for run in runs if run.manifest.partial and run.manifest.rescore_of == source]
    if not runs:
        return None
    # If every date is wrong, they still tell the order of the runs.
    runs = _without_far_future(runs) or runs
    best = max(runs, key=lambda run: run.preference)
    alike = [run for run in runs if run.preference[:2] == best.preference[:2]]
    # Clocks of two machines may differ a little.
    ahead = best.created > datetime.now(UTC) + timedelta(minutes=1)
    if ahead:
        rivals = alike
    else:
        rivals = [run for run in alike if run.created == best.created]
    if len(rivals) > 1:
        names = ", ".join(str(run.folder) for run in rivals[:4])
        future = (
            f"{best.folder.name} was created in the future, at {best.created:%Y-%m-%d %H:%M} UTC"
        )
        if ahead:
            why = future
        else:
            why = "they were created at the same moment"
        fix = f"name one: answerkey run FOLDER --resume ({names})"
        raise SettingsError(f"cannot tell which run to resume: {why}; {fix}")
    return best.folder


def _without_far_future(runs: list[StartedRun]) -> list[StartedRun]:
    """The runs without those of a clock that was wrong by more than a day; they would date all later runs."""
    latest = datetime.now(UTC) + timedelta(days=1)
    return [run for run in runs if run.created <= latest]


def new_manifest(prepared: Prepared, folder: Path) -> Manifest:
    """run.json of a run that begins now in this folder; later than every earlier run of the suite, even if the clock was
    set back."""
    suite = prepared.suite
    now = datetime.now(UTC)
    if suite.path:
        earlier = _without_far_future(runs_of(suite, checked=False))
        # Later than all earlier runs by a millisecond, so that "the newest" is never ambiguous.
        now = max([now, *(run.created + timedelta(milliseconds=1) for run in earlier)])
    if suite.path:
        # Relative, so that a project that was moved as a whole still finds its suite.
        beside = relpath(suite.path.resolve(), folder.resolve())
    else:
        beside = None
    manifest = manifest_of(prepared, now.isoformat(timespec="milliseconds"))
    return replace(
        manifest,
        suite_from_run=beside,
        folder=folder.name,
        commit=source_commit(suite.folder),
        started_by=starter_name(),
    )


def resume(folder: Path, prepared: Prepared, *, accept: bool) -> Resumed:
    """The run's state. Changed cases, profile, judge, model or settings are refused, or accepted and recorded."""
    manifest = read_manifest(folder)
    if prepared.suite.path is not None and not belongs_to(manifest, folder, prepared.suite):
        raise SettingsError(
            f"{folder}: a run of {manifest.suite or manifest.name}, not of {prepared.suite.path.resolve()}; "
            "start a new run without --resume"
        )
    # Before anything is repaired or taken over: this format is only read.
    _refuse_format1(folder, manifest)
    check_repeats(folder, manifest, prepared)
    take_over_shards(folder, manifest)
    state = prepare_resume(folder)
    old = dict(manifest.fingerprint)
    new = dict(prepared.fingerprint)
    if manifest.order and prepared.order:
        old[_ORDER] = manifest.order
        new[_ORDER] = prepared.order
    different = changed_parts(old, new)
    # Other cases have another order too; one change is enough to name.
    if "cases" in different and _ORDER in different:
        different.remove(_ORDER)
    if different and not accept:
        new_target = manifest_of(prepared, manifest.created).settings.target
        settings = _list_changes(manifest.settings.target or {}, new_target or {})
        details = f" ({'; '.join(settings)})" if settings else ""
        raise SettingsError(
            f"{folder}: the {', '.join(different)} changed since this run began{details}; start a new "
            "run, or add --accept-changes to continue and record the change"
        )
    cases = None
    if different:
        changed = {name: (old[name], new[name]) for name in different}
        manifest = replace(
            manifest_of(prepared, manifest.created),
            suite_from_run=manifest.suite_from_run,
            folder=manifest.folder,
            commit=source_commit(prepared.suite.folder),
            started_by=manifest.started_by,
            changes=(
                *manifest.changes,
                AcceptedChange(datetime.now(UTC).isoformat(timespec="seconds"), changed),
            ),
        )
        # Answers stay: only the scoring changed, and nobody is asked again.
        if any(name in SCORING for name in different):
            state.score_again()
    # After an accepted change the positions are not those of the case files any more.
    if any(name in change.changed for change in manifest.changes for name in ("cases", _ORDER)):
        cases = _reposition(folder, manifest, prepared, state)
    if state.count(Progress.FINISHED) >= prepared.answers:
        # The run may have been killed before it wrote this.
        complete = replace(manifest, count=prepared.count, partial="", damage="")
        write_manifest(folder, with_record_counts(folder, complete))
        raise AlreadyFinished(folder, prepared.count)
    if prepared.suite.path:
        suite = str(prepared.suite.path.resolve())
    else:
        suite = manifest.suite
    begun = replace(manifest, suite=suite, count=prepared.count).as_begun()
    return Resumed(begun, state, cases)


def _list_changes(
    old: Mapping[str, object], new: Mapping[str, object], prefix: str = "target"
) -> list[str]:
    """Settings of the target that differ: `target.collection: "a", now "b"`."""
    lines: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        before = old.get(name)
        after = new.get(name)
        if before == after:
            continue
        if is_mapping(before) and is_mapping(after):
            lines += _list_changes(before, after, f"{prefix}.{name}")
        else:
            was = "not set" if before is None else short_label(toml_text(before))
            now = "not set" if after is None else short_label(toml_text(after))
            lines.append(f"{prefix}.{name}: {was}, now {now}")
    return lines


def _refuse_format1(folder: Path, manifest: Manifest) -> None:
    """An earlier version stored the run in another format, which is read, but not written."""
    if not is_format1(folder):
        return
    if not manifest.partial:
        raise AlreadyFinished(folder, manifest.count or 0)
    raise SettingsError(
        f"{folder}: an earlier version of answerkey began this run, in a format that this version "
        f"only reads; start a new run, or score its answers with `answerkey rescore {folder}`"
    )


def check_repeats(folder: Path, manifest: Manifest, prepared: Prepared) -> None:
    """A run keeps its number of repeats: the positions of its answers depend on it."""
    before = manifest.settings.run.repeats
    if before != prepared.repeats.times:
        raise SettingsError(
            f"{folder}: this run asks each case {before} times, the suite {prepared.repeats.times}; "
            f"start a new run, or set --repeats {before}"
        )


def still_stopping(
    prepared: Prepared, options: Options, begun: Resumed
) -> tuple[Prepared, Options]:
    """With --resume-limit a run that stopped at a failure keeps its stop threshold."""
    if (
        options.stop_on_fail
        or options.resume_limit is None
        or not begun.state.count(Progress.STOPPED)
    ):
        return prepared, options
    run = prepared.suite.run
    if run.stop_below is None:
        run = msgspec.structs.replace(run, stop_below=begun.manifest.settings.run.stop_below)
    return replace(prepared, suite=replace(prepared.suite, run=run)), replace(
        options, stop_on_fail=True
    )


def finished_before(folder: Path, state: RunState) -> GroupCounts:
    """The counts that a resumed run starts with."""
    finished = state.count(Progress.FINISHED)
    if not finished:
        return GroupCounts()
    reader = open_reader(folder)
    counts = reader.count_finished()
    if counts.cases == finished:
        return counts
    # Edited cases are asked again: only the others count.
    counts = GroupCounts()
    for place, outcome in reader.attempts():
        if state[place] == Progress.FINISHED:
            counts.add(outcome)
    return counts


def _reposition(
    folder: Path, manifest: Manifest, prepared: Prepared, state: RunState
) -> Callable[[], Iterator[Numbered]]:
    """The new cases at the positions that the run has for them; cases that are gone are removed."""
    repeats = prepared.repeats
    stored = open_reader(folder).stored_cases()
    positions = {case: place // repeats.times for case, (place, _) in stored.items()}
    kept = {case.id for _, case in prepared.cases()}
    gone = [n for case, n in positions.items() if case not in kept]
    removed = [place for n in gone for place in repeats.positions(n)]
    if removed:
        with closing(FolderStore(folder, manifest)) as store:
            store.remove(removed)
        for place in removed:
            state[place] = Progress.REMOVED
    # Cases of the run keep their position, new ones follow, edited ones are asked again.
    numbered: list[Numbered] = []
    following = max(positions.values(), default=-1) + 1
    for _, case in prepared.cases():
        n = positions.get(case.id, following)
        if n == following:
            following += 1
        elif stored[case.id][1] != digest_of(to_json(case)):
            for place in repeats.positions(n):
                state[place] = Progress.ASK
        numbered.append((n, case))
    return lambda: iter(numbered)
