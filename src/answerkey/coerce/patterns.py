"""Regular expressions of users, with a time limit: `^(a+)+$` may take years.

The engine is `regex`, which takes every pattern of Python's `re` (and more) and gives up after a
given time.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

PATTERN_SECONDS = 1.0


def find_pattern(pattern: str, text: str, exact: bool = False) -> str | None:
    """The first match of a pattern, in any case and with ^ and $ at every line, or None.

    With `exact` upper and lower case differ, and ^ and $ are the ends of the text, as in
    `re.search`. TimeoutError where it takes too long.

    >>> find_pattern("par.s", "It is Paris.")
    'Paris'
    """
    match = _compile(pattern, exact).search(text, timeout=PATTERN_SECONDS)
    return match[0] if match else None


def pattern_problem(pattern: str) -> str:
    """The reason why a text is no regular expression; "" where it is one."""
    import regex

    try:
        _compile(pattern, False)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


@lru_cache(maxsize=1024)
def _compile(pattern: str, exact: bool) -> regex.Pattern[str]:
    import regex

    if exact:
        flags = 0
    else:
        flags = regex.IGNORECASE | regex.MULTILINE
    with warnings.catch_warnings():
        # Sets such as `[[a]` may be read differently by a later version.
        warnings.simplefilter("ignore", FutureWarning)
        return regex.compile(pattern, flags)
