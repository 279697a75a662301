"""`answerkey label-next`: which cases of a run to label next, and what the labels say so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import click

from answerkey.calibrate.label_order import label_order, rate_of_cases
from answerkey.calibrate.labels import all_labels
from answerkey.cli.output import COUNT, done, json_option, print_json, show
from answerkey.reports.rows import excerpt, read_outcomes_at, read_rows
from answerkey.reports.text import corrected_line


@dataclass(frozen=True, slots=True)
class CaseToLabel:
    """A case without a label, as it is listed."""

    id: str
    question: str
    answer: str
    passed: bool
    score: float | None


@click.command("label-next")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--count", type=COUNT, default=10, help="How many cases to list; default 10.")
@click.option("--labels", type=click.Path(path_type=Path, dir_okay=False),
              help="A file with columns id and label, besides the labels of the run.")  # fmt: skip
@json_option
def command(run: Path, count: int, labels: Path | None, as_json: bool) -> None:
    """List the cases whose labels would narrow the corrected pass rate most, the most useful first.

    Labels come from `answerkey view`, from labels.jsonl in the run folder, from a column `label` of the cases, or from a file.

    \b
    Example:
      answerkey label-next results/support-bot_20260102_030405 --count 20
    """
    rows, known = read_rows(run), all_labels(run, labels)
    places = {n: known[case] for n, case in enumerate(rows.id) if case in known}
    order = list(islice(label_order(rows.quality, rows.passed, places), count))
    answers = [
        excerpt(each.response.answer or each.response.error or "") for each in read_outcomes_at(run, rows, order)
    ]
    cases = [
        CaseToLabel(rows.id[n], rows.question[n], answer, rows.passed[n], rows.score[n])
        for n, answer in zip(order, answers, strict=True)
    ]
    rate = rate_of_cases(rows.id, rows.quality, rows.passed, known)
    if as_json:
        print_json(
            {"labels": len(places), "corrected": asdict(rate) if rate else None, "next": [asdict(c) for c in cases]}
        )
    else:
        for case in cases:
            show(f"{case.id}  {'passed' if case.passed else 'failed'}  {case.question[:80]}  →  {case.answer[:80]}")
        show(corrected_line(rate) if rate else "two labels are needed for a corrected pass rate")
    done(f"{len(places)} of {len(rows)} cases are labelled; label these with `answerkey view --label {run}`")
