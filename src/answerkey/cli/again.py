"""The command to go on with: what was typed, said again, without what was meant for one time only."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

_ONE_TIME = {
    "resume", "resume_limit", "accept_changes", "investigate", "stop_on_fail", "dry_run", "smoke", "debug", "as_json",
    "limit", "only", "file", "collection",  # the run's folder knows which cases are meant
}  # fmt: skip


def command_again(command: str, *arguments: str | Path) -> str:
    """`answerkey COMMAND ARGUMENTS` with every lasting option of this call, quoted to be pasted into a shell."""
    ctx = click.get_current_context()
    words = ["answerkey", command, *map(str, arguments)]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in _ONE_TIME or isinstance(parameter, click.Argument) or not given:
            continue
        value = ctx.params[name]
        if isinstance(value, bool):
            words.append(parameter.opts[0])
        else:
            for item in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0], str(item)]
    return shlex.join(words)


def stop_option(given: str | None) -> str:
    """` --stop-on-fail`, with its threshold, where it was asked for."""
    if given is None:
        return ""
    return " --stop-on-fail" if given == "pass" else f" --stop-on-fail {shlex.quote(given)}"
