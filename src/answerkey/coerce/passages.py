"""Passages, sources, pages and labels, in all the shapes that bots, stores and files give them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from answerkey.coerce import values
from answerkey.coerce.values import (
    LIVE,
    Place,
    as_number,
    as_text,
    is_list,
    is_mapping,
    is_number,
    valid_text,
)
from answerkey.errors import InputError
from answerkey.types import Passage

Where = tuple[str | None, str]  # a document, if it is known, and a page
TEXT_KEYS = ("text", "content", "page_content", "document", "chunk", "passage", "node")
PAGE_KEYS = ("page_number", "page_label", "page")
DOCUMENT_KEYS = ("source", "doc", "file", "filename", "file_name", "document", "document_id", "url")
_ID_KEYS = ("id", "doc_id", "chunk_id", "node_id", "_id")
_SCORE_KEYS = ("score", "similarity", "relevance_score")
_METADATA_KEYS = ("metadata", "meta", "payload", "cmetadata", "metadata_")
_NAME_KEYS = ("title", "name")
_KEYS = (
    *TEXT_KEYS,
    *PAGE_KEYS,
    *DOCUMENT_KEYS,
    *_ID_KEYS,
    *_SCORE_KEYS,
    *_METADATA_KEYS,
    *_NAME_KEYS,
)
_WHOLE = re.compile(r"^(\d+)\.0$")  # a page, as data frames with missing values write it
_WITH_PAGE = re.compile(
    r"(?P<document>.+?)(?:#(?:page=|p\.?)?(?P<any>[^#/]+)|:(?:p\.?)?(?P<digits>\d+))$"
)


def as_passages(
    value: object, column: str = "contexts", place: Place = LIVE
) -> tuple[Passage, ...]:
    """Passages from a text, a dict, an object, a pair `(passage, score)`, or a list of these.

    >>> as_passages([{"page_content": "t", "metadata": {"page_number": "34", "page": 33}}])
    (Passage(text='t', id=None, score=None, page='34', document=None),)
    """
    if value is None or value == "":
        return ()
    value = values.unpack_list(value, column, place)
    listed = is_list(value) and not _is_scored(value)
    if (
        not listed
        and not isinstance(value, (str, bytes, Mapping, tuple, list))
        and not _has_text(value)
    ):
        listed = isinstance(value, Iterable)
    items = cast("Iterable[object]", value if listed else [value])
    return tuple(_passage(item, column, place) for item in items)


def _is_scored(value: Sequence[object]) -> bool:
    """`(passage, score)`: two things, of which only the second is a number."""
    return len(value) == 2 and is_number(value[1]) and not is_number(value[0])


def _has_text(value: object) -> bool:
    return any(isinstance(getattr(value, key, None), str) for key in TEXT_KEYS) or hasattr(
        value, "node"
    )


def _passage(item: object, column: str, place: Place, depth: int = 0) -> Passage:
    if isinstance(item, Passage):
        item = {
            "text": item.text,
            "id": item.id,
            "score": item.score,
            "page": item.page,
            "doc": item.document,
        }
    if isinstance(item, (str, int, float)) or item is None:
        return Passage(as_text(item, column, place))
    if is_list(item):
        if not _is_scored(item):
            raise _unreadable(item, column, place)
        return replace(
            _passage(item[0], column, place, depth), score=as_number(item[1], column, place)
        )
    found = _fields(item)
    key = next((key for key in TEXT_KEYS if found.get(key) is not None), None)
    document = _document(found, key)
    page, own_id = _page(found), _named(found, _ID_KEYS)
    score = next((found[name] for name in _SCORE_KEYS if found.get(name) is not None), None)
    if key is None and page is None and own_id is None and document is None:
        raise _unreadable(item, column, place)
    inner = Passage()
    text = found[key] if key else None
    if text is not None and not isinstance(text, str):
        if depth > 4 or isinstance(text, (list, tuple, bool)):
            raise _unreadable(item, column, place)
        inner = _passage(text, column, place, depth + 1)
    page, document = page or inner.page, document or inner.document
    return Passage(
        text=valid_text(text).strip() if isinstance(text, str) else inner.text,
        id=own_id or inner.id or (place_id(document, page) if document else None),
        score=as_number(score, column, place) if score is not None else inner.score,
        page=page,
        document=document,
    )


def _fields(item: object) -> dict[str, object]:
    """What a dict or an object says of a passage, its metadata included; what the item itself says counts first."""
    if is_mapping(item):
        own = {str(key): value for key, value in item.items() if value is not None}
    else:
        own = {key: value for key in _KEYS if (value := getattr(item, key, None)) is not None}
        own = {key: value for key, value in own.items() if not callable(value)}
    fields: dict[str, object] = {}
    for key in _METADATA_KEYS:
        about = own.get(key)
        if is_mapping(about):
            fields |= _fields(about)
    return fields | own


def _page(found: Mapping[str, object]) -> str | None:
    """`page_number`, else `page_label`, else `page`: the last is 0-based in many loaders."""
    return _named(found, next(([key] for key in PAGE_KEYS if key in found), list[str]()))


def _document(found: Mapping[str, object], text_key: str | None) -> str | None:
    return _named(found, [key for key in DOCUMENT_KEYS if key != text_key])


def _named(found: Mapping[str, object], names: Iterable[str]) -> str | None:
    """The first of these that is an id: text or a number, and not `N/A`."""
    for name in names:
        value = found.get(name)
        usable = (
            isinstance(value, (str, int, float)) and not isinstance(value, bool) and value == value
        )
        if usable and (text := clean_id(value)):
            return text
    return None


def _unreadable(item: object, column: str, place: Place) -> InputError:
    if is_mapping(item):
        found = f"with the keys {', '.join(str(key) for key in list(item)[:8]) or '(none)'}"
        expected = f"its text under one of {', '.join(TEXT_KEYS[:-1])}"
    else:
        found = f"of type {type(item).__name__}"
        expected = f"text, a dict or an object with {', '.join(TEXT_KEYS[:3])}"
    return InputError(f'{place}, column "{column}": found a passage {found}, expected {expected}')


def clean_id(value: object) -> str:
    """An id or page as text: `34`, `34.0` and `" 34"` are the page "34"; what says that there is none is ""."""
    if isinstance(value, str):
        text = _WHOLE.sub(r"\1", valid_text(value).strip())
        return "" if values.has_no_value(text) else text
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise ValueError(
            f"expected an id, got {'a set' if isinstance(value, set) else repr(value)[:60]}"
        )
    return values.number_to_text(value)


def place_id(document: str | None, page: str | None) -> str:
    """The id of a page of a document: `file.pdf#34`; of what is known, where one is missing."""
    return f"{document}#{page}" if document and page else page or document or ""


def as_ids(value: object, column: str, place: Place) -> tuple[str, ...]:
    """Ids of pages or documents, best first; one without a value (`N/A`) keeps its rank as ""."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = values.parse_literal(value, column, place)
    if values.is_set(value):
        raise place.error(column, value, "a list, best first", "a set has no order")
    return tuple(
        one for item in values.items_of(value, column, place) for one in _ids(item, column, place)
    )


