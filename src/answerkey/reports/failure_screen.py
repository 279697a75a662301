"""One failing case in full for the terminal: question, expected, answer, scores, and the commands to continue.

Plain text. Text of a bot or judge is indented and made inert: its escape sequences never reach the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import wrap

from answerkey.reports.evidence import criterion_lines, fact_lines, quote_of, quoted, texts_of
from answerkey.text import duration, printable
from answerkey.types import Outcome, Profile

_WIDTH = 100
_LONGEST = 4000
_PASSAGE = 300


def failure_screen(
    outcome: Outcome,
    profile: Profile | None,
    commands: Sequence[tuple[str, str]] = (),
    *,
    debug: bool = False,
) -> str:
    """`commands` are pairs of a description and a command. With `debug` nothing is shortened."""
    response = outcome.response
    answer = (
        (response.answer or "(empty)") if response.error is None else f"no answer: {response.error}"
    )
    facts = [f"route {response.route}"] if response.route else []
    facts += [duration(response.seconds)] if response.seconds is not None else []
    history = [
        line
        for turn in outcome.case.history
        for line in (f"user: {turn.user}", f"bot:  {turn.answer}")
    ]
    reasons = [text for score in outcome.scores.values() for text in texts_of(score, "reasoning")]
    reasons = [*_shared_reasons(outcome), *reasons]
    sections: list[tuple[str, Iterable[str]]] = [
        ("", _headline(outcome, profile)),
        ("Earlier in the conversation", history),
        ("Question", [outcome.case.question]),
        ("Expected", expected_lines(outcome)),
        ("Answer", [answer, f"[{', '.join(facts)}]"] if facts else [answer]),
        ("Expected facts", fact_lines(outcome)),
        ("Criteria", criterion_lines(outcome)),
        ("Sources", list(response.sources)),
        ("Passages", _passages(outcome, debug)),
        ("Scores", _scores(outcome, profile)),
        ("The judge's reasoning", dict.fromkeys(reasons)),  # the criteria of one call share theirs
        ("What the profile requires", _required(outcome, profile)),
        (
            "Raw response",
            [f"{key}: {value}" for key, value in response.extra.items()] if debug else [],
        ),
    ]
    limit = None if debug else _LONGEST
    rows: list[str] = []
    for title, lines in sections:
        if shown := [row for line in lines for row in _rows(line, limit)]:
            rows += [title, *(f"  {row}" for row in shown), ""] if title else [*shown, ""]
    rows += ["Next"] if commands else []
    # Never wrapped, so that they can be copied.
    rows += [
        line for what, command in commands for line in (f"  {what}:", f"    {printable(command)}")
    ]
    return "\n".join(rows)


def _rows(text: str, limit: int | None) -> list[str]:
    """The text wrapped to the width, its own line breaks kept; very long text is cut with a note."""
    safe = printable(text).replace("\t", "    ")
    if limit is not None and len(safe) > limit:
        safe = f"{safe[:limit]}\n… ({len(safe):,} characters in total; --debug shows all)"
    rows: list[str] = []
    for line in safe.split("\n"):
        if len(line) <= _WIDTH:
            rows.append(line.rstrip(" "))
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        rows += wrap(
            line, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False
        ) or [""]
    return rows


def _headline(outcome: Outcome, profile: Profile | None) -> list[str]:
    verdict, case = outcome.verdict, outcome.case
    where = f" ({case.source_file})" if case.source_file else ""
    rule = "─" * 60
    lines = [rule, f"{verdict.status}: {case.id}{where}"]
    if verdict.score is not None and profile is not None:
        mark = profile.rules_for(outcome.response.route).pass_mark
        score, quality = f"{verdict.score:.4g} of {profile.scale:g}", ""
        if verdict.quality is not None and profile.route_weight and verdict.route_score is not None:
            quality = f" (quality {verdict.quality:.4g}, route {verdict.route_score:.4g})"
        band = f", {verdict.band}" if verdict.band else ""
        lines.append(f"Score {score}{quality}{band}; the pass mark is {mark:g}")
    lines += [verdict.justification] if verdict.justification else []
    # On one line each, so that nothing in them looks like one of our sections.
    return [*(" ".join(line.split()) for line in lines), rule]


def expected_lines(outcome: Outcome) -> list[str]:
    """Everything the case requires of a good answer, one line each."""
    case, criteria = outcome.case, outcome.case.criteria
    lines = [f"{'or: ' if n else ''}{text}" for n, text in enumerate(case.expected)]
    lists = {
        "must contain": criteria.must_contain,
        "must contain one of": criteria.must_contain_any,
        "must not contain": criteria.must_not_contain,
        "better with": criteria.acceptable_if_includes,
    }
    lines += [f"{name}: {', '.join(words)}" for name, words in lists.items() if words]
    if criteria.numerical_range is not None:
        lines.append("a number from {:,.12g} to {:,.12g}".format(*criteria.numerical_range))
    if criteria.expected_value is not None:
        lines.append(f"the number {criteria.expected_value:,.12g}")
    if criteria.regex is not None:
        lines.append(f"a match of {criteria.regex}")
    lines += ["a clarifying question"] if criteria.clarification_expected else []
    lines += ["a refusal: the question is out of scope"] if criteria.out_of_scope else []
    if case.expected_route:
        lines.append(f"route: {' or '.join((case.expected_route, *case.acceptable_routes))}")
    return lines or ["(nothing: the case has no expected answer)"]


def _passages(outcome: Outcome, debug: bool) -> list[str]:
    lines: list[str] = []
    for number, passage in enumerate(outcome.response.passages, 1):
        about = [passage.id or "", f"page {passage.page}" if passage.page else ""]
        about += [f"score {passage.score:.3g}"] if passage.score is not None else []
        text = (
            passage.text
            if debug or len(passage.text) <= _PASSAGE
            else f"{passage.text[:_PASSAGE]}…"
        )
        lines.append(f"[{number}] {', '.join(part for part in about if part)}".rstrip())
        lines += [f"    {row}" for row in text.split("\n")]
    return lines


def _scores(outcome: Outcome, profile: Profile | None) -> list[str]:
    rules = profile.rules_for(outcome.response.route).criteria if profile else ()
    criteria = {criterion.metric: criterion for criterion in rules}
    width = max((len(name) for name in outcome.scores), default=0)
    shared = _shared_reasons(outcome)
    lines: list[str] = []
    for name, score in outcome.scores.items():
        criterion = criteria.get(name)
        value = "not applicable" if score.value is None else f"{score.value:.4g}"
        if criterion and score.value is not None and criterion.maximum != 1:
            value += f" of {criterion.maximum:g}"
        lines.append(
            f"{name:<{width}}  {f'error: {score.error}' if score.error is not None else value}"
        )
        why = f"{'' if score.reason in shared else score.reason}{quoted(quote_of(score))}".strip()
        lines += [f"    {why}"] if why else []
    return lines


def _shared_reasons(outcome: Outcome) -> list[str]:
    """The reasons that a judge gave for several criteria at once."""
    given = Counter(
        score.reason
        for score in outcome.scores.values()
        if score.reason and "model" in score.details
    )
    return [reason for reason, times in given.items() if times > 1]


def _required(outcome: Outcome, profile: Profile | None) -> list[str]:
    if profile is None:
        return []
    rules = profile.rules_for(outcome.response.route)
    parts = {part.metric: part for part in outcome.verdict.parts}
    lines = [
        f"profile {profile.name} (version {profile.version}): {rules.pass_mark:g} of {profile.scale:g} to pass"
    ]
    for criterion in rules.criteria:
        limit = ""
        if criterion.floor is not None:
            limit = (
                f", {'at most' if criterion.better == 'lower' else 'at least'} {criterion.floor:g}"
            )
            limit += " or it fails" if criterion.required else ""
        contributed = "left out, not applicable"
        if part := parts.get(criterion.metric):
            contributed = (
                f"contributed {part.points:.4g} of {part.weight * profile.scale:.4g} points"
            )
        lines.append(
            f"{criterion.metric}: {contributed if criterion.weight else 'no weight'}{limit}"
        )
    return [*lines, *(f"short: {text}" for text in outcome.verdict.shortfalls)]
