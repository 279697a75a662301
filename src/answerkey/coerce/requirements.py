"""The column `criteria`: sentences for a judge, and checks that need none, as promptfoo writes its assertions.

Regular expressions have a time limit: `^(a+)+$` may take longer than the universe is old. The engine is `regex`, which takes
every pattern of Python's `re` (and more) and gives up after a given time.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from answerkey.coerce.values import (
    Place,
    as_number,
    as_text,
    is_list,
    is_mapping,
    is_number,
    unpack_list,
)
from answerkey.errors import did_you_mean
from answerkey.types import Requirement

if TYPE_CHECKING:
    import regex

PATTERN_SECONDS = 1.0


def find_pattern(pattern: str, text: str, exact: bool = False) -> str | None:
    """What the pattern matches first, in any case and with ^ and $ at every line; TimeoutError where it takes too long.

    With `exact` upper and lower case differ, and ^ and $ are the ends of the text, as in `re.search`.

    >>> find_pattern("par.s", "It is Paris.")
    'Paris'
    """
    found = _compiled(pattern, exact).search(text, timeout=PATTERN_SECONDS)
    return found[0] if found else None


def pattern_problem(pattern: str) -> str:
    """Why it is no regular expression; "" where it is one."""
    import regex

    try:
        _compiled(pattern, False)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


@lru_cache(maxsize=1024)
def _compiled(pattern: str, exact: bool) -> regex.Pattern[str]:
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FutureWarning
        )  # of sets that another version may read differently
        return regex.compile(pattern, 0 if exact else regex.IGNORECASE | regex.MULTILINE)


JUDGED_KINDS = ("pass", "0-5")
# Each compares the answer with the texts in `value`; a leading "not-" negates it.
CHECKS = (
    "equals",
    "contains",
    "icontains",
    "contains-all",
    "icontains-all",
    "contains-any",
    "icontains-any",
    "starts-with",
    "regex",
    "is-json",
    "contains-json",
    "levenshtein",
    "latency",
    "cost",
)
_WITHOUT_VALUE = {"is-json", "contains-json", "latency", "cost"}
_NEED_THRESHOLD = {"latency", "cost"}
# Assertions of promptfoo that a judge decides, and what it is asked.
ASKED = {
    "llm-rubric": "{value}",
    "model-graded-closedqa": "{value}",
    "g-eval": "{value}",
    "factuality": "The answer agrees with this statement and contradicts no part of it: {value}",
    "model-graded-factuality": "The answer agrees with this statement and contradicts no part of it: {value}",
}
_KEYS = {
    "ask": "ask",
    "criterion": "ask",
    "text": "ask",
    "kind": "kind",
    "type": "kind",
    "value": "value",
    "name": "name",
    "metric": "name",
    "threshold": "threshold",
    "weight": "weight",
}
_NUMBER = re.compile(r"\s*[-+]?[\d.,]+(?:e[-+]?\d+)?\s*|nan|n/a")
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")


def as_requirements(value: object, column: str, place: Place) -> tuple[Requirement, ...]:
    """The requirements of a cell: a sentence, lines with bullets, or a list of sentences and tables.

    A bare number is a score from an earlier run, and no requirement.

    >>> [each.ask for each in as_requirements("- It is polite.\\n- It names a price.", "criteria", Place("x"))]
    ['It is polite.', 'It names a price.']
    """
    value = unpack_list(value, column, place)
    if is_number(value) or isinstance(value, bool) or value in (None, ""):
        return ()
    if isinstance(value, str):
        if _NUMBER.fullmatch(value.lower()):
            return ()
        lines = [line for line in value.splitlines() if line.strip()]
        bulleted = len(lines) > 1 and all(_BULLET.match(line) for line in lines)
        items: list[object] = (
            [_BULLET.sub("", line, count=1) for line in lines] if bulleted else [value]
        )
    else:
        items = list(value) if is_list(value) else [value]
    return tuple(
        requirement_of(item, f"{column}[{n}]", place, f"c{n}")
        for n, item in enumerate(items, start=1)
    )


def requirement_of(item: object, column: str, place: Place, default_name: str = "") -> Requirement:
    """One requirement: a sentence, or a table with `ask` and `kind`, or with promptfoo's `type` and `value`."""
    if isinstance(item, str) and item.strip():
        return Requirement(as_text(item, column, place), default_name)
    if not is_mapping(item):
        raise place.error(column, item, "a criterion: a sentence, or a table with ask")
    given: dict[str, object] = {}
    for key, value in item.items():
        if str(key) in _KEYS:
            given.setdefault(_KEYS[str(key)], value)
        elif str(key) not in ("provider", "rubricPrompt", "description", "transform", "config"):
            raise place.error(
                f"{column}.{key}", value, "a known key", did_you_mean(str(key), _KEYS).strip("; ")
            )
    kind = as_text(given.get("kind"), column, place).lower() or "pass"
    name = as_text(given.get("name"), column, place) or default_name
    threshold = as_number(given.get("threshold"), column, place)
    weight = as_number(given.get("weight"), column, place)
    if weight is not None and weight < 0:
        raise place.error(f"{column}.weight", weight, "a number of 0 or more")
    negated, plain = kind.startswith("not-"), kind.removeprefix("not-")
    made = Requirement("", name, threshold=threshold, weight=1.0 if weight is None else weight)
    if kind in JUDGED_KINDS or plain in ASKED:
        ask = as_text(given.get("ask", given.get("value")), column, place)
        if not ask:
            raise place.error(column, given, "a sentence in ask")
        if plain in ASKED:
            ask = ASKED[plain].format(value=ask)
            ask = f"This does not hold: {ask}" if negated else ask
            kind = "pass" if threshold is None else "0-5"
        return replace(made, ask=ask, kind=kind)
    if plain not in CHECKS:
        known = (*JUDGED_KINDS, *CHECKS, *ASKED)
        raise place.error(
            f"{column}.kind", kind, "a known kind", did_you_mean(plain, known).strip("; ")
        )
    texts = _texts(given.get("value"), plain, column, place)
    if plain in _NEED_THRESHOLD and threshold is None:
        raise place.error(f"{column}.threshold", None, "a number, the most that is allowed")
    wanted = ", ".join(f'"{text}"' for text in texts) or (
        f"at most {threshold:g}" if threshold is not None else ""
    )
    return replace(made, ask=f"{kind} {wanted}".strip(), kind=plain, value=texts, negated=negated)


def _texts(value: object, kind: str, column: str, place: Place) -> tuple[str, ...]:
    if kind in _WITHOUT_VALUE:
        return ()
    if (
        isinstance(value, str)
        and kind.endswith(("-any", "-all"))
        and not value.strip().startswith("[")
    ):
        value = [part.strip() for part in value.split(",") if part.strip()]
    value = unpack_list(value, column, place)
    items: list[object] = list(value) if is_list(value) else [value]
    texts = tuple(as_text(item, column, place) for item in items)
    if not texts or not all(texts):
        raise place.error(f"{column}.value", value, f"the text for {kind}")
    if kind == "regex":
        for text in texts:
            if problem := pattern_problem(text):
                raise place.error(f"{column}.value", text, "a regular expression", problem)
    return texts
