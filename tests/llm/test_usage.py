"""Calls, tokens and cost, counted."""

from __future__ import annotations

from answerkey.llm.chat import Reply
from answerkey.llm.usage import CallTotals, Usage


def test_usage_is_unknown_as_soon_as_one_part_is() -> None:
    usage = Usage()
    assert usage.totals().cost is None
    usage.add(Reply("a", prompt_tokens=1, completion_tokens=2, cost=0.5))
    assert usage.totals() == CallTotals(calls=1, prompt_tokens=1, completion_tokens=2, cost=0.5)
    usage.add(Reply("b", prompt_tokens=1))
    assert usage.totals() == CallTotals(calls=2, prompt_tokens=2)
