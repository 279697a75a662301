"""Ids of pages and documents: labels of cases, rankings of bots, and how the two are matched."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, cast

from answerkey.coerce.passage_fields import (
    DOCUMENT_KEYS,
    ID_KEYS,
    NAME_KEYS,
    PAGE_KEYS,
    TEXT_KEYS,
    clean_id,
    collect_fields,
    document_of,
    first_id,
    has_text,
    page_of,
    passage_id,
    place_id,
)
from answerkey.coerce.values import (
    Place,
    as_number,
    has_no_value,
    is_list,
    is_mapping,
    is_set,
    items_of,
    parse_literal,
    valid_text,
)
from answerkey.types import Passage

_WITH_PAGE = re.compile(
    r"(?P<document>.+?)(?:#(?:page=|p\.?)?(?P<any>[^#/]+)|:(?:p\.?)?(?P<digits>\d+))$"
)
# `.pdf`, `.docx`, `.mp4`; a longer part after a dot belongs to the name.
_FILE_ENDING = re.compile(r"\.[a-z]{2,4}\d?$")


def as_ids(value: object, column: str, place: Place) -> tuple[str, ...]:
    """Ids of pages or documents, best first; one without a value (`N/A`) keeps its rank as ""."""
    value = _unpack_object(value, column, place)
    if is_set(value):
        # The order of a set would make the ranking random.
        raise place.error(column, value, "a list, best first", "a set has no order")
    items = items_of(value, column, place)
    return tuple(name for item in items for name in ids_of_item(item, column, place))


def as_labels(value: object, column: str, place: Place) -> dict[str, float]:
    """The grade of each relevant id: from a list (each 1), `{id: grade}`, `{"doc", "pages"}`, or a
    list of these."""
    value = _unpack_object(value, column, place)
    if is_mapping(value) and not _names_a_page(value):
        return _grades_of_table(value, column, place)
    grades: dict[str, float] = {}
    for item in items_of(value, column, place):
        if is_mapping(item):
            grade = as_number(item.get("grade", 1), column, place)
        else:
            grade = 1.0
        names = ids_of_item(item, column, place)
        grades |= dict.fromkeys(names, 1.0 if grade is None else grade)
    grades.pop("", None)  # an item without a value, such as "N/A", labels nothing
    return grades


def _unpack_object(value: object, column: str, place: Place) -> object:
    if isinstance(value, str) and value.strip().startswith("{"):
        return parse_literal(value, column, place)
    return value


def _names_a_page(table: Mapping[str, object]) -> bool:
    """Whether an object is the page of a document, and not `{id: grade}`."""
    if any(key in table for key in (*PAGE_KEYS, "pages")):
        return True
    return any(isinstance(table.get(key), str) for key in (*DOCUMENT_KEYS, *ID_KEYS))


def _grades_of_table(table: Mapping[str, object], column: str, place: Place) -> dict[str, float]:
    """The grades of `{id: grade}` and of `{document: [pages]}`."""
    grades: dict[str, float] = {}
    for key, value in table.items():
        name = str(key).strip()
        if is_list(value):
            grades |= {place_id(name, page): 1.0 for page in as_ids(value, column, place)}
            continue
        grade = as_number(value, column, place)
        if grade is not None:
            grades[name] = grade
    return {name: grade for name, grade in grades.items() if not has_no_value(name)}


def ids_of_item(item: object, column: str, place: Place) -> list[str]:
    """The ids that one item names: `{"doc", "pages": [..]}` names several."""
    if isinstance(item, Passage):
        return [passage_id(item)]
    if is_mapping(item) or _is_passage_object(item):
        return _ids_of_fields(collect_fields(item), column, place)
    try:
        return [clean_id(item)]
    except ValueError:
        # A live bot may return anything; its text is better than no ranking.
        if place.live:
            return [valid_text(str(item)).strip()]
        raise place.error(column, item, "an id or a page") from None


def _is_passage_object(item: object) -> bool:
    return not isinstance(item, (str, int, float, type(None))) and has_text(item)


def _ids_of_fields(fields: Mapping[str, object], column: str, place: Place) -> list[str]:
    document = document_of(fields)
    if "pages" in fields:
        return [place_id(document, page) for page in as_ids(fields["pages"], column, place)]
    page = page_of(fields)
    if document or page:
        return [place_id(document, page)]
    return [first_id(fields, (*ID_KEYS, *NAME_KEYS, *TEXT_KEYS)) or ""]


class PagePlace(NamedTuple):
    """A page, and its document where an id names one."""

    document: str | None
    page: str

    @property
    def stem(self) -> str | None:
        if self.document:
            return document_stem(self.document)
        return None


def page_parts(name: str) -> PagePlace:
    """The document and the page of an id: `manual.pdf#34`, `manual.pdf:34`, or `34` alone."""
    match = _WITH_PAGE.match(name)
    if match is None:
        return PagePlace(None, name)
    return PagePlace(match["document"], (match["any"] or match["digits"]).strip())


def document_stem(document: str) -> str:
    """`docs/Manual.pdf` and `manual` are one document."""
    name = document.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower()
    return _FILE_ENDING.sub("", name)


def names_pages(joined_ids: str) -> bool:
    """Whether one of these ids may be that of a page.

    They are joined into one text, as a look at each of them takes ten times as long.
    """
    return "#" in joined_ids or ":" in joined_ids


def align_labels(labels: Mapping[str, float], retrieved: Iterable[str]) -> Mapping[str, float]:
    """The labels under the names that the ranking uses.

    `manual.pdf:34` and `manual#34` mean `manual.pdf#34`. A bare page means that page of the one
    document there is; with several documents it names none of their pages.
    """
    # A caller that aligns many labels with one ranking passes a dict, which needs no copy.
    is_table = isinstance(retrieved, dict)
    ranking: Collection[str]
    if is_table:
        ranking = cast("dict[str, object]", retrieved)
    else:
        ranking = dict.fromkeys(retrieved)
    # The usual case, decided without taking ids apart.
    if all(label in ranking for label in labels):
        return labels
    if not names_pages("".join(ranking)) and not names_pages("".join(labels)):
        return labels
    ranked = {name: page_parts(name) for name in ranking if name}
    unmatched = {label: page_parts(label) for label in labels if label not in ranking}
    # One document in all makes a bare page unambiguous.
    stems = {place.stem for place in (*ranked.values(), *unmatched.values())} - {None}
    names = {
        label: _find_page(place, ranked, len(stems) <= 1) for label, place in unmatched.items()
    }
    return {names.get(label) or label: grade for label, grade in labels.items()}


def _find_page(
    label: PagePlace, ranked: Mapping[str, PagePlace], is_single_document: bool
) -> str | None:
    for name, place in ranked.items():
        if label.page != place.page:
            continue
        has_documents = label.document is not None and place.document is not None
        if label.stem == place.stem if has_documents else is_single_document:
            return name
    return None
