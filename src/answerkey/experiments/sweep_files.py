"""What a sweep leaves behind: every query × setting, the statistics of each setting, and a summary for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from answerkey.experiments.grid import METRICS
from answerkey.experiments.sweep import Sweep
from answerkey.experiments.sweep_statistics import NAMES, Best, best_method, best_setting, describe
from answerkey.text import spreadsheet_text

RESULTS, STATISTICS, SUMMARY = "evaluation_results.csv", "summary_statistics.csv", "sweep.json"


def write_files(sweep: Sweep, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / RESULTS).open("w", encoding="utf-8", newline="") as file:
        _write_results(sweep, file)
    with (folder / STATISTICS).open("w", encoding="utf-8", newline="") as file:
        _write_statistics(sweep, file)
    told = json.dumps(summary(sweep), ensure_ascii=False, allow_nan=False, indent=2)
    (folder / SUMMARY).write_text(told + "\n", encoding="utf-8")


def summary(sweep: Sweep) -> dict[str, Any]:
    """The sweep in short: what was searched, the best settings with their tests, the mean of every setting."""
    means = sweep.values[:, :, sweep.labelled].mean(axis=2)
    settings = [
        {
            "setting": variant.name, "alpha": variant.alpha, "k": k,
            **{f"{name}@{k}": float(means[row, column, m]) for m, name in enumerate(METRICS)},
        }
        for row, variant in enumerate(sweep.variants)
        for column, k in enumerate(sweep.ks)
    ]  # fmt: skip
    unlabelled = [case.id for case, has in zip(sweep.cases, sweep.labelled, strict=True) if not has]
    return {
        "format": 1,
        "queries": len(sweep.cases),
        "scored": int(sweep.labelled.sum()),
        "unlabelled": unlabelled,
        "searched": sweep.facts,
        "best": _told(sweep, best_setting(sweep)),
        "best_method": _told(sweep, best_method(sweep)),
        "milliseconds": {v.name: _times(sweep, row) for row, v in enumerate(sweep.variants)},
        "settings": settings,
    }


def _told(sweep: Sweep, best: Best) -> dict[str, Any]:
    def place(at: tuple[int, int]) -> dict[str, Any]:
        variant = sweep.variants[at[0]]
        return {"setting": variant.name, "alpha": variant.alpha, "k": sweep.ks[at[1]]}

    test = best.test
    return {
        **place(best.winner),
        "f1": best.f1,
        "runner_up": place(best.runner_up) if best.runner_up else None,
        "difference": test.diff if test else None,
        "ci95": [test.interval.low, test.interval.high] if test and test.interval else None,
        "p": test.p if test else None,
        "tie": bool(test and not test.sure),
        "sentence": best.sentence,
    }


def _times(sweep: Sweep, row: int) -> dict[str, float] | None:
    """Mean, standard deviation and 95th percentile of the questions that were timed."""
    times = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
    if not len(times):
        return None
    spread = float(times.std(ddof=1)) if len(times) > 1 else 0.0
    return {"n": len(times), "mean": float(times.mean()), "sd": spread, "p95": float(np.percentile(times, 95))}


def _write_results(sweep: Sweep, file: IO[str]) -> None:
    writer = csv.writer(file)
    writer.writerow(
        ["setting", "alpha", "k", "query_id", "query_type", "question", *(f"{name}@k" for name in METRICS),
         "retrieved", "expected", "labelled", "retrieval_ms"]
    )  # fmt: skip
    expected = [json.dumps(list(case.relevant or {}), ensure_ascii=False) for case in sweep.cases]
    for row, variant in enumerate(sweep.variants):
        alpha = "" if variant.alpha is None else f"{variant.alpha:g}"
        for column, k in enumerate(sweep.ks):
            for query, case in enumerate(sweep.cases):
                pages = sweep.ranked_pages(row, query, k)
                values = [f"{value:.6g}" for value in sweep.values[row, column, query].tolist()]
                time = sweep.milliseconds[row, query]
                writer.writerow(
                    [variant.name, alpha, k, *map(spreadsheet_text, (case.id, case.type or "", case.question)), *values,
                     json.dumps(pages, ensure_ascii=False), expected[query],
                     "yes" if sweep.labelled[query] else "no", "" if np.isnan(time) else f"{time:.3f}"]
                )  # fmt: skip


def _write_statistics(sweep: Sweep, file: IO[str]) -> None:
    """A row a setting, query type and metric, over the labelled queries; and the retrieval time of each setting."""
    writer = csv.writer(file)
    writer.writerow(["setting", "alpha", "k", "query_type", "metric", *NAMES, "p95"])
    for kind, chosen in _types(sweep):
        table = sweep.values[:, :, chosen].transpose(2, 0, 1, 3).reshape(int(chosen.sum()), -1)
        statistics = iter(describe(table))
        for variant in sweep.variants:
            alpha = "" if variant.alpha is None else f"{variant.alpha:g}"
            for k in sweep.ks:
                for name in METRICS:
                    row = next(statistics)
                    writer.writerow([variant.name, alpha, k, spreadsheet_text(kind), f"{name}@{k}", *_cells(row), ""])
    for row, variant in enumerate(sweep.variants):
        times = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
        if len(times):
            alpha = "" if variant.alpha is None else f"{variant.alpha:g}"
            cells = _cells(describe(times[:, None])[0])
            writer.writerow([variant.name, alpha, "", "all", "retrieval_ms", *cells, f"{np.percentile(times, 95):.6g}"])


def _types(sweep: Sweep) -> Iterator[tuple[str, np.ndarray]]:
    """All labelled queries, and then those of each type where there is more than one."""
    yield "all", np.asarray(sweep.labelled)
    kinds = sorted({case.type for case in sweep.cases if case.type})
    for kind in kinds if len(kinds) > 1 else ():
        chosen = np.array([case.type == kind for case in sweep.cases]) & sweep.labelled
        if chosen.any():
            yield kind, chosen


def _cells(row: np.ndarray) -> list[str]:
    return [str(int(row[0])), *("" if np.isnan(value) else f"{value:.6g}" for value in row[1:].tolist())]
