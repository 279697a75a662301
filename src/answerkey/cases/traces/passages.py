"""The passages that a span retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from answerkey.cases.traces.families import NAMES, first_text, first_value, gather_list, nest_names
from answerkey.cases.traces.messages import parse_value
from answerkey.cases.traces.records import Span
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import LIVE, is_list, is_mapping, table_of
from answerkey.errors import InputError

_DOCUMENTS: dict[str, list[str]] = NAMES["documents"]
_MOST_PASSAGES = 200
_LONGEST_PASSAGE = 50_000


def passages_of(
    span: Span, table: Mapping[str, object], output: object, is_retriever: bool
) -> list[dict[str, object]]:
    """The passages as rows with text, id, score, page and document; empty where there are none."""
    # The later names are general ones, which only a retriever uses for passages.
    for name in _DOCUMENTS["lists"][: None if is_retriever else 3]:
        listed = gather_list(table, name) or parse_value(table.get(name)).value
        rows = _rows(listed)
        if rows:
            return rows
    rows = _rows(_event_documents(span))
    if rows:
        return rows
    if is_retriever and is_list(output):
        return _rows(output)
    state = table_of(output)
    for key in _DOCUMENTS["keys"][: None if is_retriever else 3]:
        if is_list(state.get(key)):
            rows = _rows(state.get(key))
        else:
            rows = []
        if rows:
            return rows
    return []


def _event_documents(span: Span) -> list[object]:
    documents: list[object] = []
    for event in span.events:
        if event.name in _DOCUMENTS["event_names"]:
            text = first_text(event.attributes, _DOCUMENTS["event_text"])
            if text:
                documents.append(
                    {
                        "text": text,
                        "id": first_text(event.attributes, _DOCUMENTS["event_id"]) or None,
                        "score": first_value(event.attributes, _DOCUMENTS["event_score"]),
                    }
                )
    return documents


def _rows(documents: object) -> list[dict[str, object]]:
    if not is_list(documents):
        return []
    rows: list[dict[str, object]] = []
    for document in documents[:_MOST_PASSAGES]:
        try:
            passages = as_passages([_plain_document(document)], "contexts", LIVE)
        except InputError:  # not every list of an output holds passages
            continue
        for passage in passages:
            fields = {**asdict(passage), "text": passage.text[:_LONGEST_PASSAGE]}
            rows.append({key: value for key, value in fields.items() if value is not None})
    return rows


def _plain_document(document: object) -> object:
    """A document without the wrappers of tracers: `{"document": {"content": …}}`."""
    if is_mapping(document):
        if any("." in str(key) for key in document):
            document = nest_names(document)
        inner = table_of(document).get("document")
        if is_mapping(inner):
            document = inner
        fields = dict(table_of(document))
        kwargs = fields.get("kwargs")
        if "lc" in fields and is_mapping(kwargs):
            fields = dict(kwargs)
        metadata = parse_value(fields.get("metadata")).value
        if is_mapping(metadata):
            fields["metadata"] = metadata
        return fields
    return document
