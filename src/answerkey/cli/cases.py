"""`answerkey cases`: validate and list cases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from answerkey.cases import load_cases
from answerkey.cli.output import done, json_option, print_json, show
from answerkey.text import counted
from answerkey.types import Case, Json


@click.command("cases")
@click.argument("paths", nargs=-1, required=True)
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> None:
    """Validate case files and list their cases.

    \b
    Example:
      answerkey cases qa/*.md
      answerkey cases questions.csv --json
    """
    if as_json:
        print_json([case_listing(case) for case in load_cases(paths, Path())])
        return
    count = 0
    for case in load_cases(paths, Path()):
        count += 1
        question = " ".join(case.question.split())
        show(f"{case.id}\t{question[:100]}{'…' if len(question) > 100 else ''}")
    done(counted(count, "valid case"))


def case_listing(case: Case) -> Json:
    recorded = case.recorded
    return {
        "id": case.id,
        "question": case.question,
        "expected": case.expected[0] if len(case.expected) == 1 else list(case.expected) or None,
        "source_file": case.source_file,
        "question_num": case.question_num,
        "tags": list(case.tags),
        "type": case.type,
        "expected_route": case.expected_route,
        "acceptable_routes": list(case.acceptable_routes),
        "relevant": dict(case.relevant) if case.relevant is not None else None,
        "priority": case.priority,
        "note": case.note,
        "history": [asdict(turn) for turn in case.history],
        "answer_criteria": {
            key: value for key, value in asdict(case.criteria).items() if value not in (None, (), False)
        },
        "answer": recorded.answer if recorded else None,
        "contexts": list(recorded.contexts) if recorded else [],
        "route": recorded.route if recorded else None,
        "retrieved": list(recorded.retrieved) if recorded and recorded.retrieved is not None else None,
        "response_time": recorded.seconds if recorded else None,
        "extra": dict(case.extra),
    }
