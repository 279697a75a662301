"""The judge's card: what judging took, what went wrong, and the evidence for or against relying on the judge.

Everything is counted from the scores of a run, so that a resumed run, its parts on a cluster and a report made later agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from answerkey.metrics.judge.cascade import DETAIL, DecidedBy
from answerkey.metrics.judge.track_record import (
    CalibrationResult,
    ExamResult,
    OrderFlips,
    track_record,
)
from answerkey.metrics.registry import OWN_CRITERION
from answerkey.types import Outcome, Score

_JUDGED = ("rubric.", "judge.", OWN_CRITERION)
_TOKENS = ("prompt_tokens", "completion_tokens", "cost")
# A correlation of score and length from which the card warns, and the cases that it takes: with fewer, chance
# reaches 0.5 easily.
_STRONG = 0.5
_ENOUGH = 10
LENGTH = "{name} rises with the length of the answer (r = {r:.2f} over {n} cases): longer answers may be preferred as such"


@cache
def is_judged(name: str) -> bool:
    return name == "criteria" or name.startswith(_JUDGED)


@dataclass(slots=True)
class Moments:
    """Sums of x, y, x², y² and xy, from which a correlation follows; those of parts can be added."""

    n: int = 0
    sums: list[float] = field(default_factory=lambda: [0.0] * 5)

    def add(self, x: float, y: float) -> None:
        self.merge(Moments(1, [x, y, x * x, y * y, x * y]))

    def merge(self, other: Moments) -> None:
        self.n += other.n
        self.sums = [mine + theirs for mine, theirs in zip(self.sums, other.sums, strict=True)]

    @property
    def correlation(self) -> float | None:
        """The correlation; None for fewer than three values, or if all are equal."""
        x, y, xx, yy, xy = self.sums
        spread_x = self.n * xx - x**2
        spread_y = self.n * yy - y**2
        if (
            self.n < 3
            # Sums of squares of equal numbers differ by rounding; that is no spread.
            or spread_x <= 1e-9 * self.n * xx
            or spread_y <= 1e-9 * self.n * max(yy, 1e-12)
        ):
            return None
        # Rounding may push a perfect correlation beyond 1.
        return max(-1.0, min(1.0, (self.n * xy - x * y) / math.sqrt(spread_x * spread_y)))


@dataclass(frozen=True, slots=True)
class CascadeCounts:
    """Questions of a judge that is asked when unsure.

    `sure` of all `questions` were decided locally, which saved `calls_saved` calls. `checked` sure answers were asked about
    as well: the judge agreed with the local verdict on `agreed` of them.
    """

    questions: int
    sure: int
    calls_saved: int
    checked: int
    agreed: int

    @property
    def agreement_with_always(self) -> float | None:
        """Estimated share of verdicts that asking always would leave as they are; None where nothing was checked."""
        if not self.checked:
            return None
        # Only sure answers can differ: the others were decided by the judge anyway.
        disagreeing = 1 - self.agreed / self.checked
        return 1 - disagreeing * self.sure / self.questions

    @property
    def line(self) -> str:
        saved = (
            f"{self.sure:,} of {self.questions:,} questions decided locally, "
            f"{self.calls_saved:,} calls saved"
        )
        share = self.agreement_with_always
        if share is None:
            return f"{saved}; agreement not measured: no sure answer was asked about as well"
        return (
            f"{saved}; {self.checked:,} sure answers asked about as well, the judge agreed on "
            f"{self.agreed:,}; estimated agreement with asking always {share:.1%}"
        )


@dataclass(slots=True)
class JudgeTally:
    """Amounts over the judged scores of outcomes: add them one at a time, or merge those of parts.

    `amounts` are the counts and the tokens and cost of the card; `unknown cost` counts the calls whose cost is not known.
    """

    amounts: dict[str, float] = field(default_factory=dict[str, float])
    models: dict[str, float] = field(default_factory=dict[str, float])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    lengths: dict[str, Moments] = field(default_factory=dict[str, Moments])

    def add(self, outcome: Outcome) -> None:
        seen: set[str] = set()
        routed: set[str] = set()
        # The logarithm: twice as long counts the same for short and for long answers.
        length = math.log1p(len(outcome.response.answer or ""))
        for name in filter(is_judged, outcome.scores):
            score = outcome.scores[name]
            if not score.applies:
                continue
            details = score.details
            disagrees = "jury" in details and bool(details.get("spread"))
            self._count(scores=1, errors=score.error is not None)
            self._count(flagged_reasons=bool(details.get("flags")), disagreements=disagrees)
            for who, why in details.get("jury_errors", {}).items():
                self.lost.setdefault(who, str(why)[:200])
            if score.value is not None:
                self.lengths.setdefault(name, Moments()).add(length, score.value)
            note = details.get(DETAIL)
            if note and note["question"] not in routed:
                routed.add(note["question"])
                self._add_route(note)
            call = str(details.get("call") or "")
            # Criteria of one call share its tokens and cost.
            if call and call not in seen:
                seen.add(call)
                self._add_call(score)
            elif details.get("model") == "local":
                _add(self.models, {"local": 1})

    def _add_route(self, note: Mapping[str, Any]) -> None:
        """Count a question once, however many criteria it has."""
        is_checked = "agrees" in note
        self._count(
            cascade_questions=note["probability"] is not None,
            cascade_sure=note["by"] == DecidedBy.LOCAL.value,
            cascade_saved=note.get("calls_saved", 0),
            cascade_checked=is_checked,
            cascade_agreed=is_checked and note["agrees"],
        )

    def _add_call(self, score: Score) -> None:
        details = score.details
        if model := str(details.get("model") or ""):
            _add(self.models, {model: 1})
        asks = int(details.get("asks") or 0)
        votes = max(len(details.get("votes") or [None]), int(details.get("calls") or 1))
        self._count(trimmed_prompts=bool(details.get("trimmed")))
        if details.get("cached"):
            # Cached replies cost nothing now, so their tokens are not counted again.
            return self._count(cached=votes)
        self._count(calls=asks, reasks=max(0, asks - votes))
        for name in _TOKENS:
            amount = details.get(name)
            self._count(
                **({f"unknown {name}": asks > 0} if amount is None else {name: float(amount)})
            )
        return None

    def _count(self, **amounts: float) -> None:
        _add(self.amounts, amounts)

    def merge(self, other: JudgeTally) -> None:
        _add(self.amounts, other.amounts)
        _add(self.models, other.models)
        self.lost = other.lost | self.lost
        for name, moments in other.lengths.items():
            self.lengths.setdefault(name, Moments()).merge(moments)


def _add(amounts: dict[str, float], more: Mapping[str, float]) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, 0) + amount


@dataclass(frozen=True, slots=True)
class LengthCorrelation:
    r: float | None
    n: int

    @staticmethod
    def of(moments: Moments) -> LengthCorrelation:
        return LengthCorrelation(
            None if moments.correlation is None else round(moments.correlation, 4), moments.n
        )


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """The figures about a judge in a report. Unknown tokens and cost are None, never 0."""

    judge: str
    models: dict[str, int]
    calls: int
    cached: int
    prompt_tokens: float | None
    completion_tokens: float | None
    cost: float | None
    scores: int
    errors: int
    reasks: int
    flagged_reasons: int
    trimmed_prompts: int
    disagreements: int
    failed_judges: dict[str, str]
    order_flips: OrderFlips | None
    length_correlation: dict[str, LengthCorrelation]
    exam: ExamResult | None
    calibration: dict[str, CalibrationResult] | None
    warnings: tuple[str, ...]
    cascade: CascadeCounts | None = None


def judge_card(tally: JudgeTally, fingerprint: str) -> JudgeCard | None:
    """The card of a run; None where nothing was judged. The judge's record is kept under its `fingerprint`."""
    if not tally.amounts.get("scores") or fingerprint in ("", "none"):
        return None
    record = track_record(fingerprint)
    amounts = tally.amounts

    def count(name: str) -> int:
        return int(amounts.get(name, 0))

    def amount(name: str) -> float | None:
        # One unknown amount makes the sum unknown; it is never taken for 0.
        if amounts.get("calls") and not amounts.get(f"unknown {name}"):
            return amounts.get(name, 0.0)
        return None

    return JudgeCard(
        judge=fingerprint.rpartition(" ")[0] or fingerprint,
        models={name: int(count) for name, count in sorted(tally.models.items())},
        failed_judges=dict(sorted(tally.lost.items())),
        order_flips=record.order_flips,
        length_correlation={
            name: LengthCorrelation.of(each) for name, each in sorted(tally.lengths.items())
        },
        exam=record.exam,
        calibration=record.calibration,
        warnings=tuple(_warnings(tally, record.exam)),
        calls=count("calls"),
        cached=count("cached"),
        scores=count("scores"),
        errors=count("errors"),
        reasks=count("reasks"),
        flagged_reasons=count("flagged_reasons"),
        trimmed_prompts=count("trimmed_prompts"),
        disagreements=count("disagreements"),
        prompt_tokens=amount("prompt_tokens"),
        completion_tokens=amount("completion_tokens"),
        cost=amount("cost"),
        cascade=_cascade_counts(count),
    )


