"""The audit of a test set: every check, one list of findings, worst first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from answerkey.embed import Embedder
from answerkey.entailment.pair_model import PairModel
from answerkey.experiments.label_check import check_labels, collect_labels
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit.accepted import Key
from answerkey.testsets.audit.answer_checks import check_answers, check_refusals
from answerkey.testsets.audit.document_set import DocumentSet
from answerkey.testsets.audit.findings import REPORTED_FROM, Audit, CaseFinding, order_findings
from answerkey.testsets.audit.findings import FindingKind as Kind
from answerkey.testsets.audit.label_checks import (
    check_present_labels,
    check_quotes,
    check_superfluous_labels,
    check_wrong_labels,
)
from answerkey.testsets.audit.label_match import LabelMatch, match_labels
from answerkey.testsets.audit.question_checks import check_given_answers, check_named_subject
from answerkey.testsets.audit.question_words import language_of_cases
from answerkey.testsets.audit.repeated_questions import check_repeated_questions
from answerkey.text import format_count
from answerkey.types import Case

Step = Callable[[str], None]  # receives the progress
# Of two findings about one thing, the first explains the second.
_EXPLAINED_BY = {
    Kind.ANSWER_MISSING: (Kind.UNSUPPORTED, Kind.LABEL_MISSING, Kind.EMPTY_PASSAGE),
    Kind.CONTRADICTED: (Kind.UNSUPPORTED,),
    Kind.BETTER_PASSAGE: (Kind.UNSUPPORTED,),
    Kind.LABEL_ADDS_NOTHING: (Kind.UNSUPPORTED,),
}


@dataclass
class _Checks:
    """The findings so far, and what was and was not looked at."""

    findings: list[CaseFinding] = field(default_factory=list[CaseFinding])
    checked: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    label_errors: dict[str, float] = field(default_factory=dict[str, float])


def audit_cases(
    cases: Sequence[Case],
    *,
    embed: Embedder | None,
    documents: Sequence[Page] | None = None,
    accepted: Collection[Key] = (),
    at_least: float = REPORTED_FROM,
    step: Step = lambda _: None,
    pair_model: PairModel | None = None,
) -> Audit:
    """The findings from `at_least` upwards that nobody accepted."""
    checks = _Checks()
    _check_questions(cases, embed, checks, step)
    if documents is None:
        checks.skipped.append("labels and answers: no documents; give --documents")
    else:
        document_set = _index_documents(documents, embed, pair_model, step)
        _check_documents(cases, document_set, checks, step)
    likely = [finding for finding in checks.findings if finding.probability >= at_least]
    # Before the accepted ones are removed: accepting the cause must not bring back its effects.
    likely = list(_drop_explained(likely))
    open_findings = [one for one in likely if (one.id, one.kind) not in accepted]
    return Audit(
        order_findings(open_findings),
        cases=len(cases),
        passages=len(documents or ()),
        accepted=len(likely) - len(open_findings),
        checked=tuple(checks.checked),
        skipped=tuple(checks.skipped),
        label_errors=checks.label_errors,
        every_finding=order_findings(likely),
    )


def _check_questions(
    cases: Sequence[Case], embed: Embedder | None, checks: _Checks, step: Step
) -> None:
    language = language_of_cases(cases)
    step(f"comparing {format_count(len(cases), 'question')}")
    checks.findings += check_named_subject(cases, language)
    checks.findings += check_given_answers(cases, language)
    checks.findings += check_repeated_questions(cases, language, embed)
    checks.checked += ["questions", "duplicates", "contradictions between cases"]
    if not language.has_word_lists:
        checks.skipped.append(
            "questions that name nothing: there is no word list for their language"
        )


def _index_documents(
    pages: Sequence[Page], embed: Embedder | None, pair_model: PairModel | None, step: Step
) -> DocumentSet:
    step(f"reading and indexing {format_count(len(pages), 'passage')}")
    return DocumentSet(pages, embed, step, pair_model)


def _check_documents(
    cases: Sequence[Case], documents: DocumentSet, checks: _Checks, step: Step
) -> None:
    pages = documents.pages
    names = [page.id for page in pages]
    # Before the labels are checked: a section would count as missing.
    cases = _resolve_sections(cases, frozenset(names))
    label_check = check_labels(collect_labels(cases), names, {page.document for page in pages})
    checks.findings += check_present_labels(cases, label_check, documents)
    checks.findings += check_quotes(cases, documents)
    labels = {
        case: [
            documents.numbers[name]
            for name, grade in row.items()
            if grade > 0 and name in documents.numbers
        ]
        for case, row in label_check.labels.items()
    }
    step(f"comparing labels with {format_count(len(pages), 'passage')}")
    matches = match_labels(cases, labels, documents)
    checks.label_errors = _label_errors(cases, matches)
    checks.findings += check_wrong_labels(cases, matches, documents)
    checks.findings += check_superfluous_labels(cases, matches, documents)
    if any(case.expected for case in cases):
        step("checking the expected answers against the passages")
    checks.findings += check_answers(cases, matches, documents)
    checks.findings += check_refusals(cases, documents)
    checks.checked += ["labels", "quotes", "expected answers"]
    if not any(case.expected for case in cases):
        checks.skipped.append("expected answers: the cases have none")
    if not any(labels.values()):
        checks.skipped.append("labels: no case has one that is in the documents")


def _resolve_sections(cases: Sequence[Case], names: frozenset[str]) -> list[Case]:
    """The cases with labels such as `leave.md#Sick days` as `leave.md`, where only that is there.

    `generate` labels sections; a folder of documents has whole files.
    """
    resolved: list[Case] = []
    for case in cases:
        labels: dict[str, float] = {}
        for label, grade in (case.relevant or {}).items():
            document = label.partition("#")[0]
            is_section = label not in names and document in names
            labels[document if is_section else label] = grade
        resolved.append(replace(case, relevant=labels) if case.relevant else case)
    return resolved


def _label_errors(cases: Sequence[Case], matches: Sequence[LabelMatch]) -> dict[str, float]:
    """The probability, for each case with a label, that its labels are wrong."""
    return {
        case.id: match.error_probability
        for case, match in zip(cases, matches, strict=True)
        if match.labels
    }


def _drop_explained(findings: Sequence[CaseFinding]) -> Iterator[CaseFinding]:
    """The findings without those that another finding of the same case explains."""
    kinds: dict[str, set[Kind]] = {}
    for finding in findings:
        kinds.setdefault(finding.id, set()).add(finding.kind)
    empty_labels = {(one.id, one.label) for one in findings if one.kind is Kind.EMPTY_PASSAGE}
    for finding in findings:
        # That the passage is empty says why it adds nothing.
        if finding.kind is Kind.LABEL_ADDS_NOTHING and (finding.id, finding.label) in empty_labels:
            continue
        if kinds[finding.id].isdisjoint(_EXPLAINED_BY.get(finding.kind, ())):
            yield finding
