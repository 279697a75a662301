"""One query step by step: what was retrieved with its text and scores, what was expected, and how each metric adds up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from answerkey.errors import InputError, did_you_mean
from answerkey.experiments.choice import setting_name
from answerkey.experiments.grid import METRICS, find_quotes, hits_in_chunks
from answerkey.experiments.sweep import Place, Sweep, time_searches
from answerkey.retrieval.fuse import reciprocal_scores, weighted_scores
from answerkey.text import short_label

_TEXT = 120


@dataclass(frozen=True, slots=True)
class TracedPage:
    """One rank: the page, the beginning of its best chunk, and the score of each search; None where it did not find it."""

    page: str
    relevant: bool
    text: str
    dense: float | None
    sparse: float | None
    fused: float | None


@dataclass(frozen=True, slots=True)
class TracedMetric:
    value: float
    sum: str


@dataclass(frozen=True, slots=True)
class Trace:
    """`not_retrieved` maps each expected page that is not among the first K to whether the index has it."""

    id: str
    question: str
    type: str
    setting: str
    alpha: float | None
    k: int
    expected: dict[str, float]
    retrieved: list[TracedPage]
    not_retrieved: dict[str, bool]
    metrics: dict[str, TracedMetric]
    milliseconds: float | None
    described: str

    def as_json(self) -> dict[str, object]:
        missing = [{"page": page, "in_index": there} for page, there in self.not_retrieved.items()]
        return {**asdict(self), "not_retrieved": missing}

    def lines(self) -> Iterator[str]:
        """The trace as lines of text."""
        expected = ", ".join(f"{page} (grade {grade:g})" for page, grade in self.expected.items())
        taken = "" if self.milliseconds is None else f", {self.milliseconds:.1f} ms"
        yield f"query    {self.id}: {self.question}"
        yield f"type     {self.type}"
        yield f"setting  {self.described}{taken}"
        yield f"expected {expected or 'nothing: unlabelled'}"
        yield ""
        for rank, found in enumerate(self.retrieved, start=1):
            sides = {"dense": found.dense, "BM25": found.sparse, "fused": found.fused}
            scores = [
                f"{side} {'-' if value is None else f'{value:.3f}':>7}"
                for side, value in sides.items()
            ]
            yield f"  {rank:>3}. {'✓' if found.relevant else '✗'} {found.page:<20} {'  '.join(scores)}"
            yield f"         {found.text}"
        if self.not_retrieved:
            absent = (
                f"{page}{'' if there else ' (not in the index)'}"
                for page, there in self.not_retrieved.items()
            )
            yield f"  not retrieved: {', '.join(absent)}"
        yield ""
        for name, entry in self.metrics.items():
            yield f"  {name:<13} {entry.value:.4f} = {entry.sum}"


def trace(sweep: Sweep, query: str, place: Place) -> Trace:
    """Every step of one setting; `query` is a case's id, or part of its question where that names one case."""
    number = _find(sweep, query)
    case, variant, k = sweep.cases[number], sweep.variants[place[0]], sweep.ks[place[1]]
    index = sweep.setups[variant.setup]
    found = _scored(sweep, place, number)
    if quotes := sweep.quotes[number]:
        grades = dict.fromkeys(quotes, 1.0)
        labels = find_quotes([quotes], index.chunks, sweep.settings.quote_share)
        hits = hits_in_chunks(np.array([[[chunk for chunk, _ in found]]]), labels).found
        by_rank = dict(zip(hits.rank.tolist(), hits.grade.tolist(), strict=True))
        gains = [by_rank.get(rank, 0.0) for rank in range(1, k + 1)]
        retrieved = [replace(page, relevant=chunk in labels.share[0]) for chunk, page in found[:k]]
        absent = dict.fromkeys(labels.lost, False)
    else:
        grades = {page: grade for page, grade in sweep.check.labels[case.id].items() if grade > 0}
        pages = sweep.ranked_pages(place[0], number, k)
        first = {page.page: page for _, page in reversed(found)}
        retrieved = [
            replace(first[page], relevant=page in grades) for page in pages if page in first
        ]
        gains = [grades.get(page, 0.0) for page in pages]
        absent = {page: page in sweep.pages for page in grades if page not in pages}
    values: dict[str, float] = dict(zip(METRICS, sweep.values[place][number].tolist(), strict=True))
    sums = _sums(values, gains, sorted(grades.values(), reverse=True), k)
    taken = time_searches(index, [case.question], sweep.settings.pool, [variant], 1)[0, 0]
    return Trace(
        case.id,
        case.question,
        sweep.types[number],
        variant.name,
        variant.alpha,
        k,
        grades,
        retrieved,
        absent,
        {f"{name}@{k}": TracedMetric(values[name], text) for name, text in sums.items()},
        None if np.isnan(taken) else float(taken),
        setting_name(sweep, place),
    )


def _scored(sweep: Sweep, place: Place, number: int) -> list[tuple[int, TracedPage]]:
    """Every chunk that was found, best first, with its page, its text and its scores."""
    case, variant = sweep.cases[number], sweep.variants[place[0]]
    index = sweep.setups[variant.setup]
    candidates = index.candidates([case.question], sweep.settings.pool)
    alpha = variant.alpha
    fused = (
        reciprocal_scores(candidates)
        if alpha is None
        else next(weighted_scores(candidates, [alpha]))
    )
    found: list[tuple[int, TracedPage]] = []
    for n in np.argsort(-fused[0], kind="stable").tolist():
        if (chunk := int(candidates.chunk[0, n])) >= 0:
            sides = (float(side[0, n]) for side in (candidates.dense, candidates.sparse, fused))
            scores = (score if math.isfinite(score) else None for score in sides)
            text = short_label(index.chunks[chunk].text, _TEXT)
            found.append((chunk, TracedPage(index.chunks[chunk].page, False, text, *scores)))
    return found


def _sums(
    values: Mapping[str, float], gains: list[float], ideal: list[float], k: int
) -> dict[str, str]:
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
        raise InputError(
            f'"{query}" is in {len(near)} questions: give an id, such as {ids[near[0]]}'
        )
    raise InputError(f'no query "{query}"{did_you_mean(query, ids) or f"; ids are {ids[0]}, …"}')
