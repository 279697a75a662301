"""Recorded rankings as a sweep, so that they get the same tests, tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from answerkey.coerce.labels import align_labels
from answerkey.config.retrieval_tables import IdStyle, RetrievalTable
from answerkey.experiments.label_check import check_labels
from answerkey.experiments.page_hits import measure_choice, measure_grid
from answerkey.experiments.plan import NAMED, STANDARD_K, STANDARD_KS, SweepPlan, Variant
from answerkey.experiments.sweep import Sweep, choose_settings
from answerkey.metrics.ranking.hits import Floats, Hits, Ints, hits_in_rankings
from answerkey.retrieval.fuse import Top
from answerkey.retrieval.page_ids import rename_id
from answerkey.retrieval.rankings import Labels, RecordedRun, RecordedRuns
from answerkey.retrieval.search_index import SearchIndex
from answerkey.types import Case

ONE_TYPE = "all"


def sweep_of_rankings(
    path: Path, runs: RecordedRuns, labels: Labels, unit: str = "page", ids: IdStyle = "auto"
) -> Sweep:
    """The rankings of a file as a sweep: a variant per configuration, measured at every K.

    K goes up to the longest recorded ranking. α is that of the file, or of the named methods.
    """
    queries = list(labels)
    grades = [_rename_labels(labels[query], ids) for query in queries]
    plan = _make_plan(runs)
    hits = [_hits_of_run(run, queries, grades, unit, ids) for run in runs.configurations.values()]
    values = np.concatenate([measure_grid(one, plan.ks, len(queries)) for one in hits])
    chosen = np.concatenate([measure_choice(one, plan, len(queries)) for one in hits])
    pages = _retrieved_pages(runs, ids)
    sweep = Sweep(
        cases=tuple(
            Case(id=query, question=query, type=runs.types.get(query, ONE_TYPE))
            for query in queries
        ),
        setups=(_index_of_file(path),),
        plan=plan,
        variants=tuple(
            Variant(name or "ranking", _alpha_of(name, run))
            for name, run in runs.configurations.items()
        ),
        values=values,
        chosen=chosen,
        rankings=_number_rankings(runs, queries, pages, plan.depth, ids),
        pages=pages,
        labelled=np.array([any(grade > 0 for grade in row.values()) for row in grades]),
        milliseconds=_milliseconds(runs, queries),
        places=(),
        topk={},
        check=check_labels(dict(zip(queries, grades, strict=True)), pages),
        quotes=tuple(() for _ in queries),
        settings=RetrievalTable(documents=path),
    )
    return choose_settings(sweep)


def _alpha_of(name: str, run: RecordedRun) -> float | None:
    if run.alpha is None:
        return NAMED.get(name)
    return run.alpha


def _make_plan(runs: RecordedRuns) -> SweepPlan:
    longest = max(
        (len(row) for run in runs.configurations.values() for row in run.rankings.values()),
        default=1,
    )
    # Beyond the longest ranking every figure would be that of a shorter K.
    ks = tuple(k for k in STANDARD_KS if k <= longest) or (max(longest, 1),)
    alphas = {_alpha_of(name, run) for name, run in runs.configurations.items()}
    known_alphas = tuple(sorted(alpha for alpha in alphas if alpha is not None))
    main_k = STANDARD_K if STANDARD_K in ks else ks[-1]
    return SweepPlan(
        alphas=known_alphas,
        ks=ks,
        asked_alphas=known_alphas,
        asked_ks=ks,
        rrf=False,
        named=False,
        standard=False,
        topk_alpha=None,
        select=("ndcg", main_k),
    )


def _hits_of_run(
    run: RecordedRun,
    queries: Sequence[str],
    grades: Sequence[Mapping[str, float]],
    unit: str,
    ids: IdStyle,
) -> Hits:
    rankings = [_ids_of(run, query, ids) for query in queries]
    aligned = [align_labels(row, one) for row, one in zip(grades, rankings, strict=True)]
    return hits_in_rankings(rankings, aligned, unit)


def _ids_of(run: RecordedRun, query: str, ids: IdStyle) -> list[str]:
    return [rename_id(name, ids) for name in run.rankings.get(query, ())]


def _rename_labels(labels: Mapping[str, float], ids: IdStyle) -> dict[str, float]:
    return {rename_id(name, ids): grade for name, grade in labels.items()}


def _retrieved_pages(runs: RecordedRuns, ids: IdStyle) -> list[str]:
    return list(
        dict.fromkeys(
            page
            for run in runs.configurations.values()
            for query in run.rankings
            for page in _ids_of(run, query, ids)
        )
    )


def _number_rankings(
    runs: RecordedRuns, queries: Sequence[str], pages: Sequence[str], depth: int, ids: IdStyle
) -> Ints:
    """(configuration, query, rank): page numbers, -1 for none."""
    numbers = {page: number for number, page in enumerate(pages)}
    table = np.full((len(runs.configurations), len(queries), depth), -1, np.int64)
    for row, run in enumerate(runs.configurations.values()):
        for column, query in enumerate(queries):
            first = _ids_of(run, query, ids)[:depth]
            table[row, column, : len(first)] = [numbers[page] for page in first]
    return table


def _milliseconds(runs: RecordedRuns, queries: Sequence[str]) -> Floats:
    return np.array(
        [
            [run.milliseconds.get(query, np.nan) for query in queries]
            for run in runs.configurations.values()
        ]
    )


def _index_of_file(path: Path) -> SearchIndex:
    """Stands in for the index, which is not known."""
    return SearchIndex((), _cannot_search, None, None, f"rankings of {path.name}", "as recorded")


def _cannot_search(questions: Sequence[str], pool: int) -> Top:
    raise AssertionError("recorded rankings have no index to search")
