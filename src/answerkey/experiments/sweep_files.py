"""The files of a sweep: every query × setting, the statistics of each setting, and a summary for programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import IO

import numpy as np

from answerkey.distributions import t_quantile
from answerkey.experiments.choice import Best, Conclusions
from answerkey.experiments.grid import METRICS
from answerkey.experiments.sweep import Place, Sweep
from answerkey.files import json_text, replace_file, write_file
from answerkey.intervals import BOOTSTRAP_LIMIT, DRAWS, LEVEL, SEED
from answerkey.metrics.ranking.hits import Floats
from answerkey.retrieval.bm25 import AUTO
from answerkey.text import spreadsheet_text

RESULTS, STATISTICS, SUMMARY = "evaluation_results.csv", "summary_statistics.csv", "sweep.json"
NAMES = ("n", "mean", "std", "min", "25%", "50%", "75%", "max", "ci95_low", "ci95_high")
_COLUMNS_AT_ONCE = 200
_SETTING = ("setting", "alpha", "k")
_SETUP = ("chunking", "embedding")


def write_files(sweep: Sweep, found: Conclusions, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with replace_file(folder / RESULTS) as file:
        _write_results(sweep, file)
    with replace_file(folder / STATISTICS) as file:
        _write_statistics(sweep, file)
    write_file(folder / SUMMARY, json_text(summary(sweep, found), indent=2))


def summary(sweep: Sweep, found: Conclusions) -> dict[str, object]:
    """The sweep in short: what was searched, the best settings with their tests, the mean of every setting."""
    means = sweep.values[:, :, sweep.labelled].mean(axis=2)
    settings = [
        {**_named(sweep, place), "value": float(sweep.chosen[place][sweep.labelled].mean())}
        | {f"{name}@{sweep.ks[place[1]]}": float(means[place][m]) for m, name in enumerate(METRICS)}
        for place in sweep.places
    ]
    unlabelled = [case.id for case, has in zip(sweep.cases, sweep.labelled, strict=True) if not has]
    route = found.routing
    return {
        "format": 2,
        "queries": len(sweep.cases),
        "scored": int(sweep.labelled.sum()),
        "unlabelled": unlabelled,
        "labels": {
            "expected": sweep.check.total,
            "missing": list(sweep.check.missing),
            "warnings": sweep.check.warnings,
        },
        "searched": _facts(sweep),
        "select": sweep.plan.select_name,
        "best": _best(sweep, found.best),
        "best_method": _best(sweep, found.method),
        "by_type": {one.type: {**_best(sweep, one.best), "note": one.note} for one in found.types},
        "routing": route
        and {
            "sentence": route.sentence,
            "value": route.value,
            "one_for_all": route.single,
            "p": route.test.p,
            "routes": {kind: _named(sweep, place) for kind, place in route.routes.items()},
        },
        "setups": [_best(sweep, one) for one in found.setups],
        "milliseconds": {
            v.name: times(sweep, row)
            for row, v in enumerate(sweep.variants)
            if v.setup == found.setup
        },
        "settings": settings,
    }


def _facts(sweep: Sweep) -> dict[str, object]:
    settings, index = sweep.settings, sweep.setups[0]
    models = {one.embed.name: one.embed for one in sweep.setups if one.embed is not None}
    return {
        "source": index.source,
        "chunks": len(index.chunks),
        "pages": len(index.pages),
        "chunking": list(dict.fromkeys(one.chunking for one in sweep.setups)),
        "unit": settings.unit,
        "pool": settings.pool,
        "bm25": {
            "variant": settings.bm25,
            "k1": settings.k1,
            "b": settings.b,
            "language": index.language,
            "detected": settings.language == AUTO,
        },
        "dense": index.dense_search if index.dense is not None else "none",
        "embedding": [
            {"name": one.name, "digest": one.digest, "precision": one.precision}
            for one in models.values()
        ],
    }


def _named(sweep: Sweep, place: Place) -> dict[str, object]:
    variant = sweep.variants[place[0]]
    index = sweep.setups[variant.setup]
    model = index.embed.name if index.embed else "none"
    setup = {"chunking": index.chunking, "embedding": model} if len(sweep.setups) > 1 else {}
    return {"setting": variant.name, "alpha": variant.alpha, "k": sweep.ks[place[1]], **setup}


def _best(sweep: Sweep, best: Best) -> dict[str, object]:
    test, interval = best.test, best.unseen_interval
    return {
        **_named(sweep, best.winner),
        "metric": sweep.plan.select_name,
        "value": best.value,
        "f1": float(sweep.mean("f1")[best.winner]),
        "queries": best.queries,
        "unseen": best.unseen,
        "unseen_ci95": [interval.low, interval.high] if interval else None,
        "runner_up": _named(sweep, best.runner_up) if best.runner_up else None,
        "difference": test.diff if test else None,
        "ci95": [test.interval.low, test.interval.high] if test and test.interval else None,
        "p": test.p if test else None,
        "tie": bool(test and not test.sure),
        "default": _named(sweep, best.default) if best.default else None,
        "keep_default": best.keep_default,
        "sentence": best.sentence,
    }


def times(sweep: Sweep, row: int) -> dict[str, float] | None:
    """Mean, standard deviation and 95th percentile of the questions that were timed."""
    taken = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
    if not len(taken):
        return None
    spread = float(taken.std(ddof=1)) if len(taken) > 1 else 0.0
    return {
        "n": len(taken),
        "mean": float(taken.mean()),
        "sd": spread,
        "p95": float(np.percentile(taken, 95)),
    }


def _columns(sweep: Sweep, row: int) -> tuple[list[str], list[str]]:
    """The cells that name a variant: before and after the figures."""
    variant = sweep.variants[row]
    index = sweep.setups[variant.setup]
    alpha = "" if variant.alpha is None else f"{variant.alpha:g}"
    return [variant.name, alpha], [index.chunking, index.embed.name if index.embed else "none"]


def _write_results(sweep: Sweep, file: IO[str]) -> None:
    writer = csv.writer(file)
    writer.writerow(
        [
            *_SETTING,
            "query_id",
            "query_type",
            "question",
            *(f"{name}@k" for name in METRICS),
            "retrieved",
            "expected",
            "labelled",
            "retrieval_ms",
            *_SETUP,
        ]
    )
    expected = [
        json.dumps(list(sweep.check.labels.get(case.id, {})), ensure_ascii=False)
        for case in sweep.cases
    ]
    texts = [
        [spreadsheet_text(text) for text in (case.id, kind, case.question)]
        for case, kind in zip(sweep.cases, sweep.types, strict=True)
    ]
    for row, column in sweep.places:
        first, last = _columns(sweep, row)
        k = sweep.ks[column]
        for query, named in enumerate(texts):
            values = [f"{value:.6g}" for value in sweep.values[row, column, query].tolist()]
            time = sweep.milliseconds[row, query]
            writer.writerow(
                [
                    *first,
                    k,
                    *named,
                    *values,
                    json.dumps(sweep.ranked_pages(row, query, k), ensure_ascii=False),
                    expected[query],
                    "yes" if sweep.labelled[query] else "no",
                    "" if np.isnan(time) else f"{time:.3f}",
                    *last,
                ]
            )


def _write_statistics(sweep: Sweep, file: IO[str]) -> None:
    """A row per setting, query type and metric, over the labelled queries; and the retrieval time of each variant."""
    writer = csv.writer(file)
    writer.writerow([*_SETTING, "query_type", "metric", *NAMES, "p95", *_SETUP])
    types = np.array(sweep.types)
    kinds = sorted(set(types[sweep.labelled].tolist()))
    chosen_by_type = (
        {kind: (types == kind) & sweep.labelled for kind in kinds} if len(kinds) > 1 else {}
    )
    for kind, chosen in [("all", sweep.labelled), *chosen_by_type.items()]:
        table = np.concatenate([sweep.values[place][chosen] for place in sweep.places], axis=1)
        statistics = iter(describe(table))
        for row, column in sweep.places:
            (first, last), k = _columns(sweep, row), sweep.ks[column]
            for name in METRICS:
                cells = _cells(next(statistics))
                writer.writerow(
                    [*first, k, spreadsheet_text(kind), f"{name}@{k}", *cells, "", *last]
                )
    for row in dict.fromkeys(row for row, _ in sweep.places):
        taken = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
        if len(taken):
            first, last = _columns(sweep, row)
            cells = _cells(describe(taken[:, None])[0])
            writer.writerow(
                [
                    *first,
                    "",
                    "all",
                    "retrieval_ms",
                    *cells,
                    f"{np.percentile(taken, 95):.6g}",
                    *last,
                ]
            )


def _cells(row: np.ndarray) -> list[str]:
    return [
        str(int(row[0])),
        *("" if np.isnan(value) else f"{value:.6g}" for value in row[1:].tolist()),
    ]


def describe(table: Floats) -> Floats:
    """(column, statistic) of a (query, column) table; NaN where a single query has no spread."""
    queries = len(table)
    result = np.full((table.shape[1], len(NAMES)), np.nan)
    result[:, 0] = queries
    result[:, 1] = table.mean(axis=0)
    result[:, 3:8] = np.percentile(table, [0, 25, 50, 75, 100], axis=0).T
    if queries > 1:
        result[:, 2] = table.std(axis=0, ddof=1)
        result[:, 8:10] = intervals(table)
    return result


def intervals(table: Floats) -> Floats:
    """(column, 2): percentile bootstrap of the mean, one set of draws for all columns; Student's t for many queries."""
    queries = len(table)
    if queries > BOOTSTRAP_LIMIT:
        half = (
            t_quantile(queries - 1, (1 + LEVEL) / 2) * table.std(axis=0, ddof=1) / np.sqrt(queries)
        )
        return np.stack([table.mean(axis=0) - half, table.mean(axis=0) + half], axis=1)
    shares = (
        np.random.default_rng(SEED).multinomial(queries, np.full(queries, 1 / queries), size=DRAWS)
        / queries
    )
    ends = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    parts = [
        np.percentile(shares @ table[:, start : start + _COLUMNS_AT_ONCE], ends, axis=0).T
        for start in range(0, table.shape[1], _COLUMNS_AT_ONCE)
    ]
    found = np.concatenate(parts)
    return np.clip(found, table.min(axis=0)[:, None], table.max(axis=0)[:, None])
