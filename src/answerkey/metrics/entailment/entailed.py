"""Is a statement supported, or contradicted, by a text? By the entailment model alone, or with rules.

`entail` and the metric `entailment` are the model for direct use. A decider answers for many statements at once, behind facts and
citations: `LocalDecider` uses the detector of `groundedness`, which goes by words and by the model, and rules for figures,
names, negations and directions, which overrule it. With `[facts] judge = true` a judge model decides instead: each statement is a
criterion of the text that it is checked against, so calls, votes, quotes and errors are those of criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from answerkey.cache import digest
from answerkey.config.tables import PACKAGED_NAME
from answerkey.entailment.load import load_pair_model
from answerkey.entailment.packaged import load_model
from answerkey.entailment.pair_model import Entailment, PairModel, probabilities
from answerkey.errors import SettingsError
from answerkey.language.refusal import refusal
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.word_match import NEAR, closest, has_root
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.own_model import own_groundedness
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.metrics.grounding.sentence_features import ReadAnswer, read_answers
from answerkey.metrics.grounding.sentence_finding import SentenceFinding
from answerkey.metrics.judge.judged_metrics import Judge, of_all_calls
from answerkey.metrics.registry import metric
from answerkey.types import Case, Pair, Passage, Requirement, Response, Score

NO_MODEL = "this installation has no entailment model"


def entail(pairs: Sequence[tuple[str, str]], *, model: str = PACKAGED_NAME) -> list[Entailment]:
    """For each (premise, statement) the probabilities that the premise supports, ignores and contradicts the statement.

    `model` is one that `[entailment]` can name. The packaged model knows English only and reads about 180 words of a pair;
    longer texts are cut.

    >>> entail([("It opened in 1932.", "It opened in 1951.")])[0].contradicted  # doctest: +SKIP
    0.93
    """
    chosen = load_pair_model(model)
    if chosen is None:
        raise SettingsError(f"{NO_MODEL}; install answerkey again")
    if not pairs:
        return []
    rows = probabilities(chosen.logits([(premise, statement) for premise, statement in pairs]))
    return [Entailment(*(round(float(number), 6) for number in row)) for row in rows]


@metric(
    "entailment",
    family="correctness",
    batch=True,
    needs=("answer", "contexts"),
    uses=("question",),
    empty="not applicable to a refusal, to an answer without a sentence, and to other languages than English",
)
def entailment(pairs: Sequence[Pair], *, pair_model: PairModel | None = None) -> list[Score]:
    """Probability that the passages support the answer's worst sentence, by the entailment model alone."""
    model = pair_model or load_model()
    if model is None:
        return [Score.not_applicable(NO_MODEL) for _ in pairs]
    # Other models have no fitted features, so their own probability is the metric.
    if not model.is_fitted:
        return own_groundedness(pairs, model, use_combination=False)
    return [_score(answer) for answer in read_answers(pairs, model)]


def _score(answer: ReadAnswer) -> Score:
    if refusal(answer.text) == "full" or not answer.sentences:
        return Score.not_applicable("the answer claims nothing")
    if not answer.by_model:
        return Score.not_applicable("the entailment model knows English only")
    odds = [
        # One window may lack half of a statement that several windows support together.
        max(sentence.features["model_best"], sentence.features["model_joined"])
        for sentence in answer.sentences
    ]
    worst = int(np.argmin(odds))
    value = 1 / (1 + float(np.exp(-odds[worst])))
    shown = answer.sentence_text(answer.sentences[worst])[:80]
    return Score(round(value, 6), f'least supported of {len(odds)}: "{shown}"')


SUPPORTED_FROM = 0.5
BY_MODEL = "by the entailment model"
BY_WORDS = "by words only"


