"""The judge's card: what judging took, what went wrong, and what speaks for or against relying on the judge.

Everything is counted from the scores of a run, so that a resumed run, its parts on a cluster and a report made later agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from answerkey.metrics.judge.track_record import recall
from answerkey.metrics.registry import OWN_CRITERION
from answerkey.types import Json, Outcome, Score

_JUDGED = ("rubric.", "judge.", OWN_CRITERION)
_SUMMED = ("calls", "cached", "reasks", "errors", "scores", "flagged", "trimmed", "disagreements")
_TOKENS = ("prompt_tokens", "completion_tokens", "cost")
_STRONG = 0.5
_ENOUGH = 10
LENGTH = (
    "{name} rises with the length of the answer (r = {r:.2f} over {n} cases): longer answers may be preferred as such"
)


def is_judged(name: str) -> bool:
    return name == "criteria" or name.startswith(_JUDGED)


@dataclass(slots=True)
class Moments:
    """Sums from which a correlation follows; those of parts can be added."""

    n: int = 0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0

    def add(self, x: float, y: float) -> None:
        self.n += 1
        self.x += x
        self.y += y
        self.xx += x * x
        self.yy += y * y
        self.xy += x * y

    def merge(self, other: Moments) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def correlation(self) -> float | None:
        """None for fewer than three values, or where all are equal."""
        spread_x, spread_y = self.n * self.xx - self.x**2, self.n * self.yy - self.y**2
        if self.n < 3 or spread_x <= 1e-9 * self.n * self.xx or spread_y <= 1e-9 * self.n * max(self.yy, 1e-12):
            return None
        return max(-1.0, min(1.0, (self.n * self.xy - self.x * self.y) / math.sqrt(spread_x * spread_y)))


@dataclass(slots=True)
class JudgeTally:
    """Counts over the judged scores of outcomes: add them one at a time, or merge those of parts."""

    calls: int = 0
    cached: int = 0
    reasks: int = 0
    errors: int = 0
    scores: int = 0
    flagged: int = 0
    trimmed: int = 0
    disagreements: int = 0
    used: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_TOKENS, 0.0))
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_TOKENS, 0))
    models: dict[str, int] = field(default_factory=dict[str, int])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    lengths: dict[str, Moments] = field(default_factory=dict[str, Moments])

    def add(self, outcome: Outcome) -> None:
        seen: set[str] = set()
        length = math.log1p(len(outcome.response.answer or ""))
        for name, score in outcome.scores.items():
            if not is_judged(name) or not score.applies:
                continue
            self.scores += 1
            self.errors += score.error is not None
            details = score.details
            self.flagged += bool(details.get("flags"))
            self.disagreements += "jury" in details and bool(details.get("spread"))
            for who, why in details.get("jury_errors", {}).items():
                self.lost.setdefault(who, str(why)[:200])
            if score.value is not None:
                self.lengths.setdefault(name, Moments()).add(length, score.value)
            call = str(details.get("call") or "")
            if call and call not in seen:
                seen.add(call)
                self._add_call(score)
            elif details.get("model") == "local":
                self.models["local"] = self.models.get("local", 0) + 1

    def _add_call(self, score: Score) -> None:
        details: Mapping[str, Any] = score.details
        model = str(details.get("model") or "")
        if model:
            self.models[model] = self.models.get(model, 0) + 1
        asks = int(details.get("asks") or 0)
        votes = max(len(details.get("votes") or [None]), int(details.get("calls") or 1))
        self.trimmed += bool(details.get("trimmed"))
        if details.get("cached"):
            self.cached += votes
            return
        self.calls += asks
        self.reasks += max(0, asks - votes)
        for name in _TOKENS:
            if details.get(name) is None:
                self.unknown[name] += asks > 0
            else:
                self.used[name] += float(details[name])

    def merge(self, other: JudgeTally) -> None:
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in ((self.used, other.used), (self.unknown, other.unknown), (self.models, other.models)):
            for key, value in theirs.items():
                mine[key] = mine.get(key, 0) + value  # pyright: ignore[reportArgumentType]
        for who, why in other.lost.items():
            self.lost.setdefault(who, why)
        for name, moments in other.lengths.items():
            self.lengths.setdefault(name, Moments()).merge(moments)

    def to_json(self) -> Json:
        return asdict(self)

    @staticmethod
    def from_json(record: Json | None) -> JudgeTally:
        """Parts of earlier versions have none."""
        given = dict(record or {})
        lengths = {name: Moments(**each) for name, each in given.pop("lengths", {}).items()}
        return JudgeTally(**given, lengths=lengths)


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """What a report tells about the judge. Unknown tokens and cost are None, never 0."""

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
    order_flips: Json | None
    length_correlation: dict[str, Json]
    exam: Json | None
    calibration: dict[str, Json] | None
    warnings: tuple[str, ...]

    def to_json(self) -> Json:
        return asdict(self)


def judge_card(tally: JudgeTally, fingerprint: str) -> JudgeCard | None:
    """The card of a run; None where nothing was judged. `fingerprint` is the judge's, under which its record is known."""
    if not tally.scores or fingerprint in ("", "none"):
        return None
    lengths = {
        name: {"r": None if moments.correlation is None else round(moments.correlation, 4), "n": moments.n}
        for name, moments in sorted(tally.lengths.items())
    }
    known = recall(fingerprint)
    used = {name: None if tally.unknown[name] or not tally.calls else tally.used[name] for name in _TOKENS}
    return JudgeCard(
        judge=fingerprint.rpartition(" ")[0] or fingerprint,
        models=dict(sorted(tally.models.items())),
        calls=tally.calls,
        cached=tally.cached,
        prompt_tokens=used["prompt_tokens"],
        completion_tokens=used["completion_tokens"],
        cost=used["cost"],
        scores=tally.scores,
        errors=tally.errors,
        reasks=tally.reasks,
        flagged_reasons=tally.flagged,
        trimmed_prompts=tally.trimmed,
        disagreements=tally.disagreements,
        failed_judges=dict(sorted(tally.lost.items())),
        order_flips=known.get("order_flips"),
        length_correlation=lengths,
        exam=known.get("exam"),
        calibration=known.get("calibration"),
        warnings=tuple(_warnings(tally, known)),
    )


