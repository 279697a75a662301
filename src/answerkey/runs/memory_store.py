"""A run without a folder: everything is held, nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from answerkey.runs.ask import Answered
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_writer import Scored, mark_finished
from answerkey.runs.state import RunState
from answerkey.runs.store import open_reader
from answerkey.types import Outcome


class MemoryStore:
    """The methods of `FolderStore`, for a run from Python."""

    def __init__(self, repeats: Repeats) -> None:
        self.state = RunState()
        self._repeats = repeats
        self._answers: dict[int, Answered] = {}
        self._outcomes: dict[int, Outcome] = {}

    def add_answers(self, answered: Sequence[Answered]) -> None:
        self._answers.update({each[0]: each for each in answered})

    def add_scores(self, scored: Sequence[Scored], *, with_answers: bool = False) -> None:
        self._outcomes.update({each.n: each.outcome for each in scored})
        mark_finished(self.state, scored)

    def merge(self, shard: Path) -> None:
        """Take over the scores of a shard; its cases and answers are here already, as they were."""
        for place, outcome in open_reader(shard).attempts():
            _, case, response = self._answers[place]
            # The shard stored them as JSON; the user gets the objects they passed in.
            own = replace(outcome, case=case, response=response)
            self.add_scores([Scored(place, own)])

    def answers(self, places: Iterable[int] | None = None) -> Iterator[Answered]:
        if places is None:
            chosen = sorted(self._answers)
        else:
            chosen = places
        return (self._answers[place] for place in chosen)

    def outcomes(self) -> Iterator[Outcome]:
        attempts = ((place, self._outcomes[place]) for place in sorted(self._outcomes))
        return (outcome for _, outcome in self._repeats.combine_all(attempts))
