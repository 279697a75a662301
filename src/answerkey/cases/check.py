"""What must hold over all cases of a suite: at least one, and every id once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from answerkey.errors import InputError
from answerkey.types import Case


def _by_number(file: str | None, number: int) -> str:
    return f"{file}, case {number}"


def checked(
    cases: Iterable[Case], where: str, place_of: Callable[[str | None, int], str] = _by_number
) -> Iterator[Case]:
    """The same cases; a second use of an id stops with its place: `place_of` the nth case of a file."""
    seen: set[int] = set()  # hashes of ids: a tenth of the memory of the texts
    file, number = None, 0
    for case in cases:
        file, number = case.source_file, number + 1 if case.source_file == file else 1
        key = hash(case.id)
        if key in seen:
            raise InputError(
                f'{place_of(file, number)}, column "id": the id "{case.id}" is used twice; give each case an id of its own '
                "(ids of Q&A files come from the file's name and the question's number)"
            )
        seen.add(key)
        yield case
    if not seen:
        raise InputError(f"{where}: no case found; expected at least one question")
