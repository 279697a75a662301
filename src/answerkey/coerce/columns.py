"""The table of column names: what people call a column, and what we call it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# Of several names for one column, the first in its line wins; the others are carried along.
COLUMNS: dict[str, tuple[str, ...]] = {
    "question": (
        "question",
        "query",
        "user_input",
        "input",
        "inputs",
        "prompt",
        "user_question",
        "user_query",
    ),
    "expected": (
        "expected",
        "reference_answer",
        "expected_answer",
        "expected_output",
        "reference",
        "ground_truth",
        "ground_truths",
        "ground_truth_answer",
        "reference_output",
        "reference_outputs",
        "expected_response",
        "correct_answer",
        "gold_answer",
        "golden_answer",
        "gold",
        "ideal",
        "answers",
    ),
    "answer": (
        "answer",
        "response",
        "output",
        "actual_output",
        "chatbot_answer",
        "prediction",
        "predicted_answer",
        "generated_answer",
        "model_answer",
        "model_output",
        "model_response",
        "bot_answer",
        "bot_response",
        "answer_full",
        "answer_preview",
    ),
    "contexts": (
        "contexts",
        "passages",
        "retrieved_contexts",
        "retrieval_context",
        "source_documents",
        "source_nodes",
        "context",
        "retrieved_context",
        "retrieved_passages",
    ),
    "relevant": ("relevant", "relevant_docs", "expected_pages", "relevant_pages"),
    "type": ("type", "query_type", "category"),
    "id": ("id", "test_id", "case_id", "question_id", "query_id"),
    "expected_route": ("preferred_route", "expected_route"),
    "acceptable_routes": ("acceptable_routes",),
    "priority": ("priority",),
    "note": ("note",),
    "tags": ("tags",),
    "history": ("history",),
    "answer_criteria": ("answer_criteria",),
    "criteria": ("criteria", "assert", "checks", "rubric"),
    "criteria_threshold": ("criteria_threshold",),
    "route": ("route", "actual_route"),
    "sources": ("sources", "citations"),
    "retrieved": ("retrieved", "retrieved_pages"),
    "response_time": ("response_time", "seconds", "response_time_sec", "response_time_seconds"),
    "usage": ("usage", "tokens"),
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "cost": ("cost",),
    "error": ("error",),
}
RESPONSE_COLUMNS = (
    "answer",
    "contexts",
    "route",
    "sources",
    "retrieved",
    "response_time",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "error",
)
# Where a live bot gives no answer under the names above; in a file such a column may hold anything.
LIVE_ANSWERS = ("text", "result", "content")
_CANONICAL = {name: column for column, names in COLUMNS.items() for name in names}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Only a bot gives these: an `answer` beside them is the expected one.
_BOTS = ("pred", "gener", "model", "bot", "chatbot")
_OF_A_BOT = frozenset(name for name in COLUMNS["answer"] if name.startswith(_BOTS))
_OF_A_TRACE = frozenset(
    {"run_id", "run_type", "trace_id", "session_id", "start_time", "error", "latency"}
)
# What our own result files write beside these, and what other tools write for themselves: no notice is needed.
_EXPECTED_BESIDE = frozenset(
    {
        "source_file",
        "question_num",
        "scores",
        "verdict",
        "label",
        "group",
        "config_name",
        "quote",
        "quotes",
    }
    | {"cluster", "conversation", "messages", "sequence", "success_criteria"}
)


def canonical_columns(names: Sequence[str]) -> dict[str, str]:
    """Each name as written, to the name we use; a second name for the same column becomes `x_NAME`.

    >>> canonical_columns(["Query", "ground_truth", "mood"])
    {'Query': 'question', 'ground_truth': 'expected', 'mood': 'mood'}
    """
    plain = {written: plain_name(written) for written in names}
    present = set(plain.values())
    meant = {**_CANONICAL, **_meant_otherwise(present)}
    winners = {
        column: next(
            name for name in (*aliases, *meant) if name in present and meant.get(name) == column
        )
        for column, aliases in COLUMNS.items()
        if any(meant.get(name) == column for name in present)
    }
    columns: dict[str, str] = {}
    for written, name in plain.items():
        column = meant.get(name)
        if column is None:
            columns[written] = (
                name if name.startswith("__") or name in _EXPECTED_BESIDE else written
            )
        elif winners[column] == name and column not in columns.values():
            columns[written] = column
        else:
            columns[written] = f"x_{name}"
    return columns


def _meant_otherwise(present: set[str]) -> dict[str, str]:
    """The names that mean something else beside these: in a file without an expected answer, that may be `answer`.

    >>> _meant_otherwise({"question", "answer", "prediction"})
    {'answer': 'expected'}
    """
    if {"vars", "response"} <= present:  # results of promptfoo
        return {"vars": "question"}
    expected = not present.isdisjoint(COLUMNS["expected"])
    if {"inputs", "outputs"} <= present:  # a trace, or an example of a LangSmith data set
        return {
            "outputs": "answer" if expected or not present.isdisjoint(_OF_A_TRACE) else "expected"
        }
    if not expected and "answer" in present and not present.isdisjoint(_OF_A_BOT):
        return {"answer": "expected"}
    if not expected and {"input", "target"} <= present:  # Inspect
        return {"target": "expected"}
    return {}


def plain_name(written: str) -> str:
    """Lower case with underscores; `expectedOutput` as `expected_output`, `inputs.question` as `question`.

    >>> plain_name("Expected Answer"), plain_name("reference_outputs.answer")
    ('expected_answer', 'expected')
    """
    name = _HUMP.sub("_", written.strip()).lower().replace(" ", "_").replace("-", "_")
    place, dot, inner = name.rpartition(".")
    if not dot or inner not in _CANONICAL:
        return name
    if place in ("inputs", "outputs"):
        return inner
    return "expected" if place in COLUMNS["expected"] and _CANONICAL[inner] == "answer" else name


def is_column(written: str) -> bool:
    """Whether this is one of the names in the table."""
    return plain_name(written) in _CANONICAL


def notice(columns: dict[str, str]) -> str:
    """What to tell the reader about columns that are carried along, or nothing where there is none.

    >>> notice(canonical_columns(["question", "mood", "expcted"]))
    'carried along, not scored: "mood", "expcted" (did you mean "expected"?)'
    """
    carried = [
        f'"{written}"{_hint(written, columns)}'
        for written, column in columns.items()
        if column not in COLUMNS
        and column not in _EXPECTED_BESIDE
        and not plain_name(written).startswith(("x_", "__"))
    ]
    shown = [*carried[:12], f"and {len(carried) - 12} more"] if len(carried) > 12 else carried
    notes = [f"carried along, not scored: {', '.join(shown)}"] if carried else []
    notes += [
        f'"{written}" is read as the expected answer; if it is the bot\'s, add a column "expected"'
        for written, column in columns.items()
        if column == "expected" and plain_name(written) in ("answer", "outputs")
    ]
    preview = [
        written
        for written, column in columns.items()
        if column == "answer" and "preview" in written
    ]
    notes += [
        f'"{written}" is read as the answer, though it may be cut short' for written in preview
    ]
    return "; ".join(notes)


def _hint(written: str, columns: dict[str, str]) -> str:
    name = plain_name(written)
    if name in _CANONICAL:
        used = next(
            (other for other, column in columns.items() if column == _CANONICAL[name]),
            _CANONICAL[name],
        )
        return f' ("{used}" is used)'
    near = near_column(name)
    return f' (did you mean "{near}"?)' if near and _CANONICAL[near] not in columns.values() else ""


def near_column(name: str, wanted: Iterable[str] = _CANONICAL) -> str:
    """The known name that this one may be a misspelling of, or nothing."""
    return next(iter(get_close_matches(plain_name(name), list(wanted), n=1, cutoff=0.8)), "")
