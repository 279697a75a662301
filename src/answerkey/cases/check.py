"""Checks over all cases: unique ids, at least one case, a warning for repeated questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from answerkey.cases.seen_hashes import SeenHashes
from answerkey.cases.whole_conversation import is_whole
from answerkey.coerce.decode import warn_once
from answerkey.errors import InputError
from answerkey.text import format_count
from answerkey.types import Case

DescribePlace = Callable[[str | None, int], str]  # where the nth case of a file stands
_MOST_LISTED = 5
_MOST_REMEMBERED = 10_000  # ids, so that memory stays flat over millions of cases


def check_cases(
    cases: Iterable[Case], where: str, describe_place: DescribePlace = "{}, case {}".format
) -> Iterator[Case]:
    """The same cases; a second use of an id stops with its place."""
    # Hashes take a tenth of the memory of the ids and questions themselves.
    ids = SeenHashes()
    repeats = _Repeats()
    file = None
    number_in_file = 0
    is_empty = True
    for case in cases:
        is_empty = False
        if case.source_file != file:
            file = case.source_file
            number_in_file = 0
        number_in_file += 1
        if not ids.add(hash(case.id)):
            raise InputError(
                f'{describe_place(file, number_in_file)}, column "id": the id "{case.id}" is used '
                "twice; give each case an id of its own (ids of Q&A files come from the file's "
                "name and the question's number)"
            )
        repeats.add(case)
        yield case
    if is_empty:
        raise InputError(f"{where}: no case found; expected at least one question")
    if repeats.count:
        warn_once(f"{where}: {repeats.describe()}")


class _Repeats:
    """Counts the cases that repeat a question, and keeps the first few of them to name them."""

    def __init__(self) -> None:
        self.count = 0
        self._questions = SeenHashes()
        self._first_ids: dict[int, str] = {}
        self._examples: list[str] = []

    def add(self, case: Case) -> None:
        # The same question after other turns, or under another configuration, is another case.
        whole = bool(case.extra) and is_whole(case)
        question = hash((case.question, case.history, case.extra.get("config_name"), whole))
        if not self._questions.add(question):
            self._add_repeat(case.id, self._first_ids.get(question))
        elif len(self._first_ids) < _MOST_REMEMBERED:
            self._first_ids[question] = case.id

    def _add_repeat(self, case_id: str, original: str | None) -> None:
        self.count += 1
        if len(self._examples) == _MOST_LISTED:
            return
        if original:
            self._examples.append(f"{case_id} (same as {original})")
        else:
            self._examples.append(case_id)

    def describe(self) -> str:
        shown = ", ".join(self._examples)
        if self.count > _MOST_LISTED:
            shown += ", …"
        count = format_count(self.count, "case")
        if self.count == 1:
            return (
                f"{count} repeats an earlier question: {shown}. "
                "Remove it, or keep it to count it twice"
            )
        return (
            f"{count} repeat an earlier question: {shown}. "
            "Remove them, or keep them to count each question as often as it stands there"
        )
