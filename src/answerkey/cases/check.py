"""Checks over all cases: unique ids, at least one case, a warning for repeated questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

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
    ids: set[int] = set()
    questions: set[int] = set()
    first_ids: dict[int, str] = {}
    repeated: list[str] = []
    file = None
    number = 0
    for case in cases:
        if case.source_file == file:
            number = number + 1
        else:
            number = 1
        file = case.source_file
        key = hash(case.id)
        if key in ids:
            place = describe_place(file, number)
            raise InputError(
                f'{place}, column "id": the id "{case.id}" is used twice; give each case an id of '
                "its own (ids of Q&A files come from the file's name and the question's number)"
            )
        ids.add(key)
        question = hash(
            (
                case.question,
                case.history,
                case.extra.get("config_name"),
                bool(case.extra) and is_whole(case),
            )
        )
        if question in questions:
            original = first_ids.get(question)
            repeated.append(f"{case.id} (same as {original})" if original else case.id)
        elif len(first_ids) < _MOST_REMEMBERED:
            first_ids[question] = case.id
        questions.add(question)
        yield case
    if not ids:
        raise InputError(f"{where}: no case found; expected at least one question")
    if repeated:
        warn_once(f"{where}: {_describe_repeats(repeated)}")


def _describe_repeats(repeated: list[str]) -> str:
    shown = ", ".join(repeated[:_MOST_LISTED])
    if len(repeated) > _MOST_LISTED:
        shown += ", …"
    count = format_count(len(repeated), "case")
    if len(repeated) == 1:
        return (
            f"{count} repeats an earlier question: {shown}. Remove it, or keep it to count it twice"
        )
    return (
        f"{count} repeat an earlier question: {shown}. Remove them, or keep them to count it twice"
    )
