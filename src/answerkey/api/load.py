"""Cases from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from answerkey.cases import read_cases
from answerkey.types import Case


def load_cases(*paths: str | Path | Iterable[str | Path]) -> list[Case]:
    """The cases of files, folders and globs, given one by one or in lists.

    >>> [case.id for case in load_cases("qa/*.md")]  # doctest: +SKIP
    ['faq#Q1', 'faq#Q2']
    """
    flat: list[str | Path] = []
    for path in paths:
        if isinstance(path, (str, Path)):
            flat.append(path)
        else:
            flat.extend(path)
    return list(read_cases(flat))
