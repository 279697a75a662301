"""`answerkey cases`: validate, list, choose and copy the cases of files, traces and logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

from answerkey.cases import read_cases
from answerkey.cases.hide import KINDS, hide_in, hide_text, parse_kinds
from answerkey.cases.select import CaseCondition, filter_cases, sample_cases
from answerkey.cases.write import write_cases
from answerkey.cli.output import COUNT, PATH, done, json_option, print_json, show
from answerkey.errors import InputError
from answerkey.text import format_count
from answerkey.types import Case, Response

_PLAIN = (
    "source_file",
    "question_num",
    "tags",
    "type",
    "expected_route",
    "acceptable_routes",
    "priority",
    "note",
)


@click.command("cases")
@click.argument("paths", nargs=-1, required=True)
@click.option("--sample", type=COUNT, help="Only this many cases, drawn at random.")
@click.option("--seed", type=int, default=0, help="Another number draws another sample; default 0.")
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Only cases with feedback=down, route!=docs, latency>5, question~refund, error=*; may be repeated.",
)
@click.option("--out", type=PATH, help="Write the cases, with their answers, to this .jsonl file.")
@click.option(
    "--hide",
    default="",
    metavar="KINDS",
    help=f"Remove personal data, comma-separated: {', '.join(KINDS)}. Keys and tokens of traces and logs are always removed.",
)
@json_option
def cases_command(
    paths: tuple[str, ...],
    sample: int | None,
    seed: int,
    conditions: tuple[str, ...],
    out: Path | None,
    hide: str,
    as_json: bool,
) -> None:
    """Validate case files, traces and logs, and list their cases.

    \b
    Example:
      answerkey cases qa/*.md
      answerkey cases questions.csv --json
      answerkey cases traces.jsonl --sample 200 --where feedback=down --out regressions.jsonl
    """
    hidden = parse_kinds(hide)
    cases: Iterable[Case] = read_cases(paths, Path())
    if conditions:
        cases = filter_cases(cases, [CaseCondition.parse(text) for text in conditions])
    if sample is not None:
        cases = sample_cases(cases, sample, seed)
    if out is not None:
        _write(out, cases, hidden)
        return
    if as_json:
        rows = [_case_json(case) for case in cases]
        print_json(hide_in(rows, hidden) if hidden else rows)
        return
    count = 0
    for case in cases:
        count += 1
        _show_case(case, hidden)
    done(format_count(count, "valid case"))


def _show_case(case: Case, hidden: tuple[str, ...]) -> None:
    # One line per case, also for a question of several lines.
    question = " ".join(case.question.split())
    if hidden:
        question = hide_text(question, hidden)
    more = "…" if len(question) > 100 else ""
    show(f"{case.id}\t{question[:100]}{more}")


def _write(out: Path, cases: Iterable[Case], hidden: tuple[str, ...]) -> None:
    if out.suffix.lower() not in (".jsonl", ".ndjson"):
        raise InputError(f"--out {out}: expected a .jsonl file")
    count = write_cases(out, _check_any(cases), hidden)
    done(f"{format_count(count, 'case')} written to {out}")


def _check_any(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases; none at all is an error, so that no empty file is written."""
    count = 0
    for case in cases:
        count += 1
        yield case
    if not count:
        raise InputError("no case meets the conditions; nothing was written")


def _case_json(case: Case) -> dict[str, object]:
    recorded = case.recorded or Response()
    criteria = asdict(case.criteria).items()
    return {
        "id": case.id,
        "question": case.question,
        "expected": case.expected[0] if len(case.expected) == 1 else case.expected or None,
        **{name: getattr(case, name) for name in _PLAIN},
        "relevant": dict(case.relevant) if case.relevant is not None else None,
        "history": [asdict(turn) for turn in case.history],
        "answer_criteria": {
            key: value for key, value in criteria if value not in (None, (), False)
        },
        **{name: getattr(recorded, name) for name in ("answer", "contexts", "route", "retrieved")},
        "response_time": recorded.seconds,
        "extra": dict(case.extra),
    }
