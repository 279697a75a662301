"""The table of accuracy against calls saved, on a few rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.measure_cascade import BANDS, measure, read_set, to_markdown

FACTS = ("1932", "1951", "Oslo", "Lima", "30 days", "red")
AGREEMENT = [
    {"question": f"Question {n}?", "reference": [fact], "answer": answer, "label": label}
    for n, fact in enumerate(FACTS)
    for answer, label in ((fact, 1), (f"not {FACTS[n - 1]}", 0))
]
SUPPORT = [
    {
        "question": "",
        "contexts": [f"The answer of sheet {n} is {fact}."],
        "answer": f"The answer of sheet {n} is {fact if supported else FACTS[n - 1]}.",
        "label": 0 if supported else 1,  # 1: not supported
    }
    for n, fact in enumerate(FACTS)
    for supported in (True, False)
]


@pytest.mark.parametrize("rows", [AGREEMENT, SUPPORT], ids=["agreement", "support"])
def test_never_asking_saves_every_call_and_a_perfect_judge_is_always_right(
    tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data = read_set(path, rows=100, seed=0)
    assert len(data.pairs) == 12
    assert sum(data.labels) == 6
    results = measure(data, right=1.0, seed=0)
    assert len(results) == len(BANDS)
    assert (results[-1].accuracy, results[-1].saved) == (1.0, 0.0)
    assert results[0].saved == 1.0
    saved = [each.saved for each in results]
    assert saved == sorted(saved, reverse=True)
    wrong = measure(data, right=0.0, seed=0)
    assert wrong[-1].accuracy == 0.0
    assert wrong[0] == results[0]  # the judge has no part in it
    assert "| mean of the sets |" in to_markdown({"rows": (12, results)})
