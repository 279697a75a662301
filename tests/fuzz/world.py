"""The files that fuzz inputs start from: runs, a suite, and a valid example of every format that is read."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

from tests.support.stored_run import to_format1
from tests.support.viewer_world import make_run, make_sweep, plain

PROFILE: dict[str, Any] = {
    "name": "words", "version": 1, "pass": 0.5, "scale": 1, "summary": "words", "informational": ["exact_match"],
    "bands": [{"name": "good", "at": 0.5, "status": "PASSED"}, {"name": "poor", "at": 0.0, "status": "FAILED"}],
    "criteria": [{"metric": "token_f1", "weight": 1, "floor": 0.1, "required": True}, {"metric": "contains", "weight": 0.5}],
    "routes": {"sales": {"names": ["sales"], "pass": 0.4}}, "settings": {"number_close": {"tolerance": 0.02}}, "words": {"stop": ["the"]},
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": "q1", "question": "When does it open?", "expected": "At 9:00.", "answer": "It opens at 9.", "type": "time", "tags": ["a", "b"],
     "contexts": ["It opens at 9.", {"text": "Closed on Sunday.", "page": 3, "source": "a.pdf"}], "expected_route": "sales", "route": "sales",
     "relevant": {"a.pdf#3": 1, "4": 2}, "retrieved": ["a.pdf#3", "9"], "response_time": 0.5, "label": 1, "cost": 0.01},
    {"id": "q2", "question": "How much is it?", "expected": ["12 %", "0.12"], "answer": "It is 12 percent.", "label": 0, "priority": "high",
     "answer_criteria": {"must_contain": ["12"], "numerical_range": [1, 20], "regex": "1[0-9]"}, "history": [{"user": "Hi", "answer": "Hello"}],
     "criteria": [{"ask": "Names a figure.", "kind": "pass"}, {"contains": "12"}], "min_score": 0.2, "extra": {"x": [1, 2]}},
    {"id": "q3", "question": "Who is it?", "expected": "Ms. Tran", "answer": None, "error": "HTTP 503", "label": 1, "cluster": "c1"},
]  # fmt: skip
SHAPES: list[Any] = [
    ROWS, {"cases": ROWS}, {"results": ROWS}, {"time": ROWS[:1], "money": ROWS[1:2]}, {"q1": ROWS[0]}, {"q1": "At nine."},
    [{"id": "c", "sequence": [{"user": "Hi", "expected": "Hello"}, {"user": "And?", "expected": "Yes"}]}],
    [{"id": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "expected": "x"}],
    {"prompts": ["{{q}}"], "providers": ["x"], "tests": [{"vars": {"q": "Open?"}, "assert": [{"type": "contains", "value": "9", "weight": 2},
     {"type": "llm-rubric", "value": "polite"}, {"type": "not-icontains", "value": "z"}], "description": "d"}], "defaultTest": {"vars": {"a": 1}}},
]  # fmt: skip
DEEPEST_COLUMN = 150
MARKDOWN = """# Questions

## Q1: When does it open?
**Answer:** At 9:00.
**Type:** time
**Route:** sales

### Question 2
How much is it?

**Expected answer:** 12 %
- must contain: 12
**Source:** a.pdf, page 3

