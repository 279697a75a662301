"""Cases without a judge: queries that people wrote, and the report about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from answerkey.embed import Embedder
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit.question_words import language_of_cases
from answerkey.testsets.audit.repeated_questions import find_similar_questions
from answerkey.testsets.generate.agreement import (
    LEAST_REAL,
    SearchedCases,
    SettingAgreement,
    compare_settings,
)
from answerkey.testsets.generate.made_cases import (
    MadeCase,
    cases_of_queries,
    choose_cases,
    word_overlap,
)
from answerkey.testsets.generate.report import GenerationReport, Rejection
from answerkey.testsets.generate.source_passages import SourcePassage, split_passages
from answerkey.testsets.generate.written_queries import QueryKind, find_queries
from answerkey.text import format_count
from answerkey.types import Case

Step = Callable[[str], None]


@dataclass(frozen=True)
class GenerateSettings:
    """The options of `generate`; `kinds` empty means all, `count` None as many as there are."""

    count: int | None = None
    kinds: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class RealQuestions:
    """Questions of users, to compare the made ones with."""

    cases: Sequence[Case] = ()
    pages: Sequence[Page] = ()


def read_passages(pages: Sequence[Page]) -> list[SourcePassage]:
    """The passages to make cases from; an error where there is none."""
    passages = split_passages(pages)
    if not passages:
        raise InputError("the documents have no passage of 8 words or more")
    return passages


def generate_offline(
    pages: Sequence[Page],
    settings: GenerateSettings,
    *,
    real: RealQuestions,
    embed: Embedder | None,
    step: Step = lambda _: None,
) -> GenerationReport:
    """Retrieval cases from headings, FAQ questions, captions, links, alt texts and definitions."""
    _check_kinds(settings.kinds)
    passages = read_passages(pages)
    by_id = {passage.id: passage for passage in passages}
    step(
        "reading headings, questions, captions and links of "
        f"{format_count(len(passages), 'passage')}"
    )
    written = find_queries(passages, settings.kinds)
    if not written.queries:
        raise InputError(
            "the documents have no heading, FAQ question, caption, link or definition to make a "
            f"case from{_kinds_hint(settings.kinds)}; with --judge a model writes questions"
        )
    candidates = cases_of_queries(written.queries, by_id)
    distinct = _drop_repeats(candidates, embed)
    made = choose_cases(distinct, settings.count, settings.seed)
    near_duplicates = written.repeated + len(candidates) - len(distinct)
    left_out = Counter(
        {
            Rejection.TOO_GENERAL: written.too_general,
            Rejection.OF_SEVERAL_PASSAGES: written.of_several_passages,
            Rejection.DUPLICATE: near_duplicates,
            Rejection.NOT_ASKED_FOR: len(distinct) - len(made),
        }
    )
    tried = len(made) + left_out.total()
    report = describe_cases(made, passages, real=real, embed=embed, step=step, tried=tried)
    rejected = {reason: count for reason, count in left_out.most_common() if count}
    return replace(report, rejected=rejected, near_duplicates=near_duplicates)


def _check_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in set(QueryKind):
            raise SettingsError(
                f'--kinds "{kind}": without --judge there are {", ".join(QueryKind)}'
                f"{did_you_mean(kind, QueryKind)}"
            )


def _kinds_hint(kinds: Sequence[str]) -> str:
    if not kinds:
        return ""
    return f" (asked for: {', '.join(kinds)})"


def _drop_repeats(cases: Sequence[MadeCase], embed: Embedder | None) -> list[MadeCase]:
    """The cases without those that ask the same as an earlier one."""
    questions = [case.as_case() for case in cases]
    repeats: set[int] = set()
    for pair in find_similar_questions(questions, language_of_cases(questions), embed):
        # Of three alike, the first stays although the second is dropped.
        if pair.first not in repeats:
            repeats.add(pair.second)
    return [case for number, case in enumerate(cases) if number not in repeats]


def describe_cases(
    made: Sequence[MadeCase],
    passages: Sequence[SourcePassage],
    *,
    real: RealQuestions,
    embed: Embedder | None,
    step: Step,
    tried: int,
) -> GenerationReport:
    """The report about cases: overlap, documents without a case, agreement with real questions."""
    by_id = {passage.id: passage for passage in passages}
    documents = dict.fromkeys(passage.document for passage in passages)
    covered = {document for case in made for document in case.documents}
    agreement, note = _measure_agreement(made, passages, real, embed, step)
    return GenerationReport(
        cases=tuple(made),
        passages=len(passages),
        documents=len(documents),
        tried=tried,
        overlap=_mean_overlap({case.question: case.passages for case in made}, by_id),
        real_overlap=_real_overlap(real),
        uncovered=tuple(name for name in documents if name not in covered),
        agreement=agreement,
        agreement_note=note,
    )


def _mean_overlap(
    labels: Mapping[str, Sequence[str]], passages: Mapping[str, SourcePassage]
) -> float | None:
    shares = [
        word_overlap(question, " ".join(passages[name].text for name in names))
        for question, names in labels.items()
        if names
    ]
    if not shares:
        return None
    return sum(shares) / len(shares)


def _real_overlap(real: RealQuestions) -> float | None:
    texts = {page.id: page.text for page in real.pages}
    shares = [
        word_overlap(case.question, " ".join(texts[name] for name in case.relevant or {}))
        for case in real.cases
        # A label outside the documents has no text to compare with.
        if case.relevant and all(name in texts for name in case.relevant)
    ]
    if not shares:
        return None
    return sum(shares) / len(shares)


def _measure_agreement(
    made: Sequence[MadeCase],
    passages: Sequence[SourcePassage],
    real: RealQuestions,
    embed: Embedder | None,
    step: Step,
) -> tuple[SettingAgreement | None, str]:
    """Kendall's τ where there are enough real questions with labels; else the reason."""
    if not real.cases:
        return None, ""
    names = {page.id for page in real.pages}
    labelled = [
        case for case in real.cases if case.relevant and any(one in names for one in case.relevant)
    ]
    answerable = [case.as_case() for case in made if case.passages]
    # A figure from fewer questions would be believed and be chance.
    if len(labelled) < LEAST_REAL:
        return None, (
            f"real questions with a label in the documents: {len(labelled)} of {len(real.cases)}; "
            f"at least {LEAST_REAL} are needed"
        )
    if embed is None or not answerable:
        return None, "it needs an embedding model and at least one case"
    step("comparing retrieval settings on the made and the real questions")
    # Without the titles: a heading that is the query would be found at once.
    cut_pages = [Page(one.id, one.text, one.document) for one in passages]
    agreement = compare_settings(
        SearchedCases(answerable, cut_pages), SearchedCases(labelled, real.pages), embed, step
    )
    return agreement, ""
