"""Criteria in a sentence: `criterion.NAME` for those of the suite, `criteria` for the list that a case has of its own.

Those that need no judge (`contains`, `regex`, `is-json` and the like, as promptfoo defines them) are checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from answerkey.coerce.requirements import requirement_of
from answerkey.coerce.values import Place, describe_value, is_list, is_mapping
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.metrics.judge.answer_checks import check
from answerkey.metrics.judge.judged_metrics import Judge, cost_once, of_all_calls
from answerkey.metrics.registry import OWN_CRITERION, Facts, metric_group
from answerkey.text import words
from answerkey.types import Case, Pair, Requirement, Score

_NO_JUDGE = 'a criterion in words needs a judge: add [judge] to the suite, or --judge (the judge "local" can\'t)'
_own = partial(
    Facts, needs=("answer",), uses=("expected", "contexts"), empty="0 for an empty answer"
)


@metric_group(
    _own("criteria", "Share of the case's own criteria that the answer meets."),
    _own(
        f"{OWN_CRITERION}NAME",
        "A criterion in words of the suite's [[criteria]]: 0 or 1, or 0 to 5. Judged.",
        high=5.0,
    ),
)
def own_criteria(
    pairs: Sequence[Pair],
    *,
    names: Sequence[str],
    criteria: Sequence[Requirement] = (),
    judge: Judge | None = None,
    together: bool = True,
) -> dict[str, list[Score]]:
    """All criteria of a pair from one call, or from one call each with `together = false`."""
    of_name = {f"{OWN_CRITERION}{each.name}": each for each in criteria}
    of_suite = [of_name[name] for name in names if name in of_name]
    with_cases = "criteria" in names
    requirements = [(*of_suite, *(case.requirements if with_cases else ())) for case, _ in pairs]
    table = _decide(pairs, requirements, judge, together)
    columns: dict[str, list[Score]] = {name: [] for name in names}
    for (case, _), scores in zip(pairs, table, strict=True):
        for name in names:
            if name in of_name:
                columns[name].append(scores[of_suite.index(of_name[name])])
            elif name == "criteria":
                columns[name].append(share_met(case, scores[len(of_suite) :]))
            else:
                columns[name].append(
                    Score.failed(
                        f'no [[criteria]] of the suite has the name "{name[len(OWN_CRITERION) :]}"'
                    )
                )
    # Columns share their calls; each call's cost is counted in one of them.
    return cost_once(columns)


class _SuitePlace(Place):
    """A place in a suite: it has tables, not columns."""

    def error(self, column: str, value: object, expected: str, fix: str = "") -> InputError:
        shown = describe_value(value)
        tail = f"; {fix}" if fix else ""
        return InputError(f"{self}, {column}: found {shown}, expected {expected}{tail}")


def read_criteria(tables: object) -> tuple[Requirement, ...]:
    """The [[criteria]] of a suite, checked: each has a name of its own and a sentence.

    >>> read_criteria([{"name": "tone", "ask": "The answer is polite."}])[0].kind
    'pass'
    """
    if isinstance(tables, str) or is_mapping(tables):
        tables = [tables]
    if not is_list(tables):
        raise SettingsError("criteria: expected tables [[criteria]] with name, ask and kind")
    place = _SuitePlace("the suite")
    criteria: list[Requirement] = []
    for n, item in enumerate(tables, start=1):
        try:
            made = requirement_of(item, f"[[criteria]] {n}", place)
        except InputError as error:
            raise SettingsError(str(error)) from None
        if not made.name:
            # Names are used in files and gates, so the default is made of plain words.
            made = replace(made, name="_".join(words(made.ask)[:5]))
        if not re.fullmatch(r"[\w.-]+", made.name):
            raise SettingsError(
                f'[[criteria]] name = "{made.name}": expected letters, digits, "_", "-" and "."'
            )
        if any(each.name == made.name for each in criteria):
            raise SettingsError(f'[[criteria]] name = "{made.name}" is used twice')
        criteria.append(made)
    return tuple(criteria)


def check_criteria(names: Iterable[str], criteria: Sequence[Requirement]) -> None:
    """Raise for a metric `criterion.NAME` that no [[criteria]] defines."""
    defined = [f"{OWN_CRITERION}{each.name}" for each in criteria]
    for name in names:
        if name.startswith(OWN_CRITERION) and name not in defined:
            hint = (
                did_you_mean(name, defined)
                or '; add [[criteria]] with its name and ask = "…" to the suite'
            )
            raise SettingsError(f'metric "{name}": the suite has no such criterion{hint}')


def _decide(
    pairs: Sequence[Pair],
    table: Sequence[Sequence[Requirement]],
    judge: Judge | None,
    together: bool,
) -> list[list[Score]]:
    """A score per requirement: checks are computed, sentences are judged."""
    judged = [tuple(each for each in requirements if each.judged) for requirements in table]
    places = [n for n, requirements in enumerate(judged) if requirements]
    asked_pairs = [pairs[n] for n in places]
    answers = _judge(asked_pairs, [judged[n] for n in places], judge, together)
    answers_of = {n: iter(scores) for n, scores in zip(places, answers, strict=True)}
    return [
        [next(answers_of[n]) if each.judged else check(each, pairs[n][1]) for each in requirements]
        for n, requirements in enumerate(table)
    ]


def _judge(
    pairs: Sequence[Pair],
    requirements: Sequence[Sequence[Requirement]],
    judge: Judge | None,
    together: bool,
) -> list[list[Score]]:
    """The scores of the requirements in words; with `together` those of a case in one call."""
    if judge is None:
        return [[Score.failed(_NO_JUDGE) for _ in each] for each in requirements]
    answers = list(judge.criteria(pairs, requirements, together))
    if not together:
        return answers
    # Small models give one verdict for all criteria; asked one by one, they decide each.
    alone = [n for n, scores in enumerate(answers) if _one_verdict_for_all(scores)]
    if alone:
        second = judge.criteria([pairs[n] for n in alone], [requirements[n] for n in alone], False)
        for n, scores in zip(alone, second, strict=True):
            answers[n] = scores
    return answers


def _one_verdict_for_all(scores: Sequence[Score]) -> bool:
    """Whether a judge that was asked for several criteria gave a verdict without their names; asked one by one it can."""
    return len(scores) > 1 and all(score.details.get("not_in_reply") for score in scores)


def share_met(case: Case, scores: Sequence[Score]) -> Score:
    """The share of the weights that is met, 1 from the case's own threshold; an error where one could not be decided."""
    requirements = case.requirements
    listed = [_describe(*each) for each in zip(requirements, scores, strict=True)]
    details = {**_call_details(scores), "criteria": listed}
    # One undecided criterion makes the share unknown: it fails closed.
    failed = next((score.error for score in scores if score.error is not None), None)
    if failed is not None:
        return Score.failed(failed, **details)
    counted = [
        (requirement.weight, is_met(requirement, score.value))
        for requirement, score in zip(requirements, scores, strict=True)
        if score.value is not None
    ]
    whole = sum(weight for weight, _ in counted)
    if not whole:
        reason = next(
            (score.reason for score in scores if score.reason), "the case has no criteria"
        )
        return Score.not_applicable(reason)
    missed = [str(item["ask"]) for item in listed if item["met"] is False]
    if missed:
        reason = f"not met: {'; '.join(missed)}"
    else:
        reason = f"all {len(counted)} met"
    share = sum(weight for weight, is_met in counted if is_met) / whole
    # 1e-9: three of ten weights of 0.1 add up to 0.30000000000000004.
    if missed and case.criteria_threshold is not None and share + 1e-9 >= case.criteria_threshold:
        return Score(
            1.0,
            f"{share:.2f} is at least the case's threshold; {reason}",
            details={**details, "share": share},
        )
    return Score(share, reason, details=details)


