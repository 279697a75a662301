"""Two runs, case by case: the columns of each run, and the cases in both.

This module is the only one of the package that reads runs. Outcomes are read once and not kept:
100,000 cases with 10 metrics take some 60 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.errors import InputError, SettingsError
from answerkey.runs.manifest import Completeness, Manifest
from answerkey.runs.records import cluster_of, digest_of, digest_of_metrics, to_json
from answerkey.runs.repeats import is_flaky
from answerkey.runs.store import profile_of, read_manifest, read_outcomes
from answerkey.text import words
from answerkey.types import Case, Outcome, Profile, Response, Status

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

LONGEST_TEXT = 200  # of a question or answer that a comparison lists


@dataclass(slots=True)
class Side:
    """One run as columns in case order. A missing number is NaN, only inside here.

    `passed` is 0 or 1. `cluster` is the column of clusters that the suite names; `flaky` are the
    cases whose repeats both passed and failed; `partial` says how much of an unfinished run is here,
    and why; `scale` is the highest score of its profile; `errors` counts the errors of each metric.
    `criteria` has a hash of each criterion of the suite. `has_current_metrics`: the metrics were of
    the versions that are installed here, so that their names say all about them.
    """

    name: str
    fingerprint: Mapping[str, str]
    partial: str = ""
    scale: float | None = None
    settings: dict[str, object] = field(default_factory=dict[str, object])
    criteria: dict[str, str] = field(default_factory=dict[str, str])
    has_current_metrics: Callable[[], bool] = lambda: True
    cluster: str = ""
    repeats: int = 1
    flaky: set[str] = field(default_factory=set[str])
    ids: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    answer_texts: list[str] = field(default_factory=list[str])
    clusters: list[str] = field(default_factory=list[str])
    groups: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    cases: list[bytes] = field(default_factory=list[bytes])
    answers: list[bytes] = field(default_factory=list[bytes])
    wordings: list[bytes] = field(default_factory=list[bytes])
    evidence: list[bytes] = field(default_factory=list[bytes])
    statuses: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])
    reasons: list[str] = field(default_factory=list[str])
    # Arrays hold 8 bytes per number, lists of floats 32.
    score: array[float] = field(default_factory=lambda: array("d"))
    quality: array[float] = field(default_factory=lambda: array("d"))
    passed: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    tokens: array[float] = field(default_factory=lambda: array("d"))
    cost: array[float] = field(default_factory=lambda: array("d"))
    metrics: dict[str, array[float]] = field(default_factory=dict[str, "array[float]"])
    errors: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_verdicts(self) -> bool:
        """Whether a profile decided at least one case."""
        return any(not isnan(value) for value in self.passed)

    def add(self, outcome: Outcome, by: str = "") -> None:
        """Append one outcome; `by` names the column that groups the cases."""
        case = outcome.case
        replies = [attempt.response for attempt in outcome.attempts] or [outcome.response]
        self.ids.append(case.id)
        self.questions.append(case.question[:LONGEST_TEXT])
        self.clusters.append(cluster_of(case, self.cluster or None) or case.id)
        self.cases.append(hash_case(case))
        if by:
            self.groups.append(groups_of(outcome, by))
        if is_flaky(attempt.verdict for attempt in outcome.attempts):
            self.flaky.add(case.id)
        self._add_replies(replies)
        self._add_verdict(outcome)
        self._add_scores(outcome)

    def _add_replies(self, replies: list[Response]) -> None:
        first = replies[0]
        texts = [reply.answer or "" for reply in replies]
        self.answer_texts.append((first.error or texts[0])[:LONGEST_TEXT])
        # The separator keeps the answers of repeats apart: "ab", "c" is not "a", "bc".
        self.answers.append(_hash("\x1f".join(map(_describe_answer, replies))))
        wording = "\x1f".join(" ".join(words(text)) for text in texts)
        self.wordings.append(_hash(wording) if any(texts) else self.answers[-1])
        self.evidence.append(_hash("".join(map(_describe_evidence, replies))))
        self.seconds.append(_number_or_nan(first.seconds))
        self.tokens.append(_number_or_nan(_total_tokens(first)))
        self.cost.append(_number_or_nan(first.cost))

    def _add_verdict(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        self.statuses.append(verdict.status)
        self.kinds.append(verdict.kind)
        self.reasons.append(verdict.why)
        self.score.append(_number_or_nan(verdict.score))
        self.quality.append(_number_or_nan(verdict.quality))
        self.passed.append(nan if verdict.score is None else verdict.passed)

    def _add_scores(self, outcome: Outcome) -> None:
        row = len(self) - 1
        for metric, score in outcome.scores.items():
            if score.error is not None:
                self.errors[metric] = self.errors.get(metric, 0) + 1
            self.add_value(metric, row, score.value)

    def add_value(self, metric: str, row: int, value: object) -> None:
        """Put a value at the end of its column; cases before it that lack the metric have none."""
        column = self.metrics.setdefault(metric, array("d"))
        column.extend([nan] * (row - len(column)))
        column.append(_number_or_nan(value))

    def fill(self) -> None:
        """Make all columns equally long, once every outcome was added."""
        for column in self.metrics.values():
            column.extend([nan] * (len(self) - len(column)))


def _describe_answer(reply: Response) -> str:
    # No answer, an error and an empty answer are three things.
    return f"{reply.answer is None} {reply.error is None} {reply.answer or ''}"


def _describe_evidence(reply: Response) -> str:
    passages = [(each.id, each.page, each.text) for each in reply.passages]
    return repr((reply.route, reply.sources, reply.retrieved, passages))


def _number_or_nan(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return nan


def _total_tokens(response: Response) -> int | None:
    if response.prompt_tokens is None and response.completion_tokens is None:
        return None
    return (response.prompt_tokens or 0) + (response.completion_tokens or 0)


def hash_case(case: Case) -> bytes:
    """Everything that makes a case: an edited one is not compared with what it was."""
    if case.relevant:
        relevant = sorted(case.relevant.items())
    else:
        relevant = ()
    answer = (case.question, case.expected, case.expected_route, case.acceptable_routes, relevant)
    return _hash(repr((answer, case.criteria, case.history)))


def _hash(text: str) -> bytes:
    # 128 bits: no two answers collide by chance. Not Python's hash(), which differs per process.
    # A lone surrogate in a reply must not end the comparison.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def groups_of(outcome: Outcome, by: str) -> tuple[str, ...]:
    """The groups that a case belongs to: its type, route, tags, or the value of any column."""
    case = outcome.case
    if by in ("tag", "tags"):
        return case.tags
    if by == "route":
        # The expected route is the same in both runs; the reported one need not be.
        value = case.expected_route or outcome.response.route
    elif by in case.extra:
        value = case.extra[by]
    elif by in _GROUPING_FIELDS:
        value = getattr(case, by)
    else:
        value = None
    return () if value in (None, "") else (str(value),)


_GROUPING_FIELDS = ("type", "priority", "source_file", "expected_route")


def read_side(
    name: str,
    fingerprint: Mapping[str, str],
    outcomes: Iterable[Outcome],
    cluster: str = "",
    by: str = "",
) -> Side:
    """Stream the outcomes of a run into columns."""
    side = Side(name, fingerprint, cluster=cluster)
    for outcome in outcomes:
        side.add(outcome, by)
    side.fill()
    return side


def load_side(path: str | Path, by: str = "") -> Side:
    """The columns of a run, streamed from its folder."""
    folder = Path(path)
    manifest = read_manifest(folder)
    return side_of(str(path), manifest, read_outcomes(folder), profile_of(folder), by)


def side_of(
    name: str,
    manifest: Manifest,
    outcomes: Iterable[Outcome],
    profile: Profile | None,
    by: str = "",
) -> Side:
    """The columns of a run, from its manifest and outcomes."""
    cluster = manifest.settings.statistics.cluster
    side = read_side(name, manifest.fingerprint, outcomes, cluster, by)
    if not len(side):
        raise InputError(
            f"{name}: the run has no finished case to compare; "
            "finish it with `answerkey run … --resume`"
        )
    _add_setup(side, manifest, profile, len(side))
    return side


def side_without_cases(
    name: str, manifest: Manifest, profile: Profile | None, finished: int
) -> Side:
    """A side with the setup of its run, whose cases are added by the caller."""
    side = Side(name, manifest.fingerprint, cluster=manifest.settings.statistics.cluster)
    _add_setup(side, manifest, profile, finished)
    return side


def _add_setup(side: Side, manifest: Manifest, profile: Profile | None, finished: int) -> None:
    settings = manifest.settings
    side.partial = _describe_partial(manifest, finished)
    side.scale = profile.scale if profile else None
    side.repeats = settings.run.repeats
    side.criteria = {each.name: digest_of(to_json(each)) for each in manifest.criteria}
    side.has_current_metrics = partial(_has_current_metrics, manifest)
    side.settings = {
        "target": settings.target,
        "judge": settings.judge,
        "embedding": settings.embedding,
        "entailment": settings.entailment,
        "settings": settings.metrics,
        "run": {"repeats": side.repeats, "require": settings.run.require},
    }


def _describe_partial(manifest: Manifest, finished: int) -> str:
    """How much of an unfinished run is here, and why; empty for a complete one."""
    if manifest.completeness in (Completeness.COMPLETE, Completeness.DAMAGED):
        return manifest.partial
    if finished >= (manifest.count or 0):
        return ""  # it has an outcome, even an error, for every case
    if manifest.completeness is Completeness.IN_PROGRESS:
        why = "not finished"
    else:
        why = manifest.partial
    return f"{finished} of {manifest.count} cases: {why}"


def _has_current_metrics(manifest: Manifest) -> bool:
    try:
        digest = digest_of_metrics(manifest.metrics, manifest.criteria)
    except SettingsError:  # a metric of the user's that is not imported here
        return False
    return digest == manifest.fingerprint.get("metrics")


Columns = tuple["NumberArray", "NumberArray", "NumberArray | None"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the cases in both runs, in A's order.

    An edited case has its id in both runs but is left out. `clusters` has a number per pair if some
    pairs are dependent; None if each case stands alone.
    """

    a: Side
    b: Side
    rows_a: NumberArray
    rows_b: NumberArray
    clusters: NumberArray | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows_a)

    def rows(self) -> Iterable[tuple[int, int]]:
        """The row in A and the row in B of each case."""
        return zip(self.rows_a.tolist(), self.rows_b.tolist(), strict=True)

    def metrics(self) -> list[str]:
        """Names measured in both runs, in A's order."""
        return [name for name in self.a.metrics if name in self.b.metrics]

    def both(self, a: Any, b: Any) -> Columns:
        """The values of the cases that have one in both columns, and their clusters."""
        import numpy as np

        left = np.asarray(a)[self.rows_a]
        right = np.asarray(b)[self.rows_b]
        present = ~(np.isnan(left) | np.isnan(right))
        return left[present], right[present], self._clusters_of(present)

    def scores(self, *, errors_as_zero: bool = False) -> Columns:
        """The overall scores.

        A bot must not win by answering less: a case that has a score in A and could not be scored in
        B scores 0 in B. Errors in B are left out, or with `errors_as_zero` score 0 as well.
        """
        return self.both(self.a.score, self._losses_as_zero(self.b.score, errors_as_zero))

    def passes(self) -> Columns:
        """Pass (1) and fail (0); a case that could not be scored in B alone counts as failed."""
        return self.both(self.a.passed, self._losses_as_zero(self.b.passed, errors_as_zero=False))

    def _losses_as_zero(self, column: array[float], errors_as_zero: bool) -> NumberArray:
        import numpy as np

        zeroed = np.array(column)
        for j, status in enumerate(self.b.statuses):
            # Without a profile no case has a score, however good its answer is.
            is_lost = isnan(zeroed[j]) and status != Status.SCORED
            if is_lost and (errors_as_zero or status != Status.ERROR):
                zeroed[j] = 0.0
        return zeroed

    def lost_cases(self) -> list[str]:
        """Ids with a verdict in A and none in B."""
        return [self.a.ids[i] for i, _ in self._lost_rows()]

    def unscored_cases(self) -> list[str]:
        """The lost cases that did not end in an error: nothing in B's answer could be scored."""
        return [self.a.ids[i] for i, j in self._lost_rows() if self.b.statuses[j] != Status.ERROR]

    def _lost_rows(self) -> Iterator[tuple[int, int]]:
        for i, j in self.rows():
            # Without a profile B has no verdict to lose.
            has_profile = self.b.statuses[j] != Status.SCORED
            if has_profile and not isnan(self.a.passed[i]) and isnan(self.b.passed[j]):
                yield i, j

    def select(self, rows: NumberArray) -> Pairs:
        """Some of the pairs, by a mask; all cases of the runs count as paired there."""
        return replace(
            self,
            rows_a=self.rows_a[rows],
            rows_b=self.rows_b[rows],
            clusters=self._clusters_of(rows),
            added=(),
            removed=(),
            edited=(),
        )

    def _clusters_of(self, rows: NumberArray) -> NumberArray | None:
        if self.clusters is None:
            return None
        return self.clusters[rows]


def pair_cases(a: Side, b: Side) -> Pairs:
    """Match the cases by id."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(b.ids)}
    rows: list[tuple[int, int]] = []
    removed: list[str] = []
    edited: list[str] = []
    for row, case_id in enumerate(a.ids):
        other = where.pop(case_id, None)
        # An edited case is another question or another expected answer: its scores cannot be paired.
        if other is None:
            removed.append(case_id)
        elif a.cases[row] != b.cases[other]:
            edited.append(case_id)
        else:
            rows.append((row, other))
    matched = np.array(rows, dtype=np.intp).reshape(-1, 2)
    return Pairs(
        a=a,
        b=b,
        rows_a=matched[:, 0],
        rows_b=matched[:, 1],
        clusters=_number_clusters([a.clusters[row] for row, _ in rows]),
        added=tuple(where),
        removed=tuple(removed),
        edited=tuple(edited),
    )


def _number_clusters(names: list[str]) -> NumberArray | None:
    import numpy as np

    # Every case on its own: the tests for independent cases have more power.
    if len(set(names)) == len(names):
        return None
    return np.unique(np.array(names), return_inverse=True)[1]
