"""Names of pages: the number, the document, or both."""

from __future__ import annotations

from answerkey.coerce.labels import page_parts
from answerkey.coerce.passage_fields import place_id
from answerkey.config.retrieval_tables import IdStyle

ID_STYLES: tuple[IdStyle, ...] = ("auto", "page", "document", "document#page")


def name_page(document: str | None, page: str | None, style: IdStyle) -> str:
    """The id of a page in this style; what is missing is left out, "" where nothing is known.

    >>> name_page("manual.pdf", "34", "page")
    '34'
    >>> name_page("manual.pdf", "34", "document#page")
    'manual.pdf#34'
    """
    if style == "page":
        return page or document or ""
    if style == "document":
        return document or page or ""
    return place_id(document, page)


def rename_id(name: str, style: IdStyle) -> str:
    """An id such as `manual.pdf#34` in this style; an id without a page stays as it is.

    >>> rename_id("manual.pdf#34", "page"), rename_id("34", "page"), rename_id("faq", "page")
    ('34', '34', 'faq')
    """
    if style not in ("page", "document"):
        return name
    document, page = page_parts(name)
    if document is None:
        return name
    return name_page(document, page, style)