def _warnings(tally: JudgeTally, known: Mapping[str, Any]) -> list[str]:
    found = [
        LENGTH.format(name=name, r=moments.correlation or 0, n=moments.n)
        for name, moments in sorted(tally.lengths.items())
        if moments.n >= _ENOUGH and (moments.correlation or 0) >= _STRONG
    ]
    found += [f"{who} failed and was left out of the jury: {why}" for who, why in sorted(tally.lost.items())]
    exam = known.get("exam") or {}
    if exam and not exam.get("passed"):
        found.append(f"the judge failed its exam: {exam.get('right')} of {exam.get('of')} right")
    if tally.errors:
        found.append(f"{tally.errors} of {tally.scores} judged scores are errors")
    if tally.flagged:
        found.append(f"{tally.flagged} reasons contradict their score or repeat the prompt")
    return found


def card_lines(card: JudgeCard) -> list[str]:
    """The card as lines of a text report."""
    lines = [f"Judge: {card.judge}"]
    if card.calls or card.cached:
        lines.append(
            f"  calls {card.calls:,} ({card.cached:,} more from the cache), re-asks {card.reasks}, "
            f"errors {card.errors} of {card.scores} scores"
        )
        lines.append(
            f"  tokens read {_amount(card.prompt_tokens)}, written {_amount(card.completion_tokens)}; "
            f"cost {_amount(card.cost)}"
        )
    else:
        lines.append(f"  no model calls; errors {card.errors} of {card.scores} scores")
    lengths = [f"{name} {each['r']:.2f}" for name, each in card.length_correlation.items() if each["r"] is not None]
    if lengths:
        lines.append(f"  correlation with answer length: {', '.join(lengths)}")
    if card.disagreements:
        lines.append(f"  the jury disagrees on {card.disagreements} of {card.scores} scores")
    if flips := card.order_flips:
        lines.append(f"  order flips: {flips['flips']} of {flips['of']} preferences")
    exam = card.exam
    lines.append(f"  exam: {exam_line(exam)}" if exam else "  exam: not taken (`answerkey doctor --judge`)")
    for name, each in (card.calibration or {}).items():
        lines.append(
            f"  calibration of {name}: AUROC {_figure(each.get('auroc'))}, κ {_figure(each.get('kappa'))}, n {each.get('n')}"
        )
    return lines + [f"  warning: {warning}" for warning in card.warnings]


def exam_line(exam: Mapping[str, Any]) -> str:
    """`passed, 57 of 60 right (order 5/6, …)`."""
    kinds = ", ".join(f"{kind} {each['right']}/{each['of']}" for kind, each in exam.get("kinds", {}).items())
    verdict = "passed" if exam.get("passed") else "failed"
    return f"{verdict}, {exam.get('right')} of {exam.get('of')} right{f' ({kinds})' if kinds else ''}"


def _amount(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.4g}" if value < 100 else f"{value:,.0f}"


def _figure(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else "unknown"
