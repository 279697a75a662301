"""`groundedness`: is the answer supported by the passages? A local detector, with no model service.

The value is the probability, 0 to 1, that the whole answer is supported. `details["sentences"]` gives for every
sentence its place, the probability that it is *un*supported, the best supporting passage and span, and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from answerkey.metrics.evidence import pieces
from answerkey.metrics.registry import metric
from answerkey.metrics.support import Index, lexical
from answerkey.types import Pair, Score


@metric(
    "groundedness",
    batch=True,
    needs=("answer",),
    uses=("contexts", "question"),
    empty="1 for an answer that says nothing; 0 for an answer with no passage to support it",
)
def groundedness(pairs: Sequence[Pair]) -> list[Score]:
    """Probability that every sentence of the answer is supported by the passages."""
    scores: list[Score] = []
    for case, response in pairs:
        index = Index.of(response.contexts)
        asked = frozenset(stem for piece in pieces(case.question) for stem in piece.content_stems())
        recalls = [
            lexical(piece, index, asked, {}).features["recall_or_asked"]
            for piece in pieces(response.answer or "")
        ]
        scores.append(Score(float(np.mean(recalls)) if recalls else 1.0))
    return scores
