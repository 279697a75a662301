"""The value that a target gave, in whatever shape, as one `Response`; and the two kinds of failure.

`error_kind` is "infrastructure" (nobody answered: refused, timed out, HTTP 503) or "content" (an
answer came, but it cannot be used). `error_name` is the same for the same cause, whatever the details.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from answerkey.coerce.columns import COLUMNS, LIVE_ANSWERS, RESPONSE_COLUMNS
from answerkey.coerce.responses import response_of_reply
from answerkey.coerce.turns import calls_of_messages
from answerkey.coerce.values import (
    LIVE,
    is_list,
    is_mapping,
    message_text,
    plain_json,
    valid_text,
)
from answerkey.errors import InputError
from answerkey.text import printable
from answerkey.types import ErrorKind, Response

# The most characters (or bytes on a wire) of one response: a larger one is an error.
MAX_SIZE = 10_000_000

log = logging.getLogger("answerkey.targets")

# Answers that are error messages: bots often return the text of an exception.
_ERROR_TEXT = re.compile(
    r"(?:error|exception|fehler)\b\s*[:\d(]|traceback \(most recent call last\)"
    r"|<!doctype html|<html"
    r"|[A-Za-z_.]+(?:Error|Exception):\s|\{\s*\"(?:error|detail)\"\s*:"
    r"|(?:HTTP(?:/[\d.]+)?\s+|status(?: code)?\s*:?\s*)?[45]\d\d\s*[:-]?\s*(?:internal server"
    r"|bad (?:gateway|request)|service unavailable|gateway time-?out"
    r"|too many requests|not found|forbidden|unauthorized|server error|client error)|n/a\s*\Z",
    re.IGNORECASE,
)
KINDS = ("infrastructure", "content")
# Fields of `Response` that a reply calls by the same name.
_SAME_NAMES = (
    "answer",
    "route",
    "sources",
    "retrieved",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "tools",
)
_ATTRIBUTES = (*(name for column in RESPONSE_COLUMNS for name in COLUMNS[column]), *LIVE_ANSWERS)


def _failure(kind: ErrorKind, name: str, detail: str) -> Response:
    error = valid_text(f"{name}: {detail}" if detail else name)
    return Response(error=error, error_kind=kind, error_name=name)


def infrastructure_error(name: str, detail: str = "") -> Response:
    return _failure("infrastructure", name, detail)


def content_error(name: str, detail: str = "") -> Response:
    return _failure("content", name, detail)


class FailedExchange(Exception):
    """No reply came that can be read; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.error)
        self.response = response


def as_response(value: object) -> Response:
    """The response in text, a dict or an object with the usual names, or a `Response`.

    None, empty text, what is too large and what cannot be read is a response with an error.

    >>> as_response({"result": "30 days", "source_documents": ["Return within 30 days."]}).contexts
    ('Return within 30 days.',)
    """
    try:
        response = _read_value(value)
        _check_response(response)
        # A turn that only calls tools has no text; it is no empty answer.
        if response.tools and not (response.answer or "").strip():
            response = replace(response, answer=None)
    except InputError as error:
        return content_error(str(error))
    return response


def _read_value(value: object) -> Response:
    if value is None:
        raise InputError("no answer: the target returned None")
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return response_of_reply({"answer": value})
    if isinstance(value, Response):
        return _clean_response(value)
    if _is_answer_with_contexts(value):
        return response_of_reply({"answer": value[0], "contexts": value[1]})
    if is_mapping(value):
        fields = value
    else:
        fields = _fields_of_object(value)
    _refuse_null_answer(fields)
    fields = _with_tool_calls(_with_chat_answer(fields, value), value)
    if not fields and not is_mapping(value):
        kind = type(value).__name__
        raise InputError(f"the target returned {kind}, expected text, a dict or a Response")
    return _name_error(response_of_reply(fields))


def _refuse_null_answer(fields: Mapping[str, object]) -> None:
    """`{"answer": null}` with nothing else that could be an answer or its error."""
    nulls = [name for name in fields if name in COLUMNS["answer"] and fields[name] is None]
    if nulls and len(fields) == len(nulls):
        raise InputError(
            f'the target returned "{nulls[0]}": null; return a text, or the reason as "error"'
        )


def _is_answer_with_contexts(value: object) -> TypeGuard[Sequence[object]]:
    """Whether a bot returned the pair `(answer, [passages])`."""
    return is_list(value) and isinstance(value, tuple) and len(value) == 2 and is_list(value[1])


def _fields_of_object(value: object) -> Mapping[str, object]:
    """The fields of a framework's object: LangChain's messages have `content`, LlamaIndex's
    responses `response` and `source_nodes`."""
    if not hasattr(value, "__dict__"):
        return {}
    fields: dict[str, object] = {}
    for name in _ATTRIBUTES:
        attribute = getattr(value, name, None)
        if attribute is not None and not callable(attribute):
            fields[name] = attribute
    usage = fields.get("usage")
    if hasattr(usage, "__dict__"):
        fields["usage"] = vars(usage)
    return fields


def _with_chat_answer(fields: Mapping[str, object], reply: object) -> Mapping[str, object]:
    """The fields, with the text of a chat model's reply where they have no text of an answer."""
    if any(isinstance(fields.get(name), str) for name in (*COLUMNS["answer"], *LIVE_ANSWERS)):
        return fields
    text = _chat_text(reply)
    # `output` is a usual name of an answer, but here it is a list of items.
    if _has_response_items(reply):
        fields = {name: value for name, value in fields.items() if name != "output"}
    if not isinstance(text, str) or not text:
        return fields
    others = {name: value for name, value in fields.items() if name not in COLUMNS["answer"]}
    return {**others, "answer": text}


