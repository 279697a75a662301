"""The values of the demo that no refactoring may change. Write them again: `python -m tests.support.golden DEMO_FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "demo" / "golden.json"
_VERDICT = ("status", "score", "quality", "route_score", "band", "passed")
_RATES = (
    "user_satisfaction_rate",
    "pass_rate",
    "pass_rate_ci95",
    "route_accuracy",
    "route_accuracy_ci95",
)
_FIGURES = ("mean", "n", "of", "ci95", "sd", "min", "max")
_COMPARED = ("mean_a", "mean_b", "diff", "ci95", "t", "p", "p_holm", "wilcoxon_p", "d_pooled", "d_z",
             "wins", "losses", "ties")  # fmt: skip


def demo_values(folder: Path) -> dict[str, Any]:
    """The figures of the demo, without times, paths and wording."""
    runs = {
        path.parent.name.rsplit("_", 2)[0]: path.parent
        for path in sorted(folder.glob("*/results.jsonl"))
    }
    comparison = json.loads((folder / "comparison" / "comparison.json").read_text(encoding="utf-8"))
    return {
        "runs": {name: _run_values(run) for name, run in runs.items()},
        "comparison": {
            "verdict": comparison["verdict"],
            "changed": {
                name: comparison["changed"][name]
                for name in ("cases", "answers", "profile", "judge", "embedding")
            },
            "identical_answers": comparison["identical_answers"],
            "mcnemar_p": comparison["mcnemar_p"],
            "smallest_detectable": comparison["smallest_detectable"],
            "metrics": {
                name: {key: metric[key] for key in _COMPARED}
                for name, metric in comparison["metrics"].items()
            },
        },
    }


def _run_values(run: Path) -> dict[str, Any]:
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return {
        "cases": {row["id"]: _case_values(row) for row in map(json.loads, lines)},
        "totals": summary["totals"]["statuses"],
        "rates": {name: summary[name] for name in _RATES},
        "means": {
            name: {key: figure[key] for key in _FIGURES}
            for name, figure in summary["average_scores"].items()
        },
        "confusion": summary["route_confusion"],
        "bands": {name: band["count"] for name, band in summary["performance"]["bands"].items()},
    }


def _case_values(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "answer": row["answer"],
        "route": row["route"],
        "sources": row["sources"],
        "scores": {name: score["value"] for name, score in row["scores"].items()},
        "errors": [name for name, score in row["scores"].items() if score["error"] is not None],
        "verdict": {name: row["verdict"][name] for name in _VERDICT},
    }


if __name__ == "__main__":
    GOLDEN.write_text(
        json.dumps(demo_values(Path(sys.argv[1])), ensure_ascii=False, indent=0) + "\n",
        encoding="utf-8",
    )
