"""The same answers get the same scores and reasons in every process: Python orders a set anew in each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.local_judge.written_study import written_rows

METRICS = (
    "answer_agreement,groundedness,keyword_recall,token_f1,rouge_l,chrf,exact_match,citation_validity,"
    "abstention,politeness"
)


def scores(folder: Path, hash_seed: str) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "answerkey",
        "score",
        "cases.jsonl",
        "--metrics",
        METRICS,
        "--model",
        "none",
    ]
    subprocess.run(
        [*command, "--no-charts", "--quiet", "--name", f"seed{hash_seed}"],
        cwd=folder,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        check=True,
    )
    [results] = folder.glob(f"results/seed{hash_seed}_*/results.jsonl")
    return [json.loads(line)["scores"] for line in results.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_whatever_the_order_of_sets(tmp_path: Path) -> None:
    rows = [*written_rows("trivia")[::2], *written_rows("finance")]
    with (tmp_path / "cases.jsonl").open("w", encoding="utf-8") as out:
        for row, other in zip(rows, rows[7:], strict=False):
            passages = [other["answer"], f"{row['reference'][0]}. {row['answer'][:60]}"]
            case = {
                "question": row["question"],
                "reference_answer": row["reference"],
                "answer": row["answer"],
                "contexts": passages,
            }
            out.write(json.dumps(case) + "\n")
    first, *others = [scores(tmp_path, seed) for seed in ("1", "2", "3")]
    assert len(first) == len(rows) - 7
    assert all(set(METRICS.split(",")) == set(case) for case in first)
    assert others == [first, first]
