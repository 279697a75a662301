"""Repeats: each case is asked several times, and its attempts together make one outcome.

In the journals the attempts of the case at position n stand at n · times, n · times + 1 and so on; everything that reads
a run sees one outcome per case, with its attempts.
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
from answerkey.types import Outcome, Status, Verdict

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
            return Repeats(times, times // 2 + 1)
        found = _REQUIRE.match(run.require)
        needed, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= needed <= of or of != times:
            raise SettingsError(
                f'[run] require = "{run.require}": expected "N of {times}", as [run] repeats is {times}; '
                f'for example "{times // 2 + 1} of {times}"'
            )
        return Repeats(times, needed)

    @property
    def text(self) -> str:
        return f"{self.needed} of {self.times}"

    def positions(self, n: int) -> range:
        """The positions of the attempts of the case at position n."""
        return range(n * self.times, (n + 1) * self.times)

    def combine(self, attempts: Sequence[Outcome]) -> Outcome:
        """One outcome of all attempts at a case: means of scores, and the verdict by the number that passed. The
        response is that of the worst attempt with the same verdict. An error in one attempt is an error of the case."""
        if self.times == 1:
            return attempts[0]
        passes = sum(attempt.verdict.passed for attempt in attempts)
        errors = [attempt for attempt in attempts if attempt.verdict.status == Status.ERROR]
        alike = [
            attempt for attempt in attempts if attempt.verdict.passed == (passes >= self.needed)
        ]
        shown = (
            errors[0]
            if errors
            else min(
                alike or attempts,
                key=lambda each: (each.verdict.score is None, each.verdict.score or 0.0),
            )
        )
        verdict, counted = (
            shown.verdict,
            f"{passes} of {len(attempts)} answers passed, {self.needed} needed. ",
        )
        if errors:
            counted = f"{len(errors)} of {len(attempts)} answers ended in an error. "
        elif verdict.score is not None:
            means: dict[str, float | None] = {}
            for name in ("score", "quality", "route_score"):
                values = [
                    value for each in attempts if (value := getattr(each.verdict, name)) is not None
                ]
                means[name] = fmean(values) if values else None
            verdict = replace(verdict, **means)
        else:
            counted = ""
        verdict = replace(verdict, justification=f"{counted}{verdict.justification}")
        scores = dict(shown.scores)
        for name, own in shown.scores.items():
            found = [attempt.scores[name] for attempt in attempts if name in attempt.scores]
            known = [score.value for score in found if score.value is not None]
            mean = msgspec.structs.replace(own, value=fmean(known)) if known else own
            scores[name] = next((score for score in found if score.error is not None), mean)
        return replace(shown, scores=scores, verdict=verdict, attempts=tuple(attempts))

    def combined(
        self, attempts: Iterable[tuple[int, Outcome]], *, whole: bool = True
    ) -> Iterator[tuple[int, Outcome]]:
        """The outcomes of cases from attempts in order of their positions. A case that lacks attempts is left out; if
        not `whole`, it is there as soon as it cannot pass any more."""
        if self.times == 1:
            yield from attempts
            return
        for n, group in groupby(attempts, key=lambda numbered: numbered[0] // self.times):
            found = [attempt for _, attempt in group]
            failed = sum(not attempt.verdict.passed for attempt in found)
            if len(found) == self.times or (not whole and failed > self.times - self.needed):
                yield n, self.combine(found)


def is_flaky(verdicts: Iterable[Verdict]) -> bool:
    """Whether some attempts passed and others did not."""
    return len({verdict.passed for verdict in verdicts}) > 1
