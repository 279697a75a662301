"""The columns of a table of results: those of the user's data, then what was found.

`Run.to_pandas()` and results.csv have the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from answerkey.runs.manifest import Manifest
from answerkey.runs.user_columns import user_cell
from answerkey.types import Outcome, Score, Status

RESULTS = ("passed", "why", "kind", "cause", "score")
_ALWAYS = ("question", "answer")
# Runs before version 0.3 do not record the columns of their data.
_USUAL = {"question": "question", "expected": "expected", "answer": "answer"}
_DETAILS: Mapping[str, Callable[[Outcome], object]] = {
    "status": lambda outcome: str(outcome.verdict.status),
    "band": lambda outcome: outcome.verdict.band or None,
    "quality": lambda outcome: outcome.verdict.quality,
    "route": lambda outcome: outcome.response.route,
    "sources": lambda outcome: list(outcome.response.sources) or None,
    "response_time": lambda outcome: outcome.response.seconds,
    "error": lambda outcome: outcome.response.error,
    "source_file": lambda outcome: outcome.case.source_file,
    "question_num": lambda outcome: outcome.case.question_num,
    "justification": lambda outcome: outcome.verdict.justification or None,
}


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """`user` maps our names of the user's columns to theirs. A result with such a name gets another.

    `details` stand at the end: what the user's data and the results do not have yet.
    """

    user: Mapping[str, str]
    metrics: Sequence[str]
    details: Sequence[str]

    @classmethod
    def of_manifest(cls, manifest: Manifest) -> ResultColumns:
        user = dict(manifest.columns or _USUAL)
        for name in _ALWAYS:
            user.setdefault(name, name)
        # The id finds a case again, so it is there even if the data have none.
        user.setdefault("id", "id")
        taken = {*user, *user.values(), *RESULTS, *manifest.metrics}
        details = [name for name in _DETAILS if name not in taken]
        return cls(user, manifest.metrics, details)

    def titles(self) -> list[str]:
        taken = set(self.user.values())
        # A user's column keeps its name; ours gives way.
        results = [f"answerkey.{name}" if name in taken else name for name in RESULTS]
        taken.update(RESULTS)
        metrics = [f"scores.{name}" if name in taken else name for name in self.metrics]
        return [*self.user.values(), *results, *metrics, *self.details]

    def row(self, outcome: Outcome) -> list[object]:
        """The cells of an outcome, in the order of `titles`."""
        cells = [user_cell(outcome, name) for name in self.user]
        return [*cells, *self.results(outcome)]

    def results(self, outcome: Outcome) -> list[object]:
        """The cells after those of the user's data."""
        verdict = outcome.verdict
        return [
            passed_or_none(outcome),
            verdict.why or None,
            verdict.kind or None,
            verdict.cause or None,
            verdict.score,
            *[_score_value(outcome.scores.get(name)) for name in self.metrics],
            *[_DETAILS[name](outcome) for name in self.details],
        ]


def passed_or_none(outcome: Outcome) -> bool | None:
    """Whether the case passed; None without a profile, and for a case that was not scored."""
    if outcome.verdict.status in (Status.SCORED, Status.UNSCORED):
        return None
    return outcome.verdict.passed


def _score_value(score: Score | None) -> float | None:
    return None if score is None else score.value
