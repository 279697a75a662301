"""The runtime checks, beside the cheapest check with a model: one embedding of the answer. Prints the ratio.

python benchmarks/assess.py [--times N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import count

from answerkey import assess_answer
from answerkey.embed import load_embedder

CONTEXT = (
    "Goods may be returned within 30 days of purchase, unopened or faulty, with the receipt or the member number. "
    * 8
)
ANSWER = (
    "- Bring the goods and the receipt to any store within 30 days [1].\n- Electronics have 14 days [2].\n"
    * 6
)
CONTEXTS = [CONTEXT] * 5
SCORES = [0.71, 0.66, 0.52, 0.47, 0.41]
QUESTION = "What are the steps to return goods that were bought online?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2000)
    times = parser.parse_args().times
    model = load_embedder(cache=False)
    model.embed([ANSWER])
    checks = best_of(
        lambda: assess_answer(
            QUESTION, ANSWER, contexts=CONTEXTS, retrieval_scores=SCORES, run_id="run-1"
        ),
        times,
    )
    texts = (
        f"{number}. {ANSWER}" for number in count()
    )  # each is new, so that none comes from a cache
    embedding = best_of(lambda: model.embed([next(texts)]), 20)
    print(
        f"an answer of {len(ANSWER)} characters, 5 contexts of {len(CONTEXT)}; best of 3, processor time"
    )
    print(
        f"assess_answer {checks * 1e3:.4f} ms   one embedding {embedding * 1e3:.2f} ms   {embedding / checks:.0f} times as fast"
    )


def best_of(call: Callable[[], object], times: int) -> float:
    """Seconds of processor time for one call."""
    taken: list[float] = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(times):
            call()
        taken.append((time.process_time() - start) / times)
    return min(taken)


if __name__ == "__main__":
    main()
