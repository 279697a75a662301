"""Criteria in a sentence: `criterion.NAME` for those of the suite, `criteria` for the list that a case has of its own.

Those that need no judge (`contains`, `regex`, `is-json` and the like, as promptfoo defines them) are checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from answerkey.coerce.patterns import PATTERN_SECONDS, find_pattern
from answerkey.coerce.requirements import requirement_of
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.llm.loose_json import find_objects
from answerkey.metrics.judge.judged_metrics import Judge, cost_once, of_all_calls
from answerkey.metrics.registry import OWN_CRITERION, Facts, metric_group
from answerkey.text import words
from answerkey.types import Case, Pair, Requirement, Response, Score

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
                columns[name].append(share_met(case, scores[len(of_suite) :]))
            else:
                columns[name].append(
                    Score.failed(
                        f'no [[criteria]] of the suite has the name "{name[len(OWN_CRITERION) :]}"'
                    )
                )
    return cost_once(columns)


def read_criteria(given: object) -> tuple[Requirement, ...]:
    """The [[criteria]] of a suite, checked: each has a name of its own and a sentence.

    >>> read_criteria([{"name": "tone", "ask": "The answer is polite."}])[0].kind
    'pass'
    """
    if isinstance(given, str) or is_mapping(given):
        given = [given]
    if not is_list(given):
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
        if made.name:
            made = made
        else:
            made = replace(made, name="_".join(words(made.ask)[:5]))
        if not re.fullmatch(r"[\w.-]+", made.name):
            raise SettingsError(
                f'[[criteria]] name = "{made.name}": expected letters, digits, "_", "-" and "."'
            )
        if any(each.name == made.name for each in found):
            raise SettingsError(f'[[criteria]] name = "{made.name}" is used twice')
        found.append(made)
    return tuple(found)


def check_criteria(names: Iterable[str], criteria: Sequence[Requirement]) -> None:
    """Raise for a metric `criterion.NAME` that no [[criteria]] defines."""
    known = [f"{OWN_CRITERION}{each.name}" for each in criteria]
    for name in names:
        if name.startswith(OWN_CRITERION) and name not in known:
            hint = (
                did_you_mean(name, known)
                or '; add [[criteria]] with its name and ask = "…" to the suite'
            )
            raise SettingsError(f'metric "{name}": the suite has no such criterion{hint}')


def _decide(
    pairs: Sequence[Pair],
    wanted: Sequence[Sequence[Requirement]],
    judge: Judge | None,
    together: bool,
) -> list[list[Score]]:
    """A score per requirement: checks are computed, sentences are judged."""
    judged = [tuple(each for each in requirements if each.judged) for requirements in wanted]
    asked = [n for n, requirements in enumerate(judged) if requirements]
    if judge is None:
        answers = [[Score.failed(_NO_JUDGE) for _ in judged[n]] for n in asked]
    else:
        answers = judge.criteria([pairs[n] for n in asked], [judged[n] for n in asked], together)
        alone = [
            place
            for place, scores in enumerate(answers)
            if together and _one_verdict_for_all(scores)
        ]
        if alone:
            numbers = [asked[place] for place in alone]
            given_alone = judge.criteria(
                [pairs[n] for n in numbers], [judged[n] for n in numbers], False
            )
            answers = {
                **dict(enumerate(answers)),
                **dict(zip(alone, given_alone, strict=True)),
            }.values()
    given = {n: iter(scores) for n, scores in zip(asked, answers, strict=True)}
    return [
        [next(given[n]) if each.judged else check(each, pairs[n][1]) for each in requirements]
        for n, requirements in enumerate(wanted)
    ]


def _one_verdict_for_all(scores: Sequence[Score]) -> bool:
    """Whether a judge that was asked for several criteria gave a verdict without their names; asked one by one it can."""
    return len(scores) > 1 and all(
        (score.error or "").startswith('judge: no "c') for score in scores
    )


def share_met(case: Case, scores: Sequence[Score]) -> Score:
    """The share of the weights that is met, 1 from the case's own threshold; an error where one could not be decided."""
    requirements = case.requirements
    listed = [_listed(*each) for each in zip(requirements, scores, strict=True)]
    details = {**_call_details(scores), "criteria": listed}
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
    if missed and case.criteria_threshold is not None and share + 1e-9 >= case.criteria_threshold:
        return Score(
            1.0,
            f"{share:.2f} is at least the case's threshold; {reason}",
            details={**details, "share": share},
        )
    return Score(share, reason, details=details)


