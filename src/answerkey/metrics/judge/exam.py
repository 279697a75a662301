"""The judge's exam, with known grades: can it tell right from wrong, and does it resist prompt injection?

The short one has ten questions on the rubric's accuracy; the large one has sixty items by kind, over rubric, faithfulness,
criteria and preferences. Its result, calibrations and order flips are kept under the judge's fingerprint, which has the model,
its settings and every prompt: a changed judge starts without a record.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path

import msgspec

from answerkey.cache import cache_folder, digest
from answerkey.errors import StorageError
from answerkey.files import json_text, write_file
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.questions import Duel
from answerkey.types import Case, Pair, Passage, Requirement, Response, Score


@dataclass(frozen=True, slots=True)
class KindResult:
    """How many exam items of a kind were right, of those that the judge took."""

    right: int
    of: int
    not_judged: int = 0

    @property
    def claimed(self) -> bool:
        return self.of > 0


@dataclass(frozen=True, slots=True)
class ExamResult:
    """The figures of an exam, without its items."""

    judge: str
    passed: bool
    right: int
    of: int
    not_judged: int
    pass_mark: float
    failed_kinds: list[str]
    kinds: dict[str, KindResult]

    @property
    def line(self) -> str:
        """`passed, 57 of 60 right (order 5/6, …)`."""
        kinds = ", ".join(f"{kind} {each.right}/{each.of}" for kind, each in self.kinds.items())
        return f"{'passed' if self.passed else 'failed'}, {self.right} of {self.of} right{f' ({kinds})' if kinds else ''}"


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """The agreement of one judged metric with human labels."""

    n: int
    auroc: float | None = None
    kappa: float | None = None
    spearman: float | None = None
    best_threshold: float | None = None
    accuracy_at_best: float | None = None


@dataclass(frozen=True, slots=True)
class OrderFlips:
    """How many preferences changed with the order in which the answers were shown."""

    flips: int
    of: int


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What is known about a judge from earlier; None where nothing is known."""

    judge: str = ""
    exam: ExamResult | None = None
    calibration: dict[str, CalibrationResult] | None = None
    order_flips: OrderFlips | None = None


def track_record(fingerprint: str) -> TrackRecord:
    """The record of a judge; an empty one where there is none, or it can't be read.

    >>> track_record("no such judge").exam is None
    True
    """
    with suppress(OSError, ValueError):
        return msgspec.json.decode(_record_path(fingerprint).read_bytes(), type=TrackRecord)
    return TrackRecord(fingerprint)


def remember(
    fingerprint: str,
    *,
    exam: ExamResult | None = None,
    calibration: Mapping[str, CalibrationResult] | None = None,
    order_flips: OrderFlips | None = None,
) -> None:
    """Add results to the record of a judge; calibrations are kept per metric. Without a cache folder nothing is kept."""
    known = track_record(fingerprint)
    record = TrackRecord(
        fingerprint,
        exam or known.exam,
        {**(known.calibration or {}), **(calibration or {})} or None,
        order_flips or known.order_flips,
    )
    path = _record_path(fingerprint)
    with suppress(OSError, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json_text(asdict(record)), durable=False)


def _record_path(fingerprint: str) -> Path:
    return cache_folder() / "judges" / f"{digest(fingerprint)[:24]}.json"


INJECTION = "injection"
CANNOT = "can't judge this"


class ExamItem(msgspec.Struct, frozen=True):
    """A question with a known verdict: a grade, a criterion that is met or not, or the better of two answers."""

    kind: str
    metric: str
    question: str
    answer: str
    expected: str | None = None
    passages: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    ask: str = ""
    met: bool = False
    other: str = ""

    @property
    def pair(self) -> Pair:
        if self.expected is None:
            expected = ()
        else:
            expected = (self.expected,)
        return Case("exam", self.question, expected), Response(
            self.answer.strip(), tuple(map(Passage, self.passages))
        )


class ExamFile(msgspec.Struct, frozen=True):
    pass_mark: float
    item: tuple[ExamItem, ...]


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """One item with the judge's verdict; `right` is None where the judge says that it can't judge this."""

    kind: str
    metric: str
    question: str
    answer: str
    wanted: str
    given: str
    right: bool | None
    value: float | None = None
    reason: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Exam:
    """The result. A judge passes the large exam when it reaches the pass mark in every kind, and the short one when it
    reaches it in all; either way it has to resist every injection."""

    judge: str
    answers: tuple[ExamAnswer, ...]
    pass_mark: float
    large: bool = False

    @property
    def kinds(self) -> dict[str, KindResult]:
        found: dict[str, KindResult] = {}
        for kind in dict.fromkeys(each.kind for each in self.answers):
            rights = [each.right for each in self.answers if each.kind == kind]
            found[kind] = KindResult(
                rights.count(True), len(rights) - rights.count(None), rights.count(None)
            )
        return found

    @property
    def right(self) -> int:
        return sum(each.right is True for each in self.answers)

    @property
    def judged(self) -> int:
        return sum(each.right is not None for each in self.answers)

    @property
    def resists_injection(self) -> bool:
        return all(each.right is not False for each in self.answers if each.kind == INJECTION)

    @property
    def failed_kinds(self) -> list[str]:
        """The kinds below the pass mark; of injections each one counts."""
        return [
            kind
            for kind, result in self.kinds.items()
            if result.claimed
            and result.right < (1.0 if kind == INJECTION else self.pass_mark) * result.of
        ]

    @property
    def passed(self) -> bool:
        if self.large:
            return self.judged > 0 and not self.failed_kinds
        return self.right >= self.pass_mark and self.resists_injection

    @property
    def result(self) -> ExamResult:
        return ExamResult(
            judge=self.judge,
            passed=self.passed,
            right=self.right,
            of=self.judged,
            not_judged=len(self.answers) - self.judged,
            pass_mark=self.pass_mark,
            failed_kinds=self.failed_kinds,
            kinds=self.kinds,
        )

    def to_json(self) -> dict[str, object]:
        return {**asdict(self.result), "items": [asdict(each) for each in self.answers]}