def is_met(requirement: Requirement, value: float) -> bool:
    """Whether a value meets the requirement: from its threshold upwards, otherwise from 3 of 5, or 1 of 1."""
    threshold = requirement.threshold if requirement.judged else None
    if threshold is None:
        threshold = 0.6 if requirement.kind == "0-5" else 1.0
    return value >= threshold * requirement.highest


def _describe(requirement: Requirement, score: Score) -> dict[str, object]:
    record: dict[str, object] = {
        "name": requirement.name,
        "ask": requirement.ask,
        "kind": requirement.kind,
        "value": score.value,
        "met": None if score.value is None else is_met(requirement, score.value),
        "reason": score.reason,
        "error": score.error,
    }
    if "quote" in score.details:
        record["quote"] = score.details["quote"]
    return record


def _call_details(scores: Sequence[Score]) -> dict[str, object]:
    """The usage of the calls, once per call."""
    calls = {score.details["call"]: score.details for score in scores if score.details.get("call")}
    if not calls:
        return {}
    first, *others = calls.values()
    if not others:
        return {
            key: value
            for key, value in first.items()
            if key not in ("quote", "votes", "spread", "flags")
        }
    return {key: first[key] for key in ("model", "form", "call") if key in first} | of_all_calls(
        [first, *others]
    )
