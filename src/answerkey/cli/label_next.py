"""`answerkey label-next`: the cases whose labels would help most."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click

from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.labels import all_labels
from answerkey.calibrate.pass_rate import rate_of_cases
from answerkey.cli.output import COUNT, done, json_option, print_result
from answerkey.cli.run_folder import RUN
from answerkey.config.declare import TomlTable
from answerkey.reports.headline import corrected_line
from answerkey.reports.rows import read_outcomes_at, read_rows
from answerkey.text import excerpt


@click.command("label-next")
@click.argument("run", type=RUN)
@click.option("--count", type=COUNT, default=10, help="How many cases to list; default 10.")
@click.option(
    "--labels",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with columns id and label, besides the labels of the run.",
)
@json_option
def label_next_command(run: Path, count: int, labels: Path | None, as_json: bool) -> None:
    """List the cases whose labels would narrow the corrected pass rate most, the most useful first.

    Labels come from `answerkey view`, from labels.jsonl in the run folder, from a column `label` of the cases, or from a file.

    \b
    Example:
      answerkey label-next results/support-bot_20260102_030405 --count 20
    """
    rows = read_rows(run)
    labelled = all_labels(run, labels)
    places = {n: labelled[case] for n, case in enumerate(rows.id) if case in labelled}
    order = list(islice(label_order(rows.quality, rows.passed, places), count))
    next_cases: list[TomlTable] = []
    lines: list[str] = []
    for n, outcome in zip(order, read_outcomes_at(run, rows, order), strict=True):
        case = rows.id[n]
        question = rows.question[n]
        passed = rows.passed[n]
        answer = excerpt(outcome.response.answer or outcome.response.error or "")
        next_cases.append(
            {
                "id": case,
                "question": question,
                "answer": answer,
                "passed": passed,
                "score": rows.score[n],
            }
        )
        lines.append(
            f"{case}  {'passed' if passed else 'failed'}  {question[:80]}  →  {answer[:80]}"
        )
    rate = rate_of_cases(rows.id, rows.quality, rows.passed, labelled)
    record = {
        "labels": len(places),
        "corrected": asdict(rate) if rate else None,
        "next": next_cases,
    }
    if rate:
        corrected = corrected_line(rate)
    else:
        corrected = "two labels are needed for a corrected pass rate"
    print_result(record, "\n".join([*lines, corrected]), as_json)
    done(
        f"{len(places)} of {len(rows)} cases are labelled; label these with `answerkey view --label {run}`"
    )
