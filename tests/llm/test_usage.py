"""Calls, tokens and cost, counted."""

from __future__ import annotations

from answerkey.llm.chat import Reply
from answerkey.llm.usage import CallTotals, Usage, add_totals


def test_usage_is_unknown_as_soon_as_one_part_is() -> None:
    usage = Usage()
    assert usage.totals().cost is None
    usage.add(Reply("a", prompt_tokens=1, completion_tokens=2, cost=0.5))
    assert usage.totals() == CallTotals(calls=1, prompt_tokens=1, completion_tokens=2, cost=0.5)
    usage.add(Reply("b", prompt_tokens=1))
    assert usage.totals() == CallTotals(calls=2, prompt_tokens=2)


def test_totals_are_added_and_a_judge_without_calls_hides_no_cost() -> None:
    first = CallTotals(calls=2, cached=1, prompt_tokens=10, completion_tokens=4, cost=0.5)
    second = CallTotals(calls=1, failed_calls=1, prompt_tokens=5, completion_tokens=1, cost=0.25)
    both = CallTotals(3, 1, 1, prompt_tokens=15, completion_tokens=5, cost=0.75)
    assert add_totals([first, second, CallTotals()]) == both
    assert add_totals([first, CallTotals(calls=1)]).cost is None