@dataclass(frozen=True, slots=True)
class Asked:
    """Statements to check against texts; the question tells what both are about."""

    question: str
    texts: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """`supported` is a probability; `quote` is the evidence nearest to the statement, empty without any."""

    supported: float
    contradicted: bool
    quote: str = ""

    @property
    def holds(self) -> bool:
        return self.supported >= SUPPORTED_FROM and not self.contradicted


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions for one question, in the order of its statements, and what decided.

    Of a judge model `call` is what it used, and `error` why there are no decisions.
    """

    decisions: tuple[Decision, ...] = ()
    by: str = ""
    error: str = ""
    call: Mapping[str, object] = field(default_factory=dict[str, object])


class Decider(Protocol):
    """Decides for each statement of each question."""

    def decide(self, asked: Sequence[Asked]) -> list[Decided]: ...


class LocalDecider:
    """Without a model service.

    >>> LocalDecider().decide([Asked("", ("It opened in 1932.",), ("It opened in 1951.",))])[0].decisions[0].contradicted
    True
    """

    def __init__(self, pair_model: PairModel | None = None) -> None:
        self._pair_model = pair_model

    def decide(self, asked: Sequence[Asked]) -> list[Decided]:
        pairs = [
            # One line per statement; `_decide_statements` finds them again by their places.
            (
                Case("", one.question),
                Response("\n".join(one.statements), tuple(Passage(text) for text in one.texts)),
            )
            for one in asked
        ]
        scores = groundedness(pairs, pair_model=self._pair_model)
        return [_decide_statements(one, score) for one, score in zip(asked, scores, strict=True)]


def _share_a_word(statement: str, texts: Sequence[str]) -> bool:
    """Whether one of the texts has a content word of a statement, or a synonym of one."""
    content = read(statement).content
    return not content or any(
        closest(word, text, text)[0] >= NEAR or has_root(word, text.vocabulary)
        for text in map(read, texts)
        for word in content
    )


def _decide_statements(asked: Asked, score: Score) -> Decided:
    sentences: Sequence[SentenceFinding] = score.details.get("sentences", ())
    by_model = score.details.get("by_model")
    model_name = score.details.get("model")
    decisions: list[Decision] = []
    start = 0
    for statement in asked.statements:
        end = start + len(statement)
        own = [item for item in sentences if item["start"] < end and item["end"] > start]
        # A statement is as good as its worst sentence.
        worst = max(own, key=lambda item: item["probability"], default=None)
        quote = ""
        if worst and worst["span"] is not None and worst["passage"] is not None:
            first, last = worst["span"]
            quote = asked.texts[worst["passage"]][first:last]
        supported = 1 - worst["probability"] if worst else 0.0
        denied = bool(worst and worst["contradicted"])
        if model_name is None:  # the rules were made beside the packaged model
            if supported >= SUPPORTED_FROM and not _share_a_word(
                statement, asked.texts if by_model else (quote,)
            ):
                supported = 0.0  # not a word in common
            denied = denied or (bool(quote) and contradicts(statement, quote))
        decisions.append(Decision(supported, denied, quote))
        # One for the line break that joins the statements above.
        start = end + 1
    return Decided(tuple(decisions), _name_decider(by_model, model_name))


def _name_decider(by_model: bool | None, model_name: str | None) -> str:
    if by_model is None:
        return ""
    if model_name is not None:
        return f"by the model {model_name}"
    return BY_MODEL if by_model else BY_WORDS


_SUPPORTS = "The ANSWER states or clearly implies: "
_CONTRADICTS = "The ANSWER contradicts: "


class JudgeDecider:
    """Asks the judge for each statement whether the text states it and, of a single text, whether it contradicts it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def decide(self, asked: Sequence[Asked]) -> list[Decided]:
        pairs = [(Case("", one.question), Response("\n\n".join(one.texts))) for one in asked]
        requirements = [tuple(Requirement(ask) for ask in _asks(one)) for one in asked]
        answers = self._judge.criteria(pairs, requirements)
        return [self._read_scores(one, scores) for one, scores in zip(asked, answers, strict=True)]

    def _read_scores(self, asked: Asked, scores: Sequence[Score]) -> Decided:
        error = next((score.error or score.reason for score in scores if score.value is None), "")
        if error:
            return Decided(error=error, call=_call(scores))
        count = len(asked.statements)
        supports = scores[:count]
        # Contradiction is asked of a single text only; without an answer nothing is denied.
        denies = scores[count:] or [Score(0.0)] * count
        decisions = tuple(
            Decision(
                float(yes.value or 0.0),
                bool(no.value),
                str((no if no.value else yes).details.get("quote") or ""),
            )
            for yes, no in zip(supports, denies, strict=True)
        )
        return Decided(
            decisions, f"by the judge {self._judge.name}" if count else "", call=_call(scores)
        )


def _asks(asked: Asked) -> list[str]:
    if len(asked.texts) == 1:
        kinds = (_SUPPORTS, _CONTRADICTS)
    else:
        kinds = (_SUPPORTS,)
    return [
        # One line per criterion in the prompt, whatever line breaks the statement has.
        f'{kind}"{" ".join(statement.split())}"'
        for kind in kinds
        for statement in asked.statements
    ]


def _call(scores: Sequence[Score]) -> Mapping[str, object]:
    """The usage of the calls, once per call, for the details of a score."""
    calls = {
        # One call answers for all statements; counted per statement, its cost would multiply.
        str(score.details["call"]): score.details
        for score in scores
        if score.details.get("call")
    }
    if not calls:
        return {}
    used = of_all_calls(list(calls.values()))
    return {
        "model": next(iter(calls.values())).get("model"),
        "call": digest(sorted(calls))[:16],
        **used,
    }
