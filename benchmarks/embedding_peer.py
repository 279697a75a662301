"""The other side of benchmarks/embedding.py: sentence-transformers, and the five metrics as plain scripts compute them.

Runs in an environment of its own. Reads one JSON request a line, answers with the processor seconds it took.
"""

import json
import re
import sys
import time

import torch
from sentence_transformers import SentenceTransformer, util

torch.set_num_threads(1)
model = SentenceTransformer(sys.argv[1], device="cpu")


def evaluate(question: str, answer: str, reference: str, contexts: list[str]) -> dict[str, float]:
    """One case at a time, every metric embedding what it needs."""
    return {
        "context_relevance": float(
            util.cos_sim(model.encode(question), model.encode(contexts)).mean()
        ),
        "context_sufficiency": float(
            (util.cos_sim(model.encode(question), model.encode(contexts)) >= 0.5).float().mean()
        ),
        "answer_relevance": float(util.cos_sim(model.encode(answer), model.encode(reference))),
        "answer_correctness": float(util.cos_sim(model.encode(answer), model.encode(reference))),
        "answer_hallucination": unsupported(answer, contexts),
    }


def unsupported(answer: str, contexts: list[str]) -> float:
    sentences = [part.strip() for part in re.split(r"[.!?]", answer) if part.strip()]
    loose = [
        s
        for s in sentences
        if float(util.cos_sim(model.encode(s), model.encode(contexts)).max()) < 0.4
    ]
    return len(loose) / len(sentences) if sentences else 0.0


for line in sys.stdin:
    asked = json.loads(line)
    start = time.process_time()
    if asked["what"] == "embed":
        model.encode(asked["given"], normalize_embeddings=True, show_progress_bar=False)
    else:
        for case in asked["given"]:
            evaluate(**case)
    print(time.process_time() - start, flush=True)
