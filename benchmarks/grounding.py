"""groundedness and the metrics of facts beside the plain embedding of the same texts, in one run: ratios, and memory.

    python benchmarks/grounding.py [--answers 1000] [--embedded 200]

The budgets: groundedness at most half the time of embedding the answers and their passages (5 of 200 tokens each) in fp32;
facts against an expected answer and the passages at most 1.5 times that. The texts of some of the answers are embedded, and
the time is scaled to all of them.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable

from answerkey.embed import load_embedder
from answerkey.entailment import packaged as entailment
from answerkey.metrics.facts import fact_metrics, passage_fact_metrics
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.metrics.grounding.sentence_features import rarity
from answerkey.types import Case, Pair, Passage, Response

WORDS_IN_PASSAGE, WORDS_IN_SENTENCE = 180, 18
EXPECTED = ("fact_recall", "fact_precision", "fact_f1", "fact_contradictions")
FACTS = (
    "context_fact_recall",
    "context_utilisation",
    "hallucination",
    "self_knowledge",
    "noise_sensitivity",
)


def make_pairs(count: int, seed: int = 5) -> list[Pair]:
    """Answers of four sentences: a copy from a passage, two with some words replaced, and one of other words."""
    rng = random.Random(seed)
    words = [word for word in rarity() if word.isalpha() and len(word) > 1]
    pairs: list[Pair] = []
    for n in range(count):
        passages = [
            [_sentence(rng, words) for _ in range(WORDS_IN_PASSAGE // WORDS_IN_SENTENCE)]
            for _ in range(5)
        ]
        copied, *near = (rng.choice(passage) for passage in rng.sample(passages, 3))
        changed = [
            [word if rng.random() > 0.25 else rng.choice(words) for word in sentence]
            for sentence in near
        ]
        answer = _text([copied, *changed, _sentence(rng, words)])
        given = tuple(Passage(_text(passage)) for passage in passages)
        expected = _text([copied, rng.choice(passages[4]), *changed[:1], _sentence(rng, words)])
        case = Case(str(n), _text([_sentence(rng, words)[:8]]), expected=(expected,))
        pairs.append((case, Response(answer=answer, passages=given)))
    return pairs


def _sentence(rng: random.Random, words: list[str]) -> list[str]:
    return rng.choices(words, k=WORDS_IN_SENTENCE)


def _text(sentences: list[list[str]]) -> str:
    return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--embedded", type=int, default=200)
    asked = parser.parse_args()
    count, sample = asked.answers, min(asked.embedded, asked.answers)
    embed = load_embedder(cache=False)
    pairs = make_pairs(count)
    _forget()
    groundedness(pairs[:16])  # warm
    texts = [
        text
        for _, response in pairs[:sample]
        for text in (response.answer or "", *response.contexts)
    ]
    plain = _seconds(lambda: embed.inner.embed(texts)) * count / sample
    print(
        f"embedding {len(texts) * count // sample:,} texts in fp32: {plain:.1f} s ({len(texts):,} timed)",
        flush=True,
    )
    metrics: dict[str, tuple[float, Callable[[list[Pair]], object]]] = {
        "groundedness": (0.5, groundedness),
        "facts": (
            1.5,
            lambda some: (
                fact_metrics(some, names=EXPECTED),
                passage_fact_metrics(some, names=FACTS),
            ),
        ),
    }
    for name, (budget, measure) in metrics.items():
        _forget()
        seconds, peaks = 0.0, list[int]()
        for some in (pairs[: count // 2], pairs[count // 2 :]):
            seconds += _seconds(lambda some=some, measure=measure: measure(some))
            peaks.append(_peak())
        print(
            f"{name} of {count:,} answers: {seconds:.1f} s, {seconds / plain:.2f} times the embedding (budget {budget}); "
            f"peak memory {peaks[0]:,} MB at half, {peaks[1]:,} MB at the end",
            flush=True,
        )


def _forget() -> None:
    """Nothing is known from an earlier run, or of another metric."""
    entailment.load_model.cache_clear()
    if model := entailment.load_model():
        model.rows.store = None


def _seconds(work: Callable[[], object]) -> float:
    """Processor time, so that a busy machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
