"""Criteria in a sentence: `criterion.NAME` for those of the suite, `criteria` for the list that a case has of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from answerkey.coerce.requirements import requirement_of
from answerkey.coerce.values import Place
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.registry import OWN_CRITERION, Facts, metric_group
from answerkey.metrics.requirement_checks import check
from answerkey.text import words
from answerkey.types import Json, Pair, Requirement, Score

_NO_JUDGE = 'a criterion in words needs a judge: add [judge] to the suite, or --judge (the judge "local" can\'t)'
_FACTS: Mapping[str, Any] = {"needs": ("answer",), "uses": ("expected", "contexts")}


@metric_group(
    Facts("criteria", "Share of the case's own criteria that the answer meets.", empty="0 for an empty answer", **_FACTS),
    Facts(f"{OWN_CRITERION}NAME", "A criterion in words of the suite's [[criteria]]: 0 or 1, or 0 to 5. Judged.", high=5.0,
          empty="0 for an empty answer", **_FACTS),
)  # fmt: skip
def own_criteria(
    pairs: Sequence[Pair],
    *,
    names: Sequence[str],
    criteria: Sequence[Requirement] = (),
    judge: Judge | None = None,
    together: bool = True,
) -> dict[str, list[Score]]:
    """All criteria of a pair from one call, or from one call each with `together = false`."""
    known = {f"{OWN_CRITERION}{each.name}": each for each in criteria}
    of_suite = [known[name] for name in names if name in known]
    with_cases = "criteria" in names
    wanted = [(*of_suite, *(case.requirements if with_cases else ())) for case, _ in pairs]
    table = _decide(pairs, wanted, judge, together)
    columns: dict[str, list[Score]] = {name: [] for name in names}
    for (case, _), scores in zip(pairs, table, strict=True):
        for name in names:
            if name in known:
                columns[name].append(scores[of_suite.index(known[name])])
            elif name == "criteria":
                columns[name].append(share_met(case.requirements, scores[len(of_suite) :]))
            else:
                columns[name].append(
                    Score.failed(f'no [[criteria]] of the suite has the name "{name[len(OWN_CRITERION) :]}"')
                )
    return {name: _cost_once(columns, name) for name in names}


def read_criteria(given: Any) -> tuple[Requirement, ...]:
    """The [[criteria]] of a suite, checked: each has a name of its own and a sentence.

    >>> read_criteria([{"name": "tone", "ask": "The answer is polite."}])[0].kind
    'pass'
    """
    if isinstance(given, str | Mapping):
        given = [given]
    if not isinstance(given, list | tuple):
        raise SettingsError("criteria: expected tables [[criteria]] with name, ask and kind")
    place = Place("the suite")
    found: list[Requirement] = []
    for n, item in enumerate(given, start=1):
        try:
            made = requirement_of(item, f"[[criteria]] {n}", place)
        except InputError as error:
            raise SettingsError(
                str(error).replace(', column "[[criteria]]', ", [[criteria]]").replace('":', ":", 1)
            ) from None
        made = made if made.name else replace(made, name="_".join(words(made.ask)[:5]))
        if not re.fullmatch(r"[\w.-]+", made.name):
            raise SettingsError(f'[[criteria]] name = "{made.name}": expected letters, digits, "_", "-" and "."')
        if any(each.name == made.name for each in found):
            raise SettingsError(f'[[criteria]] name = "{made.name}" is used twice')
        found.append(made)
    return tuple(found)


def check_criteria(names: Iterable[str], criteria: Sequence[Requirement]) -> None:
    """Raise for a metric `criterion.NAME` that no [[criteria]] defines."""
    known = [f"{OWN_CRITERION}{each.name}" for each in criteria]
    for name in names:
        if name.startswith(OWN_CRITERION) and name not in known:
            hint = did_you_mean(name, known) or '; add [[criteria]] with its name and ask = "…" to the suite'
            raise SettingsError(f'metric "{name}": the suite has no such criterion{hint}')


def _decide(
    pairs: Sequence[Pair], wanted: Sequence[Sequence[Requirement]], judge: Judge | None, together: bool
) -> list[list[Score]]:
    """A score per requirement: checks are computed, sentences are judged."""
    judged = [tuple(each for each in requirements if each.judged) for requirements in wanted]
    asked = [n for n, requirements in enumerate(judged) if requirements]
    if judge is None:
        answers = [[Score.failed(_NO_JUDGE) for _ in judged[n]] for n in asked]
    else:
        answers = judge.criteria([pairs[n] for n in asked], [judged[n] for n in asked], together)
    given = {n: iter(scores) for n, scores in zip(asked, answers, strict=True)}
    return [
        [next(given[n]) if each.judged else check(each, pairs[n][1]) for each in requirements]
        for n, requirements in enumerate(wanted)
    ]


def share_met(requirements: Sequence[Requirement], scores: Sequence[Score]) -> Score:
    """The share of the weights that is met; an error where one could not be decided."""
    listed = [_listed(*each) for each in zip(requirements, scores, strict=True)]
    details: Json = {**_call_details(scores), "criteria": listed}
    failed = next((score.error for score in scores if score.error is not None), None)
    if failed is not None:
        return Score.failed(failed, **details)
    counted = [
        (requirement.weight, met(requirement, score.value))
        for requirement, score in zip(requirements, scores, strict=True)
        if score.value is not None
    ]
    whole = sum(weight for weight, _ in counted)
    if not whole:
        reason = next((score.reason for score in scores if score.reason), "the case has no criteria")
        return Score.not_applicable(reason)
    missed = [item["ask"] for item in listed if item["met"] is False]
    reason = f"not met: {'; '.join(missed)}" if missed else f"all {len(counted)} met"
    return Score(sum(weight for weight, is_met in counted if is_met) / whole, reason, details=details)


def met(requirement: Requirement, value: float) -> bool:
    """Whether a value meets the requirement: from its threshold upwards, otherwise from 3 of 5, or 1 of 1."""
    threshold = requirement.threshold if requirement.judged else None
    if threshold is None:
        threshold = 0.6 if requirement.kind == "0-5" else 1.0
    return value >= threshold * requirement.highest


def _listed(requirement: Requirement, score: Score) -> Json:
    quote = {"quote": score.details["quote"]} if "quote" in score.details else {}
    return {
        "name": requirement.name,
        "ask": requirement.ask,
        "kind": requirement.kind,
        "value": score.value,
        "met": None if score.value is None else met(requirement, score.value),
        "reason": score.reason,
        "error": score.error,
        **quote,
    }


def _call_details(scores: Sequence[Score]) -> Json:
    """What the calls used, once per call."""
    calls = {score.details["call"]: score.details for score in scores if score.details.get("call")}
    if not calls:
        return {}
    first = next(iter(calls.values()))
    several = list(calls.values())
    if len(several) == 1:
        return {key: value for key, value in first.items() if key not in ("quote", "votes", "spread", "flags")}
    summed = {
        key: None if any(each.get(key) is None for each in several) else sum(each[key] for each in several)
        for key in ("prompt_tokens", "completion_tokens", "cost", "asks")
    }
    return {**{key: first[key] for key in ("model", "form") if key in first}, **summed, "call": first["call"],
            "calls": len(several), "cached": all(each.get("cached") for each in several)}  # fmt: skip


def _cost_once(columns: Mapping[str, list[Score]], name: str) -> list[Score]:
    """The cost of a call stays with the first of its scores, so that a sum over scores counts it once."""
    earlier = list(columns)[: list(columns).index(name)]
    kept: list[Score] = []
    for n, score in enumerate(columns[name]):
        call = score.details.get("call")
        known = call and any(columns[other][n].details.get("call") == call for other in earlier)
        spent = known and score.details.get("cost")
        kept.append(replace(score, details={**score.details, "cost": None}) if spent else score)
    return kept
