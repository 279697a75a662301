"""The judge without a language model: it fills the rubric from the local metrics, and every reason says so.

It sees shared words, similar meanings, numbers, names, negations and citation marks, and nothing else. How well it agrees
with people is measured in docs/validity.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from answerkey.cache import digest
from answerkey.embed import Embedder, load_embedder
from answerkey.entailment.load import fingerprint_of
from answerkey.entailment.pair_model import PairModel
from answerkey.language.refusal import refusal
from answerkey.language.sentences import sentence_spans
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.plan import make_plan
from answerkey.text import normalise, words
from answerkey.types import Pair, Requirement, Score

VERSION = 6  # raised when its scores change: runs compare only with the same one
LABEL = "local judge, no language model"
CLEAR_DIFFERENCE = 0.1  # of two probabilities; a smaller one is a tie
FACTS_FROM = 15  # words: a longer expected answer is complete when its facts are there
RUBRIC = ("accuracy", "completeness", "citation_quality", "coherence")
# All in one plan: metrics that share a model compute it once per pair.
MEASURES = (
    "answer_agreement",
    "groundedness",
    "answer_relevance",
    "citation_validity",
    "citation_coverage",
    "citation_support",
    "fact_recall",
)


class LocalJudge:
    """The same scores as a model judge, on the same scales.

    `embed` and `pair_model` are the models of `[embedding]` and `[entailment]`; the packaged ones by default.
    """

    name = "local"
    # The kinds of the large exam that it can be trusted with; it sees too little of negations and refusals.
    claims = frozenset({"correctness", "faithfulness", "injection", "verbosity", "order"})

    def __init__(self, embed: Embedder | None = None, pair_model: PairModel | None = None) -> None:
        self._embedder = embed
        self._pair_model = pair_model

    @cached_property
    def _embed(self) -> Embedder:
        if self._embedder is None:
            return load_embedder()
        return self._embedder

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        measured = self._measure(pairs, MEASURES)
        return [_rubric(pair, scores) for pair, scores in zip(pairs, measured, strict=True)]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        measure = {"relevance": "answer_relevance", "faithfulness": "groundedness"}.get(name)
        if measure is None:
            reason = f"{name} can't be judged without a language model ({LABEL})"
            return [Score.not_applicable(reason) for _ in pairs]
        measured = [scores[measure] for scores in self._measure(pairs, (measure,))]
        return [
            score if score.value is None else _score(score.value, score.reason)
            for score in measured
        ]

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        """A sentence can't be judged without a language model."""
        reason = f"a criterion in words can't be judged without a language model ({LABEL})"
        return [[Score.not_applicable(reason) for _ in row] for row in requirements]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        """The answer that agrees more with the expected answer; a tie where they differ by less than a tenth."""
        firsts = self._measure([(duel.case, duel.first) for duel in duels], ("answer_agreement",))
        seconds = self._measure([(duel.case, duel.second) for duel in duels], ("answer_agreement",))
        scores: list[Score] = []
        for first, second in zip(firsts, seconds, strict=True):
            one = first["answer_agreement"].value
            two = second["answer_agreement"].value
            if one is None or two is None:
                reason = f"without an expected answer, answers can't be compared ({LABEL})"
                scores.append(Score.not_applicable(reason))
                continue
            # The metric is not exact enough to prefer an answer by a few hundredths.
            if abs(one - two) < CLEAR_DIFFERENCE:
                value = 0.5
            else:
                value = float(one > two)
            seen = f"they agree with the expected answer with probability {one:.2f} and {two:.2f}"
            scores.append(_score(value, seen))
        return scores

    def usage(self) -> None:
        return None

    def fingerprint(self) -> str:
        # The scores depend on the embedding model, so another one is another judge.
        parts = [VERSION, self._embed.name, self._embed.digest, self._embed.precision]
        chosen = fingerprint_of(self._pair_model)  # empty for the packaged model
        if chosen:
            parts.append(chosen)
        return f"local {digest(*parts)[:16]}"

    def close(self) -> None:
        pass

    def _measure(self, pairs: Sequence[Pair], names: Sequence[str]) -> list[dict[str, Score]]:
        provided: dict[str, object] = {"embed": self._embed}
        if self._pair_model is not None:
            provided["pair_model"] = self._pair_model
        return make_plan(names, provided).score(pairs)


