"""Why a case failed by its tool calls, its sources or its conversation: a kind and a sentence.

Only metrics that failed the case are read, and of them only the details, never the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from answerkey.coerce.values import is_mapping, table_of
from answerkey.profiles.explain.details import read_detail, read_list
from answerkey.profiles.explain.sentence import Failure
from answerkey.text import short_label
from answerkey.types import Kind, Score

_SHOWN = 3
_LONGEST_NAME = 40

Scores = Mapping[str, Score]


def explain_tools(scores: Scores, failing: Collection[str]) -> Failure | None:
    """The gravest failure first: a source or a tool that was forbidden, then the wrong call."""
    for name, explain in _EXPLANATIONS.items():
        score = scores.get(name)
        if name in failing and score is not None and score.value is not None:
            failure = explain(score)
            if failure is not None:
                return failure
    return None


def _explain_leak(score: Score) -> Failure:
    source = read_detail(score, "source") or "a source"
    verb = _LEAK_VERBS.get(read_detail(score, "way"), "Uses")
    return Failure(Kind.LEAK, f"{verb} {source}, which this user must not see.")


_LEAK_VERBS = {"retrieved": "Retrieves", "quoted": "Quotes", "paraphrased": "Repeats"}


def _explain_forbidden_tool(score: Score) -> Failure:
    names = _join_names(read_list(score, "called"))
    return Failure(Kind.FORBIDDEN_TOOL, f"Called {names or 'a tool'}, which is forbidden.")


def _explain_names(score: Score) -> Failure | None:
    missing = read_list(score, "missing")
    extra = read_list(score, "extra")
    # A call that failed explains more than "did not call", which would also be untrue.
    for entry in read_list(score, "failed"):
        call = table_of(entry)
        if call.get("tool") in missing:
            error = short_label(str(call.get("error")), 60)
            return Failure(
                Kind.OTHER, f"The call of {_join_names([call.get('tool')])} failed: {error}."
            )
    if missing:
        if extra:
            called = f"called {_join_names(extra)} instead"
        else:
            called = "called nothing instead"
        return Failure(Kind.WRONG_TOOL, f"Did not call {_join_names(missing)}; {called}.")
    if extra:
        return Failure(Kind.WRONG_TOOL, f"Called {_join_names(extra)}, expected no call.")
    return None


def _explain_order(score: Score) -> Failure | None:
    called = read_list(score, "called")
    expected = read_list(score, "expected")
    missing = [name for name in expected if name not in called]
    if missing:
        return Failure(Kind.WRONG_TOOL, f"Did not call {_join_names(missing)}.")
    right = _join_names(expected, 5)
    return Failure(
        Kind.WRONG_TOOL, f"Called {_join_names(called, 5)} in this order, expected {right}."
    )


def _explain_arguments(score: Score) -> Failure | None:
    for entry in read_list(score, "differences"):
        if not is_mapping(entry):
            continue
        tool = _join_names([entry.get("tool")])
        difference = short_label(str(entry.get("difference")), 110)
        return Failure(Kind.WRONG_ARGUMENT, f"Called {tool} with another argument: {difference}.")
    return None


def _explain_limit(score: Score) -> Failure:
    details = table_of(score.details)
    calls = details.get("calls")
    return Failure(Kind.OTHER, f"Made {calls} calls, at most {details.get('allowed')} are allowed.")


def _explain_asked_again(score: Score) -> Failure:
    message = short_label(read_detail(score, "message"), 60)
    question = short_label(read_detail(score, "question"), 60)
    return Failure(Kind.ASKED_AGAIN, f'Asks "{question}", though the user wrote "{message}".')


# Ordered by gravity: `explain_tools` returns the first that applies.
_EXPLANATIONS: Mapping[str, Callable[[Score], Failure | None]] = {
    "leak": _explain_leak,
    "forbidden_tool": _explain_forbidden_tool,
    "tool_f1": _explain_names,
    "tool_arguments": _explain_arguments,
    "tool_order": _explain_order,
    "call_limit": _explain_limit,
    "asked_again": _explain_asked_again,
}


def _join_names(names: Sequence[object], most: int = _SHOWN) -> str:
    unique = list(dict.fromkeys(str(name) for name in names))
    return ", ".join(short_label(name, _LONGEST_NAME) for name in unique[:most])