def as_labels(value: object, column: str, place: Place) -> dict[str, float]:
    """The grade of each relevant id: from a list (each 1), `{id: grade}`, `{"doc", "pages"}`, or a list of these."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = values.parse_literal(value, column, place)
    grades: dict[str, float] = {}
    if (
        is_mapping(value)
        and not any(key in value for key in (*PAGE_KEYS, "pages"))  # else the page of a document
        and not any(isinstance(value.get(key), str) for key in (*DOCUMENT_KEYS, *_ID_KEYS))
    ):
        for key, given in value.items():
            if is_list(given):  # {document: [pages]}
                grades |= {
                    place_id(str(key).strip(), one): 1.0 for one in as_ids(given, column, place)
                }
            elif (grade := as_number(given, column, place)) is not None:
                grades[str(key).strip()] = grade
        return {key: grade for key, grade in grades.items() if not values.has_no_value(key)}
    for item in values.items_of(value, column, place):
        grade = as_number(item.get("grade", 1), column, place) if is_mapping(item) else 1.0
        grades |= dict.fromkeys(_ids(item, column, place), 1.0 if grade is None else grade)
    grades.pop("", None)
    return grades


def _ids(item: object, column: str, place: Place) -> list[str]:
    """The ids that one item names: `{"doc", "pages": [..]}` names several."""
    if isinstance(item, Passage):
        return [passage_id(item)]
    if is_mapping(item) or (
        not isinstance(item, (str, int, float, type(None))) and _has_text(item)
    ):
        found = _fields(item)
        document = _document(found, None)
        if "pages" in found:
            return [place_id(document, page) for page in as_ids(found["pages"], column, place)]
        page = _page(found)
        if document or page:
            return [place_id(document, page)]
        return [_named(found, (*_ID_KEYS, *_NAME_KEYS, *TEXT_KEYS)) or ""]
    try:
        return [clean_id(item)]
    except ValueError:
        if place.live:
            return [valid_text(str(item)).strip()]
        raise place.error(column, item, "an id or a page") from None


def passage_id(passage: Passage) -> str:
    """What a ranking calls a passage: its page within its document, its page, or else its own id; "" for none."""
    return (
        place_id(passage.document, passage.page)
        if passage.page
        else passage.id or passage.document or ""
    )


def as_sources(value: object, column: str, place: Place) -> tuple[str, ...]:
    """What the bot named as its sources, as text: `manual.pdf#34 (https://…)`.

    >>> as_sources([{"doc": "psoc.pdf", "page": 0, "url": "https://x.org/p"}], "sources", LIVE)
    ('psoc.pdf#0 (https://x.org/p)',)
    """
    return tuple(_source(item, column, place) for item in values.items_of(value, column, place))


def _source(item: object, column: str, place: Place) -> str:
    if not is_mapping(item) and not isinstance(item, Passage) and not _has_text(item):
        try:
            return as_text(item, column, place)
        except InputError:
            if place.live:
                return valid_text(str(item)).strip()
            raise
    if isinstance(item, Passage):
        return passage_id(item) or item.text
    found = _fields(item)
    url = found.get("url")
    document = _named(
        found, (*(key for key in DOCUMENT_KEYS if key != "url"), *_NAME_KEYS, *_ID_KEYS)
    )
    name = place_id(document or (url if isinstance(url, str) else None), _page(found))
    if not name:
        return _named(found, TEXT_KEYS) or ""
    return (
        f"{name} ({url})" if isinstance(url, str) and url and document and url != document else name
    )


def align_labels(labels: Mapping[str, float], retrieved: Iterable[str]) -> Mapping[str, float]:
    """The labels under the names that the ranking uses: `manual.pdf:34` and `manual#34` mean `manual.pdf#34`. A bare
    page means that page of the one document there is; with several documents it names none of their pages."""
    known = isinstance(retrieved, dict)
    found: Collection[str] = (
        cast("dict[str, object]", retrieved) if known else dict.fromkeys(retrieved)
    )
    if all(label in found for label in labels) or not (
        names_pages("".join(found)) or names_pages("".join(labels))
    ):
        return labels
    places = {one: page_parts(one) for one in found if one}
    wanted = {label: page_parts(label) for label in labels if label not in found}
    single = (
        len(
            {
                document_stem(document)
                for document, _ in (*places.values(), *wanted.values())
                if document
            }
        )
        <= 1
    )

    def name(label: str) -> str:
        document, page = wanted[label]
        for one, (other, number) in places.items():
            if page == number and (
                document_stem(document) == document_stem(other) if document and other else single
            ):
                return one
        return label

    return {label if label in found else name(label): grade for label, grade in labels.items()}


def names_pages(joined: str) -> bool:
    """Whether one of these ids may be that of a page. They are joined, as a look at each of them takes ten times as long."""
    return "#" in joined or ":" in joined


def page_parts(name: str) -> Where:
    match = _WITH_PAGE.match(name)
    return (match["document"], (match["any"] or match["digits"]).strip()) if match else (None, name)


def document_stem(document: str) -> str:
    """`docs/Manual.pdf` and `manual` are one document."""
    name = document.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower()
    return re.sub(r"\.[a-z]{2,4}\d?$", "", name)
