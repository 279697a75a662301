"""What a target gave, in whatever shape, as one `Response`; and the two kinds of failure.

`error_kind` is "infrastructure" (nobody answered: refused, timed out, HTTP 503) or "content" (an answer
came, but it cannot be used). `error_name` is the same for the same cause, whatever the details.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from answerkey.coerce.columns import COLUMNS, LIVE_ANSWERS, RESPONSE_COLUMNS
from answerkey.coerce.responses import response_of_reply
from answerkey.coerce.values import is_list, is_mapping, message_text, plain_json, valid_text
from answerkey.errors import InputError
from answerkey.types import ErrorKind, Response

MAX_SIZE = 10_000_000
"""The most characters (or bytes on a wire) of one response; what is larger is an error, not an answer."""

log = logging.getLogger("answerkey.targets")

_ERROR_TEXT = re.compile(
    r"(?:error|exception|fehler)\b\s*[:\d(]|traceback \(most recent call last\)|<!doctype html|<html"
    r"|[A-Za-z_.]+(?:Error|Exception):\s|\{\s*\"(?:error|detail)\"\s*:"
    r"|(?:HTTP(?:/[\d.]+)?\s+|status(?: code)?\s*:?\s*)?[45]\d\d\s*[:-]?\s*(?:internal server"
    r"|bad (?:gateway|request)|service unavailable|gateway time-?out"
    r"|too many requests|not found|forbidden|unauthorized|server error|client error)|n/a\s*\Z",
    re.IGNORECASE,
)
KINDS = ("infrastructure", "content")
_ATTRIBUTES = (*(name for column in RESPONSE_COLUMNS for name in COLUMNS[column]), *LIVE_ANSWERS)


def _failure(kind: ErrorKind, name: str, detail: str = "") -> Response:
    error = valid_text(f"{name}: {detail}" if detail else name)
    return Response(error=error, error_kind=kind, error_name=name)


infrastructure_error, content_error = (
    partial(_failure, "infrastructure"),
    partial(_failure, "content"),
)


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
        return _checked(_read(value))
    except InputError as error:
        return content_error(str(error))


def _read(value: object) -> Response:
    if value is None:
        raise InputError("no answer: the target returned None")
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return response_of_reply({"answer": value})
    if isinstance(value, Response):
        return _cleaned(value)
    if is_list(value) and isinstance(value, tuple) and len(value) == 2 and is_list(value[1]):
        return response_of_reply({"answer": value[0], "contexts": value[1]})
    if is_mapping(value):
        return _reported(response_of_reply(_with_chat_answer(value, value)))
    # An object of a framework: LangChain's messages have `content`, LlamaIndex's responses `response` and `source_nodes`.
    named = (
        {name: getattr(value, name, None) for name in _ATTRIBUTES}
        if hasattr(value, "__dict__")
        else {}
    )
    given = {
        name: found for name, found in named.items() if found is not None and not callable(found)
    }
    usage = given.get("usage")
    given = _with_chat_answer(
        given | ({"usage": vars(usage)} if hasattr(usage, "__dict__") else {}), value
    )
    if not given:
        kind = type(value).__name__
        raise InputError(f"the target returned {kind}, expected text, a dict or a Response")
    return _reported(response_of_reply(given))


def _with_chat_answer(given: Mapping[str, object], reply: object) -> Mapping[str, object]:
    """What was given, and where it has no text of an answer that of a chat model's reply: `choices` of OpenAI,
    `messages` of LangGraph, `content` in parts of Anthropic."""
    if any(isinstance(given.get(name), str) for name in (*COLUMNS["answer"], *LIVE_ANSWERS)):
        return given
    choices, messages = _field(reply, "choices"), _field(reply, "messages")
    message = _field(choices[0], "message") if is_list(choices) and choices else reply
    message = messages[-1] if is_list(messages) and messages else message
    content = _field(message, "content")
    text = (
        message_text(content)
        if is_list(content) or message is not reply
        else _field(reply, "output_text")
    )
    if not isinstance(text, str) or not text:
        return given
    return {
        **{name: found for name, found in given.items() if name not in COLUMNS["answer"]},
        "answer": text,
    }


def _field(value: object, name: str) -> object:
    return value.get(name) if is_mapping(value) else getattr(value, name, None)


def flag_error_text(response: Response, case_id: str) -> Response:
    """The response; where its answer reads like an error message, with a note in `extra` and a warning in the log."""
    answer = (response.answer or "").strip()
    if response.error is not None or not _ERROR_TEXT.match(answer[:500]):
        return response
    note = f"the answer reads like an error of the target: {' '.join(answer.split())[:100]}"
    if not _warned:
        _warned.add(case_id)
        why = "it is scored as an answer. Others like it are marked in results.jsonl"
        log.warning('case "%s": %s; %s', case_id, note, why)
    return replace(response, extra={**response.extra, "suspected_error": note})


_warned: set[str] = set()


def _reported(response: Response) -> Response:
    if not response.error:
        return response
    name = "the target reported an error"
    return replace(
        response, error=f"{name}: {response.error[:500]}", error_kind="content", error_name=name
    )


def _cleaned(given: Response) -> Response:
    """A `Response` that the bot itself made, with only what strict JSON in UTF-8 can hold."""
    same = ("answer", "route", "sources", "retrieved", "prompt_tokens", "completion_tokens", "cost")
    named = {name: getattr(given, name) for name in same} | {
        "contexts": given.passages,
        "response_time": given.seconds,
    }
    clean = response_of_reply({name: value for name, value in named.items() if value is not None})
    error = (
        None if given.error is None else valid_text(str(given.error)).strip() or "no reason given"
    )
    extra, kind, name = plain_json(given.extra), given.error_kind, given.error_name
    return replace(clean, error=error, extra=extra, error_kind=kind, error_name=name)


def _checked(response: Response) -> Response:
    if response.error is not None:
        response = replace(
            response, answer=valid_text(response.answer) if response.answer else None
        )
        named = response.error_kind in KINDS and response.error_name
        return (
            response
            if named
            else replace(response, error_kind="content", error_name=response.error or "")
        )
    answer = response.answer
    if answer is None and response.retrieved is None and not response.passages:
        keys = f"; it has {', '.join(response.extra)}" if response.extra else ""
        raise InputError(f"the target returned no answer{keys[:100]}")
    if answer is not None and not answer.strip():
        raise InputError("the target returned an empty answer")
    size = len(answer or "") + sum(len(passage.text) for passage in response.passages)
    if size > MAX_SIZE:
        raise InputError(
            f"the target returned more than {MAX_SIZE // 1_000_000} MB, more than an answer may be"
        )
    return response
