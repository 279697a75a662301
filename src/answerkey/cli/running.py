"""What `answerkey run` does with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from answerkey.cli.again import command_again, stop_option
from answerkey.cli.attended import attended
from answerkey.cli.dry_run import dry_run
from answerkey.cli.ending import end_run
from answerkey.cli.failing import show_failing
from answerkey.cli.options import measuring, settings, without
from answerkey.cli.shared import print_json, say, show
from answerkey.errors import EXIT_OK, InputError, SettingsError
from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.control import Finished, Options, Selection
from answerkey.runs.execute import run_suite
from answerkey.runs.records import result_line
from answerkey.runs.resume import AlreadyFinished, selection_of
from answerkey.runs.store import is_run, last_stop, latest_run, open_run, read_manifest
from answerkey.runs.suite import Suite, load_suite
from answerkey.types import Case, Outcome

Given = Mapping[str, Any]


def run(path: Path, given: Given) -> int:
    """The exit code of a run, a resumed run, an investigation or a dry run."""
    folder = path if is_run(path) else None
    if given["investigate"] and folder is not None:
        return investigate(folder, None, given)
    suite = make_suite(_suite_path(folder) if folder else path, given)
    if given["investigate"] or given["resume"] or folder is not None:
        folder = folder or _newest(suite)
    if given["investigate"] and folder is not None:
        return investigate(folder, suite, given)
    options = _options(given, folder)
    if given["dry_run"]:
        return dry_run(suite, options, as_json=given["as_json"])
    if given["engine"] == "ray":
        from answerkey.cli.running_ray import run_on_ray

        return run_on_ray(suite, options, given)
    with attended(quiet=given["quiet"]) as (watch, stop):
        try:
            finished = run_suite(suite, options, watch, stop)
        except AlreadyFinished as done:
            say(str(done))
            finished = Finished(folder or Path())  # its gates still decide, and its reports may be missing
    again = command_again("run", path)
    if finished.stopped is not None or given["smoke"]:
        _show_stop(again, finished, given)
    elif given["debug"] and not given["quiet"]:
        show_failing(finished.folder, as_json=given["as_json"])
    return end_run(
        finished,
        as_json=given["as_json"],
        quiet=given["quiet"],
        resume_command=f"{again} --resume",
        pictures=not given["no_pictures"],
    )


def make_suite(path: Path, given: Given) -> Suite:
    """The suite of the file, with what the command line says laid over it."""
    overrides = settings(given["assignments"])
    for name in ("workers", "timeout", "max_cost", "max_minutes"):
        if given[name] is not None:
            overrides[f"run.{name}"] = given[name]
    if given["out"] is not None:
        overrides["run.out"] = str(given["out"].resolve())
    if given["stop_on_fail"] not in (None, "pass"):
        overrides["run.stop_below"] = _threshold(given["stop_on_fail"])
    measured = measuring(given)
    metrics, modules = measured.pop("metrics", []), measured.pop("modules", [])
    suite = load_suite(path, {**overrides, **measured})
    if given["without"]:
        suite = replace(suite, profile=without({"profile": suite.profile}, given["without"])["profile"])
    return replace(
        suite,
        metrics=tuple(dict.fromkeys([*suite.metrics, *metrics])),
        modules=tuple(dict.fromkeys([*suite.modules, *modules])),
        gate=(*suite.gate, *given["gates"]),
    )


def investigate(folder: Path, suite: Suite | None, given: Given) -> int:
    """The last failure in full, from the run's folder alone; then asked once more, if its suite can be found."""
    stopped = last_stop(folder)
    if stopped is None:
        say(f"{folder}: no failure is waiting; a run with --stop-on-fail keeps the one it stopped at")
        if given["as_json"]:
            print_json({"run": str(folder), "waiting": None, "asked_again": None})
        return EXIT_OK
    profile = open_run(folder).profile
    tell = say if given["as_json"] else show
    tell(failure_screen(stopped, profile, debug=True))
    again = _asked_again(folder, suite, stopped.case, given)
    if again is not None:
        say("asked once more:")
        tell(failure_screen(again, profile, debug=True))
    if given["as_json"]:
        waiting, asked = result_line(stopped), result_line(again) if again else None
        print_json({"run": str(folder), "waiting": waiting, "asked_again": asked})
    return EXIT_OK


def _asked_again(folder: Path, suite: Suite | None, case: Case, given: Given) -> Outcome | None:
    try:
        suite = suite or make_suite(_suite_path(folder), given)
    except (InputError, SettingsError) as error:
        say(f"not asked again: {error}")
        return None
    from answerkey.runs.execute import ask_once

    return ask_once(suite, case)


def _options(given: Given, folder: Path | None) -> Options:
    asked = Selection(
        1 if given["smoke"] else given["limit"], given["only"], given["file"], given["collection"]
    )
    selection = selection_of(folder) if folder is not None and asked.whole else asked
    return Options(
        selection=selection,
        resume=folder,
        resume_limit=given["resume_limit"],
        accept_changes=given["accept_changes"],
        stop_on_fail=given["stop_on_fail"] == "pass",
    )


def _show_stop(again: str, finished: Finished, given: Given) -> None:
    from answerkey.runs.store import read_outcomes

    outcome = finished.stopped or next(read_outcomes(finished.folder), None)
    if outcome is None:
        return
    stop = stop_option(given["stop_on_fail"])
    commands = [
        ("see it again, and ask once more with everything shown", f"{again} --investigate"),
        ("mend the bot, then ask just this one again", f"{again} --resume --resume-limit 1{stop}"),
        ("go on to the next failure", f"{again} --resume{stop or ' --stop-on-fail'}"),
        ("go on to the end", f"{again} --resume"),
    ]
    profile = open_run(finished.folder).profile
    tell = say if given["as_json"] else show
    tell(failure_screen(outcome, profile, commands if finished.stopped else (), debug=given["debug"]))


def _newest(suite: Suite) -> Path:
    out = suite.folder / suite.run.out
    found = latest_run(out, suite.name)
    if found is None:
        raise InputError(f"{out}: there is no run of {suite.name} to go on with; start one without --resume")
    return found


def _suite_path(folder: Path) -> Path:
    path = read_manifest(folder).get("suite")
    if not path:
        raise InputError(
            f"{folder}: this run was not made from a suite file; run `answerkey score` again instead"
        )
    if not Path(path).is_file():
        raise InputError(
            f"{folder}: its suite {path} is gone; give the suite's new place instead of the run's folder"
        )
    return Path(path)


def _threshold(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingsError(
            f'--stop-on-fail "{text}": expected a number on the profile\'s scale, or nothing'
        ) from None
