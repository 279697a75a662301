"""The few facts of a span that a case needs, small enough to keep millions of them on disk."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from answerkey.cases.feedback import Feedback, read_feedback
from answerkey.cases.traces.families import NAMES, first_text, first_value, gather_list
from answerkey.cases.traces.messages import Message, Role, content_text, messages_of, parse_value
from answerkey.cases.traces.passages import passages_of
from answerkey.cases.traces.records import Span
from answerkey.cases.traces.tools import ToolFacts, tool_of
from answerkey.coerce.values import is_list, is_mapping, table_of

_LONGEST_TEXT = 200_000  # characters of one question or answer; a longer one is cut
_MOST_TURNS = 50  # earlier turns that are kept of one conversation
_ABOUT: dict[str, list[str]] = NAMES["about"]
_TOKENS: dict[str, list[str]] = NAMES["tokens"]


class SpanKind(StrEnum):
    """The part that a span plays; OTHER has no question and no answer of a user."""

    AGENT = "agent"
    CHAIN = "chain"
    LLM = "llm"
    TOOL = "tool"
    RETRIEVER = "retriever"
    OTHER = "other"


_KINDS = {
    value: SpanKind(kind) for kind, values in NAMES["kinds"]["values"].items() for value in values
}


class SpanFacts(msgspec.Struct, array_like=True, kw_only=True):
    """The facts that a span has about a turn. `answered` is false where its output only calls tools."""

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    kind: SpanKind = SpanKind.OTHER
    start: int | None = None
    end: int | None = None
    question: str = ""
    answer: str = ""
    answered: bool = False
    history: list[tuple[str, str]] = []
    passages: list[dict[str, object]] = []
    tool: ToolFacts | None = None
    calls: list[ToolFacts] = []
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    model: str = ""
    session: str = ""
    feedback: Feedback | None = None
    error: str = ""
    scope: str = ""
    response_id: str = ""
    is_cut: bool = False


def read_span_facts(span: Span) -> SpanFacts:
    """The facts of a span, read from its attributes, its events and its own fields."""
    table: dict[str, object] = {**span.fields, **span.attributes}
    inputs = _messages(span, table, "input", Role.USER)
    outputs = _messages(span, table, "output", Role.ASSISTANT)
    kind = _kind_of(span, table, outputs.raw)
    # Frameworks trace their own bookkeeping, which looks like a chain with a question.
    if _is_internal(inputs.raw, outputs.raw):
        kind = SpanKind.OTHER
    facts = SpanFacts(
        trace=span.trace,
        span=span.span,
        parent=span.parent,
        name=span.name[:200],
        kind=kind,
        start=span.start,
        end=span.end,
        prompt_tokens=_count(table, outputs.raw, "prompt"),
        completion_tokens=_count(table, outputs.raw, "completion"),
        cost=_cost_of(table),
        model=first_text(table, _ABOUT["model"]),
        session=_session_of(span),
        feedback=_feedback_of(span, table),
        error=span.error or _exception_of(span),
        scope=span.scope,
        response_id=first_text(table, _ABOUT["response_id"]),
        is_cut=inputs.is_cut or outputs.is_cut,
    )
    if kind is SpanKind.TOOL:
        facts.tool = tool_of(span, table, outputs.raw)
        return facts
    # Frameworks without retriever spans put the passages into the output of a chain or a model.
    if kind is SpanKind.RETRIEVER or kind in (SpanKind.CHAIN, SpanKind.AGENT, SpanKind.LLM):
        facts.passages = passages_of(span, table, outputs.raw, kind is SpanKind.RETRIEVER)
    if kind in (SpanKind.AGENT, SpanKind.CHAIN, SpanKind.LLM):
        _add_messages(facts, inputs.messages, outputs.messages)
    return facts


class _Side(msgspec.Struct):
    """The messages of one side of a span, and the value they were read from."""

    messages: list[Message] = []
    raw: object = None
    is_cut: bool = False


def _messages(span: Span, table: Mapping[str, object], side: str, role: Role) -> _Side:
    names: dict[str, list[str]] = NAMES[side]
    unread = _Side()  # the empty side, where nothing is recorded
    for attributes in (table, *(event.attributes for event in span.events)):
        for name in names["messages"]:
            listed: object = gather_list(attributes, name) or attributes.get(name)
            parsed = parse_value(listed)
            unread.is_cut = unread.is_cut or parsed.is_cut
            messages = messages_of(parsed.value, role)
            if messages:
                return _Side(messages, parsed.value, parsed.is_cut)
    events = _messages_of_events(span, side, role)
    if events:
        return _Side(events, None, unread.is_cut)
    for event in span.events:
        body = table_of(event.body)
        if side in body:
            return _Side(messages_of(body[side], role), _unwrap_body(body[side]))
    for name in names["value"]:
        value = table.get(name)
        if value in (None, "", [], {}):
            continue
        parsed = parse_value(value)
        is_cut = unread.is_cut or parsed.is_cut
        messages = messages_of(parsed.value, role)
        if not messages and role is Role.ASSISTANT and not parsed.is_cut:
            # Data without a text in a usual place: the data is the answer.
            messages = [Message(role, content_text(value))]
        return _Side(messages, parsed.value, is_cut)
    return unread


def _unwrap_body(value: object) -> object:
    """The value inside `{"messages": [{"content": "JSON"}]}`, as some exporters wrap it."""
    messages = table_of(value).get("messages")
    if is_list(messages) and len(messages) == 1 and is_mapping(messages[0]):
        return parse_value(messages[0].get("content")).value
    return value


def _messages_of_events(span: Span, side: str, role: Role) -> list[Message]:
    """One message per event, as `gen_ai.user.message` and `gen_ai.choice` record them."""
    names: dict[str, list[str]] = NAMES["events"]
    roles = _roles_of_events(side)
    messages: list[Message] = []
    for event in span.events:
        event_role = roles.get(event.name)
        if event_role is None:
            continue
        body = parse_value(event.body).value
        source = body if is_mapping(body) else event.attributes
        content = first_value(source, names["text"])
        if is_mapping(content) and "content" in content:
            source = content
        if "tool_calls" in source or "parts" in source:
            messages += messages_of({"role": event_role.value, **source}, event_role)
            continue
        content = parse_value(first_value(source, names["text"])).value
        messages += messages_of([{"role": event_role.value, "content": content}], role)
    return messages


def _roles_of_events(side: str) -> dict[str, Role]:
    """The role of the message that each event of this side records, by the event's name."""
    names: dict[str, list[str]] = NAMES["events"]
    if side != "input":
        return {names["output"][0]: Role.ASSISTANT}
    keys = ("user", "assistant", "system", "tool")
    return {name: Role(key) for key in keys for name in names[key]}


