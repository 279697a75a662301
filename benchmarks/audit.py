"""The time of an audit beside that of embedding its passages once, in one run: ratios, and memory.

    python -m benchmarks.audit [--cases 1000] [--passages 5000]

The budget: at most 3 times the time of embedding the passages. The ratio is that of processor time, because other
work on the machine changes the clock, and not that. Nothing is cached: the cache is a temporary folder. Passages are
sentences of `tools/audit_set`, drawn anew for each, and an expected answer is a sentence of its passage. Memory is the
most that the process took after embedding, and after the audit. Ends with code 1 above the budget.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from answerkey.embed import load_embedder
from answerkey.embed.minilm import MiniLM
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit.run_audit import audit_cases
from answerkey.types import Case

SENTENCES = Path(__file__).resolve().parents[1] / "tools" / "audit_set"
MOST_TIMES = 3.0
SENTENCES_PER_PASSAGE = 8


def make_set(cases: int, passages: int) -> tuple[list[Case], list[Page]]:
    """Passages of eight sentences, and questions about one of them."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(SENTENCES.glob("*.md")))
    paragraphs = [line for line in text.splitlines() if not line.startswith(("#", "Q:", "A:"))]
    sentences = [one for line in paragraphs for one in re.split(r"(?<=[.]) ", line) if one]
    rng = random.Random(3)
    pages = [
        Page(
            f"p{number}",
            f"Item {number}. " + " ".join(rng.sample(sentences, SENTENCES_PER_PASSAGE)),
            f"d{number // 10}",
        )
        for number in range(passages)
    ]
    made: list[Case] = []
    for number in range(cases):
        page = rng.choice(pages)
        sentence = rng.choice(re.split(r"(?<=[.]) ", page.text)[1:])
        question = f"What do the rules of item {page.id[1:]} say about {sentence.split()[-1]}"
        made.append(Case(f"q{number}", question, (sentence,), relevant={page.id: 1.0}))
    return made, pages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=5_000)
    options = parser.parse_args()
    cases, pages = make_set(options.cases, options.passages)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANSWERKEY_CACHE"] = folder
        once = _seconds(lambda: MiniLM().embed([page.text for page in pages]))
        memory_before = _megabytes()
        whole = _seconds(lambda: audit_cases(cases, documents=pages, embed=load_embedder()))
    times = whole / once
    print(
        f"{len(cases)} cases, {len(pages)} passages, processor time: embedding once {once:.1f} s, "
        f"audit {whole:.1f} s, {times:.2f} times (budget {MOST_TIMES:g}); most memory "
        f"{memory_before:.0f} MB after embedding, {_megabytes():.0f} MB after the audit"
    )
    return int(times > MOST_TIMES)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
