"""Going on with a run: what is left, what changed since, and whether that was agreed to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from answerkey.errors import SettingsError
from answerkey.runs.ask import Numbered
from answerkey.runs.control import Options, Selection
from answerkey.runs.journal import Journal
from answerkey.runs.prepare import Prepared, manifest_of
from answerkey.runs.records import changed
from answerkey.runs.store import (
    FINISHED,
    REMOVED,
    RESPONSES,
    STOPPED,
    JournalIndex,
    State,
    places_of,
    read_manifest,
    replaced,
    write_manifest,
)
from answerkey.runs.summary import OutcomeTally
from answerkey.types import Json

RULER = ("profile", "metrics", "judge", "embedding")


@dataclass(frozen=True, slots=True)
class Resumed:
    manifest: Json
    state: State
    cases: Callable[[], Iterator[Numbered]] | None = None


class AlreadyFinished(SettingsError):
    """Not a mistake: there is nothing left to do."""

    exit_code = 0


def selection_of(folder: Path) -> Selection:
    return Selection(**read_manifest(folder).get("settings", {}).get("selection", {}))


def resume(folder: Path, prepared: Prepared, *, accept: bool) -> Resumed:
    """The run's state. Changed cases, profile, judge, model or settings are refused unless accepted, then recorded."""
    manifest, state = read_manifest(folder), State(folder)
    if manifest.get("engine") == "ray":
        raise SettingsError(
            f"{folder}: this run was begun with --engine ray; go on with --resume --engine ray"
        )
    old = manifest["fingerprint"]
    different = changed(old, prepared.fingerprint)
    if different and not accept:
        raise SettingsError(
            f"{folder}: the {', '.join(different)} changed since this run began; "
            "start a new run, or add --accept-changes to go on with the change on record"
        )
    cases = None
    if different:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        change = {"at": now, "changed": {name: [old[name], prepared.fingerprint[name]] for name in different}}
        manifest = {
            **manifest_of(prepared, manifest["created"]),
            "changes": [*manifest.get("changes", []), change],
        }
        if any(name in RULER for name in different):
            state.score_again()
        if "cases" in different:
            cases = _moved(folder, prepared, state)
    if state.count(FINISHED) >= prepared.count:
        write_manifest(folder, {**manifest, "partial": ""})  # it may have been killed before it could say so
        raise AlreadyFinished(
            f"{folder}: this run is finished, all {prepared.count} cases are done; nothing to resume"
        )
    return Resumed({**manifest, "count": prepared.count, "partial": "in progress"}, state, cases)


def still_stopping(prepared: Prepared, options: Options, begun: Resumed) -> tuple[Prepared, Options]:
    """A failure stays waiting while it is being mended: asked for alone, it is stopped at as the run stopped at it."""
    if options.stop_on_fail or options.resume_limit is None or not begun.state.count(STOPPED):
        return prepared, options
    run = prepared.suite.run
    if run.stop_below is None:
        run = replace(run, stop_below=begun.manifest["settings"]["run"].get("stop_below"))
    return replace(prepared, suite=replace(prepared.suite, run=run)), replace(options, stop_on_fail=True)


def finished_before(folder: Path, state: State) -> OutcomeTally:
    """The figures that a resumed run begins with."""
    group = OutcomeTally()
    if state.count(FINISHED):
        for n, outcome in JournalIndex(folder).numbered():
            if state[n] == FINISHED:
                group.add(outcome)
    return group


def _moved(folder: Path, prepared: Prepared, state: State) -> Callable[[], Iterator[Numbered]]:
    """The new cases at the positions the journal knows them by; those that are gone are taken out of the run."""
    places = places_of(folder)
    kept = {case.id for _, case in prepared.cases()}
    gone = {key: n for key, (n, _) in places.items() if key not in kept}
    if gone:
        journal = Journal(folder / RESPONSES, "responses")
        journal.append([{"n": n, "id": key, "removed": True} for key, n in gone.items()])
        journal.close()
        for n in gone.values():
            state[n] = REMOVED
    numbered = list(replaced((case for _, case in prepared.cases()), places, state))
    return lambda: iter(numbered)