Q3. Who is it?
A: Ms. Tran
"""
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"
RUN = "q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 3.25 bm25\nq2 Q0 d3 1 1e0 bm25\n"
RANK_CSV = 'query_id,retrieved,relevant,config_name\nq1,"[1, 2, 3]","2;3",a\nq2,"p1,p2",p2,a\nq1,"[3]",[3],b\n'
REPLIES = (
    '{"score": 4, "reason": "mostly right"}',
    '<think>hm</think>\n```json\n{"score": "4/5", "citation_quality": 0.5, "reason": "it \\"says\\" so"}\n```',
    '{"c1": {"reason": "r", "quote": "opens at nine", "met": true}, "c2": {"score": 4, "quote": "no quote"}}',
    '[{"criterion": 1, "met": "yes"}, {"criterion": "c2", "score": "3 out of 5"}]',
    '{"better": "1", "reason": "longer"}',
    "The verdict is {'score': 3, // fine\n 'reason': 'a, b',}",
    '{"choices": [{"message": {"content": "hi", "tool_calls": []}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}',
    '{"choices": [{"message": {"content": null, "tool_calls": [{"function": {"arguments": "{\\"score\\": 1}"}}]}}]}',
    '{"error": {"message": "max_tokens is not supported", "code": "x"}}',
    '{"answer": "At nine.", "sources": [{"text": "opens at nine", "page": 3, "score": 0.9}], "route": "sales", "prompt_tokens": 12, "cost": 0.1}',
    '{"id": "q1", "answer": "At nine.", "passages": [["t", 0.5]], "retrieved": [1, "2"], "error": null, "response_time": 1}',
    '{"data": [{"embedding": [0.1, 0.2], "index": 0}, {"embedding": [0.3, 0.4], "index": 1}]}',
    '{"event_id": "e1"}\nevent: complete\ndata: ["At nine."]\n\n',
    "4", "80%", "I'm sorry, I can't.", "Mon, 16 Nov 2026 12:00:00 GMT", "30", "120",
)  # fmt: skip
CHECK: dict[str, Any] = {
    "question": "List the times", "answer": "It opens at 9 [1].", "contexts": [{"text": "opens at 9"}], "retrieval_scores": [0.5, 0.2], "run_id": "r",
}  # fmt: skip


def make_world(folder: Path) -> Path:
    """Everything below one folder: `runs` with two runs and a sweep, `suite` with a suite and its files."""
    os.environ["ANSWERKEY_CACHE"] = str(folder / "cache")
    runs, suite = folder / "runs", folder / "suite"
    # As an earlier version stored it: lines of JSON can be damaged in more ways than pages.
    to_format1(make_run(runs / "good", map(plain, range(5)), "good"))
    make_run(runs / "other", (plain(n, 2) for n in range(5)), "good")
    make_sweep(runs / "sweep_1")
    (suite / "docs").mkdir(parents=True)
    (suite / "docs" / "a.md").write_text("# Opening\nIt opens at 9.\n\n# Price\nIt is 12 %.\n")
    (suite / "docs" / "b.txt").write_text("Ms. Tran answers questions.\fPage two.")
    (suite / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (suite / "profile.toml").write_text(toml(PROFILE))
    (suite / "suite.toml").write_text(toml({"cases": ["cases.jsonl"], "profile": "profile.toml"}))
    (suite / "bot.py").write_text("def answer(question):\n    return question\n")
    return folder


def toml(value: Any) -> str:
    """A table as TOML, in one line per key; what TOML cannot hold is written as it comes, for the reader to refuse."""
    try:
        return "".join(
            f"{json.dumps(str(key))} = {_inline(item)}\n"
            for key, item in value.items()
            if item is not None
        )
    except RecursionError:
        return "a = " + "[" * 5000


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(
                f"{json.dumps(str(k))} = {_inline(v)}" for k, v in value.items() if v is not None
            )
            + " }"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(item) for item in value if item is not None) + "]"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**1000 else "1" + "0" * 5000
    return json.dumps(value, default=str)


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """Rows as Parquet; columns of mixed types, and those nested so deeply that writing them takes gigabytes, as JSON text."""
    import pyarrow
    import pyarrow.parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, list[Any]] = {}
    for name in names:
        items = [row.get(name) for row in rows]
        try:
            if _is_deeper(items, DEEPEST_COLUMN):
                raise ValueError("too deep")
            columns[name] = pyarrow.array(items)
        except (pyarrow.ArrowException, UnicodeEncodeError, OverflowError, ValueError, TypeError):
            columns[name] = [json.dumps(item) for item in items]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _is_deeper(value: Any, most: int) -> bool:
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    return most < 0 or any(_is_deeper(item, most - 1) for item in inner)
