"""What must hold over all cases of a suite: at least one, and every id once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from answerkey.errors import InputError
from answerkey.types import Case


def checked(cases: Iterable[Case], where: str) -> Iterator[Case]:
    """The same cases; a second use of an id stops with its place."""
    seen: set[int] = set()  # hashes of ids: a tenth of the memory of the texts
    file, row = None, 0
    for case in cases:
        file, row = case.source_file, row + 1 if case.source_file == file else 1
        key = hash(case.id)
        if key in seen:
            raise InputError(
                f'{file}, row {row}, column "id": the id "{case.id}" is used twice; give each case an id of its own '
                "(ids of Q&A files come from the file's name and the question's number)"
            )
        seen.add(key)
        yield case
    if not seen:
        raise InputError(f"{where}: no case found; expected at least one question")