def _cascade_counts(count: Callable[[str], int]) -> CascadeCounts | None:
    if not count("cascade_questions"):
        return None
    return CascadeCounts(
        questions=count("cascade_questions"),
        sure=count("cascade_sure"),
        calls_saved=count("cascade_saved"),
        checked=count("cascade_checked"),
        agreed=count("cascade_agreed"),
    )


def _warnings(tally: JudgeTally, exam: ExamResult | None) -> list[str]:
    warnings = [
        LENGTH.format(name=name, r=moments.correlation or 0, n=moments.n)
        for name, moments in sorted(tally.lengths.items())
        if moments.n >= _ENOUGH and (moments.correlation or 0) >= _STRONG
    ]
    warnings += [
        f"{who} failed and was left out of the jury: {why}"
        for who, why in sorted(tally.lost.items())
    ]
    if exam and not exam.passed:
        warnings.append(f"the judge failed its exam: {exam.right} of {exam.of} right")
    errors, scores, flagged = (
        int(tally.amounts.get(name, 0)) for name in ("errors", "scores", "flagged_reasons")
    )
    if errors:
        warnings.append(f"{errors} of {scores} judged scores are errors")
    if flagged:
        warnings.append(f"{flagged} reasons contradict their score or repeat the prompt")
    return warnings


