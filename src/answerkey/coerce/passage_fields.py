"""The keys and attributes that hold the text, page, document, id and score of a passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from answerkey.coerce.values import has_no_value, is_mapping, number_to_text, valid_text
from answerkey.types import Passage

TEXT_KEYS = ("text", "content", "page_content", "document", "chunk", "passage", "node")
# `page` comes last: LangChain counts it from 0, and `page_label` is the printed number.
PAGE_KEYS = ("page_number", "page_label", "page")
DOCUMENT_KEYS = ("source", "doc", "file", "filename", "file_name", "document", "document_id", "url")
ID_KEYS = ("id", "doc_id", "chunk_id", "node_id", "_id", "chunk_link")
NAME_KEYS = ("title", "name")
SCORE_KEYS = ("score", "similarity", "relevance_score")
_METADATA_KEYS = ("metadata", "meta", "payload", "cmetadata", "metadata_")
_ATTRIBUTES = (
    *TEXT_KEYS,
    *PAGE_KEYS,
    *DOCUMENT_KEYS,
    *ID_KEYS,
    *SCORE_KEYS,
    *_METADATA_KEYS,
    *NAME_KEYS,
)
_WHOLE = re.compile(r"^(\d+)\.0$")  # a page, as data frames with missing values write it


def has_text(value: object) -> bool:
    """Whether an object has one of the attributes that hold a passage's text."""
    if any(isinstance(getattr(value, key, None), str) for key in TEXT_KEYS):
        return True
    return hasattr(value, "node")


def collect_fields(item: object) -> dict[str, object]:
    """The fields of a dict or an object, its metadata included; its own fields win."""
    if is_mapping(item):
        own = {str(key): value for key, value in item.items() if value is not None}
    else:
        attributes = {key: getattr(item, key, None) for key in _ATTRIBUTES}
        own = {
            key: value
            for key, value in attributes.items()
            # A method of that name, such as `document()`, holds no text.
            if value is not None and not callable(value)
        }
    fields: dict[str, object] = {}
    for key in _METADATA_KEYS:
        metadata = own.get(key)
        if is_mapping(metadata):
            fields |= collect_fields(metadata)
    return fields | own


def page_of(fields: Mapping[str, object]) -> str | None:
    """`page_number`, else `page_label`, else `page`: the last is 0-based in many loaders."""
    for key in PAGE_KEYS:
        if key in fields:
            return first_id(fields, [key])
    return None


def document_of(fields: Mapping[str, object], text_key: str | None = None) -> str | None:
    return first_id(fields, [key for key in DOCUMENT_KEYS if key != text_key])


def first_id(fields: Mapping[str, object], names: Iterable[str]) -> str | None:
    """The first of these fields that is an id: text or a number, and not `N/A`."""
    for name in names:
        value = fields.get(name)
        # The last test finds NaN.
        if not isinstance(value, (str, int, float)) or isinstance(value, bool) or value != value:
            continue
        text = clean_id(value)
        if text:
            return text
    return None


def clean_id(value: object) -> str:
    """An id or page as text: `34`, `34.0` and `" 34"` are "34"; a value such as `N/A` is ""."""
    if isinstance(value, str):
        text = _WHOLE.sub(r"\1", valid_text(value).strip())
        return "" if has_no_value(text) else text
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        if isinstance(value, set):
            kind = "a set"
        else:
            kind = repr(value)[:60]
        raise ValueError(f"expected an id, got {kind}")
    return number_to_text(value)


def place_id(document: str | None, page: str | None) -> str:
    """The id of a page of a document: `file.pdf#34`; where one is missing, the other alone."""
    if document and page:
        return f"{document}#{page}"
    return page or document or ""


def passage_id(passage: Passage) -> str:
    """The id of a passage in a ranking: its page within its document, else its own id, else ""."""
    if passage.page:
        return place_id(passage.document, passage.page)
    return passage.id or passage.document or ""
