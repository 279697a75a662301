"""`answerkey label-next`: the cases whose labels would help most."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import click

from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.labels import all_labels
from answerkey.calibrate.pass_rate import rate_of_cases
from answerkey.cli.output import COUNT, done, json_option, print_result
from answerkey.cli.run_folder import RUN
from answerkey.reports.headline import corrected_line
from answerkey.runs.store import open_reader
from answerkey.runs.stored_table import read_stored_table
from answerkey.text import excerpt


@dataclass(frozen=True, slots=True)
class _NextCase:
    """A case to label, with what a person needs to see of it."""

    id: str
    question: str
    answer: str
    passed: bool
    score: float | None

    @property
    def line(self) -> str:
        status = "passed" if self.passed else "failed"
        return f"{self.id}  {status}  {self.question[:80]}  →  {self.answer[:80]}"


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
    reader = open_reader(run)
    table = read_stored_table(reader)
    ids = table.id.tolist()
    passes = table.passed.tolist()
    quality = [table.number("quality", row) for row in range(len(table))]
    labelled = all_labels(run, labels)
    places = {n: labelled[case] for n, case in enumerate(ids) if case in labelled}
    order = list(islice(label_order(quality, passes, places), count))
    next_cases = [
        _NextCase(
            id=ids[n],
            question=excerpt(outcome.case.question),
            answer=excerpt(outcome.response.answer or outcome.response.error or ""),
            passed=passes[n],
            score=table.number("score", n),
        )
        for n, outcome in zip(order, reader.at(table.n[order].tolist()), strict=True)
    ]
    rate = rate_of_cases(ids, quality, passes, labelled)
    record = {
        "labels": len(places),
        "corrected": asdict(rate) if rate else None,
        "next": [asdict(case) for case in next_cases],
    }
    if rate:
        corrected = corrected_line(rate)
    else:
        corrected = "two labels are needed for a corrected pass rate"
    lines = [case.line for case in next_cases]
    print_result(record, "\n".join([*lines, corrected]), as_json)
    done(
        f"{len(places)} of {len(table)} cases are labelled; label these with `answerkey view --label {run}`"
    )
