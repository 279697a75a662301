"""`evaluate` on many rows: no slower than the command line, and no more memory than the data needs."""

from __future__ import annotations

import gc
import json
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak

METRICS = ["exact_match", "keyword_recall", "token_f1", "answer_length"]


def rows(count: int) -> list[dict[str, Any]]:
    chosen = random.Random(1)
    words = [f"word{n}" for n in range(2000)]

    def text(length: int) -> str:
        return " ".join(chosen.choices(words, k=length))

    return [
        {
            "id": f"q{n}",
            "question": text(10),
            "expected": text(15),
            "answer": text(25),
            "contexts": [text(40)],
        }
        for n in range(count)
    ]


@pytest.mark.slow
def test_no_slower_than_the_command_line(tmp_path: Path, cli: Any) -> None:
    data = rows(5_000)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    ak.evaluate(data[:10], METRICS, progress=False)
    began = time.process_time()
    run = ak.evaluate(data, METRICS, progress=False)
    assert run.summary.mean
    ours = time.process_time() - began
    began = time.process_time()
    assert (
        cli(
            "score",
            path,
            "--metrics",
            ",".join(METRICS),
            "--out",
            tmp_path,
            "--no-charts",
            "--quiet",
        ).code
        == 0
    )
    assert ours <= time.process_time() - began


def test_memory_within_three_times_the_data() -> None:
    ak.evaluate(rows(10), METRICS, progress=False)
    tracemalloc.start()
    try:
        data = rows(2_000)
        gc.collect()
        tracemalloc.reset_peak()
        run = ak.evaluate(data, METRICS, progress=False)
        gc.collect()
        size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(run) == 2_000
    assert peak <= 3 * size
