"""A row per conversation beside the rows of its turns.

The row has the id of the conversation and the whole conversation as its response. A target is not
asked for it: its answers to the turns are put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from answerkey.types import Case, Response, Turn

WHOLE = "whole_conversation"  # the column of such a row
CONVERSATION = "conversation"
# The metrics for which each conversation gets a row.
CONVERSATION_METRICS = frozenset(
    {"resolved", "turns_to_resolution", "asked_again", "contradicts_itself", "language_kept"}
)
# Labels of a conversation that are about all its turns.
WHOLE_COLUMNS = ("expected_tools", "forbidden_tools", "max_calls", "forbidden")


def is_whole(case: Case) -> bool:
    return case.extra.get(WHOLE) is True


def whole_response(turns: Sequence[Turn]) -> Response:
    """A conversation as one response: its last answer and the calls of all turns."""
    answers = [turn.answer for turn in turns if turn.answer]
    tools = tuple(call for turn in turns for call in turn.tools)
    return Response(answers[-1] if answers else None, tools=tools, turns=tuple(turns))


def whole_case(turn_cases: Sequence[Case]) -> Case:
    """The row of a conversation. Until a target has answered, `history` has its messages."""
    first = turn_cases[0]
    turns = tuple(turn_of_case(case) for case in turn_cases)
    # The history of the first turn is what was said before the conversation of this row.
    case = Case(
        id=str(first.extra.get(CONVERSATION)),
        question=first.question,
        type=first.type,
        tags=first.tags,
        source_file=first.source_file,
        history=(*first.history, *turns),
        extra={**_shared_extra(turn_cases), WHOLE: True},
    )
    if all(turn.recorded is not None for turn in turn_cases):
        return finish_whole(replace(case, recorded=whole_response(case.history)))
    if len(turn_cases) > 1 and all(turn.recorded is not None for turn in turn_cases[:-1]):
        # A chat may end with a message of the user, such as a goodbye, that nobody answered. Its
        # history stays: a live target may still answer the last message.
        return replace(case, recorded=whole_response(case.history))
    return case


def finish_whole(case: Case) -> Case:
    """The row once its conversation is in the response."""
    return replace(case, history=())


def turn_of_case(case: Case) -> Turn:
    recorded = case.recorded or Response()
    return Turn(case.question, recorded.answer or "", recorded.tools or ())


def _shared_extra(cases: Sequence[Case]) -> dict[str, object]:
    first = cases[0].extra
    return {
        name: value
        for name, value in first.items()
        # A column that differs between turns is about a turn, not about the whole.
        if all(case.extra.get(name) == value for case in cases)
    }


def add_conversations(cases: Iterable[Case], *, live: bool) -> Iterator[Case]:
    """The cases, with a row after the turns of each conversation that has none yet.

    Without a live target only conversations with recorded answers get one.
    """
    for key, group in groupby(cases, key=_conversation_key):
        if key is None:
            yield from group
            continue
        turn_cases = list(group)
        yield from turn_cases
        # One turn is its own conversation, and a file may bring the row itself.
        if len(turn_cases) < 2 or any(is_whole(case) for case in turn_cases):
            continue
        whole = whole_case(turn_cases)
        if live or whole.recorded is not None:
            yield whole


def _conversation_key(case: Case) -> tuple[str | None, str] | None:
    name = case.extra.get(CONVERSATION)
    if name is None:
        return None
    return (case.source_file, str(name))
