"""Answers that were given before: in the cases themselves, or in a second file joined by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from answerkey.errors import InputError, SettingsError
from answerkey.targets.respond import content_error, flagged
from answerkey.types import Case, Question, Response

ReadResponses = Callable[[Path], Iterable[tuple[str, Response]]]


class Recorded:
    """Looks answers up. `answers` holds those of the second file by case id, where there is one."""

    def __init__(self, answers: dict[str, Response] | None = None) -> None:
        self.answers = answers

    def lookup(self, case: Case) -> Response:
        """The case's recorded response; an error where it has none."""
        if self.answers is not None:
            return self._given(case.id, self.answers.get(case.id))
        return self._given(case.id, case.recorded)

    def ask(self, question: Question) -> Response:
        return self._given(question.id, (self.answers or {}).get(question.id))

    def close(self) -> None:
        """Nothing is held open."""

    def _given(self, case_id: str, response: Response | None) -> Response:
        if response is None or not (
            response.answer is not None or response.error or response.passages or response.retrieved is not None
        ):
            return content_error("no recorded answer", f'for case "{case_id}"')
        return flagged(response, case_id)


def read_recorded(path: Path, read: ReadResponses | None) -> Recorded:
    """The answers of a second file; the same id twice is an error."""
    if read is None:
        raise SettingsError(f"[target] answers = {str(path)!r}: this caller cannot read a file of answers")
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
