"""Facts: which statements of the expected answer are in the answer, which claims of the answer are right, and why.

The expected answer is cut into facts and the answer into claims (`claims.py`); a decider (`entailment/`) says for each whether
a text supports or contradicts it, with a quote. Of several expected answers the one nearest to the answer counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from answerkey.entailment.pair_model import PairModel
from answerkey.language.claims import claims
from answerkey.metrics.agreement.model_verdict import nearest
from answerkey.metrics.entailment.entailed import BY_WORDS, Asked, Decider, Decision, LocalDecider
from answerkey.metrics.judge.judged_metrics import Judge, cost_once, of_all_calls
from answerkey.metrics.registry import Facts, metric_group
from answerkey.text import format_count
from answerkey.types import Pair, Score

_SHOWN = 3
_NO_CLAIM = "not applicable to an answer without a claim"
_of_expected = partial(
    Facts,
    family="correctness",
    needs=("answer", "expected"),
    uses=("question",),
    empty="0 for an empty answer",
)
_of_passages = partial(
    Facts,
    family="correctness",
    needs=("answer", "expected", "contexts"),
    uses=("question",),
    empty=_NO_CLAIM,
)


@dataclass(frozen=True, slots=True)
class CheckedFacts:
    """What is known of one answer: its claims and the expected facts, each decided against the other texts."""

    facts: tuple[str, ...]
    claims: tuple[str, ...]
    in_answer: Sequence[Decision]
    in_expected: Sequence[Decision]
    facts_in_passages: Sequence[Decision]
    claims_in_passages: Sequence[Decision]
    by: str
    error: str = ""
    calls: tuple[Mapping[str, object], ...] = ()


@metric_group(
    _of_expected(
        "fact_recall", "Share of the expected facts that the answer states: 0.5 for one of two."
    ),
    _of_expected(
        "fact_precision",
        "Share of the answer's claims that the expected answer supports.",
        empty=_NO_CLAIM,
    ),
    _of_expected("fact_f1", "Harmonic mean of fact_recall and fact_precision."),
    _of_expected(
        "fact_contradictions",
        "Share of the answer's claims that contradict the expected answer.",
        better="lower",
        empty=_NO_CLAIM,
    ),
)
def fact_metrics(
    pairs: Sequence[Pair],
    *,
    names: Sequence[str],
    judge: Judge | None = None,
    by_judge: bool = False,
    pair_model: PairModel | None = None,
) -> dict[str, list[Score]]:
    """Facts of the expected answer in the answer, and claims of the answer in the expected answer."""
    checked = check_facts(pairs, _choose_decider(judge, by_judge, pair_model))
    return _columns(names, checked)


@metric_group(
    _of_passages(
        "context_fact_recall",
        "Share of the expected facts in the passages.",
        family="retrieval",
        empty="0 without any",
    ),
    _of_passages(
        "context_utilisation",
        "Of the expected facts in the passages, the share that the answer states.",
        family="retrieval",
        empty="not applicable where the passages have none",
    ),
    _of_passages(
        "hallucination",
        "Share of claims in neither the passages nor the expected answer.",
        better="lower",
    ),
    _of_passages(
        "self_knowledge",
        "Share of claims that are right but not in the passages.",
        better="neither",
    ),
    _of_passages(
        "noise_sensitivity", "Share of claims that are wrong and in the passages.", better="lower"
    ),
)
def passage_fact_metrics(
    pairs: Sequence[Pair],
    *,
    names: Sequence[str],
    judge: Judge | None = None,
    by_judge: bool = False,
    pair_model: PairModel | None = None,
) -> dict[str, list[Score]]:
    """Expected facts and the answer's claims against the passages."""
    checked = check_facts(pairs, _choose_decider(judge, by_judge, pair_model), passages=True)
    return _columns(names, checked)


