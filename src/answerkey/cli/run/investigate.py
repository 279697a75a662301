"""`--investigate`: shows the failure that a run stopped at, and asks it once more."""

from __future__ import annotations

from pathlib import Path

from answerkey.cli.output import print_json, say, show
from answerkey.cli.run.options import RunOptions, suite_path_of
from answerkey.errors import EXIT_OK, InputError, SettingsError
from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.execute import ask_once
from answerkey.runs.records import result_line
from answerkey.runs.store import open_reader, profile_of
from answerkey.runs.suite import Suite


def investigate(folder: Path, suite: Suite | None, options: RunOptions) -> int:
    """Show the last failure in full, from the run folder alone; then ask again, if its suite can be found."""
    stopped = open_reader(folder).first_stopped()
    if stopped is None:
        say(
            f"{folder}: no failure is waiting; a run with --stop-on-fail keeps the case it stopped at"
        )
        if options.as_json:
            print_json({"run": str(folder), "waiting": None, "asked_again": None})
        return EXIT_OK
    profile = profile_of(folder)
    tell = say if options.as_json else show
    tell(failure_screen(stopped, profile, debug=True))
    second = None
    try:
        suite = suite or options.load_suite(suite_path_of(folder))
    # The failure is on the screen already; without its suite it only cannot be asked again.
    except (InputError, SettingsError) as error:
        say(f"not asked again: {error}")
    else:
        second = ask_once(suite, stopped.case)
        say("asked again:")
        tell(failure_screen(second, profile, debug=True))
    if options.as_json:
        asked_again = result_line(second) if second else None
        print_json(
            {"run": str(folder), "waiting": result_line(stopped), "asked_again": asked_again}
        )
    return EXIT_OK
