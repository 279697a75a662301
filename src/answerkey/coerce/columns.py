"""The table of column names: what people call a column, and what we call it (columns.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files

_TABLE = tomllib.loads(files("answerkey.coerce").joinpath("columns.toml").read_text("utf-8"))
COLUMNS: dict[str, tuple[str, ...]] = {
    column: tuple(names) for column, names in (_TABLE["case"] | _TABLE["response"]).items()
}
RESPONSE_COLUMNS: tuple[str, ...] = tuple(_TABLE["response"])
LIVE_ANSWERS: tuple[str, ...] = tuple(_TABLE["other"]["live_answers"])
LOG_COLUMNS: Mapping[str, tuple[str, ...]] = {
    column: tuple(names) for column, names in _TABLE["log"].items()
}
EXAMPLES: Mapping[str, str] = _TABLE["examples"]

_CANONICAL = {name: column for column, names in COLUMNS.items() for name in names}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OF_A_BOT = frozenset(
    name for name in COLUMNS["answer"] if name.startswith(tuple(_TABLE["other"]["bots"]))
)
_OF_A_TRACE = frozenset(_TABLE["other"]["of_a_trace"])
_EXPECTED_BESIDE = frozenset(_TABLE["other"]["expected_beside"])
_OF_A_LOG = frozenset(name for names in LOG_COLUMNS.values() for name in names)
_MOST_LISTED = 12  # names of a notice; a file may have thousands


def canonical_columns(names: Sequence[str]) -> dict[str, str]:
    """Map each name as written to the name we use; a second name of a column becomes `x_NAME`.

    >>> canonical_columns(["Query", "ground_truth", "mood"])
    {'Query': 'question', 'ground_truth': 'expected', 'mood': 'mood'}
    """
    plain_names = {written: plain_name(written) for written in names}
    present = set(plain_names.values())
    meaning = {**_CANONICAL, **_meanings_beside(present)}
    winners = _choose_names(present, meaning)
    columns: dict[str, str] = {}
    for written, name in plain_names.items():
        column = meaning.get(name)
        if column is None:
            is_known = name.startswith("__") or name in _EXPECTED_BESIDE
            columns[written] = name if is_known else written
        # The table's order decides between two names of one column; the other is kept as `x_`.
        elif winners[column] == name and column not in columns.values():
            columns[written] = column
        else:
            columns[written] = f"x_{name}"
    return columns


def _choose_names(present: set[str], meaning: Mapping[str, str]) -> dict[str, str]:
    """For each column that is there, the name under which it is read."""
    winners: dict[str, str] = {}
    for column, aliases in COLUMNS.items():
        candidates = (*aliases, *meaning)
        names = (name for name in candidates if name in present and meaning.get(name) == column)
        winner = next(names, None)
        if winner is not None:
            winners[column] = winner
    return winners


def _meanings_beside(present: set[str]) -> dict[str, str]:
    """The names that mean something else beside these others.

    >>> _meanings_beside({"question", "answer", "prediction"})
    {'answer': 'expected'}
    """
    if {"vars", "response"} <= present:  # results of promptfoo
        return {"vars": "question"}
    has_expected = not present.isdisjoint(COLUMNS["expected"])
    if {"inputs", "outputs"} <= present:  # a trace, or an example of a LangSmith data set
        is_trace = not present.isdisjoint(_OF_A_TRACE)
        # A trace records what the bot said; an example of a data set says what is right.
        return {"outputs": "answer" if has_expected or is_trace else "expected"}
    if has_expected:
        return {}
    # Beside the answer of a bot, as in "chatbot_answer", the column "answer" is the reference.
    if "answer" in present and not present.isdisjoint(_OF_A_BOT):
        return {"answer": "expected"}
    if {"input", "target"} <= present:  # Inspect
        return {"target": "expected"}
    return {}


def plain_name(written: str) -> str:
    """Lower case with underscores; `expectedOutput` is `expected_output`.

    >>> plain_name("Expected Answer"), plain_name("reference_outputs.answer")
    ('expected_answer', 'expected')
    """
    name = _HUMP.sub("_", written.strip()).lower().replace(" ", "_").replace("-", "_")
    outer, dot, inner = name.rpartition(".")
    if not dot or inner not in _CANONICAL:
        return name
    # Only these prefixes are containers; "x.question" may mean anything.
    if outer in ("inputs", "outputs"):
        return inner
    if outer in COLUMNS["expected"] and _CANONICAL[inner] == "answer":
        return "expected"
    return name


def log_column(column: str, names: Iterable[str]) -> str | None:
    """The name under which a table has this column of a log.

    >>> log_column("session", ["question", "sessionId"])
    'sessionId'
    """
    return _find_log_column(column, tuple(names))


@lru_cache(maxsize=1024)  # the rows of a file have the same names
def _find_log_column(column: str, names: tuple[str, ...]) -> str | None:
    plain_names = {plain_name(name): name for name in names}
    aliases = (name for name in LOG_COLUMNS[column] if name in plain_names)
    alias = next(aliases, None)
    if alias is None:
        return None
    return plain_names[alias]


def is_column(written: str) -> bool:
    """Whether this is one of the names in the table."""
    return plain_name(written) in _CANONICAL


def column_notice(columns: Mapping[str, str]) -> str:
    """The notice about columns that no metric reads, or "" where there is nothing to say.

    >>> column_notice(canonical_columns(["question", "mood", "expcted"]))
    'kept, but not used by any metric: "mood", "expcted" (did you mean "expected"?)'
    """
    notes: list[str] = []
    unused = [written for written, column in columns.items() if _is_unused(written, column)]
    if unused:
        shown = [f'"{written}"{_hint(written, columns)}' for written in unused[:_MOST_LISTED]]
        if len(unused) > _MOST_LISTED:
            shown.append(f"and {len(unused) - _MOST_LISTED} more")
        notes.append(f"kept, but not used by any metric: {', '.join(shown)}")
    for written, column in columns.items():
        if column == "expected" and plain_name(written) in ("answer", "outputs"):
            fix = 'if it is the bot\'s, add a column "expected"'
            notes.append(f'"{written}" is read as the expected answer; {fix}')
        elif column == "answer" and "preview" in written:
            notes.append(f'"{written}" is read as the answer, though it may be cut short')
    return "; ".join(notes)


def _is_unused(written: str, column: str) -> bool:
    if column in COLUMNS or column in _EXPECTED_BESIDE or plain_name(column) in _OF_A_LOG:
        return False
    return not plain_name(written).startswith(("x_", "__"))


def _hint(written: str, columns: Mapping[str, str]) -> str:
    name = plain_name(written)
    if name in _CANONICAL:
        column = _CANONICAL[name]
        used = next((other for other, name in columns.items() if name == column), column)
        return f' ("{used}" is used)'
    near = near_column(name)
    # A near name is a misspelling only if the real column is missing.
    if near and _CANONICAL[near] not in columns.values():
        return f' (did you mean "{near}"?)'
    return ""


def near_column(name: str, candidates: Iterable[str] = _CANONICAL) -> str:
    """The known name that this one may be a misspelling of, or ""."""
    matches = get_close_matches(plain_name(name), list(candidates), n=1, cutoff=0.8)
    return matches[0] if matches else ""
