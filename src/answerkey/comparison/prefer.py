"""Asks a judge which of two runs gives the better answers; it sees each pair in both orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from answerkey.distributions import sign_test_p
from answerkey.errors import InputError, StorageError
from answerkey.files import json_text, read_json, write_file
from answerkey.intervals import mean_interval
from answerkey.llm.usage import CallTotals
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.judge.track_record import OrderFlips, remember
from answerkey.percentages import format_percent, format_rate
from answerkey.runs.store import read_manifest, read_outcomes
from answerkey.text import format_count
from answerkey.types import Outcome, Score

Winner = Literal["A", "B", "tie", ""]
NO_PREFERENCE = "no preference"
_FIGURES = (
    "verdict",
    "sentence",
    "judge",
    "flips",
    "flip_rate",
    "first_shown_rate",
    "longer_rate",
    "identical",
    "only_in_one",
    "win_rate",
    "win_rate_ci95",
    "p",
    "warnings",
)
_SURE = 0.05
_MANY_FLIPS = 0.3
_MANY_LONGER = 0.8
_ENOUGH_WINNERS = 10  # with fewer, the longer answer wins most of them by chance


@dataclass(frozen=True, slots=True)
class PreferredCase:
    """One case: the better answer; a choice that changes with the order is a flip, and a tie."""

    id: str
    question: str
    winner: Winner
    flipped: bool = False
    first_shown: int = 0
    reason: str = ""
    error: str | None = None
    length_a: int = 0
    length_b: int = 0


@dataclass(frozen=True, slots=True)
class Preference:
    """Run B against run A, case by case. `win_rate` is B's: a tie counts half.

    >>> prefer(run_a, run_b, judge="groq").sentence  # doctest: +SKIP
    'B is preferred: it wins 31 cases, A 12, 7 are ties (win rate of B 69 %, 95 % interval 57–80 %, p = 0.005)'
    """

    name_a: str
    name_b: str
    judge: str
    cases: tuple[PreferredCase, ...]
    identical: int = 0
    only_in_one: int = 0
    usage: CallTotals | None = None

    def __repr__(self) -> str:
        """The result in a sentence, how often the order decided, and reasons not to rely on the judge."""
        lines = [self.sentence]
        if self.flip_rate is not None:
            lines.append(f"flips: {format_percent(self.flip_rate)}, counted as ties")
        return "\n  ".join([*lines, *self.warnings])

    def count(self, winner: Winner) -> int:
        return sum(case.winner == winner for case in self.cases)

    @property
    def decided_cases(self) -> list[PreferredCase]:
        """The cases with a verdict, ties included."""
        return [case for case in self.cases if case.winner]

    @property
    def flips(self) -> int:
        return sum(case.flipped for case in self.cases)

    @property
    def judged_count(self) -> int:
        """The number of cases that the judge was asked about and decided."""
        return len(self.decided_cases) - self.identical

    @property
    def flip_rate(self) -> float | None:
        """The share of the judged cases in which the order decided."""
        if self.judged_count > 0:
            return self.flips / self.judged_count
        return None

    @property
    def first_shown_rate(self) -> float | None:
        """How often the answer shown first was chosen; 0.5 is fair. Two choices per case."""
        chosen = [
            case
            for case in self.decided_cases
            if case.first_shown or case.winner != "tie" or case.flipped
        ]
        if not chosen:
            return None
        return sum(case.first_shown for case in chosen) / (2 * len(chosen))

    @property
    def longer_rate(self) -> float | None:
        """How often the longer answer won, of the cases with a winner."""
        won = [
            case
            for case in self.cases
            if case.winner in ("A", "B") and case.length_a != case.length_b
        ]
        longer = sum((case.length_b > case.length_a) == (case.winner == "B") for case in won)
        return longer / len(won) if won else None

    @property
    def win_rate(self) -> float | None:
        values = self._values()
        if values:
            return sum(values) / len(values)
        return None

    @property
    def win_rate_ci95(self) -> tuple[float, float] | None:
        interval = mean_interval(self._values())
        if interval:
            return (interval.low, interval.high)
        return None

    @property
    def p(self) -> float | None:
        """The p of the exact two-sided sign test over the cases with a winner."""
        wins = self.count("B")
        losses = self.count("A")
        if not wins + losses:
            return None
        return sign_test_p(wins, losses)

    @property
    def verdict(self) -> str:
        """ "A", "B" or "no preference"."""
        if self.p is None or self.p >= _SURE:
            return NO_PREFERENCE
        if self.count("B") > self.count("A"):
            return "B"
        return "A"

    @property
    def sentence(self) -> str:
        if self.win_rate is None:
            return "no case could be compared"
        won = format_count(self.count("B"), "case")
        wins = f"B wins {won}, A {self.count('A')}, {self.count('tie')} are ties"
        figures = f"win rate of B {format_rate(self.win_rate, self.win_rate_ci95)}"
        if self.p is None:
            p = ""
        else:
            p = f", p = {self.p:.2g}"
        if self.verdict == NO_PREFERENCE:
            head = NO_PREFERENCE
        else:
            head = f"{self.verdict} is preferred"
        return f"{head}: {wins} ({figures}{p})"

    @property
    def warnings(self) -> list[str]:
        """Reasons not to rely on this judge."""
        reasons: list[str] = []
        if self.flip_rate is not None and self.flip_rate >= _MANY_FLIPS:
            share = format_percent(self.flip_rate)
            reasons.append(
                f"the judge changed its choice with the order in {share} of the cases: "
                "its preferences depend on the order, not on the answers"
            )
        has_winners = self.count("A") + self.count("B") >= _ENOUGH_WINNERS
        if has_winners and self.longer_rate is not None and self.longer_rate >= _MANY_LONGER:
            share = format_percent(self.longer_rate)
            reasons.append(
                f"the longer answer won {share} of the cases: the judge may prefer length"
            )
        errors = [case for case in self.cases if case.error]
        if errors:
            count = format_count(len(errors), "case")
            reasons.append(f"{count} could not be judged: {errors[0].error}")
        return reasons

    def to_json(self) -> dict[str, object]:
        return {
            **{name: getattr(self, name) for name in _FIGURES},
            "a": self.name_a,
            "b": self.name_b,
            "cases": len(self.cases),
            "wins_a": self.count("A"),
            "wins_b": self.count("B"),
            "ties": self.count("tie"),
            "errors": sum(case.error is not None for case in self.cases),
            "not_applicable": sum(not case.winner and case.error is None for case in self.cases),
            "usage": asdict(self.usage) if self.usage else {},
            "results": [asdict(case) for case in self.cases],
        }

    def _values(self) -> list[float]:
        points: dict[Winner, float] = {"A": 0.0, "B": 1.0, "tie": 0.5}
        return [points[case.winner] for case in self.decided_cases]


@dataclass(frozen=True, slots=True)
class KeptPreference:
    """The file of a preference, as far as it is read again."""

    sentence: str
    judge: str
    warnings: list[str]
    results: list[PreferredCase]


def prefer_outcomes(
    a: tuple[str, Iterable[Outcome]], b: tuple[str, Iterable[Outcome]], judge: Judge
) -> Preference:
    """Compare two runs, each given by its name and outcomes. Equal answers are ties without a call."""
    name_a, outcomes_a = a
    name_b, outcomes_b = b
    ours = {outcome.case.id: outcome for outcome in outcomes_a}
    theirs = {outcome.case.id: outcome for outcome in outcomes_b}
    shared = [case_id for case_id in ours if case_id in theirs]
    if not shared:
        raise InputError("the runs have no case in common: cases are paired by id")
    duels = [
        Duel(theirs[case_id].case, ours[case_id].response, theirs[case_id].response)
        for case_id in shared
    ]
    settled = [_settle_without_judge(duel) for duel in duels]
    judged = iter(
        _judge_duels([d for d, case in zip(duels, settled, strict=True) if case is None], judge)
    )
    return Preference(
        name_a=name_a,
        name_b=name_b,
        judge=judge.name,
        cases=tuple(case or next(judged) for case in settled),
        identical=sum(case is not None and case.winner == "tie" for case in settled),
        only_in_one=len(ours) + len(theirs) - 2 * len(shared),
        usage=judge.usage(),
    )


def _judge_duels(duels: Sequence[Duel], judge: Judge) -> list[PreferredCase]:
    """Ask the judge about each pair in both orders, all in one batch."""
    if not duels:
        return []
    scores = judge.prefer([*duels, *(duel.swap() for duel in duels)])
    forward = scores[: len(duels)]
    backward = scores[len(duels) :]
    return [_judged_case(*each) for each in zip(duels, forward, backward, strict=True)]


def prefer_runs(a: Path, b: Path, judge: Judge) -> Preference:
    """Compare two run folders.

    How often the judge's choice depended on the order is remembered for its card. The result is
    kept in folder B, where the viewer's page of the two runs finds it.
    """
    name_a = read_manifest(a).name
    name_b = read_manifest(b).name
    if name_a == name_b:
        name_a = a.name
        name_b = b.name
    preference = prefer_outcomes((name_a, read_outcomes(a)), (name_b, read_outcomes(b)), judge)
    remember_flips(preference, judge)
    with suppress(StorageError):  # a folder that is read-only
        write_file(_preference_file(a, b), json_text(preference.to_json()))
    return preference


def read_preference(a: Path, b: Path) -> KeptPreference | None:
    """The latest preference between two run folders; None where no judge was asked, or the file is damaged."""
    with suppress(OSError, ValueError):
        return msgspec.convert(read_json(_preference_file(a, b).read_bytes()), KeptPreference)
    return None


def _preference_file(a: Path, b: Path) -> Path:
    return b / f"preferred_over_{a.resolve().name}.json"


def remember_flips(preference: Preference, judge: Judge) -> None:
    """Keep for the judge's card how often the order decided."""
    count = preference.judged_count
    if count and judge.name != "local":
        remember(judge.fingerprint(), order_flips=OrderFlips(preference.flips, count))


