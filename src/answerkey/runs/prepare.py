"""Before the first question: everything is loaded and checked, the cases are counted, the fingerprint is taken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, cast

import msgspec

from answerkey.cases import read_cases, read_responses
from answerkey.cases.whole_conversation import CONVERSATION_METRICS, add_conversations
from answerkey.errors import SettingsError
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.other_tools import use_our_names
from answerkey.metrics.recorded_scores import RECORDED_JUDGE, has_grade, read_recorded_scores
from answerkey.profiles import load_profile
from answerkey.profiles.choose import ProfileChoice, profile_with_judge
from answerkey.profiles.load import profile_table
from answerkey.runs.ask import attempts
from answerkey.runs.control import Selection
from answerkey.runs.gates import KnownGroups, check_gates, parse_gates
from answerkey.runs.left_out import leave_out_manual, limit_per_type
from answerkey.runs.manifest import IN_PROGRESS, Manifest, RunSettings
from answerkey.runs.records import digest_of, digest_of_metrics
from answerkey.runs.repeats import Repeats
from answerkey.runs.score import Scorer, make_scorer
from answerkey.runs.suite import Suite
from answerkey.runs.survey import CaseSurvey
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import kind_of, make_target
from answerkey.types import Case, Profile, Target
from answerkey.user_traceback import begin_run
from answerkey.variants.reworded import is_reworded

log = logging.getLogger("answerkey.runs")

_MOST_RECORDED = 40  # scores of a case file; more would be a table of something else
_WITHOUT_ROUTES = ("rag", "faq", "full-context")
_SECRET = ("key", "token", "secret", "password", "authorization", "cookie")


CaseSource = Callable[[], Iterator[tuple[int, Case]]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything a run needs. Each call of `cases` streams the selected cases with their positions."""

    suite: Suite
    selection: Selection
    profile: Profile | None
    scorer: Scorer
    target: Target
    cases: CaseSource
    count: int
    fingerprint: dict[str, str]
    repeats: Repeats
    warnings: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict[str, str])
    order: str | None = None  # a hash of the cases in their order
    rescore_of: str = ""  # the run whose answers are scored again
    # The attempts of an earlier run, where each has its own recorded answer, or those of a shard.
    stored: CaseSource | None = None

    @property
    def answers(self) -> int:
        """How many answers a complete run has."""
        return self.count * self.repeats.times

    def attempts(self, cases: CaseSource | None = None) -> CaseSource:
        """The cases as they are asked, each as often as it is repeated; a conversation is repeated as a whole."""
        source = cases or self.cases
        return self.stored or (lambda: attempts(source(), self.repeats.times))

    def close(self) -> None:
        self.target.close()
        self.scorer.close()


def prepare(
    suite: Suite,
    selection: Selection = Selection(),  # noqa: B008  (frozen)
    cases: CaseSource | None = None,
    *,
    target: Target | None = None,
    judge: Any = None,
    new: bool = True,
) -> Prepared:
    """Every mistake in a suite is found here, before anything is written. `cases`, `target` and `judge` replace what
    the suite names. With `new` false the gates are those of an earlier run: one on a figure that this run does not have
    is not refused here; it fails."""
    # An error of the bot is shown once per run, also in a notebook that runs several.
    begin_run()
    source = cases or partial(select_cases, suite, selection)
    gates = parse_gates(suite.gate)
    repeats = Repeats.of_table(suite.run)
    live = target is not None or kind_of(suite.target) != "recorded"
    if new and repeats.times > 1 and not live:
        raise SettingsError(
            "[run] repeats needs a target that can be asked; recorded answers are always the same"
        )
    if new and scores_conversations(suite):
        source = partial(_with_conversation_rows, source, live)
    all_cases = _AllCases(suite, selection, live=live)
    all_cases.read(source)
    survey = all_cases.survey
    needs_answers = new and not live and "answers" not in suite.target
    survey.check(" ".join(suite.cases), needs_answers=needs_answers)
    suite, profile = _settle_scoring(suite, all_cases, judge, new=new)
    scorer = make_scorer(suite, profile, judge)
    warnings: tuple[str, ...] = ()
    try:
        if new:
            _refuse_unused_judge(suite, judge, scorer)
            warnings = check_gates(gates, all_cases.groups, scorer.plan.names, profile, repeats)
            warnings += tuple(survey.warnings(suite.metrics))
        target = target or make_target(
            suite.target, suite.folder, read_responses, suite.run.timeout
        )
        if new and suite.user is not None:
            target = _with_simulated_user(target, suite, all_cases.goals, judge)
    # The scorer may hold models and connections; a refused suite must not leak them.
    except BaseException:
        scorer.close()
        raise
    return Prepared(
        suite=suite,
        selection=selection,
        profile=profile,
        scorer=scorer,
        target=target,
        cases=source,
        count=survey.count,
        fingerprint=_fingerprint(suite, profile, scorer, survey),
        repeats=repeats,
        warnings=warnings,
        columns=survey.columns.columns(),
        order=survey.order,
    )