def met(requirement: Requirement, value: float) -> bool:
    """Whether a value meets the requirement: from its threshold upwards, otherwise from 3 of 5, or 1 of 1."""
    if requirement.judged:
        threshold = requirement.threshold
    else:
        threshold = None
    if threshold is None:
        threshold = 0.6 if requirement.kind == "0-5" else 1.0
    return value >= threshold * requirement.highest


def _listed(requirement: Requirement, score: Score) -> dict[str, object]:
    if "quote" in score.details:
        quote = {"quote": score.details["quote"]}
    else:
        quote = {}
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


def _call_details(scores: Sequence[Score]) -> dict[str, object]:
    """What the calls used, once per call."""
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


def check(requirement: Requirement, response: Response) -> Score:
    """1 where the answer meets the requirement, else 0, with the reason.

    >>> check(Requirement("", kind="icontains", value=("30 days",)), Response("Within 30 Days.")).value
    1.0
    """
    kind = requirement.kind
    if kind in ("latency", "cost"):
        return _below(requirement, response)
    try:
        found, seen = _CHECKS[kind](response.answer or "", requirement)
    except TimeoutError:
        return Score.failed(
            f"{requirement.ask}: the pattern took more than {PATTERN_SECONDS:g} s; simplify it"
        )
    return Score(float(found != requirement.negated), f"{requirement.ask}: {seen}")


def _below(requirement: Requirement, response: Response) -> Score:
    """promptfoo gives the time in milliseconds."""
    if requirement.kind == "cost":
        amount = response.cost
    else:
        amount = response.seconds
    if amount is None:
        return Score.not_applicable(f"{requirement.kind} is not known")
    amount *= 1 if requirement.kind == "cost" else 1000
    met = (amount <= (requirement.threshold or 0)) != requirement.negated
    return Score(float(met), f"{requirement.ask}: {amount:g}")


Checked = tuple[bool, str]


def _equals(answer: str, requirement: Requirement) -> Checked:
    same = any(answer.strip() == text for text in requirement.value)
    return same, "equal" if same else "different"


def _containing(*, all_of_them: bool, folded: bool) -> Callable[[str, Requirement], Checked]:
    def contains(answer: str, requirement: Requirement) -> Checked:
        text = answer.casefold() if folded else answer
        missing = [
            each for each in requirement.value if (each.casefold() if folded else each) not in text
        ]
        if all_of_them:
            found = not missing
        else:
            found = len(missing) < len(requirement.value)
        return found, "found" if found else f"not found: {', '.join(missing)}"

    return contains


def _starts_with(answer: str, requirement: Requirement) -> Checked:
    found = any(answer.startswith(text) for text in requirement.value)
    return found, "it does" if found else "it does not"


def _regex(answer: str, requirement: Requirement) -> Checked:
    matches = (find_pattern(pattern, answer, exact=True) for pattern in requirement.value)
    found = next((match for match in matches if match is not None), None)
    return found is not None, "not found" if found is None else f"found {found[:80]!r}"


def _is_json(answer: str, requirement: Requirement) -> Checked:
    try:
        json.loads(answer)
    except (ValueError, RecursionError) as error:
        return False, f"not JSON: {error}"[:120]
    return True, "valid JSON"


def _contains_json(answer: str, requirement: Requirement) -> Checked:
    found = bool(find_objects(answer)[0]) or any(
        _is_json(part, requirement)[0] for part in re.findall(r"\[.*\]", answer, re.DOTALL)
    )
    return found, "found" if found else "no JSON in the answer"


def _levenshtein(answer: str, requirement: Requirement) -> Checked:
    from rapidfuzz.distance import Levenshtein

    if requirement.threshold is None:
        most = 5
    else:
        most = requirement.threshold
    edits = min(Levenshtein.distance(answer, text) for text in requirement.value)
    return edits <= most, f"{edits} edits, at most {most:g}"


_CHECKS: Mapping[str, Callable[[str, Requirement], Checked]] = {
    "equals": _equals,
    "contains": _containing(all_of_them=True, folded=False),
    "icontains": _containing(all_of_them=True, folded=True),
    "contains-all": _containing(all_of_them=True, folded=False),
    "icontains-all": _containing(all_of_them=True, folded=True),
    "contains-any": _containing(all_of_them=False, folded=False),
    "icontains-any": _containing(all_of_them=False, folded=True),
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _is_json,
    "contains-json": _contains_json,
    "levenshtein": _levenshtein,
}
