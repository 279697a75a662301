"""Repeats: each case is asked several times, and its attempts together make one outcome.

The attempts of the case at position n have the positions n · times, n · times + 1 and so on.
Everything that reads a run sees one outcome per case, with its attempts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean

import msgspec

from answerkey.config.tables import ExecutionTable
from answerkey.errors import SettingsError
from answerkey.types import Outcome, Score, Status, Verdict

_REQUIRE = re.compile(r"\s*(\d+)\s*(?:of|/)\s*(\d+)\s*$")


@dataclass(frozen=True, slots=True)
class Repeats:
    """Each case is asked `times` times, and passes if `needed` of the answers pass.

    >>> Repeats.of_table(ExecutionTable(repeats=5, require="3 of 5"))
    Repeats(times=5, needed=3)
    """

    times: int = 1
    needed: int = 1

    @staticmethod
    def of_table(run: ExecutionTable) -> Repeats:
        times = run.repeats
        if not run.require:
            # By default more than half must pass.
            return Repeats(times, times // 2 + 1)
        match = _REQUIRE.match(run.require)
        if match and 1 <= int(match[1]) <= times == int(match[2]):
            return Repeats(times, int(match[1]))
        raise SettingsError(
            f'[run] require = "{run.require}": expected "N of {times}", as [run] repeats is '
            f'{times}; for example "{times // 2 + 1} of {times}"'
        )

    @property
    def text(self) -> str:
        return f"{self.needed} of {self.times}"

    def positions(self, n: int) -> range:
        """The positions of the attempts of the case at position n."""
        return range(n * self.times, (n + 1) * self.times)

    def combine(self, attempts: Sequence[Outcome]) -> Outcome:
        """One outcome of all attempts at a case.

        Scores are means, and the verdict goes by the number of attempts that passed. The response
        is that of the worst attempt with the same verdict. An error in one attempt is an error of
        the case.
        """
        if self.times == 1:
            return attempts[0]
        shown = self._shown_attempt(attempts)
        return replace(
            shown,
            scores=_mean_scores(shown, attempts),
            verdict=self._verdict(shown.verdict, attempts),
            attempts=tuple(attempts),
        )

    def _shown_attempt(self, attempts: Sequence[Outcome]) -> Outcome:
        """The first error, otherwise the worst attempt with the verdict of the case."""
        errors = _errors(attempts)
        if errors:
            return errors[0]
        passes = sum(attempt.verdict.passed for attempt in attempts) >= self.needed
        alike = [attempt for attempt in attempts if attempt.verdict.passed == passes]
        # An attempt without a score is shown only if no other is left.
        return min(
            alike or attempts,
            key=lambda each: (each.verdict.score is None, each.verdict.score or 0.0),
        )

    def _verdict(self, shown: Verdict, attempts: Sequence[Outcome]) -> Verdict:
        """The verdict of the shown attempt, with the means of all and a sentence that counts."""
        errors = _errors(attempts)
        # Errors are never outvoted: the case could have failed there.
        if errors:
            sentence = f"{len(errors)} of {len(attempts)} answers ended in an error. "
            return replace(shown, justification=f"{sentence}{shown.justification}")
        if shown.score is None:
            return shown
        passed = sum(attempt.verdict.passed for attempt in attempts)
        sentence = f"{passed} of {len(attempts)} answers passed, {self.needed} needed. "
        return replace(
            shown,
            score=_mean(attempt.verdict.score for attempt in attempts),
            quality=_mean(attempt.verdict.quality for attempt in attempts),
            route_score=_mean(attempt.verdict.route_score for attempt in attempts),
            justification=f"{sentence}{shown.justification}",
        )

    def combine_all(
        self, attempts: Iterable[tuple[int, Outcome]], *, whole: bool = True
    ) -> Iterator[tuple[int, Outcome]]:
        """The outcomes of cases from attempts in order of their positions.

        A case that lacks attempts is left out; if not `whole`, it is there as soon as it cannot
        pass any more.
        """
        if self.times == 1:
            yield from attempts
            return
        for n, group in groupby(attempts, key=lambda numbered: numbered[0] // self.times):
            outcomes = [attempt for _, attempt in group]
            if self.is_decided(outcomes, whole=whole):
                yield n, self.combine(outcomes)

    def is_decided(self, attempts: Sequence[Outcome], *, whole: bool) -> bool:
        """Whether all attempts are there; if not `whole`, whether the case can no longer pass."""
        if len(attempts) == self.times:
            return True
        failed = sum(not attempt.verdict.passed for attempt in attempts)
        return not whole and failed > self.times - self.needed


def _errors(attempts: Sequence[Outcome]) -> list[Outcome]:
    return [attempt for attempt in attempts if attempt.verdict.status == Status.ERROR]


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None


def _mean_scores(shown: Outcome, attempts: Sequence[Outcome]) -> dict[str, Score]:
    """The mean of each metric; an error in one attempt takes its place."""
    means: dict[str, Score] = {}
    for name, own in shown.scores.items():
        scores = [attempt.scores[name] for attempt in attempts if name in attempt.scores]
        # As for cases: the mean of the rest would hide the failed measurement.
        errors = [score for score in scores if score.error is not None]
        mean = _mean(score.value for score in scores)
        if errors:
            means[name] = errors[0]
        elif mean is None:
            means[name] = own
        else:
            means[name] = msgspec.structs.replace(own, value=mean)
    return means


def is_flaky(verdicts: Iterable[Verdict]) -> bool:
    """Whether some attempts passed and others did not."""
    return len({verdict.passed for verdict in verdicts}) > 1
