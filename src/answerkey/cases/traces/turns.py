"""The turns of a trace: a question of the user, the answer, and everything between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from answerkey.cases.error_answers import error_message
from answerkey.cases.traces.facts import SpanFacts, SpanKind
from answerkey.cases.traces.times import iso_time
from answerkey.cases.traces.tools import ToolFacts
from answerkey.cases.traces.tree import SpanTree, build_tree

_OUTER_KINDS = (SpanKind.AGENT, SpanKind.CHAIN)
_NO_ANSWER = "the trace records no answer"


@dataclass(frozen=True, slots=True)
class TraceTurn:
    """One question and answer: the spans that hold them, and all spans that belong to them."""

    main: tuple[SpanFacts, ...]
    spans: tuple[SpanFacts, ...]


def turns_of_trace(spans: Iterable[SpanFacts]) -> tuple[list[TraceTurn], SpanTree]:
    """The turns of a trace in order; none where no span recorded a question."""
    tree = build_tree(spans)
    # Without an agent or chain the calls of models are the turns.
    groups = _group_outer(_outermost(tree)) or _group_models(_top_models(tree))
    if len(groups) < 2:
        return [TraceTurn(tuple(group), tuple(tree.spans)) for group in groups], tree
    members = _assign_spans(tree, groups)
    return [
        TraceTurn(tuple(group), tuple(own)) for group, own in zip(groups, members, strict=True)
    ], tree


def _outermost(tree: SpanTree) -> list[SpanFacts]:
    """The agents and chains with a question that no other such span contains."""
    outer = {facts.span for facts in tree.spans if facts.kind in _OUTER_KINDS and facts.question}
    # An agent inside a tool is a helper of the agent that called the tool.
    inside = outer | {facts.span for facts in tree.spans if facts.kind is SpanKind.TOOL}
    top = [
        facts
        for facts in tree.spans
        if facts.span in outer and inside.isdisjoint(tree.ancestors(facts.span))
    ]
    agents = [facts for facts in top if facts.kind is SpanKind.AGENT]
    answered = [facts for facts in agents if facts.answer or facts.error]
    return answered or agents or top


def _group_outer(outer: Sequence[SpanFacts]) -> list[list[SpanFacts]]:
    """One group per turn.

    A hand-over to another agent continues the turn. The agent of the first turn with another
    question begins a new one.
    """
    groups: list[list[SpanFacts]] = []
    for facts in outer:
        is_new = (
            bool(groups)
            and facts.kind is SpanKind.AGENT
            and facts.name == groups[0][0].name
            and facts.question != groups[-1][0].question
        )
        if is_new or not groups:
            groups.append([facts])
        else:
            groups[-1].append(facts)
    return groups


def _top_models(tree: SpanTree) -> list[SpanFacts]:
    """The calls of models that no tool and no other call of a model contains."""
    inner_kinds = (SpanKind.LLM, SpanKind.TOOL)
    inside = {facts.span for facts in tree.spans if facts.kind in inner_kinds}
    return [
        facts
        for facts in tree.spans
        if facts.kind is SpanKind.LLM
        and facts.question
        and inside.isdisjoint(tree.ancestors(facts.span))
    ]


def _group_models(models: Sequence[SpanFacts]) -> list[list[SpanFacts]]:
    """One group per turn: a call whose history has the question before it begins a new one."""
    groups: list[list[SpanFacts]] = []
    for facts in models:
        earlier = {question for question, _ in facts.history}
        if not groups or (groups[-1][0].question in earlier):
            groups.append([facts])
        else:
            groups[-1].append(facts)
    return groups


def _assign_spans(tree: SpanTree, groups: Sequence[Sequence[SpanFacts]]) -> list[list[SpanFacts]]:
    """The spans of each turn: those below its main spans, others by the time they start."""
    turn_of = {facts.span: number for number, group in enumerate(groups) for facts in group}
    members: list[list[SpanFacts]] = [[] for _ in groups]
    for facts in tree.spans:
        above = (
            turn_of[span] for span in (facts.span, *tree.ancestors(facts.span)) if span in turn_of
        )
        number = next(above, None)
        if number is None:
            starts = [group[0].start or 0 for group in groups]
            number = max(sum(start <= (facts.start or 0) for start in starts) - 1, 0)
        members[number].append(facts)
    return members


def row_of_turn(turn: TraceTurn) -> dict[str, object]:
    """The turn as a row with our column names."""
    first = turn.main[0]
    last = _answering_span(turn.main)
    row: dict[str, object] = {"question": first.question}
    answer = last.answer or None
    error = last.error or _root_error(turn)
    problem = error_message(first.question, answer or "")
    # An error message in the place of an answer is an error (specification, section 26).
    if problem:
        row["error"] = problem
    elif answer is None:
        row["error"] = error or _NO_ANSWER
    else:
        row["answer"] = answer
    passages = _passages(turn.spans)
    if passages is not None:
        row["contexts"] = passages
    tools = _tools(turn)
    if tools:
        row["tools"] = tools
    row |= _measures(turn)
    if first.history:
        row["history"] = [{"user": user, "answer": reply} for user, reply in first.history]
    return row | _about(turn, last)


def _answering_span(main: Sequence[SpanFacts]) -> SpanFacts:
    """The last span with an answer; one that only calls tools is no answer."""
    # By the end: a hand-over ends before the agent that took over.
    by_end = sorted(main, key=lambda facts: facts.end or 0)
    final = [facts for facts in by_end if facts.answered]
    with_text = [facts for facts in by_end if facts.answer]
    return (final or with_text or by_end)[-1]


def _root_error(turn: TraceTurn) -> str:
    # A tool that failed may be tried again; only the bot's own errors end a turn.
    errors = (facts.error for facts in turn.spans if facts.kind is not SpanKind.TOOL)
    return next((error for error in errors if error), "")


def _passages(spans: Iterable[SpanFacts]) -> list[dict[str, object]] | None:
    """The passages of all retrievers, each once; None where nothing was retrieved or recorded."""
    # An empty list says that nothing was retrieved; None that nothing was recorded.
    retrievers = [facts for facts in spans if facts.kind is SpanKind.RETRIEVER]
    sources = [facts for facts in retrievers if facts.passages] or [
        facts for facts in spans if facts.passages
    ]
    unique: dict[tuple[object, object], dict[str, object]] = {}
    for facts in sources:
        for passage in facts.passages:
            # Several retrievers, and repeated searches, find the same passages.
            unique.setdefault((passage.get("id"), passage.get("text")), passage)
    if unique or retrievers:
        return list(unique.values())
    return None


def _tools(turn: TraceTurn) -> list[dict[str, object]]:
    """The calls of the tool spans; without any, those in the messages of models and agents."""
    calls = [facts.tool for facts in turn.spans if facts.tool is not None]
    if not calls:
        calls = _calls_of_messages(turn.spans)
    return [
        {
            "name": call.name,
            "arguments": call.arguments,
            "result": call.result,
            "error": call.error,
            "seconds": call.seconds,
        }
        for call in calls
    ]


def _calls_of_messages(spans: Iterable[SpanFacts]) -> list[ToolFacts]:
    """Each call once: a later message repeats the earlier ones, and has their results."""
    calls: dict[str, ToolFacts] = {}
    for facts in spans:
        for number, call in enumerate(facts.calls):
            key = call.id or f"{facts.span} {number}"
            earlier = calls.get(key)
            if earlier is None:
                calls[key] = call
            elif earlier.result is None:
                earlier.result = call.result
    return list(calls.values())


def _measures(turn: TraceTurn) -> dict[str, object]:
    """Seconds, tokens and cost."""
    row: dict[str, object] = {}
    starts = [facts.start for facts in turn.main if facts.start is not None]
    ends = [facts.end for facts in turn.main if facts.end is not None]
    # Clocks of two machines may disagree; such a time is left out.
    if starts and ends and max(ends) >= min(starts):
        row["response_time"] = (max(ends) - min(starts)) / 1e9
    for name in ("prompt_tokens", "completion_tokens", "cost"):
        total = _total(turn, name)
        if total is not None:
            row[name] = total
    return row


def _total(turn: TraceTurn, name: str) -> float | None:
    """The sum over the calls of models; without any, the figure of the main spans.

    A call inside another call is the same call, seen by a second instrumentation.
    """
    spans = {facts.span: facts for facts in turn.spans}
    counted: list[float] = []
    for facts in turn.spans:
        value = getattr(facts, name)
        if facts.kind is SpanKind.LLM and value is not None and not _is_inside(facts, name, spans):
            counted.append(value)
    if not counted:
        values = [getattr(facts, name) for facts in turn.main]
        counted = [value for value in values if value is not None]
    return sum(counted) if counted else None


def _is_inside(facts: SpanFacts, name: str, spans: dict[str, SpanFacts]) -> bool:
    # Parents may form a circle in damaged traces.
    seen = {facts.span}
    above = spans.get(facts.parent)
    while above is not None and above.span not in seen:
        if above.kind is SpanKind.LLM and getattr(above, name) is not None:
            return True
        seen.add(above.span)
        above = spans.get(above.parent)
    return False


def _about(turn: TraceTurn, last: SpanFacts) -> dict[str, object]:
    """Ids, model, session, time and feedback."""
    first = turn.main[0]
    row: dict[str, object] = {"trace_id": first.trace, "span_id": last.span}
    models = [facts.model for facts in (last, *reversed(turn.spans)) if facts.model]
    sessions = [facts.session for facts in (*turn.main, *turn.spans) if facts.session]
    responses = [facts.response_id for facts in (last, *reversed(turn.spans)) if facts.response_id]
    feedback = next((facts.feedback for facts in turn.spans if facts.feedback is not None), None)
    if models:
        row["model"] = models[0]
    if sessions:
        row["conversation"] = sessions[0]
    if responses:
        row["response_id"] = responses[0]
    if first.start is not None:
        row["time"] = iso_time(first.start)
    if feedback is not None:
        row["feedback"] = feedback.value
        row["label"] = feedback.label
    return row
