"""Passages and sources, in all the shapes that bots, stores and files give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from answerkey.coerce.labels import as_ids
from answerkey.coerce.passage_fields import (
    DOCUMENT_KEYS,
    ID_KEYS,
    NAME_KEYS,
    SCORE_KEYS,
    TEXT_KEYS,
    collect_fields,
    document_of,
    first_id,
    has_text,
    page_of,
    passage_id,
    place_id,
)
from answerkey.coerce.values import (
    LIVE,
    Place,
    as_number,
    as_text,
    has_no_value,
    is_list,
    is_mapping,
    is_number,
    items_of,
    unpack_list,
    valid_text,
)
from answerkey.errors import InputError
from answerkey.types import Passage

_DEEPEST = 4  # LlamaIndex puts the text into a node of a node; a passage of a cycle must end


def as_passages(
    value: object, column: str = "contexts", place: Place = LIVE
) -> tuple[Passage, ...]:
    """Passages from a text, a dict, an object, a pair `(passage, score)`, or a list of these.

    >>> as_passages([{"page_content": "t", "metadata": {"page_number": "34", "page": 33}}])
    (Passage(text='t', id=None, score=None, page='34', document=None),)
    """
    # `df.astype(str)` writes a missing cell as "nan" or "None".
    if value is None or (isinstance(value, str) and has_no_value(value)):
        return ()
    value = unpack_list(value, column, place)
    if _is_collection(value):
        items = cast("Iterable[object]", value)
    else:
        items = [value]
    return tuple(_passage(item, column, place) for item in items)


def _is_collection(value: object) -> bool:
    """Whether a value holds several passages; a pair with a score and an iterable text are one."""
    if is_list(value):
        return not _is_scored(value)
    if isinstance(value, (str, bytes, Mapping)) or has_text(value):
        return False
    return isinstance(value, Iterable)


def _is_scored(value: Sequence[object]) -> bool:
    """`(passage, score)`: two values, of which only the second is a number."""
    # `[0.1, 0.9]` is no pair of a passage and its score.
    return len(value) == 2 and is_number(value[1]) and not is_number(value[0])


def _passage(item: object, column: str, place: Place, depth: int = 0) -> Passage:
    if isinstance(item, Passage):
        item = _fields_of_passage(item)
    if isinstance(item, (str, int, float)) or item is None:
        return Passage(as_text(item, column, place))
    if is_list(item):
        if not _is_scored(item):
            raise _unreadable(item, column, place)
        passage = _passage(item[0], column, place, depth)
        return replace(passage, score=as_number(item[1], column, place))
    fields = collect_fields(item)
    text_key = next((key for key in TEXT_KEYS if fields.get(key) is not None), None)
    page = page_of(fields)
    own_id = first_id(fields, ID_KEYS)
    document = document_of(fields, text_key)
    # A passage without a text but with an id is a reference, which ranking metrics can use.
    if text_key is None and page is None and own_id is None and document is None:
        raise _unreadable(item, column, place)
    inner = Passage()
    if text_key is not None:
        inner = _inner_passage(fields[text_key], item, column, place, depth)
    page = page or inner.page
    document = document or inner.document
    passage_id = own_id or inner.id
    # A bare page is no id: chunks of several documents share it.
    if passage_id is None and document:
        passage_id = place_id(document, page)
    score = next((fields[key] for key in SCORE_KEYS if fields.get(key) is not None), None)
    return Passage(
        text=inner.text,
        id=passage_id,
        score=inner.score if score is None else as_number(score, column, place),
        page=page,
        document=document,
    )


def _inner_passage(text: object, item: object, column: str, place: Place, depth: int) -> Passage:
    """The passage that stands where the text of `item` is expected: a text, or a nested record."""
    if isinstance(text, str):
        return Passage(valid_text(text).strip())
    # A list as a text is several passages in the place of one.
    if depth > _DEEPEST or isinstance(text, (list, tuple, bool)):
        raise _unreadable(item, column, place)
    return _passage(text, column, place, depth + 1)


def _fields_of_passage(passage: Passage) -> dict[str, object]:
    return {
        "text": passage.text,
        "id": passage.id,
        "score": passage.score,
        "page": passage.page,
        "doc": passage.document,
    }


def _unreadable(item: object, column: str, place: Place) -> InputError:
    if is_mapping(item):
        keys = ", ".join(str(key) for key in list(item)[:8]) or "(none)"
        problem = f"with the keys {keys}"
        expected = f"its text under one of {', '.join(TEXT_KEYS[:-1])}"
    else:
        problem = f"of type {type(item).__name__}"
        expected = f"text, a dict or an object with {', '.join(TEXT_KEYS[:3])}"
    return InputError(f'{place}, column "{column}": found a passage {problem}, expected {expected}')


def as_sources(value: object, column: str, place: Place) -> tuple[str, ...]:
    """The sources that a bot names, as text: `manual.pdf#34 (https://…)`, one per page.

    >>> as_sources([{"doc": "psoc.pdf", "page": 0, "url": "https://x.org/p"}], "sources", LIVE)
    ('psoc.pdf#0 (https://x.org/p)',)
    >>> as_sources([{"doc": "psoc.pdf", "pages": [0, 1]}], "sources", LIVE)
    ('psoc.pdf#0', 'psoc.pdf#1')
    """
    sources: list[str] = []
    for item in items_of(value, column, place):
        sources += _sources_of_item(item, column, place)
    return tuple(sources)


def _sources_of_item(item: object, column: str, place: Place) -> list[str]:
    if isinstance(item, Passage):
        return [passage_id(item) or item.text]
    if is_mapping(item) or has_text(item):
        return _sources_of_fields(collect_fields(item), column, place)
    try:
        return [as_text(item, column, place)]
    except InputError:
        if place.live:
            return [valid_text(str(item)).strip()]
        raise


def _sources_of_fields(fields: Mapping[str, object], column: str, place: Place) -> list[str]:
    url = fields.get("url")
    if not isinstance(url, str):
        url = None
    document_keys = [key for key in DOCUMENT_KEYS if key != "url"]
    document = first_id(fields, (*document_keys, *NAME_KEYS, *ID_KEYS))
    pages: Sequence[str | None] = [page_of(fields)]
    if pages == [None] and "pages" in fields:
        pages = as_ids(fields["pages"], column, place) or [None]
    names = [place_id(document or url, page) for page in pages]
    if not any(names):
        return [first_id(fields, TEXT_KEYS) or ""]
    if url and document and url != document:
        return [f"{name} ({url})" for name in names]
    return names
