"""BM25, dense and hybrid nDCG@10 on public collections with human labels. Ends with code 1 where a target is missed.

    python benchmarks/retrieval.py --data DIR [--collections cranfield,scifact] [--model all-MiniLM-L6-v2]

DIR holds a folder per collection, each with corpus.jsonl and dev.jsonl. Vectors are kept in the cache. Settings are the
defaults: the language is detected, so BM25 stems.
Targets: on Cranfield dense >= 0.38, and the best hybrid above both dense and BM25. The cross-validated estimate of the
chosen setting is within 0.02 of its real value on the other half of the queries, on average over 50 random halves.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from answerkey.cases import read_cases
from answerkey.config.retrieval_tables import RetrievalTable, SweepTable
from answerkey.embed import load_embedder
from answerkey.experiments.choice import cross_validate_choice
from answerkey.experiments.label_check import check_labels, collect_labels
from answerkey.experiments.plan import RRF, STANDARD_ALPHAS
from answerkey.experiments.sweep import PreparedSweep, Sweep, run_sweep
from answerkey.retrieval.search_index import open_search_index

K = 10
LEAST_DENSE = {"cranfield": 0.38}
HALVES, CLOSE = 50, 0.02


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collections", default="cranfield,scifact")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    asked = parser.parse_args()
    missed = [
        name
        for name in asked.collections.split(",")
        if not measured(asked.data / name, asked.model)
    ]
    if missed:
        print(f"target missed on {', '.join(missed)}")
    return 1 if missed else 0


def measured(folder: Path, model: str) -> bool:
    if not (folder / "corpus.jsonl").is_file():
        print(f"{folder.name}: not on this machine, skipped")
        return True
    start = time.perf_counter()
    settings = RetrievalTable(
        documents=folder / "corpus.jsonl",
        sweep=SweepTable(alphas=STANDARD_ALPHAS, ks=(K,), rrf=True),
    )
    index = open_search_index(settings, load_embedder(model))
    cases = list(read_cases([folder / "dev.jsonl"], folder))
    check = check_labels(collect_labels(cases), index.pages)
    sweep = run_sweep(
        PreparedSweep(settings, cases, [index], check, [()] * len(cases)), timed=False
    )
    means = dict(
        zip(
            (variant.name for variant in sweep.variants),
            sweep.mean("ndcg")[:, 0].tolist(),
            strict=True,
        )
    )
    taken = f"{time.perf_counter() - start:.0f} s"
    print(
        f"{folder.name}: {len(index.pages)} documents, {int(sweep.labelled.sum())} queries, {model}, {taken}"
    )
    for name, mean in means.items():
        print(f"  nDCG@{K} {mean:.4f}  {name}")
    off = estimate_error(sweep)
    print(
        f"  cross-validated estimate - held-out half: {off:+.4f} on average over {HALVES} halves (target within {CLOSE})"
    )
    sparse, dense = means["Pure_Sparse_BM25"], means["Pure_Dense_FAISS"]
    hybrid = max(mean for name, mean in means.items() if "Hybrid" in name or name == RRF)
    least = LEAST_DENSE.get(folder.name)
    return abs(off) <= CLOSE and (
        least is None or bool(dense >= least and hybrid > max(dense, sparse))
    )


def estimate_error(sweep: Sweep) -> float:
    """What the estimate from one half of the queries promises, less what the chosen setting gives on the other half."""
    table = sweep.chosen[:, 0, sweep.labelled]
    random = np.random.default_rng(7)
    errors: list[float] = []
    for _ in range(HALVES):
        order = random.permutation(table.shape[1])
        one, other = np.array_split(order, 2)
        winner = int(np.argmax(table[:, one].mean(axis=1)))
        errors.append(
            float(cross_validate_choice(table[:, one]).mean() - table[winner, other].mean())
        )
    return float(np.mean(errors))


if __name__ == "__main__":
    sys.exit(main())