def _has_response_items(reply: object) -> bool:
    """Whether `output` has the items of OpenAI's Responses API, and not the text of an answer."""
    output = _field(reply, "output")
    return is_list(output) and bool(output) and all(_field(item, "type") for item in output)


def _chat_text(reply: object) -> object:
    """The text in `messages` of LangGraph, `choices` of OpenAI, `content` in parts of Anthropic,
    `candidates` of Gemini, or `output_text` and `output` of OpenAI's responses."""
    messages = _field(reply, "messages")
    if is_list(messages) and messages:
        return message_text(_field(messages[-1], "content"))
    choices = _field(reply, "choices")
    if is_list(choices) and choices:
        return message_text(_field(_field(choices[0], "message"), "content"))
    candidates = _field(reply, "candidates")
    if is_list(candidates) and candidates:
        return message_text(_field(_field(candidates[0], "content"), "parts"))
    content = _field(reply, "content")
    if is_list(content):
        return message_text(content)
    output = _field(reply, "output")
    output_text = _field(reply, "output_text")
    if isinstance(output_text, str) or not is_list(output) or not _has_response_items(reply):
        return output_text
    texts = (message_text(_field(item, "content")) for item in output)
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _with_tool_calls(fields: Mapping[str, object], reply: object) -> Mapping[str, object]:
    """The fields, with the calls in the messages of a framework or a chat model's reply."""
    if any(fields.get(name) is not None for name in COLUMNS["tools"]):
        return fields
    messages = _field(reply, "messages")
    choices = _field(reply, "choices")
    candidates = _field(reply, "candidates")
    content = _field(reply, "content")
    output = _field(reply, "output")
    calls = None
    if is_list(messages):
        calls = calls_of_messages(messages, LIVE)
    elif is_list(choices) and choices:
        calls = calls_of_messages([_field(choices[0], "message")], LIVE)
    elif is_list(candidates) and candidates:
        calls = calls_of_messages([_field(candidates[0], "content")], LIVE)
    elif is_list(content):
        calls = calls_of_messages([{"role": "assistant", "content": content}], LIVE)
    elif is_list(output):  # OpenAI's Responses API
        calls = calls_of_messages(output, LIVE)
    if not calls:
        return fields
    return {**fields, "tools": calls}


def _field(value: object, name: str) -> object:
    if is_mapping(value):
        return value.get(name)
    return getattr(value, name, None)


def reads_like_an_error(answer: str) -> bool:
    """Whether a text is an error message that a bot gave as its answer."""
    return _ERROR_TEXT.match(answer.strip()[:500]) is not None


def flag_error_text(response: Response, case_id: str) -> Response:
    """The response, with a note in `extra` where its answer reads like an error message.

    The first of them is also a warning in the log.
    """
    answer = response.answer or ""
    if response.error is not None or not reads_like_an_error(answer):
        return response
    note = f"the answer reads like an error of the target: {' '.join(answer.split())[:100]}"
    if not _warned:
        _warned.add(case_id)
        why = "it is scored as an answer. Others like it are marked in results.jsonl"
        log.warning("%s", printable(f'case "{case_id}": {note}; {why}'))
    return replace(response, extra={**response.extra, "suspected_error": note})


_warned: set[str] = set()


def _name_error(response: Response) -> Response:
    """Name the error that a reply reports, and give every response with an error its kind."""
    if not response.error:
        return response
    name = "the target reported an error"
    error = f"{name}: {response.error[:500]}"
    return replace(response, error=error, error_kind="content", error_name=name)


def _clean_response(response: Response) -> Response:
    """A `Response` that the bot itself made, with only what strict JSON can hold."""
    fields = {name: getattr(response, name) for name in _SAME_NAMES}
    fields |= {"contexts": response.passages, "response_time": response.seconds}
    clean = response_of_reply({name: value for name, value in fields.items() if value is not None})
    clean = replace(clean, extra=plain_json(response.extra), turns=response.turns)
    if response.error is None:
        return replace(clean, error_kind=response.error_kind, error_name=response.error_name)
    error = valid_text(str(response.error)).strip() or "no reason given"
    answer = clean.answer or None
    clean = replace(clean, error=error, answer=answer)
    if response.error_kind in KINDS and response.error_name:
        return replace(clean, error_kind=response.error_kind, error_name=response.error_name)
    return replace(clean, error_kind="content", error_name=error)


def _check_response(response: Response) -> None:
    """Refuse a response without an error that has no usable answer."""
    if response.error is not None:
        return
    answer = response.answer
    has_other_parts = bool(response.passages or response.tools or response.retrieved is not None)
    if answer is None and not has_other_parts:
        keys = f"; it has {', '.join(response.extra)}" if response.extra else ""
        raise InputError(f"the target returned no answer{keys[:100]}")
    if answer is not None and not answer.strip() and not response.tools:
        raise InputError("the target returned an empty answer")
    size = len(answer or "") + sum(len(passage.text) for passage in response.passages)
    size += sum(len(str(call.arguments)) + len(str(call.result)) for call in response.tools or ())
    if size > MAX_SIZE:
        limit = f"{MAX_SIZE // 1_000_000} MB"
        raise InputError(f"the target returned more than {limit}, more than an answer may be")
