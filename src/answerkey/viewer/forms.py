"""Forms that a page posts, and the name of the person who posts them."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

from starlette.requests import Request

from answerkey.calibrate.labels import LONGEST_NAME
from answerkey.errors import InputError

NAME_COOKIE = "answerkey_name"
# An expected answer of 20,000 characters fits: four bytes each, three characters per byte.
_MOST_BYTES = 250_000
_MOST_FIELDS = 8


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise InputError(f"the form is larger than {_MOST_BYTES:,} bytes")
    text = body.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))


def labeller_name(request: Request) -> str:
    """Who is labelling: the name chosen in the page, else that of `answerkey view --as`."""
    default: str = request.app.state.labeller
    return unquote(request.cookies.get(NAME_COOKIE) or default)[:LONGEST_NAME]