def _kind_of(span: Span, table: Mapping[str, object], output: object) -> SpanKind:
    named = [table.get(name) for name in NAMES["kinds"]["attributes"]]
    named += [span.fields.get(name) for name in NAMES["record"]["kind"]]
    for value in named:
        if isinstance(value, str):
            # MLflow writes every attribute as JSON, also a name: "\"RETRIEVER\"".
            kind = _KINDS.get(value.strip().strip('"').lower())
            # A chain may be anything; attributes below may say more.
            if kind is not None and kind is not SpanKind.CHAIN:
                return kind
    component = first_text(table, NAMES["kinds"]["components"]).lower()
    for kind, endings in NAMES["kinds"]["endings"].items():
        if component.endswith(tuple(endings)):
            return SpanKind(kind)
    if any(table.get(name) for name in NAMES["tool"]["name"][:4]):
        return SpanKind.TOOL
    state = table_of(output)
    if "generations" in state or "choices" in state:
        return SpanKind.LLM
    if state.get("type") == "tool":
        return SpanKind.TOOL
    if is_list(state.get("messages")):
        return SpanKind.AGENT
    if gather_list(table, NAMES["documents"]["lists"][0]):
        return SpanKind.RETRIEVER
    has_messages = any(
        gather_list(table, name) or name in table for name in NAMES["output"]["messages"]
    )
    if has_messages and first_text(table, _ABOUT["model"]):
        return SpanKind.LLM
    return SpanKind.CHAIN


def _is_internal(inputs: object, outputs: object) -> bool:
    """Whether a span is a step of a framework's own bookkeeping."""
    if any(key in table_of(inputs) for key in NAMES["state"]["internal_inputs"]):
        return True
    return isinstance(outputs, str) and outputs.strip() in NAMES["state"]["internal_outputs"]


def _add_messages(facts: SpanFacts, inputs: list[Message], outputs: list[Message]) -> None:
    last = max((n for n, message in enumerate(inputs) if _is_question(message)), default=None)
    if last is not None:
        facts.question = inputs[last].text[:_LONGEST_TEXT]
        facts.history = _turns(inputs[:last])[-_MOST_TURNS:]
    # The last text counts: agents announce each step before they answer.
    replies = [message for message in outputs if message.role is Role.ASSISTANT]
    texts = [message for message in replies if message.text]
    if texts:
        facts.answer = texts[-1].text[:_LONGEST_TEXT]
        # A reply that still calls tools announces a step and does not answer.
        facts.answered = not replies[-1].calls
    results = {
        message.result_of: message.text for message in (*inputs, *outputs) if message.result_of
    }
    # Calls before the question belong to earlier turns.
    called = [*(inputs[last + 1 :] if last is not None else ()), *outputs]
    for message in called:
        for call in message.calls:
            facts.calls.append(
                ToolFacts(
                    id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                    result=results.get(call.id),
                )
            )


