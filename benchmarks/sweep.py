"""The full sweep (11 α × 6 K × all metrics, per query) beside the two loops it replaces. Prints the ratios.

    python benchmarks/sweep.py [--pages 5000] [--queries 133] [--sample 2]

The naive loop retrieves anew for every setting (rank_bm25 + faiss, metrics in Python); it is run on a sample of the
queries and scaled, as all of it takes minutes. The second loop retrieves once a query and then loops over the settings.
Vectors and indexes are made beforehand for all three; the made texts stand for real pages.
"""

from __future__ import annotations

import argparse
import math
import time

import faiss
import numpy as np
from rank_bm25 import BM25Okapi

from answerkey.experiments.page_hits import (
    Labels,
    hits_in_pages,
    measure_grid,
    number_labels,
)
from answerkey.experiments.plan import METRICS
from answerkey.retrieval.bm25 import Bm25, Formula, build_bm25
from answerkey.retrieval.fuse import pool_candidates, weighted_sum
from answerkey.retrieval.search_index import exact_search

ALPHAS = [step / 10 for step in range(11)]
KS = (3, 5, 7, 10, 15, 20)
POOL = 100
TARGETS = (500, 10)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("pages", 5000), ("queries", 133), ("sample", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    world = World(asked.pages, asked.queries)
    ours, values = min((timed(world.sweep) for _ in range(3)), key=lambda pair: pair[0])
    naive, sampled = timed(lambda: [world.naive(query) for query in range(asked.sample)])
    naive *= asked.queries / asked.sample
    once, looped = timed(lambda: [world.retrieve_once(query) for query in range(asked.queries)])
    same = np.abs(values - np.array(looped).transpose(1, 2, 0, 3)).max()
    naive_same = np.abs(
        values[:, :, : asked.sample] - np.array(sampled).transpose(1, 2, 0, 3)
    ).max()
    print(
        f"{asked.pages} pages x {asked.queries} queries, {len(ALPHAS)} alphas x {len(KS)} K x {len(METRICS)} metrics; "
        "processor time"
    )
    print(f"answerkey                  {ours:10.3f} s")
    print(
        f"retrieve once, loops       {once:10.3f} s   {once / ours:8.0f} times as long (target {TARGETS[1]})"
    )
    print(
        f"retrieve per setting       {naive:10.3f} s   {naive / ours:8.0f} times as long "
        f"(target {TARGETS[0]}; {asked.sample} queries, scaled)"
    )
    print(f"largest difference of a value: {same:.1e} (loops), {naive_same:.1e} (per setting)")


class World:
    """Made pages and questions, indexed for both sides."""

    def __init__(self, pages: int, queries: int) -> None:
        random = np.random.default_rng(11)
        vocabulary = np.array([f"w{n}" for n in range(20_000)])
        likely = 1 / np.arange(1, len(vocabulary) + 1) ** 0.9
        likely /= likely.sum()
        self.tokens = [random.choice(vocabulary, 180, p=likely).tolist() for _ in range(pages)]
        targets = random.integers(0, pages, (queries, 2))
        self.questions = [
            random.choice(self.tokens[a], 8).tolist()
            + random.choice(vocabulary, 4, p=likely).tolist()
            for a, _ in targets
        ]
        self.vectors = unit(random.standard_normal((pages, 384)))
        self.asked = unit(
            self.vectors[targets[:, 0]] + 0.15 * random.standard_normal((queries, 384))
        )
        # By page id, descending, as an index stands: ties then go to the same page in all three.
        self.pages = sorted((str(n) for n in range(pages)), reverse=True)
        self.relevant = [{self.pages[a]: 1.0, self.pages[b]: 1.0} for a, b in targets.tolist()]
        self.labels: Labels = number_labels(self.relevant, self.pages)
        self.bm25: Bm25 = build_bm25([" ".join(text) for text in self.tokens], Formula("robertson"))
        self.okapi = BM25Okapi(self.tokens, k1=1.5, b=0.75, epsilon=0)
        self.faiss = faiss.IndexFlatIP(384)
        self.faiss.add(self.vectors)
        faiss.omp_set_num_threads(1)

    def sweep(self) -> np.ndarray:
        questions = [" ".join(question) for question in self.questions]
        candidates = pool_candidates(
            exact_search(self.vectors, self.asked, POOL), self.bm25.search(questions, POOL)
        )
        hits = hits_in_pages(weighted_sum(candidates, ALPHAS)[..., : max(KS)], self.labels)
        return measure_grid(hits, KS, len(questions))

    def retrieve(self, query: int) -> tuple[dict[int, float], dict[int, float]]:
        score, row = self.faiss.search(self.asked[query : query + 1], POOL)
        words = self.okapi.get_scores(self.questions[query])
        best = sorted(range(len(words)), key=lambda n: (-words[n], n))[:POOL]
        return dict(zip(row[0].tolist(), score[0].tolist(), strict=True)), {
            n: words[n] for n in best if words[n] > 0
        }

    def naive(self, query: int) -> list[list[list[float]]]:
        return [
            [self.score(query, fuse(*self.retrieve(query), alpha), k) for k in KS]
            for alpha in ALPHAS
        ]

    def retrieve_once(self, query: int) -> list[list[list[float]]]:
        dense, sparse = self.retrieve(query)
        return [[self.score(query, fuse(dense, sparse, alpha), k) for k in KS] for alpha in ALPHAS]

    def score(self, query: int, ranking: list[int], k: int) -> list[float]:
        """The plain metrics, in the order of METRICS."""
        relevant = self.relevant[query]
        hits = [self.pages[chunk] in relevant for chunk in ranking[:k]]
        found, total = sum(hits), len(relevant)
        precision, recall = found / k, found / total
        f1 = 2 * precision * recall / (precision + recall) if found else 0.0
        dcg = sum(hit / math.log2(n + 2) for n, hit in enumerate(hits))
        ideal = sum(1 / math.log2(n + 2) for n in range(min(total, k)))
        average = sum(sum(hits[: n + 1]) / (n + 1) for n, hit in enumerate(hits) if hit) / total
        first = 1 / (hits.index(True) + 1) if found else 0.0
        return [precision, recall, f1, first, float(found > 0), dcg / ideal, average]


def fuse(dense: dict[int, float], sparse: dict[int, float], alpha: float) -> list[int]:
    if alpha in {0.0, 1.0}:
        side = dense if alpha else sparse
        return sorted(side, key=lambda chunk: (-side[chunk], chunk))
    a, b = scaled(dense), scaled(sparse)
    total = {
        chunk: alpha * a.get(chunk, 0.0) + (1 - alpha) * b.get(chunk, 0.0) for chunk in {*a, *b}
    }
    return sorted(total, key=lambda chunk: (-total[chunk], chunk))


def scaled(side: dict[int, float]) -> dict[int, float]:
    low, high = min(side.values(), default=0.0), max(side.values(), default=0.0)
    return {
        chunk: (score - low) / (high - low) if high > low else 1.0 for chunk, score in side.items()
    }


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def timed(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


if __name__ == "__main__":
    main()
