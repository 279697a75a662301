"""The same content gives the same case and response, under every name and shape, in every format and live."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerkey.api.rows import cases_of
from answerkey.cases import read_cases, read_responses
from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS
from answerkey.coerce.labels import as_labels
from answerkey.coerce.passages import as_passages, as_sources
from answerkey.coerce.values import LIVE, Place
from answerkey.targets.respond import as_response
from answerkey.types import Case, Passage, Response

words = (
    st.text("abcdeé fg", min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
    .map(lambda text: f"w{text}")
)
ids = st.integers(1, 500).map(str) | st.sampled_from(["manual.pdf#3", "a-7", "intro"])
numbers = st.integers(0, 50) | st.floats(0, 50).map(lambda number: round(number, 3))


@dataclass
class Document:
    """As LangChain's: the text and its metadata as attributes."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Any:  # as pydantic models have it
        return iter([("page_content", self.page_content)])


@dataclass
class Node:
    text: str
    metadata: dict[str, Any]


@dataclass
class NodeWithScore:
    node: Node
    score: float


# Each way of giving one passage: its content to a JSON value.
SHAPES: dict[str, Callable[[str, str, str, float], Any]] = {
    "text": lambda text, doc, page, score: {"text": text, "source": doc, "page": page, "score": score},
    "content": lambda text, doc, page, score: {"content": text, "doc": doc, "page_label": page, "score": score},
    "page_content": lambda text, doc, page, score: {"page_content": text, "metadata": {"source": doc, "page_number": page, "page": 0}, "score": score},
    "document": lambda text, doc, page, score: {"document": text, "filename": doc, "page_number": int(page), "score": score},
    "chunk": lambda text, doc, page, score: {"chunk": {"text": text, "metadata": {"file": doc, "page": page}}, "score": score},
    "passage": lambda text, doc, page, score: {"passage": text, "metadata": {"document_id": doc, "page_number": page}, "similarity": score},
    "pair": lambda text, doc, page, score: [{"text": text, "url": doc, "page": page}, score],
    "node": lambda text, doc, page, score: {"node": {"text": text, "metadata": {"file_name": doc, "page_label": page}}, "score": score},
    "payload": lambda text, doc, page, score: {"id": None, "score": score, "payload": {"text": text, "doc": doc, "page": page}},
}  # fmt: skip
OBJECTS: dict[str, Callable[[str, str, str, float], Any]] = {
    "Passage": lambda text, doc, page, score: Passage(text, None, score, page, doc),
    "LangChain": lambda text, doc, page, score: (
        Document(text, {"source": doc, "page_number": page, "page": 0}),
        score,
    ),
    "LlamaIndex": lambda text, doc, page, score: NodeWithScore(
        Node(text, {"file_name": doc, "page_label": page}), score
    ),
    "namespace": lambda text, doc, page, score: SimpleNamespace(
        content=text, meta={"source": doc, "page": page}, score=score
    ),
}