def _rubric(pair: Pair, scores: Mapping[str, Score]) -> dict[str, Score]:
    # Also for an answer of signs alone, which has no sentence to divide by.
    if not sentence_spans(pair[1].answer or "", longest=10_000):
        return dict.fromkeys(RUBRIC, _score(0.0, "the answer is empty"))
    return {
        "accuracy": _accuracy(pair, scores),
        "completeness": _completeness(pair, scores),
        "citation_quality": _citation_quality(pair, scores),
        "coherence": _coherence(pair[1].answer or ""),
    }


def _accuracy(pair: Pair, scores: Mapping[str, Score]) -> Score:
    """Agreement with the expected answer; where none is known, support by the passages."""
    _, response = pair
    agreed = scores["answer_agreement"]
    grounded = scores["groundedness"]
    if agreed.value is not None:
        verdict = f"agrees with the expected answer with probability {agreed.value:.2f}"
        return _score(5 * agreed.value, f"{verdict}: {agreed.reason}")
    if response.passages and grounded.value is not None:
        verdict = (
            f"no expected answer; supported by the passages with probability {grounded.value:.2f}"
        )
        return _score(5 * grounded.value, f"{verdict}: {grounded.reason}")
    if refusal(response.answer or "") == "full":
        return Score.not_applicable(
            f"the answer declines, and there is no expected answer to compare with ({LABEL})"
        )
    return Score.not_applicable(f"no expected answer and no passage to compare with ({LABEL})")


def _completeness(pair: Pair, scores: Mapping[str, Score]) -> Score:
    """The share of a long expected answer's facts that are there, or of a short one's words and figures."""
    agreed = scores["answer_agreement"]
    recalled = scores["fact_recall"]
    if agreed.value is None:
        return Score.not_applicable(f"no expected answer to compare with ({LABEL})")
    if (
        recalled.value is not None
        and min(len(text.split()) for text in pair[0].expected) > FACTS_FROM
    ):
        return _score(5 * recalled.value, recalled.reason)
    features: Mapping[str, float] = agreed.details.get("features", {})
    if not features:
        return _score(0.0, agreed.reason)
    # An answer with the whole expected text misses no word, even where spellings differ.
    if features["contains"]:
        words_found = 1.0
    else:
        words_found = features["recall"]
    parts = [
        words_found,
        agreed.value,
        *([features["figures_found"]] if features["figures"] else []),
    ]
    if features["figures"]:
        figures = f", {features['figures_found']:.0%} of its figures"
    else:
        figures = ""
    return _score(5 * sum(parts) / len(parts), f"{words_found:.0%} of the expected words{figures}")


def _citation_quality(pair: Pair, scores: Mapping[str, Score]) -> Score:
    """Valid markers, sentences with a marker, and cited sentences that the passages support."""
    _, response = pair
    valid = scores["citation_validity"].value
    covered = scores["citation_coverage"].value
    if valid is None and not response.passages and not response.sources:
        return Score.not_applicable(f"nothing to cite ({LABEL})")
    parts = [valid or 0.0, covered or 0.0]
    seen = f"{parts[0]:.0%} of the markers are valid, {parts[1]:.0%} of the sentences have one"
    supported = scores["citation_support"].value
    # Sources without a text can't support anything, so support is left out of the mean.
    if supported is not None and any(passage.text for passage in response.passages):
        parts.append(supported)
        seen += f", {supported:.0%} of them point to a passage that supports the sentence"
    return _score(5 * sum(parts) / len(parts), seen)


def _coherence(answer: str) -> Score:
    """Sentences of at most 60 words, and none repeated."""
    parts = [normalise(answer[start:end]) for start, end in sentence_spans(answer, longest=10_000)]
    usual = sum(len(words(part)) <= 60 for part in parts)
    distinct = len(set(parts))
    seen = f"{usual} of {len(parts)} sentences have a usual length, {len(parts) - distinct} are repeated"
    return _score(3 * (usual / len(parts)) * (distinct / len(parts)), seen)


def _score(value: float, seen: str) -> Score:
    return Score(round(value, 4), f"{LABEL}: {seen}", details={"model": "local"})
