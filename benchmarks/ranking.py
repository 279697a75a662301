"""All ranking metrics from dicts, beside pytrec_eval, on 10,000 queries × 100 ids. Prints the ratio.

python -m benchmarks.ranking [--queries N] [--depth N]
"""

from __future__ import annotations

import argparse
import random
import time

import pytrec_eval

import answerkey

KS = (3, 5, 7, 10, 15, 20)
PAIRS = {
    "precision": "P",
    "recall": "recall",
    "ndcg": "ndcg_cut",
    "map": "map_cut",
    "hit_rate": "success",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=100)
    asked = parser.parse_args()
    run, labels = make_runs(asked.queries, asked.depth)
    names = [f"{ours}@{k}" for ours in PAIRS for k in KS] + ["mrr", "map"]
    theirs = {f"{name}.{','.join(map(str, KS))}" for name in PAIRS.values()} | {"recip_rank", "map"}

    def peer() -> dict[str, dict[str, float]]:
        return pytrec_eval.RelevanceEvaluator(labels, theirs).evaluate(run)

    ours_seconds, ours = best_of(lambda: answerkey.rank(labels, run, names))
    dicts_seconds, _ = best_of(lambda: answerkey.rank(labels, run, names).queries)
    peer_seconds, reference = best_of(peer)
    worst = max(
        abs(ours.queries[query][f"{name}@{k}"] - values[f"{peer_name}_{k}"])
        for query, values in reference.items()
        for name, peer_name in PAIRS.items()
        for k in KS
    )
    print(
        f"{asked.queries} queries x {asked.depth} ids, {len(names)} metrics, best of 5, processor time"
    )
    print(
        f"pytrec_eval {peer_seconds:.3f} s   answerkey {ours_seconds:.3f} s   {peer_seconds / ours_seconds:.1f} times as fast"
    )
    print(
        f"with a dict per query, as pytrec_eval gives: {dicts_seconds:.3f} s, {peer_seconds / dicts_seconds:.1f} times as fast"
    )
    print(f"largest difference {worst:.1e}")


def make_runs(
    queries: int, depth: int
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    picker = random.Random(7)
    ids = [f"d{n}" for n in range(100_000)]
    run: dict[str, dict[str, float]] = {}
    labels: dict[str, dict[str, int]] = {}
    for number in range(queries):
        found = picker.sample(ids, depth)
        run[f"q{number}"] = {
            name: round(picker.random(), 4) for name in found
        }  # rounded, so that ties occur
        labels[f"q{number}"] = {
            name: picker.randint(1, 3) for name in found[:5] + picker.sample(ids, 5)
        }
    return run, labels


def best_of(call, times: int = 5):
    taken, result = [], None
    for _ in range(times):
        result = None  # freed outside of the time taken
        start = time.process_time()
        result = call()
        taken.append(time.process_time() - start)
    return min(taken), result


if __name__ == "__main__":
    main()