def card_lines(card: JudgeCard) -> list[str]:
    """The card as lines of a text report."""
    lines = [f"Judge: {card.judge}", *_call_lines(card)]
    if card.cascade is not None:
        lines.append(f"  asked when unsure: {card.cascade.line}")
    lengths = [
        f"{name} {each.r:.2f}"
        for name, each in card.length_correlation.items()
        if each.r is not None
    ]
    if lengths:
        lines.append(f"  correlation with answer length: {', '.join(lengths)}")
    if card.disagreements:
        lines.append(f"  the jury disagrees on {card.disagreements} of {card.scores} scores")
    if flips := card.order_flips:
        lines.append(f"  order flips: {flips.flips} of {flips.of} preferences")
    exam = card.exam.line if card.exam else "not taken (`answerkey doctor --judge`)"
    lines.append(f"  exam: {exam}")
    for name, each in (card.calibration or {}).items():
        figures = f"AUROC {_figure(each.auroc)}, κ {_figure(each.kappa)}, n {each.n}"
        lines.append(f"  calibration of {name}: {figures}")
    return lines + [f"  warning: {warning}" for warning in card.warnings]


def _call_lines(card: JudgeCard) -> list[str]:
    errors = f"errors {card.errors} of {card.scores} scores"
    if not card.calls and not card.cached:
        return [f"  no model calls; {errors}"]
    calls = f"calls {card.calls:,} ({card.cached:,} more from the cache), re-asks {card.reasks}"
    read = _amount(card.prompt_tokens)
    written = _amount(card.completion_tokens)
    return [
        f"  {calls}, {errors}",
        f"  tokens read {read}, written {written}; cost {_amount(card.cost)}",
    ]


def _amount(value: float | None) -> str:
    if value is None:
        return "unknown"
    if value < 100:
        return f"{value:,.4g}"
    return f"{value:,.0f}"


def _figure(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.2f}"
