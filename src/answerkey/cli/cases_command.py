"""`answerkey cases`: check and list cases."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.shared import json_option, print_json, say, show


@click.command("cases")
@click.argument("paths", nargs=-1, required=True)
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> None:
    """Check case files and list what is in them.

    \b
    Example:
      answerkey cases qa/*.md
      answerkey cases questions.csv --json
    """
    from answerkey.cases import load_cases
    from answerkey.cli.listing import case_listing
    from answerkey.text import counted

    if as_json:
        print_json([case_listing(case) for case in load_cases(paths, Path())])
        return
    count = 0
    for case in load_cases(paths, Path()):
        count += 1
        question = " ".join(case.question.split())
        show(f"{case.id}\t{question[:100]}{'…' if len(question) > 100 else ''}")
    say(f"{counted(count, 'case')}, all well")
