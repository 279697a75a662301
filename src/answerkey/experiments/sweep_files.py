"""The files of a sweep: every query × setting, statistics per setting, a summary for programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import IO

import numpy as np

from answerkey.distributions import t_quantile
from answerkey.experiments.choice import Best, Conclusions, Routing, TypeChoice
from answerkey.experiments.plan import METRICS
from answerkey.experiments.sweep import Setting, Sweep
from answerkey.files import json_text, remove_strays, replace_file, write_file
from answerkey.intervals import BOOTSTRAP_LIMIT, DRAWS, LEVEL, SEED, Interval
from answerkey.metrics.ranking.hits import Floats
from answerkey.retrieval.search_index import SearchIndex
from answerkey.retrieval.search_words import AUTO
from answerkey.text import spreadsheet_text

RESULTS = "evaluation_results.csv"
STATISTICS = "summary_statistics.csv"
SUMMARY = "sweep.json"
NAMES = ("n", "mean", "std", "min", "25%", "50%", "75%", "max", "ci95_low", "ci95_high")
# Above these means retrieval is usually good enough for a bot; below, look at the failures.
READINGS = {"f1": 0.5, "hit_rate": 0.8, "mrr": 0.5}
_COLUMNS_AT_ONCE = 200  # of a bootstrap, so that its draws fit into memory
_SETTING = ("setting", "alpha", "k")
_SETUP = ("chunking", "embedding")


def write_files(sweep: Sweep, conclusions: Conclusions, folder: Path) -> None:
    """Write the three files of a sweep."""
    folder.mkdir(parents=True, exist_ok=True)
    # A killed sweep is not resumed: the next one, in a folder beside it, removes what it left.
    remove_strays(folder.parent)
    with replace_file(folder / RESULTS) as file:
        _write_results(sweep, file)
    with replace_file(folder / STATISTICS) as file:
        _write_statistics(sweep, file)
    write_file(folder / SUMMARY, json_text(summarise_sweep(sweep, conclusions), indent=2))


def summarise_sweep(sweep: Sweep, conclusions: Conclusions) -> dict[str, object]:
    """The sweep in short: the index, the best settings with their tests, every setting's mean."""
    labelled = zip(sweep.cases, sweep.labelled, strict=True)
    return {
        "format": 2,
        "queries": len(sweep.cases),
        "scored": int(sweep.labelled.sum()),
        "unlabelled": [case.id for case, has_label in labelled if not has_label],
        "labels": {
            "expected": sweep.check.total,
            "missing": list(sweep.check.missing),
            "warnings": sweep.check.warnings,
        },
        "searched": _describe_index(sweep),
        "select": sweep.plan.select_name,
        "best": _best_json(sweep, conclusions.best),
        "best_method": _best_json(sweep, conclusions.method),
        "readings": readings(sweep, conclusions.best),
        "by_type": {one.type: _type_json(sweep, one) for one in conclusions.types},
        "routing": _routing_json(sweep, conclusions.routing),
        "k_routing": _routing_json(sweep, conclusions.k_routing),
        "setups": [_best_json(sweep, one) for one in conclusions.setups],
        "milliseconds": {
            variant.name: search_times(sweep, row)
            for row, variant in enumerate(sweep.variants)
            if variant.setup == conclusions.setup
        },
        "settings": [_setting_json(sweep, place) for place in sweep.places],
    }


def readings(sweep: Sweep, best: Best) -> dict[str, dict[str, object]]:
    """F1, hit rate and MRR of a setting at its K, each beside the value that is usually enough."""
    k = sweep.ks[best.winner[1]]
    return {
        f"{metric}@{k}": {
            "value": float(sweep.mean(metric)[best.winner]),
            "enough_above": limit,
            "is_enough": bool(sweep.mean(metric)[best.winner] > limit),
        }
        for metric, limit in READINGS.items()
    }


def _describe_index(sweep: Sweep) -> dict[str, object]:
    settings = sweep.settings
    index = sweep.setups[0]
    models = {one.embed.name: one.embed for one in sweep.setups if one.embed is not None}
    return {
        "source": index.source,
        "chunks": len(index.chunks),
        "pages": len(index.pages),
        "chunks_without_id": sum(not chunk.page for chunk in index.chunks),
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
        "dense": "none" if index.dense is None else index.dense_search,
        "embedding": [
            {"name": one.name, "digest": one.digest, "precision": one.precision}
            for one in models.values()
        ],
    }


