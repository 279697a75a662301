"""Regular expressions of a case, with a time limit: `^(a+)+$` may take longer than the universe is old.

The engine is `regex`, which takes every pattern of Python's `re` (and more) and gives up after a given time.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

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
        warnings.simplefilter("ignore", FutureWarning)  # of sets that another version may read differently
        return regex.compile(pattern, 0 if exact else regex.IGNORECASE | regex.MULTILINE)
