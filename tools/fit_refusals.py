"""Fit the classifier of `refusal`: does a clause decline, answer, or add nothing? `python tools/fit_refusals.py`

Reads tools/refusal_clauses/LANG.jsonl ({"kind": "refuses" | "answers" | "courtesy", "text"}) and, as ordinary English, the
passages written for the entailment model; prints how well clauses of one half are told by a fit on the other, and writes
src/answerkey/language/fitted/refusal.json: a weight per n-gram and kind.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from tools.train_entailment.written import written_lines  # noqa: E402

from answerkey.language.refusal import KINDS, clauses_of, ngrams  # noqa: E402

CLAUSES = Path(__file__).with_name("refusal_clauses")
OUT = ROOT / "src" / "answerkey" / "language" / "fitted" / "refusal.json"
STRENGTH = 30.0
ORDINARY = 4000  # clauses of passages
LEAST = 0.15  # weights closer to 0 are left out


def rows() -> list[tuple[str, str, str]]:
    """(language, kind, clause); a text of several clauses is left out unless it answers: which of them declines isn't known."""
    found: list[tuple[str, str, str]] = []
    for file in sorted(CLAUSES.glob("*.jsonl")):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            parts = clauses_of(line["text"])
            if len(parts) == 1 or line["kind"] == "answers":
                found += [(file.stem, line["kind"], part) for part in parts]
            else:
                found.append((file.stem, line["kind"], max(parts, key=len)))
    return found


def ordinary() -> list[tuple[str, str, str]]:
    """Clauses of passages, which decline nothing."""
    texts = [
        text
        for line in written_lines("passages")
        for text in (line["premise"], *line["s"], *line["c"])
    ]
    clauses = sorted({clause for text in texts for clause in clauses_of(text)})
    return [("en", "answers", clause) for clause in random.Random(7).sample(clauses, ORDINARY)]


def vectorizer() -> CountVectorizer:
    return CountVectorizer(analyzer=ngrams, min_df=2, binary=True)


def scaled(counts: csr_matrix) -> csr_matrix:
    """Each clause has length 1, so that long ones don't count more."""
    lengths = np.sqrt(np.asarray(counts.sum(axis=1), dtype=float).ravel())
    return counts.multiply(1 / np.maximum(lengths, 1)[:, None]).tocsr()


def fit(texts: list[str], kinds: list[str]) -> tuple[CountVectorizer, LogisticRegression]:
    counter = vectorizer()
    model = LogisticRegression(
        C=STRENGTH, max_iter=2000, class_weight={"answers": 1.5, "refuses": 1.0, "courtesy": 1.0}
    )
    return counter, model.fit(scaled(counter.fit_transform(texts)), kinds)


def main() -> None:
    given = [*rows(), *ordinary()]
    random.Random(7).shuffle(given)
    half = len(given) // 2
    counter, model = fit([text for *_, text in given[:half]], [kind for _, kind, _ in given[:half]])
    told = model.predict(scaled(counter.transform([text for *_, text in given[half:]])))
    for kind in KINDS:
        mine = [
            own == kind
            for (_, true, _), own in zip(given[half:], told, strict=True)
            if true == kind
        ]
        print(f"{kind}: {sum(mine)} of {len(mine)} told by a fit on the other half")
    counter, model = fit([text for *_, text in given], [kind for _, kind, _ in given])
    order = [list(model.classes_).index(kind) for kind in KINDS]
    weights = model.coef_[order] - model.coef_[order[-1]]
    shifts = model.intercept_[order] - model.intercept_[order[-1]]
    table = {
        name: [round(float(weight), 2) for weight in weights[:-1, at]]
        for name, at in sorted(counter.vocabulary_.items())
        if np.abs(weights[:-1, at]).max() >= LEAST
    }
    OUT.parent.mkdir(exist_ok=True)
    text = json.dumps(
        {"shift": [round(float(s), 3) for s in shifts[:-1]], "weights": table},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    OUT.write_text(text + "\n", encoding="utf-8")
    print(f"{len(table)} n-grams, {len(text) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
