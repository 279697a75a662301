"""A Gradio app as a target, through its HTTP API: a POST that gives an event id, then a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from answerkey.coerce.values import is_mapping
from answerkey.config.declare import read_table
from answerkey.config.target_tables import GradioTable
from answerkey.targets.fields import parse, read_fields
from answerkey.targets.http import HttpTarget
from answerkey.targets.respond import content_error
from answerkey.targets.template import check_places, fill
from answerkey.targets.wire import Wire, WireError, open_wire
from answerkey.types import Response

_PREFIXES = ("/gradio_api/call", "/call")  # Gradio 5 and later; Gradio 4


def make(table: Mapping[str, object], folder: Path, timeout: float) -> HttpTarget:
    """`data` is the list of the function's inputs; the answer is its first output."""
    settings = read_table(GradioTable, table, "[target]")
    data = list(settings.data)
    check_places(data, "data")
    base, wire = open_wire(settings, "gradio", timeout)
    app = _App(base, settings.api_name.strip("/"), wire)
    return HttpTarget(
        lambda question: app.call([fill(item, question) for item in data]),
        wire,
        read_fields(settings, {"answer": "$[0]"}),
    )


class _App:
    def __init__(self, base: str, name: str, wire: Wire) -> None:
        self._base, self._name, self._wire = base, quote(name), wire
        self._prefix: str | None = None

    def call(self, data: list[object]) -> object:
        """The function's outputs, or a `Response` that says why there are none."""
        hide = self._wire.secrets.hide_in
        reply = self._begin(data)
        if isinstance(reply, Response):
            return reply
        event = reply.get("event_id") if is_mapping(reply) else None
        if not event:
            return content_error("not a Gradio app", f"no event_id in its reply: {json.dumps(reply)[:150]}")
        with self._wire.stream("GET", f"{self._base}{self._prefix}/{self._name}/{quote(str(event))}") as stream:
            for name, text in events(self._wire.chunks(stream)):
                if name == "complete":
                    return hide(parse(text))
                if name == "error":
                    return content_error("the app reported an error", hide(_told(text)))
        return content_error("the app ended without an answer")

    def _begin(self, data: list[object]) -> object:
        for prefix in [self._prefix] if self._prefix else _PREFIXES:
            try:
                reply = self._wire.json("POST", f"{self._base}{prefix}/{self._name}", body={"data": data})
            except WireError as failed:
                if failed.response.error_name != "HTTP 404" or prefix == _PREFIXES[-1]:
                    raise
            else:
                self._prefix = prefix
                return reply
        raise AssertionError("the last prefix returns or raises")


def _told(text: str) -> str:
    """The message of an error event, which is JSON where the app shows its errors and null where it does not."""
    try:
        given = json.loads(text)
    except ValueError:
        given = text
    said = given.get("error") if is_mapping(given) else given
    return str(said)[:300] if said else "launch it with show_error=True to see which"


def events(chunks: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """(event, data) of a stream of server-sent events; what is not UTF-8 in it becomes `�`."""
    name, rest = "", b""
    data: list[str] = []
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in (raw.decode("utf-8", "replace") for raw in lines):
            if not line and name:
                yield name, "\n".join(data)
                name, data = "", []
            elif line.startswith("event:"):
                name = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
    if name:
        yield name, "\n".join(data)