@st.composite
def rows(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row under our own names, and the same row under any of the accepted ones."""
    passage = st.tuples(words, st.just("manual.pdf"), st.integers(1, 90).map(str), numbers)
    contents = draw(st.lists(passage, max_size=3))
    values: dict[str, st.SearchStrategy[Any]] = {
        "id": words,
        "expected": words | st.lists(words, min_size=1, max_size=3),
        "relevant": st.lists(ids, max_size=3, unique=True),
        "type": words,
        "expected_route": words,
        "acceptable_routes": st.lists(words, max_size=2),
        "priority": words,
        "note": words,
        "tags": st.lists(words, max_size=2),
        "history": st.lists(st.fixed_dictionaries({"user": words, "answer": words}), max_size=2),
        "answer_criteria": st.fixed_dictionaries(
            {"must_contain": st.lists(words, min_size=1, max_size=2)}
        ),
        "route": words,
        "sources": st.lists(words, max_size=2),
        "retrieved": st.lists(ids, max_size=4),
        "response_time": numbers,
        "usage": st.fixed_dictionaries({"prompt_tokens": st.integers(0, 99)}),
        "prompt_tokens": st.integers(0, 99),
        "completion_tokens": st.integers(0, 99),
        "cost": numbers,
    }
    plain = {name: draw(value) for name, value in values.items() if draw(st.booleans())}
    plain |= {"question": draw(words), "answer": draw(words)}
    shape, named = draw(st.sampled_from(list(SHAPES))), dict(plain)
    plain["contexts"] = [SHAPES["text"](*content) for content in contents]
    named["contexts"] = [SHAPES[shape](*content) for content in contents]
    return plain, {draw(st.sampled_from(COLUMNS[name])): value for name, value in named.items()}


def write(folder: Path, name: str, row: dict[str, Any]) -> Path:
    path = folder / name
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in row.items()
    }
    if name.endswith(".csv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([texts.keys(), texts.values()])
    elif name == "nested.parquet":
        pq.write_table(pa.Table.from_pylist([row]), path)
    elif name.endswith(".parquet"):
        flat = {
            key: row[key] if isinstance(row[key], (str, int, float)) else texts[key] for key in row
        }
        pq.write_table(pa.Table.from_pylist([flat]), path)
    else:
        path.write_text(json.dumps([row] if name.endswith(".json") else row), encoding="utf-8")
    return path


def without_place(case: Case) -> Case:
    return replace(case, source_file=None, id=case.id if "#" not in case.id else "")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows())
def test_every_name_and_shape_in_every_format(
    tmp_path: Path, both: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    plain, named = both
    (expected,) = map(without_place, cases_of([plain]))
    assert expected.recorded is not None
    assert without_place(cases_of([named])[0]) == expected
    for name in ("a.json", "a.jsonl", "a.csv", "a.parquet"):
        path = write(tmp_path, name, named)
        (case,) = read_cases([path])
        assert without_place(case) == expected, name
        if "id" in plain:
            ((key, response),) = read_responses(path)
            assert (key, response) == (expected.id, expected.recorded), name
    try:  # lists and structs as columns, where Arrow has a type for them
        nested = write(tmp_path, "nested.parquet", named)
    except (pa.ArrowException, NotImplementedError):
        nested = None
    if nested is not None:
        assert without_place(next(iter(read_cases([nested])))) == expected
    of_response = {alias for column in RESPONSE_COLUMNS for alias in COLUMNS[column]}
    live = as_response({key: value for key, value in named.items() if key in of_response})
    assert replace(live, extra={}) == expected.recorded


@pytest.mark.parametrize("column", COLUMNS)
def test_every_alias_alone(column: str, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "question": "What?", "expected": ["a", "b"], "answer": "yes", "contexts": ["one", "two"], "relevant": ["34", "35"], "type": "t",
        "id": "x1", "acceptable_routes": ["a"], "tags": ["a"], "history": [{"user": "a", "answer": "b"}], "retrieved": ["3"],
        "answer_criteria": {"must_contain": ["a"]}, "sources": ["a", "b"], "response_time": 1.5, "usage": {"prompt_tokens": 3},
        "prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5, "criteria_threshold": 0.5,
        "max_calls": 3, "tools": [{"name": "search", "arguments": {"city": "Oslo"}}], "expected_tools": [["a", "b"], ["c"]],
    }  # fmt: skip
    value = values.get(column, "text")
    cases: list[Case] = []
    for alias in COLUMNS[column]:
        row = {"question": "What?", alias: value} if column != "question" else {alias: value}
        cases += [without_place(case) for case in cases_of([row])]
        for name in ("a.json", "a.csv", "a.parquet"):
            cases += [without_place(case) for case in read_cases([write(tmp_path, name, row)])]
    assert all(case == cases[0] for case in cases)
    assert cases[0] != Case("", "What?") or column == "question"


@pytest.mark.parametrize("shape", [*SHAPES, *OBJECTS])
def test_every_shape_of_a_passage(shape: str) -> None:
    made = {**SHAPES, **OBJECTS}[shape]("Return within 30 days.", "manual.pdf", "34", 0.5)
    wanted = (Passage("Return within 30 days.", "manual.pdf#34", 0.5, "34", "manual.pdf"),)
    assert as_passages([made]) == wanted
    assert as_passages(made) == wanted
    assert as_response({"answer": "x", "source_documents": [made]}).passages == wanted
    assert cases_of([{"question": "x", "contexts": [made]}])[0].recorded == Response(
        passages=wanted
    )


@pytest.mark.parametrize(
    ("given_", "labels"),
    [
        (["34"], {"34": 1}), ([34, 35.0, " 36"], {"34": 1, "35": 1, "36": 1}), ("34", {"34": 1}), ("34, 35", {"34": 1, "35": 1}),
        ("['34', '35']", {"34": 1, "35": 1}), ({"34": 2, "35": 0}, {"34": 2, "35": 0}), ('{"34": 2}', {"34": 2}),
        ([{"doc": "manual.pdf", "page": 34}], {"manual.pdf#34": 1}), ({"doc": "manual.pdf", "pages": [34, 35]}, {"manual.pdf#34": 1, "manual.pdf#35": 1}),
        ({"manual.pdf": [3, 4]}, {"manual.pdf#3": 1, "manual.pdf#4": 1}), (["N/A", "", None, "7"], {"7": 1}),
        ([{"doc": "m.pdf", "page": 1, "grade": 3}], {"m.pdf#1": 3}), ("{'b', 'a'}", {"a": 1, "b": 1}),
    ],
)  # fmt: skip
def test_labels_mean_what_they_say(given_: Any, labels: dict[str, float]) -> None:
    assert as_labels(given_, "relevant", Place("a.csv", 2)) == labels


def test_sources_keep_document_page_and_url() -> None:
    listed = [
        {"doc": "psoc.pdf", "page": 0, "url": "https://x.org/p"}, {"title": "Guide", "page": 3}, {"url": "https://x.org"}, "a.pdf, page 3",
        Document("text", {"source": "m.pdf", "page_number": 2}),
    ]  # fmt: skip
    assert as_sources(listed, "sources", LIVE) == (
        "psoc.pdf#0 (https://x.org/p)",
        "Guide#3",
        "https://x.org",
        "a.pdf, page 3",
        "m.pdf#2",
    )


@pytest.mark.parametrize("bad", [object(), {"mood": 1}, [["a", "b"]], [object()]])
def test_an_unreadable_passage_names_its_type_and_never_its_repr(bad: Any) -> None:
    error = as_response({"answer": "x", "contexts": bad}).error
    assert error is not None
    assert 'column "contexts": found a passage' in error
    assert " at 0x" not in error
