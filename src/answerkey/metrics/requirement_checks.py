"""Requirements that need no judge: `contains`, `regex`, `is-json` and the like, as promptfoo defines them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

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
    found, seen = _CHECKS[kind](response.answer or "", requirement)
    met = found != requirement.negated
    return Score(float(met), f"{requirement.ask}: {seen}")


def _below(requirement: Requirement, response: Response) -> Score:
    """promptfoo gives the time in milliseconds."""
    amount = response.cost if requirement.kind == "cost" else response.seconds
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
        missing = [each for each in requirement.value if (each.casefold() if folded else each) not in text]
        found = not missing if all_of_them else len(missing) < len(requirement.value)
        return found, "found" if found else f"not found: {', '.join(missing)}"

    return contains


def _starts_with(answer: str, requirement: Requirement) -> Checked:
    found = any(answer.startswith(text) for text in requirement.value)
    return found, "it does" if found else "it does not"


def _regex(answer: str, requirement: Requirement) -> Checked:
    found = next((match for text in requirement.value if (match := _compiled(text).search(answer))), None)
    return found is not None, f"found {found[0][:80]!r}" if found else "not found"


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

    most = 5 if requirement.threshold is None else requirement.threshold
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


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