def _setting_json(sweep: Sweep, place: Setting) -> dict[str, object]:
    k = sweep.ks[place[1]]
    means = sweep.values[place][sweep.labelled].mean(axis=0)
    return {
        **_name_setting(sweep, place),
        "value": float(sweep.chosen[place][sweep.labelled].mean()),
        **{f"{name}@{k}": float(mean) for name, mean in zip(METRICS, means, strict=True)},
    }


def _name_setting(sweep: Sweep, place: Setting) -> dict[str, object]:
    variant = sweep.variants[place[0]]
    name: dict[str, object] = {
        "setting": variant.name,
        "alpha": variant.alpha,
        "k": sweep.ks[place[1]],
    }
    if len(sweep.setups) == 1:
        return name
    index = sweep.setups[variant.setup]
    return {**name, "chunking": index.chunking, "embedding": _model_name(index)}


def _model_name(index: SearchIndex) -> str:
    return index.embed.name if index.embed else "none"


def _type_json(sweep: Sweep, choice: TypeChoice) -> dict[str, object]:
    return {
        **_best_json(sweep, choice.best),
        "best_alpha": sweep.variants[choice.alpha.winner[0]].alpha,
        "best_k": sweep.ks[choice.k.winner[1]],
        "note": choice.note,
    }


def _routing_json(sweep: Sweep, routing: Routing | None) -> dict[str, object] | None:
    if routing is None:
        return None
    return {
        "sentence": routing.sentence,
        "value": routing.value,
        "one_for_all": routing.single,
        "p": routing.test.p,
        "routes": {kind: _name_setting(sweep, place) for kind, place in routing.routes.items()},
    }


def _best_json(sweep: Sweep, best: Best) -> dict[str, object]:
    test = best.test
    return {
        **_name_setting(sweep, best.winner),
        "metric": best.metric,
        "value": best.value,
        "f1": float(sweep.mean("f1")[best.winner]),
        "queries": best.queries,
        "unseen": best.unseen,
        "unseen_ci95": _interval_json(best.unseen_interval),
        "runner_up": _name_setting(sweep, best.runner_up) if best.runner_up else None,
        "difference": test.diff if test else None,
        "ci95": _interval_json(test.interval) if test else None,
        "p": test.p if test else None,
        "tie": bool(test and not test.sure),
        "default": _name_setting(sweep, best.default) if best.default else None,
        "keep_default": best.keep_default,
        "sentence": best.sentence,
    }


def _interval_json(interval: Interval | None) -> list[float] | None:
    if interval:
        return [interval.low, interval.high]
    return None


def search_times(sweep: Sweep, row: int) -> dict[str, float] | None:
    """Mean, standard deviation and 95th percentile in ms of the questions that were timed."""
    taken = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
    if not len(taken):
        return None
    return {
        "n": len(taken),
        "mean": float(taken.mean()),
        "sd": float(taken.std(ddof=1)) if len(taken) > 1 else 0.0,
        "p95": float(np.percentile(taken, 95)),
    }


def _variant_cells(sweep: Sweep, row: int) -> tuple[list[str], list[str]]:
    """The cells that name a variant: before and after the figures."""
    variant = sweep.variants[row]
    index = sweep.setups[variant.setup]
    if variant.alpha is None:
        alpha = ""
    else:
        alpha = f"{variant.alpha:g}"
    return [variant.name, alpha], [index.chunking, _model_name(index)]


def _write_results(sweep: Sweep, file: IO[str]) -> None:
    writer = csv.writer(file)
    writer.writerow(
        [
            *_SETTING,
            *("query_id", "query_type", "question"),
            *(f"{name}@k" for name in METRICS),
            *("retrieved", "expected", "labelled", "retrieval_ms"),
            *_SETUP,
            "type_confidence",
        ]
    )
    expected = [_json_cell(list(sweep.check.labels.get(case.id, {}))) for case in sweep.cases]
    kinds = sweep.question_types
    texts = [
        # A text that begins with = would be a formula in a spreadsheet.
        [spreadsheet_text(text) for text in (case.id, kind.type, case.question)]
        for case, kind in zip(sweep.cases, kinds, strict=True)
    ]
    for row, column in sweep.places:
        first, last = _variant_cells(sweep, row)
        k = sweep.ks[column]
        for query, named in enumerate(texts):
            values = [f"{value:.6g}" for value in sweep.values[row, column, query].tolist()]
            taken = sweep.milliseconds[row, query]
            writer.writerow(
                [
                    *first,
                    k,
                    *named,
                    *values,
                    _json_cell(sweep.ranked_pages(row, query, k)),
                    expected[query],
                    "yes" if sweep.labelled[query] else "no",
                    "" if np.isnan(taken) else f"{taken:.3f}",
                    *last,
                    f"{kinds[query].confidence:g}",
                ]
            )


