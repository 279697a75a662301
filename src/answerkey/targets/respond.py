"""What a target gave, in whatever shape, as one `Response`; and the two kinds of failure.

`error_kind` is "infrastructure" (nobody answered: refused, timed out, HTTP 503) or "content" (an answer
came, but it cannot be used). `error_name` is the same for the same cause, whatever the details.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from answerkey.targets.shapes import as_amount, as_count, as_passages, as_texts, plain, valid_text
from answerkey.types import ErrorKind, Response

MAX_SIZE = 10_000_000
"""The most characters (or bytes on a wire) of one response; what is larger is an error, not an answer."""

KINDS = ("infrastructure", "content")
_ANSWER = ("answer", "response", "output", "actual_output", "chatbot_answer", "text")
_PASSAGES = ("passages", "contexts", "retrieved_contexts", "retrieval_context", "context")
_ROUTE = ("route", "actual_route")
_SOURCES = ("sources", "citations")
_RETRIEVED = ("retrieved", "retrieved_pages")
_SECONDS = ("seconds", "response_time")
_PROMPT = ("prompt_tokens", "prompt", "input_tokens")
_COMPLETION = ("completion_tokens", "completion", "output_tokens")


class Unusable(Exception):
    """What came cannot be read as a response; the message says why."""


def infrastructure_error(name: str, detail: str = "") -> Response:
    return _failure("infrastructure", name, detail)


def content_error(name: str, detail: str = "") -> Response:
    return _failure("content", name, detail)


def _failure(kind: ErrorKind, name: str, detail: str) -> Response:
    error = valid_text(f"{name}: {detail}" if detail else name)
    return Response(error=error, error_kind=kind, error_name=name)


def as_response(value: Any) -> Response:
    """Text, a mapping with the usual names, or a `Response`. None, empty text and what is too large are errors."""
    try:
        if value is None:
            raise Unusable("the target returned None, expected an answer")
        if isinstance(value, str):
            return _checked(Response(answer=value))
        if isinstance(value, Response):
            return _checked(_cleaned(value))
        if isinstance(value, Mapping):
            return _checked(_from_mapping({str(key): item for key, item in value.items()}))
        raise Unusable(f"the target returned {type(value).__name__}, expected text, a dict or a Response")
    except Unusable as why:
        return content_error(str(why))


def _from_mapping(given: dict[str, Any]) -> Response:
    rest = dict(given)

    def first(names: Iterable[str]) -> Any:
        found = [rest.pop(name) for name in names if name in rest]
        return next((item for item in found if item is not None), None)

    answer, usage = first(_ANSWER), first(("tokens", "usage"))
    usage = dict(usage) if isinstance(usage, Mapping) else {}
    usage.update({name: rest.pop(name) for name in (*_PROMPT, *_COMPLETION) if name in rest})
    retrieved, error, route = first(_RETRIEVED), first(("error",)), first(_ROUTE)
    response = Response(
        answer=None if answer is None else _answer_text(answer),
        passages=as_passages(first(_PASSAGES)),
        route=None if route is None else valid_text(str(route)).strip(),
        sources=as_texts(first(_SOURCES)),
        retrieved=None if retrieved is None else as_texts(retrieved),
        seconds=as_amount(first(_SECONDS)),
        prompt_tokens=as_count(next((usage[n] for n in _PROMPT if n in usage), None)),
        completion_tokens=as_count(next((usage[n] for n in _COMPLETION if n in usage), None)),
        cost=as_amount(first(("cost",))),
        extra=plain(rest),
    )
    if error:
        name = "the target reported an error"
        message = f"{name}: {valid_text(str(error))[:500]}"
        return replace(response, error=message, error_kind="content", error_name=name)
    return response


def _cleaned(given: Response) -> Response:
    """A response of the bot's own making, with only what strict JSON in UTF-8 can hold."""
    return Response(
        answer=None if given.answer is None else _answer_text(given.answer),
        passages=as_passages(given.passages),
        route=None if given.route is None else valid_text(str(given.route)),
        sources=as_texts(given.sources),
        retrieved=None if given.retrieved is None else as_texts(given.retrieved),
        seconds=as_amount(given.seconds),
        prompt_tokens=as_count(given.prompt_tokens),
        completion_tokens=as_count(given.completion_tokens),
        cost=as_amount(given.cost),
        error=None if given.error is None else valid_text(str(given.error)).strip() or "no reason given",
        extra=plain(given.extra),
        error_kind=given.error_kind,
        error_name=given.error_name,
    )


def _checked(response: Response) -> Response:
    if response.error is not None:
        response = replace(response, answer=valid_text(response.answer) if response.answer else None)
        named = response.error_kind in KINDS and response.error_name
        return response if named else replace(response, error_kind="content", error_name=response.error or "")
    answer = response.answer
    if answer is None and response.retrieved is None and not response.passages:
        raise Unusable("the target returned no answer")
    if answer is not None and not answer.strip():
        raise Unusable("the target returned an empty answer")
    size = len(answer or "") + sum(len(passage.text) for passage in response.passages)
    if size > MAX_SIZE:
        raise Unusable(
            f"the target returned more than {MAX_SIZE // 1_000_000} MB, more than an answer may be"
        )
    if answer is not None and valid_text(answer) != answer:
        raise Unusable("the answer is not valid text: it holds half a character (a lone surrogate)")
    return response


def _answer_text(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, (int, float)):
        return str(answer)
    raise Unusable(f"the answer is {type(answer).__name__}, expected text")
