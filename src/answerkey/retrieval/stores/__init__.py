"""Vector stores: their rows become chunks, with text and page under the usual names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_mapping
from answerkey.config.retrieval_tables import IdStyle, StoreTable
from answerkey.errors import InputError
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.fuse import Top
from answerkey.retrieval.page_ids import name_page
from answerkey.retrieval.search_index import order_by_page
from answerkey.types import Passage


def make_chunks(
    passages: Sequence[Passage], keys: Sequence[Hashable], ids: IdStyle = "auto"
) -> tuple[list[Chunk], dict[Hashable, int]]:
    """The chunks, ordered by page, and for each key of a row its place among them."""
    pages = _name_rows(passages, keys, ids)
    order = order_by_page(pages)
    chunks = [
        Chunk(
            id=f"{pages[n]}-{keys[n]}",
            text=passages[n].text,
            page=pages[n],
            document=passages[n].document or "",
            start=0,
            end=len(passages[n].text),
            number=passages[n].page or "",
        )
        for n in order
    ]
    return chunks, {keys[n]: position for position, n in enumerate(order)}


def _name_rows(passages: Sequence[Passage], keys: Sequence[Hashable], ids: IdStyle) -> list[str]:
    """The page id of each row.

    "auto" is the page, and `file.pdf#34` where the rows come from several documents. A row without
    a page takes its document or its own id; one in a document that has pages names no page: "".
    """
    style = ids
    if ids == "auto":
        several = len({passage.document for passage in passages}) > 1
        style = "document#page" if several else "page"
    # In a document with pages, a row without one (`N/A`) would otherwise pass for a page of its own.
    paged = {passage.document for passage in passages if passage.page}
    names: list[str] = []
    for passage, key in zip(passages, keys, strict=True):
        if passage.page or (style == "document" and passage.document):
            names.append(name_page(passage.document, passage.page, style))
        elif passage.document in paged:
            names.append("")
        elif style == "document#page":
            names.append(passage.document or passage.id or str(key))
        else:
            names.append(passage.id or str(key))
    return names


def passage_of_row(row: Mapping[str, object], settings: StoreTable, where: str) -> Passage:
    """The passage of one row; `where` names the row in errors."""
    fields = dict(row)
    if settings.text_field is not None:
        fields["text"] = _read_field(row, settings.text_field, "text_field", where)
    if settings.page_field is not None:
        fields["page_number"] = _read_field(row, settings.page_field, "page_field", where)
    try:
        passage = as_passages(fields, "text", Place(where))[0]
    except InputError:
        # The error below says more: the fields of the row and the setting that helps.
        passage = Passage()
    # With text_field, an empty text is simply an empty row.
    if not passage.text and settings.text_field is None:
        raise InputError(
            f"{where} has the fields {', '.join(row) or '(none)'}; expected its text under one of "
            'the usual names: set text_field, such as text_field = "body"'
        )
    return passage


def _read_field(row: Mapping[str, object], path: str, setting: str, where: str) -> object:
    """`metadata.page` is the field `page` in `metadata`; a field of that very name counts first."""
    if path in row:
        return row[path]
    value: object = row
    for name in path.split("."):
        if not is_mapping(value) or name not in value:
            raise InputError(
                f'{where} has the fields {", ".join(row) or "(none)"}; expected "{path}": '
                f"set {setting}"
            )
        value = value[name]
    return value


def top_of_hits(hits: Sequence[Sequence[tuple[float, int]]], pool: int) -> Top:
    """The (score, chunk) hits of each question as arrays: best first, then by place."""
    chunk = np.full((len(hits), pool), -1, np.int64)
    score = np.full((len(hits), pool), -np.inf)
    for row, pairs in enumerate(hits):
        # Places follow the page ids, so equal scores are in trec_eval's order.
        ordered = sorted((-value, place) for value, place in pairs)
        chunk[row, : len(ordered)] = [place for _, place in ordered]
        score[row, : len(ordered)] = [-negative for negative, _ in ordered]
    return Top(chunk, score)
