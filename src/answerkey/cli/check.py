"""`answerkey check`: the runtime quality checks on one interaction."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click
import msgspec

from answerkey.cli.output import end, json_option, print_json, say
from answerkey.coerce.values import is_mapping
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, InputError
from answerkey.quality.assess import Assessment, Limits, assess_answer

_FIELDS: dict[str, tuple[Any, str]] = {  # type, and its name in messages
    "question": (str, "a string"),
    "answer": (str | None, "a string or null"),
    "contexts": (list[str | dict[str, object]] | None, "a list of strings or objects"),
    "retrieval_scores": (list[float] | None, "a list of numbers"),
    "run_id": (str | int | None, "a string"),
}


@click.command("check")
@click.option(
    "--minimum-score",
    default=Limits().minimum_score,
    help=f"Lowest acceptable score of the best passage; default {Limits().minimum_score:g}.",
)
@click.option("--gate", is_flag=True, help="Exit 1 if any check fails.")
@json_option
def check_command(minimum_score: float, gate: bool, as_json: bool) -> None:
    """Assess one interaction, read as a JSON object from standard input, without calling a model.

    Fields: question, answer, contexts (strings, or objects with text and score), retrieval_scores, run_id.
    The assessment is printed as JSON; without --json the findings are also printed on standard error.

    \b
    Example:
      echo '{"question": "How long?", "answer": "30 days [1].", "contexts": ["30 days."]}' | answerkey check
    """
    # At a terminal the command would wait for input without saying so.
    if sys.stdin.isatty():
        raise click.UsageError(
            "pass the interaction as JSON on standard input; see the example in --help"
        )
    interaction = read_interaction(sys.stdin.buffer.read())
    assessment = assess_answer(**interaction, limits=Limits(minimum_score=minimum_score))
    print_json(assessment.to_dict())
    if not as_json:
        _say_findings(assessment)
    sentence = "all checks passed" if assessment.passed else "some checks failed"
    code = EXIT_GATE if gate and not assessment.passed else EXIT_OK
    raise click.exceptions.Exit(end(Ending(code, sentence, gated=gate)))


def _say_findings(assessment: Assessment) -> None:
    for finding in assessment.findings:
        say(f"✗ {finding.check}: {finding.message}. Action: {finding.action}.")
    if assessment.passed:
        say("✓ all applicable checks passed")


def read_interaction(data: bytes) -> dict[str, Any]:
    """The arguments of `assess_answer`, or an error that names the field. Other fields are ignored."""
    record = _decode_record(data)
    for key in record:
        # A stricter match than usual: a log may well have a field "user" beside "answer".
        if key not in _FIELDS and (near := get_close_matches(key, _FIELDS, n=1, cutoff=0.8)):
            raise InputError(f'unknown field "{key}"; did you mean "{near[0]}"?')
    if "question" not in record:
        raise InputError(f"no question in the interaction; the fields are {', '.join(_FIELDS)}")
    return {"answer": None} | {key: _field(key, record[key]) for key in _FIELDS if key in record}


def _decode_record(data: bytes) -> Mapping[str, object]:
    try:
        # Some shells put a byte-order mark before piped text.
        record: object = json.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise InputError(f"standard input is not one JSON object: {error}") from error
    except RecursionError:
        raise InputError("standard input is not one JSON object: nested too deeply") from None
    if not is_mapping(record):
        raise InputError(
            'expected a JSON object such as {"question": "…", "answer": "…", "contexts": ["…"]}'
        )
    return record


def _field(name: str, value: object) -> object:
    kind, expected = _FIELDS[name]
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # half a character is no number
        raise InputError(
            f'field "{name}": expected {expected}, got {json.dumps(value)[:60]}'
        ) from None
