"""BM25, dense and hybrid nDCG@10 on public collections with human labels. Ends with code 1 where a target is missed.

    python benchmarks/retrieval.py --data DIR [--collections cranfield,scifact] [--model all-MiniLM-L6-v2]

DIR holds a folder a collection, each with corpus.jsonl and dev.jsonl. Vectors are kept in the cache.
Targets: on Cranfield dense >= 0.38, and the best hybrid above both dense and BM25.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from answerkey.cases import load_cases
from answerkey.config.tables import ALPHAS, RetrievalTable
from answerkey.embed import load_embedder
from answerkey.experiments.grid import METRICS, RRF, Variant, number_labels, weighted
from answerkey.experiments.sweep import measure_grid, search_once, to_pages
from answerkey.retrieval.fuse import reciprocal_ranks, weighted_sum
from answerkey.retrieval.search_index import open_index

K = 10
LEAST_DENSE = {"cranfield": 0.38}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collections", default="cranfield,scifact")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    asked = parser.parse_args()
    missed = [name for name in asked.collections.split(",") if not measured(asked.data / name, asked.model)]
    if missed:
        print(f"target missed on {', '.join(missed)}")
    return 1 if missed else 0


def measured(folder: Path, model: str) -> bool:
    if not (folder / "corpus.jsonl").is_file():
        print(f"{folder.name}: not on this machine, skipped")
        return True
    start = time.perf_counter()
    settings = RetrievalTable(documents=folder / "corpus.jsonl")
    index = open_index(settings, load_embedder(model))
    cases = list(load_cases([folder / "dev.jsonl"], folder))
    candidates = search_once(index, [case.question for case in cases], settings.pool)
    variants = [*weighted(ALPHAS), Variant(RRF, None)]
    chunks = np.concatenate([weighted_sum(candidates, ALPHAS), reciprocal_ranks(candidates)[None]])
    labels = number_labels(cases, index.pages)
    values = measure_grid(to_pages(index, chunks, "page", K), labels, (K,))
    means = values[:, 0, labels.labelled, METRICS.index("ndcg")].mean(axis=1)
    taken = f"{time.perf_counter() - start:.0f} s"
    print(f"{folder.name}: {len(index.pages)} documents, {int(labels.labelled.sum())} queries, {model}, {taken}")
    for variant, mean in zip(variants, means, strict=True):
        print(f"  nDCG@{K} {mean:.4f}  {variant.name}")
    sparse, dense, hybrid = means[0], means[len(ALPHAS) - 1], max(*means[1 : len(ALPHAS) - 1], means[-1])
    return folder.name not in LEAST_DENSE or bool(dense >= LEAST_DENSE[folder.name] and hybrid > max(dense, sparse))


if __name__ == "__main__":
    sys.exit(main())