def _json_cell(value: list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_statistics(sweep: Sweep, file: IO[str]) -> None:
    """A row per setting, query type and metric, and the retrieval time of each variant."""
    writer = csv.writer(file)
    writer.writerow([*_SETTING, "query_type", "metric", *NAMES, "p95", *_SETUP])
    for kind, mask in _masks_by_type(sweep).items():
        # All settings in one table, so that the bootstrap draws once for all of them.
        table = np.concatenate([sweep.values[place][mask] for place in sweep.places], axis=1)
        statistics = iter(describe(table))
        for row, column in sweep.places:
            first, last = _variant_cells(sweep, row)
            k = sweep.ks[column]
            for name in METRICS:
                cells = _statistic_cells(next(statistics))
                named = [*first, k, spreadsheet_text(kind), f"{name}@{k}"]
                writer.writerow([*named, *cells, "", *last])
    for row in dict.fromkeys(row for row, _ in sweep.places):
        taken = sweep.milliseconds[row][~np.isnan(sweep.milliseconds[row])]
        if not len(taken):
            continue
        first, last = _variant_cells(sweep, row)
        cells = _statistic_cells(describe(taken[:, None])[0])
        p95 = f"{np.percentile(taken, 95):.6g}"
        writer.writerow([*first, "", "all", "retrieval_ms", *cells, p95, *last])


def _masks_by_type(sweep: Sweep) -> dict[str, np.ndarray]:
    """The labelled queries of all types together and, where there are several, of each type."""
    types = np.array(sweep.types)
    kinds = sorted(set(types[sweep.labelled].tolist()))
    masks: dict[str, np.ndarray] = {"all": sweep.labelled}
    if len(kinds) > 1:
        masks |= {kind: (types == kind) & sweep.labelled for kind in kinds}
    return masks


def _statistic_cells(row: np.ndarray) -> list[str]:
    count, *others = row.tolist()
    return [str(int(count)), *("" if np.isnan(value) else f"{value:.6g}" for value in others)]


def describe(table: Floats) -> Floats:
    """(column, statistic) of a (query, column) table; NaN where a single query has no spread."""
    queries = len(table)
    result = np.full((table.shape[1], len(NAMES)), np.nan)
    result[:, 0] = queries
    result[:, 1] = table.mean(axis=0)
    result[:, 3:8] = np.percentile(table, [0, 25, 50, 75, 100], axis=0).T
    if queries > 1:
        result[:, 2] = table.std(axis=0, ddof=1)
        result[:, 8:10] = mean_intervals(table)
    return result


def mean_intervals(table: Floats) -> Floats:
    """(column, 2): the 95 % interval of each mean; Student's t for many queries, else bootstrap."""
    queries = len(table)
    if queries > BOOTSTRAP_LIMIT:
        error = table.std(axis=0, ddof=1) / np.sqrt(queries)
        half = t_quantile(queries - 1, (1 + LEVEL) / 2) * error
        return np.stack([table.mean(axis=0) - half, table.mean(axis=0) + half], axis=1)
    # All columns share one set of draws: their intervals can be compared.
    random = np.random.default_rng(SEED)
    draws = random.multinomial(queries, np.full(queries, 1 / queries), size=DRAWS) / queries
    ends = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    parts = [
        np.percentile(draws @ table[:, start : start + _COLUMNS_AT_ONCE], ends, axis=0).T
        for start in range(0, table.shape[1], _COLUMNS_AT_ONCE)
    ]
    intervals = np.concatenate(parts)
    # The mean of drawn values lies between them; only rounding can leave that range.
    return np.clip(intervals, table.min(axis=0)[:, None], table.max(axis=0)[:, None])
