"""Recorded answers as a target: in the cases themselves, or in a file of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from answerkey.coerce.responses import ROUTE_ONLY
from answerkey.errors import InputError, SettingsError
from answerkey.targets.respond import content_error, flag_error_text
from answerkey.types import Case, Question, Response

ReadResponses = Callable[[Path], Iterable[tuple[str, Response]]]


class Recorded:
    """Looks answers up. `answers` holds those of the second file by case id, where there is one."""

    def __init__(self, answers: dict[str, Response] | None = None) -> None:
        self.answers = answers

    def lookup(self, case: Case) -> Response:
        """The case's recorded response; an error where it has none."""
        if self.answers is None:
            return _check_recorded(case.id, case.recorded)
        return _check_recorded(case.id, self.answers.get(case.id))

    def ask(self, question: Question) -> Response:
        return _check_recorded(question.id, (self.answers or {}).get(question.id))

    def close(self) -> None:
        """Do nothing: no resource is held open."""


def _check_recorded(case_id: str, response: Response | None) -> Response:
    if response is None or _is_empty(response):
        return content_error("no answer recorded", f'case "{case_id}"')
    return flag_error_text(response, case_id)


def _is_empty(response: Response) -> bool:
    if response.answer is not None or response.retrieved is not None:
        return False
    # A route can be scored without an answer.
    if response.extra.get(ROUTE_ONLY):
        return False
    return not response.error and not response.passages and not response.tools


def read_recorded(path: Path, read: ReadResponses | None) -> Recorded:
    """The answers of a second file; the same id twice is an error."""
    if read is None:
        problem = "this caller cannot read a file of answers"
        raise SettingsError(f"[target] answers = {str(path)!r}: {problem}")
    if not path.is_file():
        raise SettingsError(f"[target] answers: no file {path}")
    answers: dict[str, Response] = {}
    for case_id, response in read(path):
        if case_id in answers:
            raise InputError(f'{path}: two answers for case "{case_id}"; keep one')
        answers[case_id] = response
    if not answers:
        raise InputError(f"{path}: no answer in it, expected one per case with its id")
    return Recorded(answers)
