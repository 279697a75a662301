"""Before the first question: everything is loaded and checked, the cases are counted, the fingerprint is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, cast

import msgspec

from answerkey.cases import read_cases, read_responses
from answerkey.cases.whole_conversation import CONVERSATION_METRICS, add_conversations
from answerkey.coerce.columns import COLUMNS, near_column
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import json_line
from answerkey.metrics.registry import find
from answerkey.profiles import load_profile
from answerkey.profiles.load import profile_table
from answerkey.runs.ask import attempts
from answerkey.runs.case_copy import CaseCopy
from answerkey.runs.control import Selection
from answerkey.runs.gates import KnownGroups, check_gates, parse_gates
from answerkey.runs.manifest import Manifest, RunSettings
from answerkey.runs.records import SetDigest, cluster_of, digest_of, digest_of_metrics, to_json
from answerkey.runs.repeats import Repeats
from answerkey.runs.score import Scorer, make_scorer
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import kind_of, make_target
from answerkey.types import Case, Profile, Target

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
    rescore_of: str = ""  # the run whose answers are scored again
    stored: CaseSource | None = (
        None  # the attempts of an earlier run, where each has its own recorded answer
    )

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
    source = cases or partial(selected, suite, selection)
    gates, repeats = parse_gates(suite.gate), Repeats.of_table(suite.run)
    live = target is not None or kind_of(suite.target) != "recorded"
    if new and repeats.times > 1 and not live:
        raise SettingsError(
            "[run] repeats needs a target that can be asked; recorded answers are always the same"
        )
    profile = None if suite.profile is None else load_profile(suite.profile, suite.folder)
    if new and scores_conversations(suite.metrics, profile):
        source = partial(_with_conversation_rows, source, live)
    digest, count, has_criteria = SetDigest(), 0, False
    cluster, clustered = suite.statistics.cluster, False
    kind = kind_of(
        suite.target
    )  # a target may report a route that is not known before it is asked or its file is read
    any_route = "answers" in suite.target if kind == "recorded" else kind not in _WITHOUT_ROUTES
    known = KnownGroups(whole=selection.whole, open=any_route)
    lacking, carried, answered = ["expected", "relevant"], dict[str, None](), True
    copy = CaseCopy(source) if cases is None else None
    goals: dict[str, str] = {}
    for n, case in source():
        line = json_line(to_json(case), sort=True)
        digest.add(line)
        if copy:
            copy.add(n, line, case.recorded)
        known.add(case)
        count += 1
        carried.update(dict.fromkeys(case.extra))
        lacking = [column for column in lacking if not getattr(case, column)]
        answered = answered and case.recorded is not None and bool(case.recorded.answer)
        if cluster and not clustered:
            clustered = cluster == "none" or cluster_of(case, cluster) is not None
        has_criteria = has_criteria or bool(case.requirements)
        if suite.user is not None and case.extra.get("goal"):
            goals[case.id] = str(case.extra["goal"])
    if copy:
        copy.finish()
    if count == 0:
        raise InputError(
            f"no case of {' '.join(suite.cases)} is selected; check --only, --file and --tag"
        )
    if cluster and not clustered:
        raise SettingsError(
            f'[statistics] cluster = "{cluster}": no case has this column{did_you_mean(cluster, carried)}'
        )
    if has_criteria and not (suite.metrics or suite.profile):
        suite = replace(suite, metrics=("criteria",))
    scorer = make_scorer(suite, profile, judge)
    try:
        warnings = check_gates(gates, known, scorer.plan.names, profile, repeats) if new else ()
        if new:
            warnings += tuple(_lacking(lacking, carried, suite.metrics, live and answered))
        target = target or make_target(
            suite.target, suite.folder, read_responses, suite.run.timeout
        )
        if new and suite.user is not None:
            target = _with_simulated_user(target, suite, goals, judge)
    except BaseException:
        scorer.close()
        raise
    fingerprint = {
        "cases": digest.text(),
        "profile": profile.digest if profile else "none",
        "metrics": digest_of_metrics(scorer.plan.names, suite.criteria),
        "metric_settings": digest_of(suite.settings),
        "judge": scorer.judge,
        "embedding": scorer.embedding,
        **({"entailment": scorer.entailment} if scorer.entailment else {}),
        "settings": digest_of(
            {"target": without_secrets(suite.target), "settings": suite.settings}
            | _user_settings(suite)
        ),
    }
    return Prepared(
        suite,
        selection,
        profile,
        scorer,
        target,
        copy or source,
        count,
        fingerprint,
        repeats,
        warnings,
    )


def _lacking(
    columns: Iterable[str], carried: Iterable[str], metrics: Iterable[str], answered: bool
) -> Iterator[str]:
    """A warning for each of these columns, which no case has, that a metric needs; where the name of a `carried` one is
    near, an error. `answered`: all cases of a live target have an answer, which may be meant as the expected one."""
    for column in columns:
        needing = [name for name in metrics if column in find(name).facts.needs]
        if not needing:
            continue
        missing = f'no case has the column "{column}", which {needing[0]} needs'
        near = next((name for name in carried if near_column(name, COLUMNS[column])), None)
        if near is not None:
            raise InputError(
                f'{missing}; did you mean the column "{near}"? Rename it to "{column}"'
            )
        rename = '; if "answer" holds the expected answers, rename it to "expected"'
        yield missing + (rename if column == "expected" and answered else "")


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


def scores_conversations(metrics: Sequence[str], profile: Profile | None) -> bool:
    """Whether a metric looks at whole conversations, so that each of them gets a row."""
    names = {*metrics, *(profile.metrics if profile else ())}
    return not names.isdisjoint(CONVERSATION_METRICS)


def _with_conversation_rows(source: CaseSource, live: bool) -> Iterator[tuple[int, Case]]:
    return enumerate(add_conversations((case for _, case in source()), live=live))


def selected(suite: Suite, selection: Selection) -> Iterator[tuple[int, Case]]:
    wanted = (
        (n, c) for n, c in enumerate(read_cases(suite.cases, suite.folder)) if selection.wants(c)
    )
    return islice(wanted, selection.limit)


def manifest_of(prepared: Prepared, created: str) -> Manifest:
    """run.json of a run that begins."""
    suite, profile = prepared.suite, prepared.profile
    return Manifest(
        name=suite.name,
        created=created,
        suite=str(suite.path.resolve()) if suite.path else None,
        rescore_of=prepared.rescore_of or None,
        profile=profile_table(suite.profile, suite.folder)[0]
        if suite.profile is not None
        else None,
        profile_version=profile.version if profile else None,
        profile_digest=profile.digest if profile else None,
        fingerprint=prepared.fingerprint,
        notes=prepared.scorer.notes,
        metrics=prepared.scorer.plan.names,
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
        partial="in progress",
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
        and not key.endswith("_env")
    )
    return "(hidden)" if hidden and not value.startswith("${") else value