def _choose_decider(judge: Judge | None, by_judge: bool, pair_model: PairModel | None) -> Decider:
    """The judge model where it is asked for; the local judge has none."""
    if not by_judge or judge is None or judge.name == "local":
        return LocalDecider(pair_model)
    from answerkey.metrics.entailment.entailed import JudgeDecider

    return JudgeDecider(judge)


def _columns(names: Sequence[str], checked: Sequence[CheckedFacts]) -> dict[str, list[Score]]:
    scores = {
        name: [Score.failed(one.error) if one.error else _MEASURES[name](one) for one in checked]
        for name in names
    }
    if not any(one.calls for one in checked):
        return scores
    used = [_describe_calls(one.calls) for one in checked]
    with_calls = {
        name: [
            replace(score, details={**score.details, **call})
            for score, call in zip(column, used, strict=True)
        ]
        for name, column in scores.items()
    }
    # The same calls stand behind several columns; their cost is counted in one of them.
    return cost_once(with_calls)


def _describe_calls(calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The cost of all calls for one answer, with the model and the name of the first call."""
    if not calls:
        return {}
    return of_all_calls(calls) | {key: calls[0].get(key) for key in ("model", "call")}


def check_facts(
    pairs: Sequence[Pair], decider: Decider | None = None, *, passages: bool = False
) -> list[CheckedFacts]:
    """Four questions per answer, decided in one batch for all answers."""
    questions: list[Asked] = []
    cut: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for case, response in pairs:
        answer = response.answer or ""
        expected = nearest(answer, case.expected)
        facts = claims(expected)
        own = claims(answer)
        cut.append((facts, own))
        contexts = response.contexts if passages else ()
        # The order of these four is that of the fields of `CheckedFacts`.
        questions += [
            Asked(case.question, (answer,), facts),
            Asked(case.question, (expected,), own),
            Asked(case.question, contexts, facts if passages else ()),
            Asked(case.question, contexts, own if passages else ()),
        ]
    decided = (decider or LocalDecider()).decide(questions)
    checked: list[CheckedFacts] = []
    for n, (facts, own) in enumerate(cut):
        four = decided[4 * n : 4 * n + 4]
        by = sorted({one.by for one in four if one.by})
        # One part by words makes the whole weaker evidence, so the report says the weaker one.
        if BY_WORDS in by:
            name = BY_WORDS
        else:
            name = "".join(by[:1])
        error = next((one.error for one in four if one.error), "")
        calls = tuple(one.call for one in four if one.call)
        checked.append(
            CheckedFacts(
                facts, own, *(one.decisions for one in four), by=name, error=error, calls=calls
            )
        )
    return checked


def fact_recall(one: CheckedFacts) -> Score:
    """The share of the expected facts that the answer states, with each fact in its details."""
    if not one.facts:
        return Score.not_applicable("the expected answer states no fact")
    stated = [decision.holds for decision in one.in_answer]
    missing = [fact for fact, hit in zip(one.facts, stated, strict=True) if not hit]
    details = {"facts": _list_decisions(one.facts, one.in_answer, "found", "missing")}
    return Score(
        sum(stated) / len(stated),
        _reason(one, f"{sum(stated)} of {format_count(len(stated), 'fact')} found", missing),
        details=details,
    )


def _precision(one: CheckedFacts) -> Score:
    if not one.claims:
        return Score.not_applicable("the answer makes no claim")
    right = [decision.holds for decision in one.in_expected]
    wrong = [claim for claim, ok in zip(one.claims, right, strict=True) if not ok]
    details = {
        "claims": _list_decisions(
            one.claims, one.in_expected, "supported", "not in the expected answer"
        )
    }
    reason = f"{sum(right)} of {format_count(len(right), 'claim')} supported by the expected answer"
    return Score(sum(right) / len(right), _reason(one, reason, wrong), details=details)


def _f1(one: CheckedFacts) -> Score:
    recalled = fact_recall(one)
    right = _precision(one)
    recall = recalled.value
    precision = right.value
    if recall is None:
        return Score.not_applicable("the expected answer states no fact")
    # An answer without a claim has no precision; for F1 it counts as 0.
    total = recall + (precision or 0.0)
    if total:
        value = 2 * recall * (precision or 0.0) / total
    else:
        value = 0.0
    details = {**recalled.details, **right.details}
    return Score(
        value, f"recall {recall:.2f}, precision {precision or 0.0:.2f}; {one.by}", details=details
    )


def _contradictions(one: CheckedFacts) -> Score:
    wrong = [
        claim
        for claim, decision in zip(one.claims, one.in_expected, strict=True)
        if decision.contradicted
    ]
    # The list of claims is the same one; the viewer shows it for either metric.
    return replace(_share(one, wrong, "contradicted"), details=_precision(one).details)


def _context_recall(one: CheckedFacts) -> Score:
    if not one.facts:
        return Score.not_applicable("the expected answer states no fact")
    stated = [decision.holds for decision in one.facts_in_passages]
    missing = [fact for fact, hit in zip(one.facts, stated, strict=True) if not hit]
    reason = f"{sum(stated)} of {format_count(len(stated), 'fact')} in the passages"
    return Score(sum(stated) / len(stated), _reason(one, reason, missing))


def _utilisation(one: CheckedFacts) -> Score:
    stated = [
        own.holds
        for own, there in zip(one.in_answer, one.facts_in_passages, strict=True)
        if there.holds
    ]
    if not stated:
        return Score.not_applicable("the passages contain no expected fact")
    return Score(
        sum(stated) / len(stated),
        f"{sum(stated)} of {format_count(len(stated), 'fact')} used; {one.by}",
    )


def _hallucination(one: CheckedFacts) -> Score:
    return _share(
        one,
        _which(one, in_expected=False, in_passages=False),
        "in neither passages nor expected answer",
    )


def _self_knowledge(one: CheckedFacts) -> Score:
    return _share(
        one, _which(one, in_expected=True, in_passages=False), "right and not in the passages"
    )


def _noise(one: CheckedFacts) -> Score:
    return _share(
        one, _which(one, in_expected=False, in_passages=True), "wrong and in the passages"
    )


def _which(one: CheckedFacts, *, in_expected: bool, in_passages: bool) -> list[str]:
    return [
        claim
        for claim, expected, passages in zip(
            one.claims, one.in_expected, one.claims_in_passages, strict=True
        )
        if (expected.holds, passages.holds) == (in_expected, in_passages)
    ]


def _share(one: CheckedFacts, chosen: Sequence[str], what: str) -> Score:
    if not one.claims:
        return Score.not_applicable("the answer makes no claim")
    reason = f"{len(chosen)} of {format_count(len(one.claims), 'claim')} {what}"
    return Score(len(chosen) / len(one.claims), _reason(one, reason, chosen))


def _list_decisions(
    texts: Sequence[str], decisions: Sequence[Decision], yes: str, no: str
) -> list[dict[str, object]]:
    return [
        {
            "text": text,
            "state": _state(decision, yes, no),
            "probability": round(decision.supported, 4),
            "quote": decision.quote,
        }
        for text, decision in zip(texts, decisions, strict=True)
    ]


def _state(decision: Decision, yes: str, no: str) -> str:
    if decision.holds:
        return yes
    if decision.contradicted:
        return "contradicted"
    return no


def _reason(one: CheckedFacts, count: str, examples: Sequence[str]) -> str:
    shown = ", ".join(f'"{text[:80]}"' for text in examples[:_SHOWN])
    return "; ".join(filter(None, (count, shown, one.by)))


_MEASURES = {
    "fact_recall": fact_recall,
    "fact_precision": _precision,
    "fact_f1": _f1,
    "fact_contradictions": _contradictions,
    "context_fact_recall": _context_recall,
    "context_utilisation": _utilisation,
    "hallucination": _hallucination,
    "self_knowledge": _self_knowledge,
    "noise_sensitivity": _noise,
}
