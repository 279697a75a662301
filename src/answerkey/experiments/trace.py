"""One query step by step: what was retrieved, what was expected, how each metric adds up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from answerkey.errors import InputError, did_you_mean
from answerkey.experiments.choice import setting_name
from answerkey.experiments.plan import METRICS, REWRITE
from answerkey.experiments.quote_hits import find_quotes, hits_in_chunks
from answerkey.experiments.sweep import Setting, Sweep
from answerkey.experiments.timing import time_searches
from answerkey.retrieval.fuse import reciprocal_scores, weighted_scores
from answerkey.text import short_label

_TEXT_LENGTH = 120  # characters of a chunk; one line of a terminal


@dataclass(frozen=True, slots=True)
class TracedPage:
    """One rank: the page, the start of its best chunk, and each search's score if it found it."""

    page: str
    relevant: bool
    text: str
    dense: float | None
    sparse: float | None
    fused: float | None

    def line(self, rank: int) -> str:
        sides = {"dense": self.dense, "BM25": self.sparse, "fused": self.fused}
        scores = [f"{side} {_decimals(value):>7}" for side, value in sides.items()]
        mark = "✓" if self.relevant else "✗"
        return f"  {rank:>3}. {mark} {self.page or 'N/A':<20} {'  '.join(scores)}"


@dataclass(frozen=True, slots=True)
class TracedMetric:
    """A value and the sum that gives it."""

    value: float
    sum: str


@dataclass(frozen=True, slots=True)
class Trace:
    """`not_retrieved` maps each expected page outside the first K to whether the index has it."""

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
    rewritten: str | None  # the text that a rewriter made of the question

    def as_json(self) -> dict[str, object]:
        missing = [
            {"page": page, "in_index": in_index} for page, in_index in self.not_retrieved.items()
        ]
        return {**asdict(self), "not_retrieved": missing}

    def lines(self) -> Iterator[str]:
        """The trace as lines of text."""
        expected = ", ".join(f"{page} (grade {grade:g})" for page, grade in self.expected.items())
        taken = "" if self.milliseconds is None else f", {self.milliseconds:.1f} ms"
        yield f"query    {self.id}: {self.question}"
        if self.rewritten is not None:
            yield f"rewritten {short_label(self.rewritten, _TEXT_LENGTH)}"
        yield f"type     {self.type}"
        yield f"setting  {self.described}{taken}"
        yield f"expected {expected or 'nothing: unlabelled'}"
        yield ""
        for rank, page in enumerate(self.retrieved, start=1):
            yield page.line(rank)
            yield f"         {page.text}"
        if self.not_retrieved:
            absent = [
                page if in_index else f"{page} (not in the index)"
                for page, in_index in self.not_retrieved.items()
            ]
            yield f"  not retrieved: {', '.join(absent)}"
        yield ""
        for name, entry in self.metrics.items():
            yield f"  {name:<13} {entry.value:.4f} = {entry.sum}"


@dataclass(frozen=True, slots=True)
class _Result:
    """The pages that a query expected and got; `gains` are the grades by rank."""

    grades: dict[str, float]
    retrieved: list[TracedPage]
    gains: list[float]
    absent: dict[str, bool]


def trace(sweep: Sweep, query: str, place: Setting) -> Trace:
    """Every step of one setting; `query` is a case's id, or part of one case's question."""
    number = _find_case(sweep, query)
    case = sweep.cases[number]
    variant = sweep.variants[place[0]]
    k = sweep.ks[place[1]]
    ranking = _rank_chunks(sweep, place, number)
    if sweep.quotes[number]:
        result = _trace_quotes(sweep, place, number, ranking)
    else:
        result = _trace_pages(sweep, place, number, ranking)
    values: dict[str, float] = dict(zip(METRICS, sweep.values[place][number].tolist(), strict=True))
    sums = _explain_metrics(values, result, k)
    index = sweep.setups[variant.setup]
    taken = time_searches(index, [case.question], sweep.settings.pool, [variant], 1)[0, 0]
    return Trace(
        id=case.id,
        question=case.question,
        type=sweep.types[number],
        setting=variant.name,
        alpha=variant.alpha,
        k=k,
        expected=result.grades,
        retrieved=result.retrieved,
        not_retrieved=result.absent,
        metrics={f"{name}@{k}": TracedMetric(values[name], text) for name, text in sums.items()},
        milliseconds=None if np.isnan(taken) else float(taken),
        described=setting_name(sweep, place),
        rewritten=sweep.searched_text(place[0], number) if variant.stage == REWRITE else None,
    )


