"""Vector stores. Their rows become chunks: text and page under the usual names, or under those that the settings give."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from answerkey.coerce.passage_fields import place_id
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_mapping
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import InputError
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.fuse import Top
from answerkey.retrieval.search_index import order_of
from answerkey.types import Passage


def stored_chunks(
    passages: Sequence[Passage], keys: Sequence[Hashable]
) -> tuple[list[Chunk], dict[Hashable, int]]:
    """The chunks, ordered by page, and for each key of a row its place among them. A row without a page takes its own
    id; pages of several documents become `file.pdf#34`."""
    pages = [
        passage.page or passage.id or str(key) for passage, key in zip(passages, keys, strict=True)
    ]
    if len({passage.document for passage in passages}) > 1:
        pages = [
            place_id(one.document, one.page) or page
            for one, page in zip(passages, pages, strict=True)
        ]
    order = order_of(pages)
    chunks = [
        Chunk(
            f"{pages[n]}-{keys[n]}",
            passages[n].text,
            pages[n],
            passages[n].document or "",
            0,
            len(passages[n].text),
        )
        for n in order
    ]
    return chunks, {keys[n]: position for position, n in enumerate(order)}


def stored_passage(row: Mapping[str, object], settings: RetrievalTable, where: str) -> Passage:
    """The passage of one row; `where` names the row in errors."""
    fields = dict(row)
    if settings.store.text_field is not None:
        fields["text"] = _field(row, settings.store.text_field, "text_field", where)
    if settings.store.page_field is not None:
        fields["page_number"] = _field(row, settings.store.page_field, "page_field", where)
    try:
        passage = as_passages(fields, "text", Place(where))[0]
    except InputError:
        passage = Passage()
    if not passage.text and settings.store.text_field is None:
        raise InputError(
            f"{where} has the fields {', '.join(row) or '(none)'}; expected its text under one of the usual names: "
            'set text_field, such as text_field = "body"'
        )
    return passage


def _field(row: Mapping[str, object], path: str, setting: str, where: str) -> object:
    """`metadata.page` is the field `page` inside `metadata`; a field of that very name counts first."""
    if path in row:
        return row[path]
    value: object = row
    for name in path.split("."):
        if not is_mapping(value) or name not in value:
            raise InputError(
                f'{where} has the fields {", ".join(row) or "(none)"}; expected "{path}": set {setting}'
            )
        value = value[name]
    return value


def top_of(hits: Sequence[Sequence[tuple[float, int]]], pool: int) -> Top:
    """The hits of each question, each a score and the place of a chunk, as arrays: best first, then by place."""
    chunk = np.full((len(hits), pool), -1, np.int64)
    score = np.full((len(hits), pool), -np.inf)
    for row, found in enumerate(hits):
        pairs = sorted((-value, place) for value, place in found)
        chunk[row, : len(pairs)] = [place for _, place in pairs]
        score[row, : len(pairs)] = [-negative for negative, _ in pairs]
    return Top(chunk, score)
