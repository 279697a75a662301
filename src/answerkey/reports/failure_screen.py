"""One failing case in full for the terminal, with the commands to continue.

Plain text. Text of a bot or judge is indented and made inert: its escape sequences never reach the
terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import wrap

from answerkey.reports.evidence import add_quote, criterion_lines, fact_lines, quote_of, texts_of
from answerkey.text import duration, printable
from answerkey.types import Outcome, Part, Profile, ProfileLine, Score

_WIDTH = 100
_LONGEST_TEXT = 4000
_LONGEST_PASSAGE = 300
_RULE = "─" * 60
_LONG_SECTIONS = ("The judge's reasoning", "What the profile requires", "Sources")


def failure_screen(
    outcome: Outcome,
    profile: Profile | None,
    commands: Sequence[tuple[str, str]] = (),
    *,
    debug: bool = False,
    brief: bool = False,
) -> str:
    """`commands` are pairs of a description and a command.

    With `debug` nothing is shortened; `brief` leaves out how the profile added up the scores.
    """
    limit = None if debug else _LONGEST_TEXT
    rows: list[str] = []
    for title, lines in _sections(outcome, profile, debug):
        if brief and title in _LONG_SECTIONS:
            continue
        section = [row for line in lines for row in _wrap_text(line, limit)]
        if section and title:
            section = [title, *(f"  {row}" for row in section)]
        if section:
            rows += [*section, ""]
    if commands:
        rows.append("Next")
    for description, command in commands:
        # A command is never wrapped, so that it can be copied.
        rows += [f"  {description}:", f"    {printable(command)}"]
    return "\n".join(rows)


def _sections(
    outcome: Outcome, profile: Profile | None, debug: bool
) -> list[tuple[str, Iterable[str]]]:
    """Titles with their lines; the headline has no title."""
    response = outcome.response
    raw_response: list[str] = []
    if debug:
        raw_response = [f"{key}: {value}" for key, value in response.extra.items()]
    return [
        ("", _headline(outcome, profile)),
        ("Earlier in the conversation", _history_lines(outcome)),
        ("Question", [outcome.case.question]),
        ("Expected", expected_lines(outcome)),
        ("Answer", _answer_lines(outcome)),
        ("Expected facts", fact_lines(outcome)),
        ("Criteria", criterion_lines(outcome)),
        ("Sources", response.sources),
        ("Passages", _passage_lines(outcome, debug)),
        ("Scores", _score_lines(outcome, profile)),
        ("The judge's reasoning", _judge_lines(outcome)),
        ("What the profile requires", _requirement_lines(outcome, profile)),
        ("Raw response", raw_response),
    ]


def _wrap_text(text: str, limit: int | None) -> list[str]:
    """The text wrapped to the width, with its own line breaks; long text is cut with a note."""
    # A tab has no fixed width, so wrapped lines would be too long.
    safe = printable(text).replace("\t", "    ")
    if limit is not None and len(safe) > limit:
        safe = f"{safe[:limit]}\n… ({len(safe):,} characters in total; --debug shows all)"
    rows: list[str] = []
    for line in safe.split("\n"):
        if len(line) <= _WIDTH:
            rows.append(line.rstrip(" "))
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        # Ids and addresses with hyphens stay whole.
        wrapped = wrap(
            line, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False
        )
        rows += wrapped or [""]
    return rows


def _headline(outcome: Outcome, profile: Profile | None) -> list[str]:
    verdict = outcome.verdict
    case = outcome.case
    source = f" ({case.source_file})" if case.source_file else ""
    lines = [f"{verdict.status}: {case.id}{source}"]
    if verdict.why:
        lines.append(verdict.why)
    kind = ", ".join(part for part in (verdict.kind, verdict.cause) if part)
    if kind:
        lines.append(f"[{kind}]")
    if outcome.attempts:
        passed = sum(attempt.verdict.passed for attempt in outcome.attempts)
        lines.append(f"{passed} of {len(outcome.attempts)} answers passed")
    if verdict.score is not None and profile is not None:
        lines.append(_score_sentence(outcome, verdict.score, profile))
    # The sentence in `why` says the same in fewer words.
    if verdict.justification and not verdict.why:
        lines.append(verdict.justification)
    # Each on one line, so that nothing in them looks like one of our sections.
    return [_RULE, *(" ".join(line.split()) for line in lines), _RULE]


def _score_sentence(outcome: Outcome, score: float, profile: Profile) -> str:
    verdict = outcome.verdict
    pass_mark = profile.rules_for(outcome.response.route).pass_mark
    sentence = f"Score {score:.4g} of {profile.scale:g}"
    if verdict.quality is not None and profile.route_weight and verdict.route_score is not None:
        sentence += f" (quality {verdict.quality:.4g}, route {verdict.route_score:.4g})"
    if verdict.band:
        sentence += f", {verdict.band}"
    return f"{sentence}; the pass mark is {pass_mark:g}"


def _history_lines(outcome: Outcome) -> list[str]:
    lines: list[str] = []
    for turn in outcome.case.history:
        lines += [f"user: {turn.user}", f"bot:  {turn.answer}"]
    return lines


def expected_lines(outcome: Outcome) -> list[str]:
    """Everything the case requires of a good answer, one line each."""
    case = outcome.case
    criteria = case.criteria
    lines = list(case.expected[:1])
    lines += [f"or: {text}" for text in case.expected[1:]]
    word_lists = {
        "must contain": criteria.must_contain,
        "must contain one of": criteria.must_contain_any,
        "must not contain": criteria.must_not_contain,
        "better with": criteria.acceptable_if_includes,
    }
    lines += [f"{name}: {', '.join(words)}" for name, words in word_lists.items() if words]
    if criteria.numerical_range is not None:
        low, high = criteria.numerical_range
        lines.append(f"a number from {low:,.12g} to {high:,.12g}")
    if criteria.expected_value is not None:
        lines.append(f"the number {criteria.expected_value:,.12g}")
    if criteria.regex is not None:
        lines.append(f"a match of {criteria.regex}")
    if criteria.clarification_expected:
        lines.append("a clarifying question")
    if criteria.out_of_scope:
        lines.append("a refusal: the question is out of scope")
    if case.expected_route:
        lines.append(f"route: {' or '.join((case.expected_route, *case.acceptable_routes))}")
    return lines or ["(nothing: the case has no expected answer)"]


def _answer_lines(outcome: Outcome) -> list[str]:
    response = outcome.response
    lines = [response.answer or "(empty)"]
    if response.error is not None:
        lines = [f"no answer: {response.error}"]
    about: list[str] = []
    if response.route:
        about.append(f"route {response.route}")
    if response.seconds is not None:
        about.append(duration(response.seconds))
    if about:
        lines.append(f"[{', '.join(about)}]")
    return lines


def _passage_lines(outcome: Outcome, debug: bool) -> list[str]:
    lines: list[str] = []
    for number, passage in enumerate(outcome.response.passages, 1):
        about: list[str] = []
        if passage.id:
            about.append(passage.id)
        if passage.page:
            about.append(f"page {passage.page}")
        if passage.score is not None:
            about.append(f"score {passage.score:.3g}")
        text = passage.text
        if not debug and len(text) > _LONGEST_PASSAGE:
            text = f"{text[:_LONGEST_PASSAGE]}…"
        lines.append(f"[{number}] {', '.join(about)}".rstrip())
        lines += [f"    {row}" for row in text.split("\n")]
    return lines


def _score_lines(outcome: Outcome, profile: Profile | None) -> list[str]:
    if profile:
        rules = profile.rules_for(outcome.response.route).lines
    else:
        rules = ()
    criteria = {criterion.metric: criterion for criterion in rules}
    width = max((len(name) for name in outcome.scores), default=0)
    shared = _shared_reasons(outcome)
    lines: list[str] = []
    for name, score in outcome.scores.items():
        lines.append(f"{name:<{width}}  {_score_text(score, criteria.get(name))}")
        if score.reason in shared:
            reason = ""
        else:
            reason = score.reason
        explanation = f"{reason}{add_quote(quote_of(score))}".strip()
        if explanation:
            lines.append(f"    {explanation}")
    return lines


def _score_text(score: Score, criterion: ProfileLine | None) -> str:
    if score.error is not None:
        return f"error: {score.error}"
    if score.value is None:
        return "not applicable"
    if criterion is not None and criterion.maximum != 1:
        return f"{score.value:.4g} of {criterion.maximum:g}"
    return f"{score.value:.4g}"


def _judge_lines(outcome: Outcome) -> list[str]:
    """Each reasoning once: the criteria of one judge call share theirs."""
    reasoning = [text for score in outcome.scores.values() for text in texts_of(score, "reasoning")]
    return list(dict.fromkeys([*_shared_reasons(outcome), *reasoning]))


def _shared_reasons(outcome: Outcome) -> list[str]:
    """The reasons that a judge gave for several criteria at once."""
    uses = Counter(
        score.reason
        for score in outcome.scores.values()
        if score.reason and "model" in score.details
    )
    return [reason for reason, count in uses.items() if count > 1]


def _requirement_lines(outcome: Outcome, profile: Profile | None) -> list[str]:
    if profile is None:
        return []
    rules = profile.rules_for(outcome.response.route)
    parts = {part.metric: part for part in outcome.verdict.parts}
    to_pass = f"{rules.pass_mark:g} of {profile.scale:g} to pass"
    lines = [f"profile {profile.name} (version {profile.version}): {to_pass}"]
    for criterion in rules.lines:
        contribution = _contribution(criterion, parts.get(criterion.metric), profile)
        lines.append(f"{criterion.metric}: {contribution}{_floor_text(criterion)}")
    return lines + [f"short: {text}" for text in outcome.verdict.shortfalls]


def _contribution(criterion: ProfileLine, part: Part | None, profile: Profile) -> str:
    if not criterion.weight:
        return "no weight"
    if part is None:
        return "left out, not applicable"
    return f"contributed {part.points:.4g} of {part.weight * profile.scale:.4g} points"


def _floor_text(criterion: ProfileLine) -> str:
    if criterion.floor is None:
        return ""
    if criterion.better == "lower":
        bound = "at most"
    else:
        bound = "at least"
    consequence = " or it fails" if criterion.required else ""
    return f", {bound} {criterion.floor:g}{consequence}"