def _is_question(message: Message) -> bool:
    return message.role is Role.USER and bool(message.text)


def _turns(messages: list[Message]) -> list[tuple[str, str]]:
    """The exchanges before the question: each message of the user with the last reply to it."""
    turns: list[tuple[str, str]] = []
    for message in messages:
        if _is_question(message):
            turns.append((message.text[:_LONGEST_TEXT], ""))
        elif message.role is Role.ASSISTANT and message.text and turns:
            turns[-1] = (turns[-1][0], message.text[:_LONGEST_TEXT])
    return turns


def _count(table: Mapping[str, object], output: object, side: str) -> int | None:
    """The tokens of one side, from attributes or from the reply of the model."""
    number = _amount(first_value(table, _TOKENS[side]))
    for name in _TOKENS["usage"]:
        for source in (table, *_replies(output)):
            usage = parse_value(source.get(name)).value
            if number is None and is_mapping(usage):
                number = _amount(first_value(usage, _TOKENS[f"usage_{side}"]))
        if number is None:
            dotted = [f"{name}.{key}" for key in _TOKENS[f"usage_{side}"]]
            number = _amount(first_value(table, dotted))
    return None if number is None else int(number)


def _replies(output: object) -> list[Mapping[str, object]]:
    """The reply of a model, and what Haystack keeps of it under `meta`."""
    reply = table_of(output)
    meta = reply.get("meta")
    if is_list(meta):
        return [reply, *(item for item in meta if is_mapping(item))]
    return [reply]


def _cost_of(table: Mapping[str, object]) -> float | None:
    cost = _amount(first_value(table, _ABOUT["cost"]))
    for name in _ABOUT["cost_tables"]:
        if cost is None:
            cost = _amount(table_of(parse_value(table.get(name)).value).get("total"))
    return cost


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    # Counts and costs beyond this are damage, and NaN is neither.
    return number if 0 <= number < 1e15 else None


def _session_of(span: Span) -> str:
    session = first_text(span.attributes, _ABOUT["session"])
    if session:
        return session
    if "run_type" in span.fields:  # a session of LangSmith is a project, not a conversation
        return ""
    return first_text(span.fields, _ABOUT["session"])


def _feedback_of(span: Span, table: Mapping[str, object]) -> Feedback | None:
    for name in _ABOUT["feedback"]:
        feedback = read_feedback(table.get(name))
        if feedback is not None:
            return feedback
    names = frozenset(_ABOUT["feedback"])
    for key in ("scores", "feedback", "annotations", "feedback_stats", "feedback_scores"):
        feedback = _feedback_of_scores(parse_value(span.fields.get(key)).value, names)
        if feedback is not None:
            return feedback
    feedback = _feedback_of_assessments(span.fields.get("assessments"))
    if feedback is not None:
        return feedback
    for event in span.events:
        if event.name in names or "feedback" in event.name:
            value = first_value(event.attributes, (*_ABOUT["feedback"], "value", "score", "label"))
            return read_feedback(value)
    return None


def _feedback_of_scores(scores: object, names: frozenset[str]) -> Feedback | None:
    """The user's feedback among scores such as `{"name": "user-feedback", "value": 0}`."""
    if is_mapping(scores):
        scores = [{"name": name, **table_of(value)} for name, value in scores.items()]
    for score in scores if is_list(scores) else ():
        if not is_mapping(score):
            continue
        name = first_text(score, ("name", "key")).lower()
        if name in names or name.replace("_", "-") in names:
            value = first_value(score, ("stringValue", "value", "score", "label", "avg"))
            feedback = read_feedback(value)
            # A score whose value is null is no feedback; a later one may be.
            if feedback is not None:
                return feedback
    return None


def _feedback_of_assessments(assessments: object) -> Feedback | None:
    """The feedback of a person on a trace of MLflow; the scores of its judges are none."""
    for assessment in assessments if is_list(assessments) else ():
        if not is_mapping(assessment):
            continue
        source = table_of(assessment.get("source"))
        value = table_of(assessment.get("feedback")).get("value")
        if str(source.get("source_type")).upper() == "HUMAN" and value is not None:
            return read_feedback(value)
    return None


def _exception_of(span: Span) -> str:
    for event in span.events:
        if event.name == "exception":
            kind = first_text(event.attributes, ["exception.type"])
            message = first_text(event.attributes, ["exception.message"])
            return ": ".join(part for part in (kind, message) if part)
    return ""
