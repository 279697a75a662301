"""A sweep of 4 chunk sizes × 2 models × 11 α × 6 K: how often texts are embedded, and what fusion adds. Code 1 where it fails.

    python -m benchmarks.chunk_sweep [--pages 2000] [--words 400] [--every 1]

Pages have 400 words on average, from 300 to 500. The two models are the packaged one in 32 and in 8 bits. On a busy machine,
`--every 20` embeds every 20th text only and multiplies the time by 20; all texts are counted, searched and fused.
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
    """An embedder that counts what it is asked for, without a cache; what it leaves out has the vector of its neighbour."""

    def __init__(self, model: str, every: int) -> None:
        self.inner = load_embedder(model, cache=False).inner
        self.name, self.digest, self.precision = model, self.inner.digest, self.inner.precision
        self.dimension, self.every = self.inner.dimension, every
        self.texts: Counter[str] = Counter()
        self.seconds = 0.0

    def embed(self, texts: Any) -> Any:
        self.texts.update(texts)
        some = texts[:: self.every]
        start = time.process_time()
        found = self.inner.embed(some)
        self.seconds += (time.process_time() - start) * len(texts) / len(some)
        return np.repeat(found, self.every, axis=0)[: len(texts)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("pages", 2000), ("words", 400), ("queries", 100), ("every", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANSWERKEY_CACHE"] = str(Path(folder) / "cache")
        return measured(made_suite(Path(folder), asked), asked)


def measured(suite: Path, asked: argparse.Namespace) -> int:
    made: dict[str, Counting] = {}
    module.load_embedder = lambda model, **_: made.setdefault(model, Counting(model, asked.every))  # type: ignore[assignment]
    prepared = module.prepare(load_suite(suite))
    chunks = {
        index.chunking: tuple(chunk.text for chunk in index.chunks) for index in prepared.setups
    }
    needed = sum(
        len(texts) for texts in set(chunks.values())
    )  # the same chunks of two sizes are one index in the cache
    embedded = {model: sum(one.texts.values()) for model, one in made.items()}
    sweep = module.run_sweep(prepared, timed=False)
    seconds = sum(one.seconds for one in made.values())
    what = f"{len(sweep.setups)} indexes x 11 alphas x 6 K, {len(sweep.places)} settings"
    print(f"{asked.pages} pages, {asked.queries} queries, {what}")
    print(
        f"embedded {embedded} texts per model; {needed} different chunks in {len(chunks)} chunkings"
    )
    scaled = f" (every {asked.every}th text, scaled)" if asked.every > 1 else ""
    print(f"embedding                 {seconds:8.2f} s of processor time{scaled}")
    print(
        f"search                    {sweep.seconds['search']:8.2f} s (with the questions' embedding)"
    )
    print(
        f"fusing and measuring      {sweep.seconds['fuse_and_measure']:8.2f} s (target below embedding)"
    )
    fine = (
        all(count == needed for count in embedded.values())
        and sweep.seconds["fuse_and_measure"] < seconds
    )
    return 0 if fine else 1


def made_suite(folder: Path, asked: argparse.Namespace) -> Path:
    random = np.random.default_rng(5)
    vocabulary = np.array(WORDS.split())
    lengths = random.integers(asked.words * 3 // 4, asked.words * 5 // 4, asked.pages).tolist()
    texts = [" ".join(random.choice(vocabulary, length)) for length in lengths]
    (folder / "book.txt").write_text("\f".join(texts))
    picked = random.integers(0, asked.pages, asked.queries).tolist()
    rows = [
        {
            "id": str(n),
            "question": " ".join(random.choice(texts[page].split(), 6)),
            "relevant": [str(page + 1)],
        }
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
