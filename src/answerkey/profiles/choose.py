"""The profile for data that comes without one, and the profile of `rag` when a judge is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from answerkey.config.declare import TomlTable
from answerkey.types import AnswerCriteria, Case

# Of two profiles that can score as many cases, the first: what a user writes as criteria is meant.
_REASONS = {
    "agent": "the cases say which tools are expected or forbidden",
    "criteria": "the cases bring criteria",
    "rag": "there are expected answers or passages",
    "retrieval": "there are rankings and relevance labels",
}
_WITH_JUDGE = {"rag": "rag-judge"}
# Built-in profiles to which the criteria of the cases are added, by the metrics that they lack.
_ADDED_METRICS = {
    "rag": ("criteria", "answer_criteria"),
    "rag-judge": ("criteria", "answer_criteria"),
    "criteria": ("answer_criteria",),
}
# As heavy as the agreement with an expected answer; one criterion that is not met fails the case.
_OWN_CRITERIA_LINE: TomlTable = {
    "weight": 6,
    "floor": 1.0,
    "required": True,
    "reading": "does not meet the case's own criteria",
}


@dataclass(slots=True)
class ProfileChoice:
    """Counts what the cases bring, and names the profile that can score most of them."""

    live: bool  # a target is asked, so that every case may get an answer, passages and a ranking
    scorable: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REASONS, 0))
    # How many cases have criteria of their own, by the metric that checks them.
    own_criteria: dict[str, int] = field(
        default_factory=lambda: {"criteria": 0, "answer_criteria": 0}
    )
    has_reference: bool = False  # whether any case has an expected answer or passages
    has_expected: bool = False

    def add(self, case: Case) -> None:
        recorded = case.recorded
        has_answer = recorded is not None and recorded.answer is not None
        has_passages = recorded is not None and bool(recorded.passages)
        has_ranking = recorded is not None and (recorded.retrieved is not None or has_passages)
        has_calls = recorded is not None and recorded.tools is not None
        if self.live or has_calls:
            self.scorable["agent"] += case.expected_tools is not None or bool(case.forbidden_tools)
        has_criteria = has_checks(case.criteria)
        self.own_criteria["criteria"] += bool(case.requirements)
        self.own_criteria["answer_criteria"] += has_criteria
        self.scorable["criteria"] += bool(case.requirements)
        if self.live or has_answer:
            has_reference = bool(case.expected) or has_passages
            self.has_reference = self.has_reference or has_reference
            self.scorable["rag"] += has_reference or has_criteria or case.criteria.out_of_scope
        self.has_expected = self.has_expected or bool(case.expected)
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
        return (
            f"scored with the profile {name}, because {self._reason(name)} (no profile was named)"
        )

    def _reason(self, name: str) -> str:
        if name == "rag" and not self.has_reference:
            return "the cases have answer_criteria"
        if name == "criteria" and self.has_expected:
            return f"{_REASONS[name]}; --profile rag compares with the expected answers, too"
        return _REASONS[name]

    def with_own_criteria(self, profile: str | TomlTable) -> str | TomlTable:
        """The profile with the criteria that the cases bring: none is ignored.

        Other profiles, and metrics that the profile names itself, stay as they are.
        """
        if isinstance(profile, str):
            table: TomlTable = {"base": profile}
        else:
            table = dict(profile)
        lines = list(table.get("criteria", ()))
        named = {line.get("metric") for line in lines} | set(table.get("without", ()))
        added = [
            _OWN_CRITERIA_LINE | {"metric": metric}
            for metric in _ADDED_METRICS.get(str(table.get("base")), ())
            if self.own_criteria[metric] and metric not in named
        ]
        if not added:
            return profile
        return {**table, "criteria": [*lines, *added]}


def has_checks(criteria: AnswerCriteria) -> bool:
    """Whether an answer can be checked against these criteria; abstention checks `out_of_scope`."""
    return bool(
        criteria.must_contain
        or criteria.must_contain_any
        or criteria.must_not_contain
        or criteria.numerical_range is not None
        or criteria.expected_value is not None
        or criteria.regex is not None
        or criteria.clarification_expected
    )


def profile_with_judge(profile: str) -> str:
    """The built-in profile in which the judge decides: `rag-judge` for `rag`, others as they are."""
    return _WITH_JUDGE.get(profile, profile)
