"""`assert_verdict`: check one answer, or one case of a suite, in a test of any kind. Works without pytest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from answerkey.cases import read_responses
from answerkey.errors import SettingsError, did_you_mean
from answerkey.profiles import load_profile
from answerkey.profiles.choose import ProfileChoice
from answerkey.runs.ask import answer_of
from answerkey.runs.score import Scorer, make_scorer
from answerkey.runs.suite import Suite, suite_of
from answerkey.targets.resolve import make_target
from answerkey.text import printable
from answerkey.types import AnswerCriteria, Case, Outcome, Passage, Response, Target, Verdict

_DEFAULT_PROFILE = "route-aware"
_SCORING = ("profile", "metrics", "judge", "embedding", "entailment")
_KNOWN = ("answer", "expected", "contexts", "route", "criteria", "expected_route", *_SCORING)


def assert_verdict(given: str | Case, *, at_least: float | None = None, **about: Any) -> Verdict:
    """Raise AssertionError if the verdict on an answer does not pass, or if its score is below `at_least`.

    `about` may have answer, expected, contexts, route, expected_route, criteria; and profile (default `route-aware`),
    metrics, judge, embedding, entailment. Embedding models are loaded once per process.

    >>> assert_verdict("How long?", answer="30 days", expected="30 days", profile="uniform").passed  # doctest: +SKIP
    True
    """
    # pytest then shows the line of the test, not this function.
    __tracebackhide__ = True
    session = VerdictSession()
    try:
        return session.check(session.outcome(given, None, about), at_least)
    finally:
        session.close()


class VerdictSession:
    """Targets and models of several checks, each loaded when it is first needed and closed at the end."""

    def __init__(self) -> None:
        self._targets: dict[str, Target] = {}
        self._scorers: dict[str, Scorer] = {}

    def outcome(self, given: str | Case, suite: Suite | None, about: Mapping[str, Any]) -> Outcome:
        """Score the answer in `about`; without one, ask the suite's target."""
        if isinstance(given, Case) and "answer" not in about:
            if suite is None:
                raise SettingsError("give answer=…, or a suite whose target can be asked")
            # A suite is no key: it holds tables, which have no hash.
            key = repr(suite)
            if key not in self._targets:
                self._targets[key] = make_target(
                    suite.target, suite.folder, read_responses, suite.run.timeout
                )
            case = given
            response = answer_of(self._targets[key], given)
        else:
            case, response, scoring = _interaction(given, about)
            if scoring or suite is None:
                suite = suite_of(
                    {"cases": ["(given)"], "profile": _DEFAULT_PROFILE, **scoring}, Path()
                )
        choice = ProfileChoice(live=False)
        choice.add(case)
        profile = choice.with_own_criteria(suite.profile or _DEFAULT_PROFILE)
        key = repr((suite, profile))
        if key not in self._scorers:
            self._scorers[key] = make_scorer(suite, load_profile(profile, suite.folder))
        return self._scorers[key].outcomes([(case, response)])[0]

    def check(self, outcome: Outcome, at_least: float | None = None) -> Verdict:
        """The verdict, or an AssertionError that shows why it does not pass."""
        __tracebackhide__ = True
        verdict = outcome.verdict
        if at_least is None:
            good = verdict.passed
        else:
            good = verdict.score is not None and verdict.score >= at_least
        if not good:
            raise AssertionError(_description(outcome, at_least))
        return verdict

    def close(self) -> None:
        for resource in (*self._targets.values(), *self._scorers.values()):
            resource.close()


def _description(outcome: Outcome, at_least: float | None) -> str:
    """The verdict as it is shown in a failed test."""
    case = outcome.case
    verdict = outcome.verdict
    if at_least is not None:
        floor = f", expected at least {at_least:g}"
    else:
        floor = ""
    if verdict.score is None:
        score = "no score"
    else:
        score = f"score {verdict.score:.3g}"
    if verdict.band:
        band = f", band {verdict.band}"
    else:
        band = ""
    lines = [f"{verdict.status}: {score}{floor}{band}  [{case.id}]"]
    lines += [f"  question  {case.question}", f"  answer    {outcome.response.answer}"]
    lines += [f"  expected  {' | '.join(case.expected)}"] if case.expected else []
    lines += [f"  error     {outcome.response.error}"] if outcome.response.error else []
    lines += [f"  why       {verdict.justification}"]
    lines += [
        f"  {p.metric:<26} {p.value:.3g} of {p.maximum:g}, weight {p.weight:.2f}"
        for p in verdict.parts
    ]
    return printable("\n".join(lines))


def _interaction(
    given: str | Case, about: Mapping[str, Any]
) -> tuple[Case, Response, dict[str, Any]]:
    """The case, the response and the scoring settings that the arguments describe."""
    for key in about:
        if key not in _KNOWN:
            raise SettingsError(
                f'assert_verdict has no argument "{key}"{did_you_mean(key, _KNOWN)}'
            )
    if "answer" not in about:
        raise SettingsError("assert_verdict needs answer=…, or a case of a marked suite")
    expected = about.get("expected", ())
    if isinstance(given, Case):
        case = given
    else:
        case = Case(
            id="given",
            question=given,
            expected=(expected,) if isinstance(expected, str) else tuple(expected),
            expected_route=about.get("expected_route"),
            criteria=AnswerCriteria(**about.get("criteria", {})),
        )
    passages = tuple(
        Passage(text=text, id=str(n)) for n, text in enumerate(about.get("contexts", ()), 1)
    )
    response = Response(answer=about["answer"], passages=passages, route=about.get("route"))
    return case, response, {key: about[key] for key in _SCORING if key in about}
