"""Where families of metrics disagree about one answer: the cases worth reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from answerkey.types import Json, Outcome

Values = Mapping[str, float]

_RULES: tuple[tuple[str, tuple[str, ...], Callable[[Values], bool]], ...] = (
    ("the words differ but the judge is content", ("exact_match", "rubric.accuracy"),
     lambda v: v["exact_match"] == 0 and v["rubric.accuracy"] >= 4.5),
    ("the words match but the judge is not content", ("token_f1", "rubric.accuracy"),
     lambda v: v["token_f1"] >= 0.8 and v["rubric.accuracy"] <= 2),
    ("the meaning is near but a number is wrong", ("answer_correctness", "number_close"),
     lambda v: v["answer_correctness"] >= 0.7 and v["number_close"] == 0),
    ("near to the question but the number is wrong", ("semantic_relevance", "factual_accuracy"),
     lambda v: v["semantic_relevance"] >= 0.7 and v["factual_accuracy"] < 0.5),
    ("the meaning is near but hardly a word is shared", ("answer_correctness", "token_f1"),
     lambda v: v["answer_correctness"] >= 0.75 and v["token_f1"] <= 0.2),
    ("the words are shared but the answer does not agree", ("keyword_recall", "answer_agreement"),
     lambda v: v["keyword_recall"] >= 0.8 and v["answer_agreement"] <= 0.3),
    ("near to the passages by cosine but not supported by them", ("answer_hallucination", "groundedness"),
     lambda v: v["answer_hallucination"] <= 0.1 and v["groundedness"] <= 0.3),
    ("all expected words are there, in an answer the judge rejects", ("keyword_recall", "judge.relevance"),
     lambda v: v["keyword_recall"] >= 0.9 and v["judge.relevance"] <= 0.3),
)  # fmt: skip


def disagreements(outcome: Outcome) -> list[Json]:
    """Each rule that holds for this outcome, with the two values that disagree."""
    values = {name: score.value for name, score in outcome.scores.items() if score.value is not None}
    return [
        {"id": outcome.case.id, "what": what, "values": {name: values[name] for name in names}}
        for what, names, holds in _RULES
        if all(name in values for name in names) and holds(values)
    ]
