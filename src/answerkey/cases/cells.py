"""One cell to one value: text, a number, a list, passages, turns. A wrong shape names its place."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from answerkey.types import Passage, Turn

if TYPE_CHECKING:
    from answerkey.cases.columns import Place

# `["a", "b` and `[1, 2` were meant as lists; `[1] See page 3`, `[Figure 3: the` and `[0, 1)` are texts.
_BROKEN_LIST = re.compile(r"""\[\s*(?:["'{]|[-\d.,\s]+$)""")
_SEPARATOR = re.compile(r"[;,|]")
_TEXT_KEYS = ("text", "content", "page_content", "document", "passage")
_ID_KEYS = ("id", "doc_id", "chunk_id", "document_id", "source")


def as_text(value: Any, column: str, place: Place) -> str:
    """Text, stripped; a number is written as people write it; nothing is the empty text."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.error(column, value, "text")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def as_texts(value: Any, column: str, place: Place) -> tuple[str, ...]:
    """One text or a list of texts; a cell that holds a list is read as one. Null is none, "" is one empty text."""
    if value is None:
        return ()
    if isinstance(value, str) and value.strip().startswith("["):
        value = _listed(value, column, place, must=False)
    if isinstance(value, (list, tuple)):
        return tuple(as_text(item, column, place) for item in value)
    return (as_text(value, column, place),)


def as_list(value: Any, column: str, place: Place) -> tuple[str, ...]:
    """A list of ids or short texts: a real list, a list in a cell, or parted by `,` `;` `|`."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        if value.strip().startswith("["):
            value = _listed(value, column, place, must=True)
        else:
            value = [part for part in _SEPARATOR.split(value) if part.strip()]
    if not isinstance(value, (list, tuple)):
        value = [value]
    return tuple(_item(item, column, place) for item in value)


def as_number(value: Any, column: str, place: Place) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise place.error(column, value, "a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise place.error(column, value, "a number") from None
    if not math.isfinite(number):
        raise place.error(column, value, "a finite number")
    return number


def as_whole(value: Any, column: str, place: Place) -> int | None:
    number = as_number(value, column, place)
    return None if number is None else int(number)


def as_mapping(value: Any, column: str, place: Place) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        value = _literal(value)
    if not isinstance(value, Mapping):
        raise place.error(column, value, "an object with named values")
    return value


def as_passages(value: Any, column: str, place: Place) -> tuple[Passage, ...]:
    """Contexts: a text, a list of texts, or a list of objects with text, id, score and page."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = _listed(value, column, place, must=False) if value.strip().startswith("[") else [value]
    if not isinstance(value, (list, tuple)):
        raise place.error(column, value, "a list of texts")
    return tuple(_passage(item, column, place) for item in value)


def as_turns(value: Any, column: str, place: Place) -> tuple[Turn, ...]:
    """Earlier turns: `{user, answer}`, `{role, content}`, pairs, or the user's lines alone."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = _listed(value, column, place, must=True)
    if not isinstance(value, (list, tuple)):
        raise place.error(column, value, "a list of earlier turns")
    turns: list[Turn] = []
    for item in value:
        if isinstance(item, Mapping) and "role" in item:
            content = as_text(item.get("content"), column, place)
            if item["role"] == "assistant" and turns:
                turns[-1] = Turn(turns[-1].user, content)
            elif item["role"] == "user":
                turns.append(Turn(content))
        elif isinstance(item, Mapping):
            user = item.get("user", item.get("question"))
            turns.append(Turn(as_text(user, column, place), as_text(item.get("answer"), column, place)))
        elif isinstance(item, (list, tuple)) and len(item) == 2:
            turns.append(Turn(as_text(item[0], column, place), as_text(item[1], column, place)))
        else:
            turns.append(Turn(as_text(item, column, place)))
    return tuple(turns)


def _passage(item: Any, column: str, place: Place) -> Passage:
    if not isinstance(item, Mapping):
        return Passage(text=as_text(item, column, place))
    meta = item.get("metadata") if isinstance(item.get("metadata"), Mapping) else {}
    merged = {**(meta or {}), **item}
    text = next((merged[key] for key in _TEXT_KEYS if merged.get(key) is not None), "")
    name = next((merged[key] for key in _ID_KEYS if merged.get(key) is not None), None)
    page = merged.get("page")
    return Passage(
        text=as_text(text, column, place),
        id=None if name is None else as_text(name, column, place),
        score=as_number(merged.get("score"), column, place),
        page=None if page is None else as_text(page, column, place),
    )


def _item(item: Any, column: str, place: Place) -> str:
    if isinstance(item, Mapping):
        name = next(
            (
                item[key]
                for key in (*_ID_KEYS, "page", "title", "url", *_TEXT_KEYS)
                if item.get(key) is not None
            ),
            "",
        )
        return as_text(name, column, place)
    return as_text(item, column, place)


def _listed(cell: str, column: str, place: Place, *, must: bool) -> Any:
    """A list in a cell, as JSON or as a Python literal; else the text itself, unless it must be or was meant as a list."""
    value = _literal(cell)
    if isinstance(value, (list, tuple)):
        return value
    if must or _BROKEN_LIST.match(cell.strip()):
        raise place.error(column, cell, "a JSON list or a Python list")
    return [cell]


def _literal(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        pass
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
