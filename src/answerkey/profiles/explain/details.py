"""The details of a score: they come from files and from metrics of the user, so anything may stand there."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.types import Score


def read_list(score: Score | None, key: str) -> list[object]:
    """The list under a key; empty where something else stands there."""
    if score is None:
        return []
    stored = table_of(score.details).get(key)
    return list(stored) if is_list(stored) else []


def read_entries(score: Score | None, key: str) -> list[Mapping[str, object]]:
    """The tables in the list under a key."""
    return [entry for entry in read_list(score, key) if is_mapping(entry)]


def read_detail(score: Score, key: str) -> str:
    value = table_of(score.details).get(key)
    return value if isinstance(value, str) else ""
