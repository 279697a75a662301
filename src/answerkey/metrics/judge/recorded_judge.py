"""The judge `recorded`: grades that an earlier tool or script wrote into the case file.

Nothing is asked and nothing is paid. A grade that is missing is not applicable.
"""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.errors import SettingsError
from answerkey.llm.usage import CallTotals
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.judge.prompt import load_prompt
from answerkey.metrics.recorded_scores import RECORDED_JUDGE, grade_keys, read_recorded_scores
from answerkey.types import Pair, Requirement, Score

_NO_CRITERIA = "the file has no grade for this criterion"


class RecordedJudge:
    """Returns the grades of the case file under the names of our judged metrics."""

    name = RECORDED_JUDGE

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        scales = load_prompt("rubric").scales
        return [
            {name: _read_grade(pair, name, scale) for name, scale in scales.items()}
            for pair in pairs
        ]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        name = name.removesuffix("_to_expected")  # one grade, whatever the judge looked at
        return [_read_grade(pair, name, (0.0, 1.0)) for pair in pairs]

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        return [[Score.not_applicable(_NO_CRITERIA) for _ in each] for each in requirements]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        raise SettingsError('the judge "recorded" only reads grades; it cannot compare answers')

    def usage(self) -> CallTotals | None:
        return None

    def fingerprint(self) -> str:
        return RECORDED_JUDGE

    def close(self) -> None:
        """There is nothing to close."""


def _read_grade(pair: Pair, name: str, scale: tuple[float, float]) -> Score:
    recorded = read_recorded_scores(pair[0].extra)
    value = next((recorded[key] for key in grade_keys(name) if key in recorded), None)
    if value is None:
        return Score.not_applicable("no grade in the file")
    low, high = scale
    # Another tool's 0-10 must not be read as our 0-5.
    if not low <= value <= high:
        return Score.not_applicable(
            f"the file has the grade {value:g}, outside our scale of {low:g} to {high:g}"
        )
    return Score(value, "grade of the file; no judge was asked", details={"model": RECORDED_JUDGE})
