"""One query step by step: what was retrieved, what was expected, and how each metric adds up."""

from __future__ import annotations

import math
from collections.abc import Iterator

from answerkey.coerce.passages import clean_id
from answerkey.errors import InputError, did_you_mean
from answerkey.experiments.grid import METRICS
from answerkey.experiments.sweep import Sweep
from answerkey.types import Json


def trace(sweep: Sweep, query: str, variant: int, k: int) -> Json:
    """Every step; `query` is a case's id, or part of its question where that names one case."""
    number = _find(sweep, query)
    case, setting = sweep.cases[number], sweep.variants[variant]
    grades = {clean_id(page): grade for page, grade in (case.relevant or {}).items() if grade > 0}
    pages = sweep.ranked_pages(variant, number, k)
    column = sweep.ks.index(k)
    values: dict[str, float] = dict(zip(METRICS, sweep.values[variant, column, number].tolist(), strict=True))
    sums = _sums(values, [grades.get(page, 0.0) for page in pages], sorted(grades.values(), reverse=True), k)
    return {
        "id": case.id,
        "question": case.question,
        "setting": setting.name,
        "alpha": setting.alpha,
        "k": k,
        "expected": grades,
        "retrieved": [{"page": page, "relevant": page in grades} for page in pages],
        "not_retrieved": [{"page": page, "in_index": page in sweep.pages} for page in grades if page not in pages],
        "metrics": {f"{name}@{k}": {"value": values[name], "sum": told} for name, told in sums.items()},
    }


def trace_lines(traced: Json) -> Iterator[str]:
    """The same for people."""
    expected = ", ".join(f"{page} (grade {grade:g})" for page, grade in traced["expected"].items())
    alpha = "" if traced["alpha"] is None else f", α = {traced['alpha']:g}"
    yield f"query    {traced['id']}: {traced['question']}"
    yield f"setting  {traced['setting']}{alpha}, K = {traced['k']}"
    yield f"expected {expected or 'nothing: unlabelled'}"
    yield ""
    for rank, found in enumerate(traced["retrieved"], start=1):
        yield f"  {rank:>3}. {'✓' if found['relevant'] else '✗'} {found['page']}"
    if absent := traced["not_retrieved"]:
        told = (f"{page['page']}{'' if page['in_index'] else ' (not in the index)'}" for page in absent)
        yield f"  not retrieved: {', '.join(told)}"
    yield ""
    for name, entry in traced["metrics"].items():
        yield f"  {name:<13} {entry['value']:.4f} = {entry['sum']}"


def _sums(values: dict[str, float], gains: list[float], ideal: list[float], k: int) -> dict[str, str]:
    """Each metric as the sum that it is."""
    hits = [rank for rank, gain in enumerate(gains, start=1) if gain > 0]
    found, relevant = len(hits), len(ideal)
    first = f"1 / {hits[0]}" if hits else "no relevant page"
    dcg = " + ".join(f"{gains[rank - 1]:g}/log2({rank + 1})" for rank in hits) or "0"
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal[:k], start=1))
    precisions = " + ".join(f"{n}/{rank}" for n, rank in enumerate(hits, start=1)) or "0"
    return {
        "precision": f"{found} relevant / {k} places",
        "recall": f"{found} found / {relevant} relevant",
        "f1": f"2 · {values['precision']:.4f} · {values['recall']:.4f} / ({values['precision']:.4f} + {values['recall']:.4f})",
        "mrr": first,
        "hit_rate": f"{found} relevant among the first {k}",
        "ndcg": f"({dcg}) / {best:.4f}",
        "map": f"({precisions}) / {relevant}",
    }


def _find(sweep: Sweep, query: str) -> int:
    ids = [case.id for case in sweep.cases]
    if query in ids:
        return ids.index(query)
    near = [n for n, case in enumerate(sweep.cases) if query.lower() in case.question.lower()]
    if len(near) == 1:
        return near[0]
    if near:
        raise InputError(f'"{query}" is in {len(near)} questions: give an id, such as {ids[near[0]]}')
    raise InputError(f'no query "{query}"{did_you_mean(query, ids) or f"; ids are {ids[0]}, …"}')
