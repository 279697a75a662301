"""groundedness against the plain embedding of the same texts, in one run: a ratio, and how memory grows.

    python benchmarks/grounding.py [--answers 1000]

The budget: at most half the time of embedding the answers and their passages (5 of 200 words each) in fp32.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable

from answerkey.embed import load_embedder
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.types import Case, Pair, Passage, Response

SYLLABLES = ("ta", "ri", "mo", "ven", "sol", "ka", "der", "lin", "pa", "tor", "es", "bru")


def make_pairs(count: int, seed: int = 5) -> list[Pair]:
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(3000)] + [
        "the",
        "of",
        "is",
        "and",
        "in",
    ] * 200
    pairs: list[Pair] = []
    for n in range(count):
        passages = tuple(Passage(_text(rng, words, 200)) for _ in range(5))
        answer = _text(rng, words, 20) + " " + passages[0].text[:200]
        pairs.append((Case(str(n), _text(rng, words, 8)), Response(answer=answer, passages=passages)))
    return pairs


def _text(rng: random.Random, words: list[str], length: int) -> str:
    chosen = [word + ("." if n % 18 == 17 else "") for n, word in enumerate(rng.choices(words, k=length))]
    return " ".join(chosen).capitalize() + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000)
    count = parser.parse_args().answers
    embed = load_embedder(cache=False)
    pairs = make_pairs(count)
    groundedness(pairs[:16])  # warm
    texts = [text for _, response in pairs for text in (response.answer or "", *response.contexts)]
    plain = _seconds(lambda: embed.inner.embed(texts))
    half, whole = count // 2, count
    first = _seconds(lambda: groundedness(pairs[:half]))
    memory_half = _peak()
    second = _seconds(lambda: groundedness(pairs[half:whole]))
    print(f"embedding {len(texts):,} texts: {plain:.1f} s; groundedness of {count:,} answers: {first + second:.1f} s")
    print(
        f"ratio {(first + second) / plain:.2f} (budget 0.5); peak memory {memory_half:,} MB at half, {_peak():,} MB at the end"
    )


def _seconds(work: Callable[[], object]) -> float:
    """Processor time, so that a busy machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
