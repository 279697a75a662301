"""The audit of a test set: every check, one list of findings, worst first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from answerkey.embed import Embedder
from answerkey.testsets.audit.accepted import Key
from answerkey.testsets.audit.findings import REPORTED_FROM, Audit, Finding, order_findings
from answerkey.testsets.audit.question_checks import check_given_answers, check_named_subject
from answerkey.testsets.audit.question_words import language_of_cases
from answerkey.testsets.audit.repeated_questions import check_repeats
from answerkey.text import format_count
from answerkey.types import Case

Step = Callable[[str], None]  # receives the progress


def audit_cases(
    cases: Sequence[Case],
    *,
    embed: Embedder | None,
    accepted: Collection[Key] = (),
    at_least: float = REPORTED_FROM,
    step: Step = lambda _: None,
) -> Audit:
    """The findings from `at_least` upwards that nobody accepted."""
    language = language_of_cases(cases)
    findings: list[Finding] = []
    checked = ["questions", "duplicates", "contradictions"]
    skipped: list[str] = []
    step(f"comparing {format_count(len(cases), 'question')}")
    findings += check_named_subject(cases, language)
    findings += check_given_answers(cases, language)
    findings += check_repeats(cases, language, embed)
    if not language.has_word_lists:
        skipped.append("questions that name nothing: there is no word list for their language")
    skipped.append("labels and answers: no documents; give --documents")
    likely = [finding for finding in findings if finding.probability >= at_least]
    open_findings = [one for one in likely if (one.id, one.kind) not in accepted]
    return Audit(
        order_findings(open_findings),
        cases=len(cases),
        accepted=len(likely) - len(open_findings),
        checked=tuple(checked),
        skipped=tuple(skipped),
    )
