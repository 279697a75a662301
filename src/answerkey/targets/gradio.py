"""A Gradio app as a target: a call that gives an event, and a stream that ends with the outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote

from answerkey.coerce.values import is_list, is_mapping
from answerkey.config.target_tables import GradioTable
from answerkey.errors import SettingsError
from answerkey.targets.attachments import gradio_file
from answerkey.targets.reply_fields import parse_reply_json
from answerkey.targets.respond import FailedExchange, content_error
from answerkey.targets.templates import check_places, fill
from answerkey.targets.wire import Wire
from answerkey.types import Question

FIRST_OUTPUT = "$[0]"
_PREFIXES = ("/gradio_api/call", "/call")  # Gradio 5 and later; Gradio 4


class GradioExchange:
    """Calls one function of the app; `data` is the list of its inputs."""

    def __init__(self, settings: GradioTable, base: str, wire: Wire) -> None:
        self._data = _read_inputs(settings.data)
        check_places(self._data, "data")
        self._base = base
        self._wire = wire
        self._function = quote(settings.api_name.strip("/"))
        self._prefixes = list(_PREFIXES)

    def __call__(self, question: Question) -> object:
        """The outputs of the function."""
        reply = self._call(question)
        if is_mapping(reply):
            event = reply.get("event_id")
        else:
            event = None
        if not event:
            detail = f"no event_id in its reply: {json.dumps(reply)[:150]}"
            raise FailedExchange(content_error("not a Gradio app", detail))
        hide = self._wire.secrets.hide_in
        address = f"{self._base}{self._prefixes[0]}/{self._function}/{quote(str(event))}"
        with self._wire.stream("GET", address) as stream:
            # "generating" events bring parts of the answer; "complete" has all of it.
            for name, text in events(stream.chunks):
                if name == "complete":
                    return hide(parse_reply_json(text))
                if name == "error":
                    message = hide(_event_message(text))
                    raise FailedExchange(content_error("the app reported an error", message))
        raise FailedExchange(content_error("the app ended without an answer"))

    def _call(self, question: Question) -> object:
        body = {"data": [_fill_input(item, question) for item in self._data]}
        # Gradio 4 answers 404 at the address of Gradio 5, and the other way round.
        for prefix in tuple(self._prefixes):
            try:
                reply = self._wire.json("POST", f"{self._base}{prefix}/{self._function}", body=body)
            except FailedExchange as failed:
                if failed.response.error_name != "HTTP 404" or prefix == self._prefixes[-1]:
                    raise
            else:
                self._prefixes = [prefix]  # the one that this app has
                return reply
        return None


def _fill_input(item: object, question: Question) -> object:
    """An input; `"{image}"` and `"{files}"` alone become the files of a Gradio component."""
    if item == "{image}" and question.image is not None:
        return gradio_file(question.image)
    if item == "{files}":
        return [gradio_file(file) for file in question.files]
    return fill(item, question)


def _read_inputs(data: object) -> list[object]:
    """The inputs: a list, or JSON text of one, as TOML has no null."""
    if isinstance(data, str):
        with suppress(ValueError):
            data = json.loads(data)
    if not is_list(data):
        expected = """expected a list, or JSON text such as '[null, "{question}"]'"""
        raise SettingsError(f"[target] data: {expected}")
    return list(data)


def _event_message(text: str) -> str:
    """The message of an error event; it is null where the app hides its errors."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if is_mapping(value):
        message = value.get("error")
    else:
        message = value
    if message:
        return str(message)[:300]
    return "launch it with show_error=True to see which"


def events(chunks: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """(event, data) of a stream of server-sent events; bytes that are not UTF-8 become `�`."""
    name = ""
    rest = b""
    data: list[str] = []
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in (raw.decode("utf-8", "replace") for raw in lines):
            if not line and name:
                yield name, "\n".join(data)
                name = ""
                data = []
            elif line.startswith("event:"):
                name = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
    if name:
        yield name, "\n".join(data)
