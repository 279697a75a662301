"""A log of recorded interactions, and the laws that tests of engines hold it to."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = [
    "refund",
    "policy",
    "order",
    "leave",
    "revenue",
    "growth",
    "customer",
    "return",
    "receipt",
    "store",
    "average",
    "trend",
    "days",
    "branch",
]


def rows(count: int) -> list[dict[str, object]]:
    chance = random.Random(3)

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    return [
        {
            "id": f"i{n}",
            "question": f"{text(6)}?",
            "expected": text(8),
            "answer": f"{text(9)} RM {chance.randint(1, 9999)}.",
            "contexts": [text(8)],
            "route": chance.choice(["sales_kpi", "documents", "hr_kpi"]),
            "expected_route": "documents",
            "type": chance.choice(["kpi", "policy"]),
            "response_time": round(chance.random() * 3, 3),
        }
        for n in range(count)
    ]


def write_parquet(path: Path, made: list[dict[str, object]], row_group: int = 700) -> Path:
    import pyarrow
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.Table.from_pylist(made), path, row_group_size=row_group)
    return path


def figures(folder: Path) -> dict[str, object]:
    """summary.json without the times and places at which it was made."""
    summary = json.loads((folder / "summary.json").read_text())
    return {
        key: value
        for key, value in summary.items()
        if key not in ("timestamp", "created", "settings")
    }
