"""`answerkey check`: the runtime quality checks on one interaction."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import Any, cast

import click

from answerkey.cli.output import end, json_option, print_json, say
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, InputError
from answerkey.quality.assess import Assessment, Limits, assess_answer

_FIELDS = ("question", "answer", "contexts", "retrieval_scores", "run_id")


@click.command()
@click.option(
    "--minimum-score",
    default=Limits().minimum_score,
    help=f"Lowest acceptable score of the best passage; default {Limits().minimum_score:g}.",
)
@click.option("--gate", is_flag=True, help="Exit 1 if any check fails.")
@json_option
def command(minimum_score: float, gate: bool, as_json: bool) -> None:
    """Assess one interaction, read as a JSON object from standard input, without calling a model.

    Fields: question, answer, contexts (strings, or objects with text and score), retrieval_scores, run_id.
    The assessment is printed as JSON; without --json the findings are also printed on standard error.

    \b
    Example:
      echo '{"question": "How long?", "answer": "30 days [1].", "contexts": ["30 days."]}' | answerkey check
    """
    if sys.stdin.isatty():
        raise click.UsageError("pass the interaction as JSON on standard input; see the example in --help")
    interaction = read_interaction(sys.stdin.buffer.read())
    assessment = assess_answer(**interaction, limits=Limits(minimum_score=minimum_score))
    print_json(assessment.to_dict())
    if not as_json:
        _show_findings(assessment)
    passed = "all checks passed" if assessment.passed else "some checks failed"
    ending = Ending(EXIT_GATE if gate and not assessment.passed else EXIT_OK, passed, gated=gate)
    raise click.exceptions.Exit(end(ending))


def read_interaction(given: bytes) -> dict[str, Any]:
    """The arguments of `assess_answer`, or an error that names the field. Other fields are ignored."""
    try:
        read: object = json.loads(given.decode("utf-8-sig"))
    except ValueError as error:
        raise InputError(f"standard input is not one JSON object: {error}") from error
    if not isinstance(read, dict):
        raise InputError('expected a JSON object such as {"question": "…", "answer": "…", "contexts": ["…"]}')
    record = cast("dict[str, Any]", read)
    for key in record:
        # A stricter match than usual: a log may well have a field "user" beside "answer".
        if key not in _FIELDS and (near := get_close_matches(key, _FIELDS, n=1, cutoff=0.8)):
            raise InputError(f'unknown field "{key}"; did you mean "{near[0]}"?')
    if "question" not in record:
        raise InputError(f"no question in the interaction; the fields are {', '.join(_FIELDS)}")
    _expect(record, "question", (str,), "a string")
    _expect(record, "answer", (str, type(None)), "a string or null")
    _expect(record, "run_id", (str, int, type(None)), "a string")
    _expect_list(record, "contexts", (str, dict), "a list of strings or objects")
    _expect_list(record, "retrieval_scores", (int, float), "a list of numbers")
    known = {key: record[key] for key in _FIELDS if key in record}
    return {"answer": None, **known, "contexts": record.get("contexts") or []}


def _expect(record: dict[str, Any], key: str, kinds: tuple[type, ...], expected: str) -> None:
    if key in record and not isinstance(record[key], kinds):
        raise InputError(f'field "{key}": expected {expected}, got {json.dumps(record[key])[:60]}')


def _expect_list(record: dict[str, Any], key: str, kinds: tuple[type, ...], expected: str) -> None:
    _expect(record, key, (list, type(None)), expected)
    if not all(isinstance(item, kinds) for item in record.get(key) or ()):
        raise InputError(f'field "{key}": expected {expected}, got {json.dumps(record[key])[:60]}')


def _show_findings(assessment: Assessment) -> None:
    for finding in assessment.findings:
        say(f"✗ {finding.check}: {finding.message}. Action: {finding.action}.")
    if assessment.passed:
        say("✓ all applicable checks passed")
