"""Hostile trace files: an answer or one line of error, never a crash."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.cases import read_cases
from answerkey.cases.traces.families import NAMES
from answerkey.errors import AnswerkeyError

_names = sorted(
    {
        name
        for section in ("input", "output", "tool", "tokens", "about", "documents")
        for names in NAMES[section].values()
        for name in names
    }
    | {f"{name}.0.message.content" for name in ("llm.input_messages", "llm.output_messages")}
    | {
        "gen_ai.prompt.99999999999.content",
        "gen_ai.prompt.0.role",
        "openinference.span.kind",
        "gen_ai.operation.name",
    }
)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        [
            "user",
            "AGENT",
            "LLM",
            "TOOL",
            "RETRIEVER",
            "__end__",
            '{"messages": [',
            "{'a': 1}",
            "\ud800",
        ]
    ),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "parts",
                    "messages",
                    "text",
                    "type",
                    "question",
                    "output",
                    "kwargs",
                ]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)
_spans = st.fixed_dictionaries(
    {"trace_id": st.sampled_from(["t", "u"]), "span_id": st.sampled_from(["a", "b", "c", ""])},
    optional={
        "parent_id": st.one_of(st.sampled_from(["a", "b", "zz"]), _values),
        "attributes": st.dictionaries(
            st.sampled_from(_names),
            st.one_of(_values, _values.map(lambda v: json.dumps(v, default=str))),
            max_size=5,
        ),
        "events": _values,
        "start_time": _scalars,
        "end_time": _scalars,
        "status": _values,
        "child_spans": _values,
        "scores": _values,
        "run_type": _scalars,
    },
)


# Records of the programs in `dialects.py`, and wrappers of whole traces.
_dialects = st.one_of(
    st.fixed_dictionaries(
        {"traceID": _scalars, "operationName": _scalars},
        optional={
            "spanID": _scalars,
            "references": _values,
            "startTime": _scalars,
            "duration": _values,
            "tags": _values,
            "logs": _values,
        },
    ),
    st.fixed_dictionaries(
        {
            "traceId": _scalars,
            "id": _scalars,
            "tags": st.dictionaries(st.sampled_from(_names), _values),
        },
        optional={"parentId": _values, "timestamp": _scalars, "duration": _values},
    ),
    st.fixed_dictionaries(
        {"op_name": _scalars, "trace_id": _scalars, "id": _scalars},
        optional={
            "inputs": _values,
            "output": _values,
            "exception": _values,
            "started_at": _values,
        },
    ),
    st.fixed_dictionaries(
        {"root_span_id": _scalars, "span_id": _scalars},
        optional={"span_parents": _values, "metrics": _values, "span_attributes": _values},
    ),
    st.fixed_dictionaries(
        {"info": st.dictionaries(st.sampled_from(["assessments", "trace_metadata"]), _values)},
        optional={"data": st.fixed_dictionaries({"spans": st.lists(_spans, max_size=2)})},
    ),
)


@given(st.lists(st.one_of(_spans, _values, _dialects), min_size=1, max_size=5), st.integers(0, 40))
@settings(max_examples=150)
def test_no_file_of_spans_crashes_the_reader(records: list[object], cut: int) -> None:
    records = [{"trace_id": "t", "span_id": "s", "attributes": {}}, *records]
    text = "\n".join(json.dumps(record) for record in records)
    text = text[: len(text) - cut] if cut < len(text) else text
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans.jsonl"
        path.write_text(
            text, encoding="utf-8", errors="surrogatepass" if text.isascii() else "replace"
        )
        try:
            for case in read_cases([path]):
                assert case.question
                assert case.recorded is not None
                assert case.recorded.answer is not None or case.recorded.error
        except AnswerkeyError:
            pass  # one line and an exit code
