"""Criteria that need no judge: `contains`, `regex`, `is-json` and the like, as promptfoo defines them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from answerkey.coerce.patterns import PATTERN_SECONDS, find_pattern
from answerkey.llm.loose_json import find_objects
from answerkey.types import Requirement, Response, Score


def check(requirement: Requirement, response: Response) -> Score:
    """1 where the answer meets the requirement, else 0, with the reason.

    >>> check(Requirement("", kind="icontains", value=("30 days",)), Response("Within 30 Days.")).value
    1.0
    """
    kind = requirement.kind
    if kind in ("latency", "cost"):
        return _below(requirement, response)
    try:
        is_true, seen = _CHECKS[kind](response.answer or "", requirement)
    except TimeoutError:
        # Patterns come from files of others; one with nested repeats can take hours.
        return Score.failed(
            f"{requirement.ask}: the pattern took more than {PATTERN_SECONDS:g} s; simplify it"
        )
    return Score(float(is_true != requirement.negated), f"{requirement.ask}: {seen}")


def _below(requirement: Requirement, response: Response) -> Score:
    """promptfoo gives the time in milliseconds."""
    if requirement.kind == "cost":
        amount = response.cost
    else:
        amount = response.seconds
    # Unknown is not 0: a bot that reports no time must not pass every limit.
    if amount is None:
        return Score.not_applicable(f"{requirement.kind} is not known")
    if requirement.kind == "latency":
        amount *= 1000
    met = (amount <= (requirement.threshold or 0)) != requirement.negated
    return Score(float(met), f"{requirement.ask}: {amount:g}")


CheckResult = tuple[bool, str]


def _equals(answer: str, requirement: Requirement) -> CheckResult:
    same = any(answer.strip() == text for text in requirement.value)
    return same, "equal" if same else "different"


def _containing(*, all_of_them: bool, folded: bool) -> Callable[[str, Requirement], CheckResult]:
    def contains(answer: str, requirement: Requirement) -> CheckResult:
        text = answer.casefold() if folded else answer
        missing = [
            each for each in requirement.value if (each.casefold() if folded else each) not in text
        ]
        if all_of_them:
            is_there = not missing
        else:
            is_there = len(missing) < len(requirement.value)
        return is_there, "found" if is_there else f"not found: {', '.join(missing)}"

    return contains


def _starts_with(answer: str, requirement: Requirement) -> CheckResult:
    is_there = any(answer.startswith(text) for text in requirement.value)
    return is_there, "it does" if is_there else "it does not"


def _regex(answer: str, requirement: Requirement) -> CheckResult:
    # As promptfoo does: upper and lower case differ.
    matches = (find_pattern(pattern, answer, exact=True) for pattern in requirement.value)
    match = next((match for match in matches if match is not None), None)
    return match is not None, "not found" if match is None else f"found {match[:80]!r}"


def _is_json(answer: str, requirement: Requirement) -> CheckResult:
    try:
        json.loads(answer)
    except (ValueError, RecursionError) as error:
        return False, f"not JSON: {error}"[:120]
    return True, "valid JSON"


def _contains_json(answer: str, requirement: Requirement) -> CheckResult:
    is_there = bool(find_objects(answer)[0]) or any(
        # Lists too: the finder of objects looks for braces only.
        _is_json(part, requirement)[0]
        for part in re.findall(r"\[.*\]", answer, re.DOTALL)
    )
    return is_there, "found" if is_there else "no JSON in the answer"


def _levenshtein(answer: str, requirement: Requirement) -> CheckResult:
    from rapidfuzz.distance import Levenshtein

    if requirement.threshold is None:
        most = 5
    else:
        most = requirement.threshold
    edits = min(Levenshtein.distance(answer, text) for text in requirement.value)
    return edits <= most, f"{edits} edits, at most {most:g}"


_CHECKS: Mapping[str, Callable[[str, Requirement], CheckResult]] = {
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