class _AllCases:
    """Everything that a run must know about its cases, from one pass: the files may be too large to keep."""

    def __init__(self, suite: Suite, selection: Selection, *, live: bool) -> None:
        self.survey = CaseSurvey(live=live, cluster=suite.statistics.cluster)
        self.groups = KnownGroups(whole=selection.whole, open=_may_report_any_route(suite))
        self.goals: dict[str, str] = {}  # of the simulated user, by case
        # Names of scores of an earlier tool; a dict keeps their order.
        self.recorded_scores: dict[str, None] = {}
        self._is_live = live
        self._has_user = suite.user is not None

    def read(self, source: CaseSource) -> None:
        for _, case in source():
            self.survey.add(case)
            self.groups.add(case)
            if not self._is_live and case.extra:
                self.recorded_scores |= dict.fromkeys(read_recorded_scores(case.extra))
            if self._has_user and case.extra.get("goal"):
                self.goals[case.id] = str(case.extra["goal"])


def _may_report_any_route(suite: Suite) -> bool:
    """Whether the target may report a route that is not known before it is asked or its file is read."""
    kind = kind_of(suite.target)
    if kind == "recorded":
        return "answers" in suite.target
    return kind not in _WITHOUT_ROUTES


def _settle_scoring(
    suite: Suite, cases: _AllCases, judge: Any, *, new: bool
) -> tuple[Suite, Profile | None]:
    """The suite with the metrics, profile and judge that fit its cases, and the loaded profile."""
    suite = choose_scoring(suite, cases.survey.choice)
    if new:
        suite = _let_judge_decide(suite, judge)
    if suite.profile is None:
        profile = None
    else:
        own_profile = cases.survey.choice.with_own_criteria(suite.profile)
        suite = replace(suite, profile=own_profile)
        profile = load_profile(own_profile, suite.folder)
    # Recorded grades stand in for a judge, so this comes before the scorer is made.
    suite = _use_recorded_grades(suite, profile, judge, cases.recorded_scores)
    return _with_recorded_scores(suite, cases.recorded_scores), profile


def _fingerprint(
    suite: Suite, profile: Profile | None, scorer: Scorer, survey: CaseSurvey
) -> dict[str, str]:
    """The hashes that tell what changed between two runs."""
    # Secrets are hidden first: a new key is no change of the suite.
    settings = {"target": without_secrets(suite.target), "settings": suite.settings}
    settings |= _user_settings(suite)
    return {
        "cases": survey.digest.text(),
        "profile": profile.digest if profile else "none",
        "metrics": digest_of_metrics(scorer.plan.names, suite.criteria),
        "metric_settings": digest_of(suite.settings),
        "judge": scorer.judge,
        "embedding": scorer.embedding,
        **({"entailment": scorer.entailment} if scorer.entailment else {}),
        "settings": digest_of(settings),
    }


def choose_scoring(suite: Suite, choice: ProfileChoice) -> Suite:
    """The suite with our names of metrics, and with the profile that fits its cases if it names nothing."""
    if suite.metrics:
        names, equivalents = use_our_names(suite.metrics)
        for equivalent in equivalents:
            log.warning("%s", equivalent)
        return replace(suite, metrics=names)
    if suite.profile:
        return suite
    if suite.criteria:
        # Criteria of the cases are scored beside those of the suite.
        if choice.scorable["criteria"]:
            return replace(suite, metrics=("criteria",))
        return suite
    log.warning("%s", choice.notice())
    return replace(suite, profile=choice.profile())


def manifest_of_cases(
    suite: Suite, profile: Profile | None, scorer: Scorer, cases: Sequence[Case], created: str
) -> Manifest:
    """run.json of recorded answers that were scored without a run folder."""
    survey = CaseSurvey(live=False)
    for case in cases:
        survey.add(case)
    prepared = Prepared(
        suite=suite,
        selection=Selection(),
        profile=profile,
        scorer=scorer,
        target=Recorded(),
        cases=lambda: iter(enumerate(cases)),
        count=survey.count,
        fingerprint=_fingerprint(suite, profile, scorer, survey),
        repeats=Repeats(),
        columns=survey.columns.columns(),
    )
    return replace(manifest_of(prepared, created), partial="")


def _is_local(judge: object) -> bool:
    return judge in ("local", {"preset": "local"})


def _let_judge_decide(suite: Suite, judge: object) -> Suite:
    """With a judge that is a model, the profile `rag` is the one in which the judge decides."""
    has_judge = judge is not None or (suite.judge is not None and not _is_local(suite.judge))
    if not has_judge or not isinstance(suite.profile, str):
        return suite
    return replace(suite, profile=profile_with_judge(suite.profile))


def _refuse_unused_judge(suite: Suite, judge: object, scorer: Scorer) -> None:
    """A judge that is given is used or refused; a wrong name is found either way."""
    writes_variants = any(map(is_reworded, suite.variants.kinds))
    is_used = scorer.judge != "none" or suite.user is not None or writes_variants
    if is_used or (judge is None and suite.judge is None):
        return
    if judge is None:
        # Loading it finds a wrong name or preset even though it is not used.
        load_judge(suite.judge, folder=suite.folder).close()
        if _is_local(suite.judge):
            log.warning(
                "judge local: not needed, because every metric of this run is local already"
            )
            return
    raise SettingsError(
        "judge: no metric of this run asks a judge; leave the judge out, or use the profile rag "
        "or rubric, or a metric such as judge.faithfulness"
    )


