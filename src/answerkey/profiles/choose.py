"""The profile for data that comes without one, and the profile of `rag` when a judge is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from answerkey.types import Case

# Of two profiles that can score as many cases, the first: what a user writes as criteria is meant.
_REASONS = {
    "agent": "the cases say which tools are expected or forbidden",
    "criteria": "the cases bring criteria",
    "rag": "there are expected answers or passages",
    "retrieval": "there are rankings and relevance labels",
}
_WITH_JUDGE = {"rag": "rag-judge"}


@dataclass(slots=True)
class ProfileChoice:
    """Counts what the cases bring, and names the profile that can score most of them."""

    live: bool  # a target is asked, so that every case may get an answer, passages and a ranking
    scorable: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REASONS, 0))

    def add(self, case: Case) -> None:
        recorded = case.recorded
        has_answer = recorded is not None and recorded.answer is not None
        has_passages = recorded is not None and bool(recorded.passages)
        has_ranking = recorded is not None and (recorded.retrieved is not None or has_passages)
        has_calls = recorded is not None and recorded.tools is not None
        if self.live or has_calls:
            self.scorable["agent"] += case.expected_tools is not None or bool(case.forbidden_tools)
        self.scorable["criteria"] += bool(case.requirements)
        if self.live or has_answer:
            self.scorable["rag"] += bool(case.expected) or has_passages
        if self.live or has_ranking:
            self.scorable["retrieval"] += bool(case.relevant)

    def profile(self) -> str:
        """`rag` also where nothing can be scored: it says why, case by case."""
        best = max(self.scorable, key=lambda name: self.scorable[name])
        return best if self.scorable[best] else "rag"

    def notice(self) -> str:
        """One line that says what was chosen, and why."""
        name = self.profile()
        if not self.scorable[name]:
            return (
                "scored with the profile rag; no case has an expected answer, passages, criteria "
                "or relevance labels: add one of these columns"
            )
        return f"scored with the profile {name}, because {_REASONS[name]} (no profile was named)"


def profile_with_judge(profile: str) -> str:
    """The built-in profile in which the judge decides: `rag-judge` for `rag`, others as they are."""
    return _WITH_JUDGE.get(profile, profile)