def _trace_quotes(
    sweep: Sweep, place: Setting, number: int, ranking: list[tuple[int, TracedPage]]
) -> _Result:
    quotes = sweep.quotes[number]
    k = sweep.ks[place[1]]
    index = sweep.setups[sweep.variants[place[0]].setup]
    labels = find_quotes([quotes], index.chunks, sweep.settings.quote_share)
    hits = hits_in_chunks(np.array([[[chunk for chunk, _ in ranking]]]), labels).found
    by_rank = dict(zip(hits.rank.tolist(), hits.grade.tolist(), strict=True))
    return _Result(
        grades=dict.fromkeys(quotes, 1.0),
        retrieved=[replace(page, relevant=chunk in labels.share[0]) for chunk, page in ranking[:k]],
        gains=[by_rank.get(rank, 0.0) for rank in range(1, k + 1)],
        absent=dict.fromkeys(labels.missing_quotes, False),
    )


def _trace_pages(
    sweep: Sweep, place: Setting, number: int, ranking: list[tuple[int, TracedPage]]
) -> _Result:
    labels = sweep.check.labels[sweep.cases[number].id]
    grades = {page: grade for page, grade in labels.items() if grade > 0}
    pages = sweep.ranked_pages(place[0], number, sweep.ks[place[1]])
    # Reversed, so that the best chunk of a page is the last one stored, and stays.
    best_chunk = {page.page: page for _, page in reversed(ranking)}
    return _Result(
        grades=grades,
        retrieved=[
            replace(best_chunk[page], relevant=page in grades)
            for page in pages
            if page in best_chunk
        ],
        gains=[grades.get(page, 0.0) for page in pages],
        absent={page: page in sweep.pages for page in grades if page not in pages},
    )


def _rank_chunks(sweep: Sweep, place: Setting, number: int) -> list[tuple[int, TracedPage]]:
    """Every retrieved chunk, best first, with its page, its text and its scores."""
    variant = sweep.variants[place[0]]
    index = sweep.setups[variant.setup]
    text = sweep.searched_text(place[0], number)
    candidates = index.candidates([text], sweep.settings.pool)
    if variant.alpha is None:
        fused = reciprocal_scores(candidates)
    else:
        fused = next(weighted_scores(candidates, [variant.alpha]))
    ranking: list[tuple[int, TracedPage]] = []
    for n in np.argsort(-fused[0], kind="stable").tolist():
        number_of_chunk = int(candidates.chunk[0, n])
        if number_of_chunk < 0:
            continue
        chunk = index.chunks[number_of_chunk]
        traced = TracedPage(
            page=chunk.page,
            relevant=False,
            text=short_label(chunk.text, _TEXT_LENGTH),
            dense=_finite(candidates.dense[0, n]),
            sparse=_finite(candidates.sparse[0, n]),
            fused=_finite(fused[0, n]),
        )
        ranking.append((number_of_chunk, traced))
    return ranking


def _explain_metrics(values: Mapping[str, float], result: _Result, k: int) -> dict[str, str]:
    """The sum behind each metric."""
    hits = [rank for rank, gain in enumerate(result.gains, start=1) if gain > 0]
    ideal = sorted(result.grades.values(), reverse=True)
    dcg = " + ".join(f"{result.gains[rank - 1]:g}/log2({rank + 1})" for rank in hits) or "0"
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal[:k], start=1))
    precisions = " + ".join(f"{n}/{rank}" for n, rank in enumerate(hits, start=1)) or "0"
    precision = f"{values['precision']:.4f}"
    recall = f"{values['recall']:.4f}"
    return {
        "precision": f"{len(hits)} relevant / {k} places",
        "recall": f"{len(hits)} found / {len(ideal)} relevant",
        "f1": f"2 · {precision} · {recall} / ({precision} + {recall})",
        "mrr": f"1 / {hits[0]}" if hits else "no relevant page",
        "hit_rate": f"{len(hits)} relevant among the first {k}",
        "ndcg": f"({dcg}) / {best:.4f}",
        "map": f"({precisions}) / {len(ideal)}",
    }


def _find_case(sweep: Sweep, query: str) -> int:
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


def _finite(score: float) -> float | None:
    if math.isfinite(score):
        return float(score)
    return None


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
