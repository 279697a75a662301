"""A sweep of 4 chunk sizes × 2 models × 11 α × 6 K: how often texts are embedded, and what fusion adds. Code 1 where it fails.

    python benchmarks/chunk_sweep.py [--pages 2000] [--words 400]

Pages have 400 words on average, from 300 to 500. The two models are the packaged one in 32 and in 8 bits.
Targets: every text is embedded once per chunking and model; fusing and measuring take less time than embedding.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import answerkey.experiments.sweep as module
from answerkey.embed import load_embedder
from answerkey.runs.suite import load_suite

SIZES = (50, 100, 200, 400)
WORDS = """time year people way day man thing woman life child world school state family student group country problem hand
part place case week company system program question work government number night point home water room mother area money
story fact month lot right study book eye job word business issue side kind head house service friend father power hour game
line end member law car city community name president team minute idea body information back parent face others level office
door health person art war history party result change morning reason research girl guy moment air teacher force education"""
MODELS = ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2:int8")


class Counting:
    """An embedder that counts what it is asked for, without a cache."""

    def __init__(self, model: str) -> None:
        self.inner = load_embedder(model, cache=False).inner
        self.name, self.digest, self.precision = model, self.inner.digest, self.inner.precision
        self.dimension = self.inner.dimension
        self.texts: Counter[str] = Counter()
        self.seconds = 0.0

    def embed(self, texts: Any) -> Any:
        self.texts.update(texts)
        start = time.perf_counter()
        found = self.inner.embed(texts)
        self.seconds += time.perf_counter() - start
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pages", 2000), ("words", 400), ("queries", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANSWERKEY_CACHE"] = str(Path(folder) / "cache")
        return measured(made_suite(Path(folder), asked.pages, asked.words, asked.queries), asked)


def measured(suite: Path, asked: argparse.Namespace) -> int:
    made: dict[str, Counting] = {}
    module.load_embedder = lambda model, **_: made.setdefault(model, Counting(model))  # type: ignore[assignment]
    prepared = module.prepare(load_suite(suite))
    chunks = {index.chunking: tuple(chunk.text for chunk in index.chunks) for index in prepared.setups}
    needed = sum(
        len(texts) for texts in set(chunks.values())
    )  # the same chunks of two sizes are one index in the cache
    embedded = {model: sum(one.texts.values()) for model, one in made.items()}
    sweep = module.run_sweep(prepared, timed=False)
    seconds = sum(one.seconds for one in made.values())
    what = f"{len(sweep.setups)} indexes x 11 alphas x 6 K, {len(sweep.places)} settings"
    print(f"{asked.pages} pages, {asked.queries} queries, {what}")
    print(f"embedded {embedded} texts per model; {needed} different chunks in {len(chunks)} chunkings")
    print(f"embedding                 {seconds:8.2f} s")
    print(f"search                    {sweep.seconds['search']:8.2f} s (with the questions' embedding)")
    print(f"fusing and measuring      {sweep.seconds['fuse_and_measure']:8.2f} s (target below embedding)")
    fine = all(count == needed for count in embedded.values()) and sweep.seconds["fuse_and_measure"] < seconds
    return 0 if fine else 1


def made_suite(folder: Path, pages: int, words: int, queries: int) -> Path:
    random = np.random.default_rng(5)
    vocabulary = np.array(WORDS.split())
    lengths = random.integers(words * 3 // 4, words * 5 // 4, pages).tolist()
    texts = [" ".join(random.choice(vocabulary, length)) for length in lengths]
    (folder / "book.txt").write_text("\f".join(texts))
    picked = random.integers(0, pages, queries).tolist()
    rows = [
        {"id": str(n), "question": " ".join(random.choice(texts[page].split(), 6)), "relevant": [str(page + 1)]}
        for n, page in enumerate(picked)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    alphas = [step / 10 for step in range(11)]
    (folder / "suite.toml").write_text(
        f'cases = ["cases.jsonl"]\n[retrieval]\ndocuments = "book.txt"\nchunk_sizes = {list(SIZES)}\noverlaps = [0]\n'
        f"models = {json.dumps(MODELS)}\nalphas = {alphas}\nks = [3, 5, 7, 10, 15, 20]\n"
    )
    return folder / "suite.toml"


if __name__ == "__main__":
    sys.exit(main())