def _use_recorded_grades(
    suite: Suite, profile: Profile | None, judge: Any, recorded: Collection[str]
) -> Suite:
    """Without a judge, the grades that the case file has: they are not paid for again."""
    if judge is not None or suite.judge is not None or not recorded:
        return suite
    names = {*suite.metrics, *(profile.metrics if profile else ())}
    if not any(has_grade(name, recorded) for name in names):
        return suite
    log.warning("judge: the grades of the case file are used; --judge asks a judge again")
    return replace(suite, judge=RECORDED_JUDGE)


def _with_recorded_scores(suite: Suite, scores: Iterable[str]) -> Suite:
    """The suite with the scores of the case file as metrics, where it measures anything at all."""
    if not (suite.metrics or suite.profile or suite.criteria):
        return suite
    names = [name for name in scores if name not in suite.metrics]
    return replace(suite, metrics=(*suite.metrics, *names[:_MOST_RECORDED]))


def _with_simulated_user(
    target: Target, suite: Suite, goals: Mapping[str, str], judge: Any
) -> Target:
    from answerkey.runs.simulated_user import simulate_user

    if suite.user is None:
        return target
    if isinstance(target, Recorded):
        raise SettingsError("[user] needs a target that can be asked; recorded answers cannot")
    judge = judge or suite.judge
    max_cost = suite.run.max_cost
    return simulate_user(target, suite.user, goals, judge, suite.folder, max_cost=max_cost)


def _user_settings(suite: Suite) -> dict[str, object]:
    """The settings of a simulated user, which shape the answers; nothing without one."""
    if suite.user is None:
        return {}
    return {"user": msgspec.structs.asdict(suite.user)}


def scores_conversations(suite: Suite) -> bool:
    """Whether a metric looks at whole conversations, so that each of them gets a row."""
    names = set(suite.metrics)
    if suite.profile is not None:
        names.update(load_profile(suite.profile, suite.folder).metrics)
    return not names.isdisjoint(CONVERSATION_METRICS)


def _with_conversation_rows(source: CaseSource, live: bool) -> Iterator[tuple[int, Case]]:
    return enumerate(add_conversations((case for _, case in source()), live=live))


def select_cases(suite: Suite, selection: Selection) -> Iterator[tuple[int, Case]]:
    """The cases that are run, with their positions in the files."""
    cases = enumerate(read_cases(suite.cases, suite.folder))
    # A second file may hold the answers of turns that have none in the case file.
    answers_in_cases = kind_of(suite.target) == "recorded" and "answers" not in suite.target
    # Left out before the selection, so that --limit counts cases that are really run.
    answerable = leave_out_manual(cases, answers_in_cases=answers_in_cases)
    chosen = ((n, case) for n, case in answerable if selection.wants(case))
    return islice(limit_per_type(chosen, selection.per_type), selection.limit)


def manifest_of(prepared: Prepared, created: str) -> Manifest:
    """run.json of a run that begins."""
    suite = prepared.suite
    profile = prepared.profile
    table = None
    if suite.profile is not None:
        table = profile_table(suite.profile, suite.folder)[0]
    return Manifest(
        name=suite.name,
        created=created,
        suite=str(suite.path.resolve()) if suite.path else None,
        rescore_of=prepared.rescore_of or None,
        profile=table,
        profile_version=profile.version if profile else None,
        profile_digest=profile.digest if profile else None,
        fingerprint=prepared.fingerprint,
        notes=prepared.scorer.notes,
        metrics=prepared.scorer.plan.names,
        columns=prepared.columns,
        gate=suite.gate,
        criteria=suite.criteria,
        settings=RunSettings(
            cases=suite.cases,
            target=without_secrets(suite.target) or {"kind": "recorded"},
            judge=without_secrets(suite.judge),
            embedding=without_secrets(suite.embedding),
            entailment=suite.entailment,
            run=suite.run,
            statistics=suite.statistics,
            metrics=without_secrets(suite.settings),
            selection=prepared.selection,
        ),
        count=prepared.count,
        order=prepared.order,
        partial=IN_PROGRESS,
    )


def without_secrets(value: Any, key: str = "") -> Any:
    """The same settings with every value that may be a secret hidden; names of environment variables stay."""
    if isinstance(value, dict):
        return {
            name: without_secrets(item, str(name))
            for name, item in cast("dict[str, object]", value).items()
        }
    if isinstance(value, list):
        return [without_secrets(item, key) for item in cast("list[Any]", value)]
    hidden = (
        isinstance(value, str)
        and any(word in key.lower() for word in _SECRET)
        # The name of a variable is no secret, and a resume needs it.
        and not key.endswith("_env")
    )
    # "${NAME}" refers to a variable as well.
    if hidden and not value.startswith("${"):
        return "(hidden)"
    return value
