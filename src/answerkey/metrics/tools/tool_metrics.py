"""The metrics of tool calls. A call that failed did not happen: it is counted apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import metric
from answerkey.metrics.tools.argument_values import same_arguments, show_value
from answerkey.metrics.tools.assignment import MatchedCall, assign_calls
from answerkey.metrics.tools.call_lists import (
    CallLists,
    all_calls,
    calls_that_count,
    plain_tool_name,
    split_failed,
)
from answerkey.metrics.tools.name_order import (
    OrderMode,
    count_right_names,
    order_share,
    unmatched_names,
)
from answerkey.text import format_count, short_label
from answerkey.types import Case, ExpectedCall, Response, Score, ToolCall

_SHOWN = 3
_SHOWN_TOOLS = 8
_LONGEST_ERROR = 60
_EMPTY = "1 where no tool is expected and none is called"
_UNREPORTED = "not applicable where the target reports no calls"


@metric("tool_f1", needs=("expected_tools", "tools"), empty=_EMPTY)
def tool_f1(case: Case, response: Response) -> Score:
    """F1 of the names of the calls against the expected names, as multisets.

    Expected `search, book`, called `search, search`: one of two calls is right, and one of two
    expected calls was made: 0.5. Of several alternatives the best counts.
    """
    lists = calls_that_count(case, response)
    plans = case.expected_tools or ()
    # Of several right ways, the bot is measured by the one that it came nearest to.
    best = max(plans, key=lambda plan: name_f1(plan.calls, lists.done))
    missing, extra = unmatched_names(best.calls, lists.done)
    notes = [_say_missing(name, lists.failed) for name in missing[:_SHOWN]]
    if extra:
        notes.append(_say_unexpected(extra))
    failed = [{"tool": call.name, "error": call.error} for call in lists.failed]
    details = {"missing": missing, "extra": extra, "failed": failed}
    return Score(name_f1(best.calls, lists.done), "; ".join(notes), details=details)


def _say_unexpected(names: Sequence[str]) -> str:
    """Every unexpected tool once: the wrong one may come after many that only look things up."""
    counts = Counter(names)
    shown: list[str] = []
    for name, count in list(counts.items())[:_SHOWN_TOOLS]:
        times = f" ({count} calls)" if count > 1 else ""
        shown.append(f"{short_label(name)}{times}")
    if len(counts) > _SHOWN_TOOLS:
        shown.append(f"and {len(counts) - _SHOWN_TOOLS} more")
    verb = "was" if len(names) == 1 else "were"
    return f"{', '.join(shown)} {verb} not expected"


def name_f1(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> float:
    total = len(expected) + len(calls)
    if total:
        return 2 * count_right_names(expected, calls) / total
    return 1.0


@metric("tool_order", needs=("expected_tools", "tools"), empty=_EMPTY)
def tool_order(case: Case, response: Response, *, mode: str = "strict") -> Score:
    """Share of the calls that are in the expected order: the longest common subsequence of names.

    `mode = "strict"` divides by the longer list: expected `a, b, c`, called `a, c, b` is 2/3.
    "any" ignores the order, "subset" allows missing calls, "superset" allows other calls between.
    Calls of one step were made in parallel and have no order.
    """
    order_mode = _read_mode(mode)
    calls = calls_that_count(case, response).done
    plans = case.expected_tools or ()
    best = max(plans, key=lambda plan: order_share(plan.calls, calls, order_mode))
    value = order_share(best.calls, calls, order_mode)
    if value == 1.0:
        return Score(1.0)
    expected = ", ".join(short_label(call.name) for call in best.calls) or "no call"
    called = ", ".join(short_label(call.name) for call in calls) or "no call"
    details = {
        "called": [call.name for call in calls],
        "expected": [call.name for call in best.calls],
    }
    return Score(value, short_label(f"{called}; expected {expected}", 300), details=details)


def _read_mode(mode: str) -> OrderMode:
    modes = [each.value for each in OrderMode]
    if mode not in modes:
        hint = did_you_mean(mode, modes) or f"; one of {', '.join(modes)}"
        raise SettingsError(f'metric "tool_order": unknown mode "{mode}"{hint}')
    return OrderMode(mode)


@metric(
    "tool_arguments",
    needs=("expected_tools", "tools"),
    empty="0 where an expected call was not made",
)
def tool_arguments(case: Case, response: Response) -> Score:
    """Share of the arguments that are right, averaged over the expected calls.

    Each expected call gets the call of its name that fits best; one that was not made counts 0.
    Numbers, dates and text are equal in any notation: 1250 and "$1,250", "2024-05-20" and
    "May 20, 2024". Expected `search(city="Oslo", nights=2)`, called
    `search(city="Oslo", nights=3)`: 0.5, and the reason says `search: nights is 3, expected 2`.
    An argument that the case does not name is a difference; a name without arguments is not
    compared.
    """
    lists = calls_that_count(case, response)
    candidates: list[tuple[float, list[MatchedCall]]] = []
    for plan in case.expected_tools or ():
        with_arguments = [call for call in plan.calls if call.arguments is not None]
        if not with_arguments:
            # The list without arguments that was followed leaves nothing to compare.
            if name_f1(plan.calls, lists.done) == 1.0:
                return Score.not_applicable("the case names no arguments")
            continue
        matches = assign_calls(with_arguments, lists.done)
        candidates.append((sum(match.share for match in matches) / len(matches), matches))
    if not candidates:
        return Score.not_applicable("the case names no arguments")
    value, matches = max(candidates, key=lambda candidate: candidate[0])
    notes = [note for match in matches for note in _say_differences(match, matches, lists)]
    differences = [
        {"tool": match.expected.name, "difference": difference}
        for match in matches
        for difference in match.differences
    ]
    return Score(value, "; ".join(notes[:_SHOWN]), details={"differences": differences})


def _say_differences(
    match: MatchedCall, matches: Sequence[MatchedCall], lists: CallLists
) -> list[str]:
    name = short_label(match.expected.name)
    if match.call is not None:
        return [f"{name}: {difference}" for difference in match.differences]
    was_called = any(
        other.call is not None
        and plain_tool_name(other.expected.name) == plain_tool_name(match.expected.name)
        for other in matches
    )
    if not was_called:
        return [_say_missing(match.expected.name, lists.failed)]
    arguments = [
        f"{key} {show_value(value)}" for key, value in (match.expected.arguments or {}).items()
    ]
    return [f"{name} was not called with {', '.join(arguments[:_SHOWN])}"]


def _say_missing(name: str, failed: Sequence[ToolCall]) -> str:
    shown = short_label(name)
    for call in failed:
        if plain_tool_name(call.name) == plain_tool_name(name):
            return f"{shown} failed: {short_label(call.error or '', _LONGEST_ERROR)}"
    return f"{shown} was not called"


@metric("tool_calls", needs=("tools",), high=None, better="lower", empty="0 for no call")
def tool_calls(case: Case, response: Response) -> Score:
    """Number of tool calls, those of sub-agents included; failed calls are counted apart.

    Three calls of which one failed: 2, and the reason says that 1 more failed.
    """
    lists = split_failed(all_calls(response.tools or ()))
    failed = len(lists.failed)
    reason = f"{failed} more failed" if failed else ""
    return Score(float(len(lists.done)), reason, details={"failed": failed})


@metric("call_limit", needs=("tools",), empty="not applicable to a case without max_calls")
def call_limit(case: Case, response: Response) -> Score:
    """1 where there are at most `max_calls` calls, 0 where there are more; failed ones count, too."""
    if case.max_calls is None:
        return Score.not_applicable("no max_calls in the case")
    # A failed call costs time and money as well.
    count = len(all_calls(response.tools or ()))
    if count <= case.max_calls:
        return Score(1.0)
    reason = f"{format_count(count, 'call')}, at most {case.max_calls} allowed"
    return Score(0.0, reason, details={"calls": count, "allowed": case.max_calls})


@metric("repeated_calls", needs=("tools",), high=None, better="lower", empty="0 for no call")
def repeated_calls(case: Case, response: Response) -> Score:
    """Number of calls that repeat an earlier call: the same tool with the same arguments.

    The same call three times: 2. A call that is made again because it failed is no repetition.
    """
    # Each call is compared with all earlier ones: equal arguments may be written in two notations,
    # so they have no common key.
    earlier: list[ToolCall] = []
    repeated: list[str] = []
    for call in split_failed(all_calls(response.tools or ())).done:
        if any(_is_same_call(call, other) for other in earlier):
            repeated.append(call.name)
        else:
            earlier.append(call)
    names = dict.fromkeys(repeated)
    return Score(float(len(repeated)), ", ".join(short_label(name) for name in names))


def _is_same_call(call: ToolCall, other: ToolCall) -> bool:
    if plain_tool_name(call.name) != plain_tool_name(other.name):
        return False
    return same_arguments(other.arguments, call.arguments)


@metric("forbidden_tool", needs=("tools",), better="lower", empty=_UNREPORTED)
def forbidden_tool(case: Case, response: Response) -> Score:
    """1 where a tool of `forbidden_tools` was called, also in vain; 0 where none was.

    `delete_*` forbids every tool whose name begins so.
    """
    if not case.forbidden_tools:
        return Score.not_applicable("no forbidden_tools in the case")
    # All calls, not only those that worked: a forbidden call that failed was still tried.
    patterns = [plain_tool_name(name) for name in case.forbidden_tools]
    called = [
        call.name
        for call in all_calls(response.tools or ())
        if any(fnmatchcase(plain_tool_name(call.name), pattern) for pattern in patterns)
    ]
    names = ", ".join(short_label(name) for name in dict.fromkeys(called))
    return Score(float(bool(called)), names, details={"called": called})
