"""Resuming a run: which cases are left, what changed since, and whether the change was accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from answerkey.errors import SettingsError
from answerkey.runs.ask import Numbered
from answerkey.runs.control import Options, Selection
from answerkey.runs.journal import (
    ASK,
    FINISHED,
    REMOVED,
    RESPONSES,
    STOPPED,
    Journal,
    JournalIndex,
    RunState,
    known_cases,
    removed_record,
)
from answerkey.runs.prepare import Prepared, manifest_of
from answerkey.runs.records import SCORING, changed_parts, digest_of, to_json
from answerkey.runs.store import read_manifest, write_manifest
from answerkey.runs.tally import OutcomeTally
from answerkey.types import Case, Json


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a run starts from; `cases` replaces the suite's cases where those changed."""

    manifest: Json
    state: RunState
    cases: Callable[[], Iterator[Numbered]] | None = None


class AlreadyFinished(SettingsError):
    """Not a mistake: there is nothing left to do."""

    exit_code = 0

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(f"{folder}: this run is finished, all {count} cases are done; nothing to resume")


def selection_of(folder: Path) -> Selection:
    return Selection(**read_manifest(folder).get("settings", {}).get("selection", {}))


def resume(folder: Path, prepared: Prepared, *, accept: bool) -> Resumed:
    """The run's state. Changed cases, profile, judge, model or settings are refused, or accepted and recorded."""
    manifest, state = read_manifest(folder), RunState(folder)
    if manifest.get("engine") == "ray":
        raise SettingsError(f"{folder}: this run was started with --engine ray; continue with --resume --engine ray")
    old = manifest["fingerprint"]
    different = changed_parts(old, prepared.fingerprint)
    if different and not accept:
        raise SettingsError(
            f"{folder}: the {', '.join(different)} changed since this run began; start a new run, "
            "or add --accept-changes to continue and record the change"
        )
    cases = None
    if different:
        change = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "changed": {name: [old[name], prepared.fingerprint[name]] for name in different},
        }
        changes = [*manifest.get("changes", []), change]
        manifest = {**manifest_of(prepared, manifest["created"]), "changes": changes}
        if any(name in SCORING for name in different):
            state.score_again()
        if "cases" in different:
            cases = _repositioned(folder, prepared, state)
    if state.count(FINISHED) >= prepared.count:
        write_manifest(folder, {**manifest, "partial": ""})  # the run may have been killed before it wrote this
        raise AlreadyFinished(folder, prepared.count)
    return Resumed({**manifest, "count": prepared.count, "partial": "in progress"}, state, cases)


def still_stopping(prepared: Prepared, options: Options, begun: Resumed) -> tuple[Prepared, Options]:
    """With --resume-limit a run that stopped at a failure keeps its stop threshold."""
    if options.stop_on_fail or options.resume_limit is None or not begun.state.count(STOPPED):
        return prepared, options
    run = prepared.suite.run
    if run.stop_below is None:
        run = msgspec.structs.replace(run, stop_below=begun.manifest["settings"]["run"].get("stop_below"))
    return replace(prepared, suite=replace(prepared.suite, run=run)), replace(options, stop_on_fail=True)


def finished_before(folder: Path, state: RunState) -> OutcomeTally:
    """The figures that a resumed run starts with."""
    tally = OutcomeTally()
    if state.count(FINISHED):
        for n, outcome in JournalIndex(folder).numbered():
            if state[n] == FINISHED:
                tally.add(outcome)
    return tally


def _repositioned(folder: Path, prepared: Prepared, state: RunState) -> Callable[[], Iterator[Numbered]]:
    """The new cases at the positions that the journal has for them; cases that are gone are removed from the run."""
    known = known_cases(folder)
    kept = {case.id for _, case in prepared.cases()}
    gone = {key: n for key, (n, _) in known.items() if key not in kept}
    if gone:
        journal = Journal(folder / RESPONSES)
        journal.append([removed_record(n, key) for key, n in gone.items()])
        journal.close()
        for n in gone.values():
            state[n] = REMOVED
    numbered = list(_numbered((case for _, case in prepared.cases()), known, state))
    return lambda: iter(numbered)


def _numbered(cases: Iterable[Case], known: dict[str, tuple[int, str]], state: RunState) -> Iterator[Numbered]:
    """Known cases keep their position, new ones follow, edited ones are asked again."""
    following = max((n for n, _ in known.values()), default=-1) + 1
    for case in cases:
        n, digest = known.get(case.id, (following, ""))
        if n == following:
            following += 1
        elif digest != digest_of(to_json(case)):
            state[n] = ASK
        yield n, case
