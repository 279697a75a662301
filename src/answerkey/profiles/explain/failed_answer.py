"""The answer that failed, beside the expected answer and the passages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from answerkey.language.sentences import content_stems
from answerkey.profiles.explain.statements import find_figures, find_passage, without_question
from answerkey.profiles.explain.wording import own_words, share_of_words
from answerkey.types import Case, Response, Score

# Metrics that compare the answer with the passages; the others that fail a case compare it with
# what is expected.
SUPPORT_METRICS = frozenset(
    {
        "groundedness",
        "groundedness:words",
        "entailment",
        "answer_hallucination",
        "hallucination",
        "judge.faithfulness",
    }
)
RELEVANCE_METRICS = frozenset({"answer_relevance", "judge.relevance"})
# Share of the expected words from which a passage, or an answer, has the expected facts.
HAS_FACTS = 0.6
_RANKING_METRICS = ("ndcg@", "recall@", "precision@", "hit_rate@", "f1@", "mrr", "map")
# Placeholders that bots return where they have no answer.
_PLACEHOLDERS = frozenset(
    {
        *("", "-", "--", "...", "…", "?", "{}", "[]"),
        *("n/a", "none", "null", "nan", "undefined", "[object object]"),
    }
)


def has_no_answer(answer: str | None) -> bool:
    """Whether there is no answer: nothing, blanks, or a placeholder such as `n/a`."""
    return answer is None or answer.strip().casefold() in _PLACEHOLDERS


def is_error_message(case: Case, response: Response) -> bool:
    """Whether the answer reads like an error of the bot's program, and the question is about none."""
    if "suspected_error" not in response.extra:
        return False
    # "Error 404 means that the page was not found" may be the answer to a question about it.
    return content_stems(case.question).isdisjoint(content_stems(response.answer or ""))


class FailedAnswer:
    """The texts of a failed case; `failing` are the metrics that failed it."""

    def __init__(
        self,
        case: Case,
        response: Response,
        scores: Mapping[str, Score],
        failing: Collection[str],
    ) -> None:
        self.case = case
        self.response = response
        self.scores = scores
        self.failing = failing
        self.answer = response.answer or ""
        # Blank passages stay in the list: `passage 3` is the third one that a page shows.
        has_text = any(text.strip() for text in response.contexts)
        self.passages = list(response.contexts) if has_text else []
        self.expected = _nearest_expected(self.answer, case.expected)

    def fails_only_ranking(self) -> bool:
        return bool(self.failing) and all(
            name.startswith(_RANKING_METRICS) for name in self.failing
        )

    def fails_only_support(self) -> bool:
        """Whether the answer is as expected, and only the passages do not support it."""
        fails_support = any(name in SUPPORT_METRICS for name in self.failing)
        others = [name for name in self.failing if name not in SUPPORT_METRICS]
        return fails_support and all(name in RELEVANCE_METRICS for name in others)

    def cite_expected(self) -> str:
        """`; passage 3 has it`, where a passage has the expected facts."""
        for number, passage in enumerate(self.passages, start=1):
            if self.has_expected_facts(passage):
                return f"; passage {number} has it"
        return ""

    def has_expected_facts(self, text: str) -> bool:
        if not self.case.expected:
            return False
        figures = without_question(find_figures(self.expected), find_figures(self.case.question))
        # Words alone would accept a passage that has another amount.
        if any(find_passage(figure, [text]) is None for figure in figures):
            return False
        facts = own_words(self.expected, self.case.question)
        if not facts:
            # A bare yes or no: the passage about the question has the answer.
            facts = content_stems(self.case.question)
        return share_of_words(facts, text) >= HAS_FACTS

    def retrieved_ids(self) -> list[str]:
        if self.response.retrieved is not None:
            return list(self.response.retrieved)
        return [passage.id for passage in self.response.passages if passage.id is not None]


def _nearest_expected(answer: str, expected: Sequence[str]) -> str:
    """The one of several right answers that shares most words with the answer."""
    if not expected:
        return ""
    stems = content_stems(answer)
    return max(expected, key=lambda text: len(stems & content_stems(text)))
