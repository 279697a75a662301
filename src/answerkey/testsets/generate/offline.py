"""Cases without a judge: queries that people wrote, and the report about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from answerkey.embed import Embedder
from answerkey.errors import InputError
from answerkey.retrieval.corpus import Page
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
from answerkey.testsets.generate.report import GenerationReport
from answerkey.testsets.generate.source_passages import SourcePassage, split_passages
from answerkey.testsets.generate.written_queries import QueryKind, find_queries
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
    passages = read_passages(pages)
    by_id = {passage.id: passage for passage in passages}
    step(f"reading headings, questions, captions and links of {len(passages)} passages")
    queries = find_queries(passages)
    if settings.kinds:
        queries = [query for query in queries if query.kind.value in settings.kinds]
    if not queries:
        raise InputError(
            "the documents have no heading, FAQ question, caption, link or definition to make a "
            f"case from{_kinds_hint(settings.kinds)}; with --judge a model writes questions"
        )
    made = choose_cases(cases_of_queries(queries, by_id), settings.count, settings.seed)
    return describe_cases(made, passages, real=real, embed=embed, step=step, tried=len(queries))


def _kinds_hint(kinds: Sequence[str]) -> str:
    if not kinds:
        return ""
    return f" (of kind {', '.join(kinds)}; there are {', '.join(QueryKind)})"


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
            f"{len(labelled)} of the real questions have a label in the documents, at least "
            f"{LEAST_REAL} are needed"
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
