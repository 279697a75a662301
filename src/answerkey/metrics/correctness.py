"""`answer_agreement`: does the answer agree with one of the expected answers? Local, no model service."""

from __future__ import annotations

from answerkey.metrics.evidence import pieces
from answerkey.metrics.registry import metric
from answerkey.types import Case, Response, Score


@metric("answer_agreement", needs=("answer", "expected"), empty="0 for an empty answer")
def answer_agreement(case: Case, response: Response) -> Score:
    """Probability that the answer agrees with one of the expected answers."""
    said = {stem for piece in pieces(response.answer or "") for stem in piece.stems}
    best = 0.0
    for expected in case.expected:
        wanted = {stem for piece in pieces(expected) for stem in piece.content_stems()}
        best = max(best, len(wanted & said) / len(wanted) if wanted else 0.0)
    return Score(best)
