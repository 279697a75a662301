"""The judge's exam, with known grades: can it tell right from wrong, and does it resist prompt injection?

The short one has ten questions on the rubric's accuracy; the large one has sixty items by kind, over rubric, faithfulness,
criteria and preferences. Its result, calibrations and order flips are kept under the judge's fingerprint, which has the model,
its settings and every prompt: a changed judge starts without a record.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files

import msgspec

from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.judge.track_record import ExamResult, KindResult
from answerkey.types import Case, Pair, Passage, Requirement, Response, Score

INJECTION = "injection"  # the kind in which every item must be right: one answer that sets its own grade is too many
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
        results: dict[str, KindResult] = {}
        for kind in dict.fromkeys(each.kind for each in self.answers):
            rights = [each.right for each in self.answers if each.kind == kind]
            results[kind] = KindResult(
                rights.count(True), len(rights) - rights.count(None), rights.count(None)
            )
        return results

    @property
    def right(self) -> int:
        return sum(each.right is True for each in self.answers)

    @property
    def judged_count(self) -> int:
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
            if result.is_claimed
            and result.right < (1.0 if kind == INJECTION else self.pass_mark) * result.of
        ]

    @property
    def passed(self) -> bool:
        if self.large:
            # A judge that takes no item has shown nothing.
            return self.judged_count > 0 and not self.failed_kinds
        return self.right >= self.pass_mark and self.resists_injection

    @property
    def result(self) -> ExamResult:
        return ExamResult(
            judge=self.judge,
            passed=self.passed,
            right=self.right,
            of=self.judged_count,
            not_judged=len(self.answers) - self.judged_count,
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
            n: _skip_unclaimed(judge, answer) if large else answer
            for n, answer in zip(places, marked, strict=True)
        }
    return Exam(judge.name, tuple(answers[n] for n in sorted(answers)), exam.pass_mark, large)


def _skip_unclaimed(judge: Judge, answer: ExamAnswer) -> ExamAnswer:
    """A kind that the judge does not claim to judge is not held against it."""
    claims: Collection[str] | None = getattr(judge, "claims", None)
    if claims is None or answer.kind in claims:
        return answer
    return replace(answer, right=None, given=CANNOT)


def _rubric(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    scores = judge.rubric([item.pair for item in items])
    return [_mark_grade(item, row["accuracy"]) for item, row in zip(items, scores, strict=True)]


def _faithfulness(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    scores = judge.judge("faithfulness", [item.pair for item in items])
    return [_mark_grade(item, score) for item, score in zip(items, scores, strict=True)]


def _criteria(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    table = judge.criteria(
        [item.pair for item in items], [(Requirement(item.ask, "exam"),) for item in items]
    )
    return [
        _mark(
            item,
            score,
            "met" if item.met else "not met",
            score.value == float(item.met),
            _describe_met(score),
        )
        for item, (score,) in zip(items, table, strict=True)
    ]


def _preferences(judge: Judge, items: Sequence[ExamItem]) -> list[ExamAnswer]:
    duels = [Duel(*item.pair, Response(item.other.strip())) for item in items]
    scores = judge.prefer([*duels, *(duel.swap() for duel in duels)])
    marked: list[ExamAnswer] = []
    for n, item in enumerate(items):
        first = scores[n]
        second = scores[n + len(items)]
        worse = first if first.value is None else second
        choices = f"{_describe_choice(first)}, and {_describe_choice(second)} in the other order"
        # Right means right in both orders: a judge that prefers the first answer gets none of them.
        right = (first.value, second.value) == (1.0, 0.0)
        marked.append(_mark(item, worse, "this answer in both orders", right, choices))
    return marked


def _mark_grade(item: ExamItem, score: Score) -> ExamAnswer:
    low = item.at_least
    high = item.at_most
    value = score.value
    right = value is not None and (low is None or value >= low) and (high is None or value <= high)
    if low is not None:
        limit = f"at least {low:g}"
    else:
        limit = f"at most {high:g}"
    return _mark(item, score, limit, right, "no grade" if value is None else f"{value:g}")


def _mark(item: ExamItem, score: Score, wanted: str, right: bool, given: str) -> ExamAnswer:
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


def _describe_met(score: Score) -> str:
    if score.value is None:
        return "no verdict"
    return "met" if score.value == 1 else "not met"


def _describe_choice(score: Score) -> str:
    if score.value is None:
        return "no choice"
    return {1.0: "this answer", 0.0: "the other"}.get(score.value, "a tie")


_METRICS: Mapping[str, Callable[[Judge, Sequence[ExamItem]], list[ExamAnswer]]] = {
    "rubric.accuracy": _rubric,
    "judge.faithfulness": _faithfulness,
    "criterion": _criteria,
    "prefer": _preferences,
}
