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
from answerkey.metrics.entailment import model as entailment
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.metrics.grounding.sentence_features import rarity
from answerkey.types import Case, Pair, Passage, Response

WORDS_IN_PASSAGE, WORDS_IN_SENTENCE = 180, 18


def make_pairs(count: int, seed: int = 5) -> list[Pair]:
    """Answers of four sentences: a copy from a passage, two with some words replaced, and one of other words."""
    rng = random.Random(seed)
    words = [word for word in rarity() if word.isalpha() and len(word) > 1]
    pairs: list[Pair] = []
    for n in range(count):
        passages = [[_sentence(rng, words) for _ in range(WORDS_IN_PASSAGE // WORDS_IN_SENTENCE)] for _ in range(5)]
        copied, *near = (rng.choice(passage) for passage in rng.sample(passages, 3))
        changed = [[word if rng.random() > 0.25 else rng.choice(words) for word in sentence] for sentence in near]
        answer = _text([copied, *changed, _sentence(rng, words)])
        given = tuple(Passage(_text(passage)) for passage in passages)
        pairs.append((Case(str(n), _text([_sentence(rng, words)[:8]])), Response(answer=answer, passages=given)))
    return pairs


def _sentence(rng: random.Random, words: list[str]) -> list[str]:
    return rng.choices(words, k=WORDS_IN_SENTENCE)


def _text(sentences: list[list[str]]) -> str:
    return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000)
    count = parser.parse_args().answers
    embed = load_embedder(cache=False)
    known = entailment.load_model()
    if known:
        known.store = None  # nothing is known from an earlier run
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
