"""What `answerkey run --engine ray` does: the same beginning and the same end, with a cluster in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.cli.again import command_again
from answerkey.cli.attended import attended
from answerkey.cli.ending import end_run
from answerkey.cli.failing import show_failing
from answerkey.cli.shared import say
from answerkey.errors import EXIT_OK, SettingsError
from answerkey.runs.control import Options
from answerkey.runs.engines.ray import Cluster, run_on_cluster
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.suite import Suite


def run_on_ray(suite: Suite, options: Options, given: Mapping[str, Any]) -> int:
    """The exit code of a run on a cluster."""
    if given["smoke"]:
        raise SettingsError("--test is for --engine local: it needs no cluster; leave --engine out")
    with attended(quiet=given["quiet"]) as (watch, stop):
        try:
            finished = run_on_cluster(
                suite, options, Cluster(given["address"], given["workers"]), watch, stop
            )
        except AlreadyFinished as done:
            say(str(done))
            return EXIT_OK
    if given["debug"] and not given["quiet"]:
        show_failing(finished.folder, as_json=given["as_json"])
    return end_run(
        finished,
        as_json=given["as_json"],
        quiet=given["quiet"],
        resume_command=f"{command_again('run', suite.path or 'suite.toml')} --resume",
        pictures=not given["no_pictures"],
    )
