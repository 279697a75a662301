"""Right answers in nearly the words of the expected one.

People who write right and wrong answers paraphrase the right ones and copy most of the wrong ones. Without near copies that are
right, a fitted model would take shared words for a sign of a wrong answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tools.train_entailment.written import dressed

SWAPS_LISTED = (
    "do not = don't; does not = doesn't; is not = isn't; are not = aren't; cannot = can't; will not = won't; must = have "
    "to; may = can; fell = declined; decreased = fell; rose = increased; increased = went up; need to = have to; because = "
    "since; begins = starts; about = around; within = in; costs = is priced at; employees = staff; purchase = buy; receive "
    "= get; required = needed; free of charge = free; as well as = and; however = but; per year = a year; per month = a "
    "month; each = every; located = situated; large = big; percent = %; % =  percent; approximately = about; mainly = "
    "primarily; over = more than; children = kids"
)
SWAPS = [tuple(pair.split(" = ")) for pair in SWAPS_LISTED.split("; ")]


def _swap_word(text: str, rng: random.Random) -> str:
    fitting = [
        (one, other)
        for pair in SWAPS
        for one, other in (pair, pair[::-1])
        if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)
    ]
    if not fitting:
        return text
    one, other = rng.choice(fitting)
    return re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", other, text, count=1)


def _without_article(text: str, rng: random.Random) -> str:
    return re.sub(r"\b(?:the|a|an) (?=\w)", "", text, count=1)


def _plain_brackets(text: str, rng: random.Random) -> str:
    return re.sub(r"\s*\(([^()]*)\)", r", \1", text)


def _other_order(text: str, rng: random.Random) -> str:
    parts = re.split(r"(?<=[.!?])\s+", text)
    return " ".join([*parts[1:], parts[0]]) if len(parts) > 1 else text


def _other_figures(text: str, rng: random.Random) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return re.sub(r"\$(\d[\d.]*)(?! (?:million|billion))\b", r"\1 dollars", text, count=1)


WAYS: tuple[Callable[[str, random.Random], str], ...] = (
    _swap_word, _swap_word, _swap_word, _without_article, _plain_brackets, _other_order, _other_figures, dressed,
)  # fmt: skip


def near_copies(expected: str, count: int = 3) -> list[str]:
    """Up to so many different near copies, the same each time."""
    rng = random.Random(expected)
    made: list[str] = []
    for _ in range(4 * count):
        text = expected
        for way in rng.sample(WAYS, 2):
            text = way(text, rng)
        if text != expected and text not in made:
            made.append(text)
    return made[:count]