def take_exam(judge: Judge, large: bool = False) -> Exam:
    """The judge's result on every item; raises EndpointError where the judge can't be reached.

    >>> take_exam(load_judge("local")).right  # doctest: +SKIP
    7
    """
    file = "exam_large.toml" if large else "exam.toml"
    written = files("answerkey.metrics.judge").joinpath("prompts", file).read_text("utf-8")
    exam = msgspec.convert(tomllib.loads(written), ExamFile)
    items = exam.item
    answers: dict[int, ExamAnswer] = {}
    for metric, ask in _METRICS.items():
        places = [n for n, item in enumerate(items) if item.metric == metric]
        if places:
            marked = ask(judge, [items[n] for n in places])
        else:
            marked = []
        answers |= {
            n: _claimed(judge, answer) if large else answer
            for n, answer in zip(places, marked, strict=True)
        }
    return Exam(judge.name, tuple(answers[n] for n in sorted(answers)), exam.pass_mark, large)


def _claimed(judge: Judge, answer: ExamAnswer) -> ExamAnswer:
    """A kind that the judge does not claim to judge is not held against it."""
    claims: Collection[str] | None = getattr(judge, "claims", None)
    if claims is None or answer.kind in claims:
        return answer
    return replace(answer, right=None, given=CANNOT)


def _rubric(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    scores = judge.rubric([item.pair for item in items])
    return [_graded(item, row["accuracy"]) for item, row in zip(items, scores, strict=True)]


def _faithfulness(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    scores = judge.judge("faithfulness", [item.pair for item in items])
    return [_graded(item, score) for item, score in zip(items, scores, strict=True)]


def _criteria(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    table = judge.criteria(
        [item.pair for item in items], [(Requirement(item.ask, "exam"),) for item in items]
    )
    return [
        _marked(
            item,
            score,
            "met" if item.met else "not met",
            score.value == float(item.met),
            _met(score),
        )
        for item, (score,) in zip(items, table, strict=True)
    ]


def _preferences(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    duels = [Duel(*item.pair, Response(item.other.strip())) for item in items]
    scores = judge.prefer([*duels, *(duel.swapped() for duel in duels)])
    marked: list[ExamAnswer] = []
    for n, item in enumerate(items):
        first = scores[n]
        second = scores[n + len(items)]
        worse = first if first.value is None else second
        given = f"{_choice(first)}, and {_choice(second)} in the other order"
        right = (first.value, second.value) == (1.0, 0.0)
        marked.append(_marked(item, worse, "this answer in both orders", right, given))
    return marked


def _graded(item: ExamItem, score: Score) -> ExamAnswer:
    low = item.at_least
    high = item.at_most
    value = score.value
    right = value is not None and (low is None or value >= low) and (high is None or value <= high)
    if low is not None:
        wanted = f"at least {low:g}"
    else:
        wanted = f"at most {high:g}"
    return _marked(item, score, wanted, right, "no grade" if value is None else f"{value:g}")


def _marked(item: ExamItem, score: Score, wanted: str, right: bool, given: str) -> ExamAnswer:
    return ExamAnswer(
        kind=item.kind,
        metric=item.metric,
        question=item.question,
        answer=item.answer.strip(),
        wanted=wanted,
        given=given if score.applies else CANNOT,
        right=right if score.applies else None,
        value=score.value,
        reason=score.reason,
        error=score.error,
    )


def _met(score: Score) -> str:
    if score.value is None:
        return "no verdict"
    return "met" if score.value == 1 else "not met"


def _choice(score: Score) -> str:
    if score.value is None:
        return "no choice"
    return {1.0: "this answer", 0.0: "the other"}.get(score.value, "a tie")


_METRICS: Mapping[str, Callable[[Judge, Sequence[ExamItem]], list[ExamAnswer]]] = {
    "rubric.accuracy": _rubric,
    "judge.faithfulness": _faithfulness,
    "criterion": _criteria,
    "prefer": _preferences,
}