def _settle_without_judge(duel: Duel) -> PreferredCase | None:
    """The result of a pair that no judge is asked about: an answer is missing, or both are the same."""
    for name, response in (("A", duel.first), ("B", duel.second)):
        if response.answer is None or response.error is not None:
            return _case(duel, reason=f"no answer in {name}: {response.error or 'no answer'}")
    if (duel.first.answer or "").strip() != (duel.second.answer or "").strip():
        return None
    return _case(duel, "tie", reason="the answers are the same")


def _case(duel: Duel, winner: Winner = "", **fields: Any) -> PreferredCase:
    return PreferredCase(
        duel.case.id,
        duel.case.question,
        winner,
        length_a=len(duel.first.answer or ""),
        length_b=len(duel.second.answer or ""),
        **fields,
    )


def _judged_case(duel: Duel, forward: Score, backward: Score) -> PreferredCase:
    if forward.value is None or backward.value is None:
        reason = forward.reason or backward.reason
        return _case(duel, reason=reason, error=forward.error or backward.error)
    first = _choice(forward.value, "A", "B")
    second = _choice(backward.value, "B", "A")
    flipped = {first, second} == {"A", "B"}
    reason = forward.reason
    if flipped:
        reason = f"in one order A, in the other B: {forward.reason}"
    return _case(
        duel,
        first if first == second else "tie",
        flipped=flipped,
        first_shown=(forward.value == 1.0) + (backward.value == 1.0),
        reason=reason,
    )


def _choice(value: float, first: Winner, second: Winner) -> Winner:
    if value > 0.5:
        return first
    if value < 0.5:
        return second
    return "tie"


def preference_text(preference: Preference, most: int = 20) -> str:
    """The text that `answerkey prefer` prints, with at most that many cases."""
    p = preference
    lines = [p.sentence, f"judged by {p.judge}, each pair in both orders"]
    if p.flip_rate is not None:
        lines.append(
            f"flips: {p.flips} of {p.judged_count} ({format_percent(p.flip_rate)}), counted as ties"
        )
    if p.identical:
        lines.append(f"{format_count(p.identical, 'case')} with the same answer in both runs")
    if p.only_in_one:
        lines.append(f"{format_count(p.only_in_one, 'case')} in only one of the runs, left out")
    lines += [f"warning: {warning}" for warning in p.warnings]
    listed = [case for case in p.cases if case.winner in ("A", "B")]
    listed += [case for case in p.cases if case.flipped]
    for case in listed[:most]:
        result = "flip" if case.flipped else case.winner
        lines.append(f"  {result:<4}  {case.id}: {case.reason}")
    if len(listed) > most:
        lines.append(f"  and {len(listed) - most} more (--cases N)")
    return "\n".join(lines)
