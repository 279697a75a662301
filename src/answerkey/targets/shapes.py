"""The pieces of a response, in the shapes that bots give them: passages, ids, numbers, plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from answerkey.types import Passage

_TEXT = ("text", "content", "page_content", "passage")
_ID = ("id", "doc_id", "document_id", "chunk_id")
MAX_EXTRA = 20_000
_LABEL = ("source", "title", "name", "url", "file", "id", "page", "text")


def valid_text(text: str) -> str:
    """Half characters (lone surrogates), which no file can hold, become `�`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def as_passages(items: Any) -> tuple[Passage, ...]:
    """Passages from a list of texts or of mappings; one text or mapping counts as a list of one."""
    return tuple(_passage(item) for item in _listed(items))


def as_texts(items: Any) -> tuple[str, ...]:
    """Ids, pages or sources, as text, stripped; a mapping gives its name, title, source or id."""
    return tuple(_label(item) for item in _listed(items))


def as_count(value: Any) -> int | None:
    amount = as_amount(value)
    return None if amount is None else int(amount)


def as_amount(value: Any) -> float | None:
    """A time or a cost: the number, or None where it is none or below zero."""
    number = as_number(value)
    return number if number is not None and number >= 0 else None


def as_number(value: Any) -> float | None:
    """The number, or None for what is none; NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def _listed(items: Any) -> list[Any]:
    if items is None:
        return []
    if isinstance(items, (str, Mapping, Passage)) or not isinstance(items, Iterable):
        return [items]
    return list(items)


def _passage(item: Any) -> Passage:
    if isinstance(item, Passage):
        item = {"text": item.text, "id": item.id, "score": item.score, "page": item.page}
    if not isinstance(item, Mapping):
        return Passage(text=valid_text(str(item)))
    about = item.get("metadata")
    about = dict(about) if isinstance(about, Mapping) else {}
    found = {**about, **{key: value for key, value in item.items() if value is not None}}

    def named(names: Iterable[str]) -> str | None:
        value = next((found[name] for name in names if name in found), None)
        return None if value is None else valid_text(str(value)).strip()

    text = next((found[name] for name in _TEXT if name in found), "")
    return Passage(valid_text(str(text)), named(_ID), as_number(found.get("score")), named(("page",)))


def _label(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[name] for name in _LABEL if item.get(name) is not None), json.dumps(plain(item)))
    return valid_text(str(item)).strip()


def plain(extra: Mapping[Any, Any]) -> dict[str, Any]:
    """Only what strict JSON can hold; anything else, or what is huge, as its beginning."""
    return {valid_text(str(key)): _json_value(value) for key, value in extra.items()}


def _json_value(value: Any) -> Any:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return valid_text(str(value))[:MAX_EXTRA]
    return json.loads(valid_text(text)) if len(text) <= MAX_EXTRA else valid_text(text)[:MAX_EXTRA]
