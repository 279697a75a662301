"""The data of a diagnosis: labels, rankings, and as much of the index as is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from answerkey.coerce.decode import read_text
from answerkey.coerce.passage_fields import clean_id
from answerkey.config.retrieval_tables import IdStyle
from answerkey.errors import InputError
from answerkey.experiments.label_check import LabelCheck, check_labels, collect_labels
from answerkey.experiments.quote_hits import find_quotes
from answerkey.experiments.sweep import PreparedSweep, Step, prepare_sweep
from answerkey.metrics.ranking.rank import ranking_of, score_rankings
from answerkey.retrieval.fuse import weighted_sum
from answerkey.retrieval.page_ids import rename_id
from answerkey.retrieval.rankings import read_configurations, read_relevance_labels
from answerkey.runs.suite import load_suite

MEASURE_K = 5
MEASURE = f"ndcg@{MEASURE_K}"
DEEP = 100  # places that count as found at all, however low
Grades = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class RetrievalEvidence:
    """`rankings` keep repeats. `index_ids` has a page id per chunk, None if the index is unknown.

    `page_numbers` maps an id to the number of its page. `texts` are the texts of the chunks.
    `configurations` counts the settings whose rankings are here, named `configuration/query` where
    there are several.
    """

    labels: Grades
    rankings: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    index_ids: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    questions: Mapping[str, str] = field(default_factory=dict[str, str])
    documents: Sequence[str] = ()
    configurations: int = 1
    page_numbers: Mapping[str, str] = field(default_factory=dict[str, str])

    def relevant(self, query: str) -> list[str]:
        return [page for page, grade in self.labels[query].items() if grade > 0]

    @property
    def labelled_queries(self) -> list[str]:
        """The queries with a relevant page."""
        return [query for query in self.labels if self.relevant(query)]

    @property
    def labels_of_labelled(self) -> dict[str, Mapping[str, float]]:
        return {query: self.labels[query] for query in self.labelled_queries}

    def score(self) -> float | None:
        """Mean nDCG@5 over the labelled queries, pages counted once; None if nothing is scored."""
        if not self.rankings or not self.labelled_queries:
            return None
        # A labelled query without a ranking counts as 0; leaving it out would raise the mean.
        run = {query: self.rankings.get(query, ()) for query in self.labelled_queries}
        return score_rankings(run, self.labels, [MEASURE]).mean[MEASURE]

    def with_labels(self, labels: Grades) -> RetrievalEvidence:
        return replace(self, labels=labels)

    def with_ids(self, style: IdStyle) -> RetrievalEvidence:
        """The same evidence with all ids in another style."""

        def rename(page: str) -> str:
            if style == "page" and page in self.page_numbers:
                return self.page_numbers[page]
            return rename_id(page, style)

        index_ids = self.index_ids
        if index_ids is not None:
            index_ids = [rename(page) for page in index_ids]
        return replace(
            self,
            labels={
                # Labels have no page number beside them, unlike the ids of the index.
                query: {rename_id(page, style): grade for page, grade in row.items()}
                for query, row in self.labels.items()
            },
            rankings={
                query: [rename(page) for page in row] for query, row in self.rankings.items()
            },
            index_ids=index_ids,
        )

    def check(self) -> LabelCheck:
        """The labels against the index, or against all retrieved ids where it is not known."""
        ids = self.index_ids
        if ids is None:
            ids = list(dict.fromkeys(page for row in self.rankings.values() for page in row))
        return check_labels(
            self.labels_of_labelled, ids, self.documents, set(self.page_numbers.values())
        )


def evidence_of_suite(
    path: Path, step: Step = lambda _: None, collection: str | None = None
) -> RetrievalEvidence:
    """Cases and index of the suite, searched once with its α.

    `collection` replaces that of its vector store.
    """
    suite = load_suite(path, collection=collection)
    for notice in suite.notices:
        step(f"notice: {notice}")
    prepared = prepare_sweep(suite, step)
    index = prepared.setups[0]
    cases = prepared.cases
    step(f"searching {len(index.chunks)} chunks for {len(cases)} questions")
    candidates = index.candidates(prepared.questions, prepared.settings.pool)
    # An index without vectors has only BM25, whatever α the suite sets.
    if index.dense is not None:
        alpha = prepared.settings.alpha
    else:
        alpha = 0.0
    rankings: dict[str, list[str]] = {}
    for case, row in zip(cases, weighted_sum(candidates, [alpha])[0].tolist(), strict=True):
        rankings[case.id] = [index.chunks[chunk].page for chunk in row if chunk >= 0]
    return RetrievalEvidence(
        labels={**prepared.check.labels, **_labels_of_quotes(prepared)},
        rankings=rankings,
        index_ids=[chunk.page for chunk in index.chunks],
        texts=[chunk.text for chunk in index.chunks],
        questions={case.id: case.question for case in cases},
        documents=sorted({chunk.document for chunk in index.chunks}),
        page_numbers={chunk.page: chunk.number for chunk in index.chunks if chunk.number},
    )


def _labels_of_quotes(prepared: PreparedSweep) -> dict[str, dict[str, float]]:
    """The pages whose chunks hold the quote of a case."""
    if not any(prepared.quotes):
        return {}
    chunks = prepared.setups[0].chunks
    share = find_quotes(prepared.quotes, chunks, prepared.settings.quote_share).share
    labels: dict[str, dict[str, float]] = {}
    for case, held in zip(prepared.cases, share, strict=True):
        pages = {chunks[number].page: 1.0 for number in held}
        if pages:
            labels[case.id] = pages
    return labels


def evidence_of_run(folder: Path) -> RetrievalEvidence:
    """The target's rankings in a run; of its index only the passages that were seen are known."""
    from answerkey.runs.store import read_outcomes

    outcomes = [outcome for outcome in read_outcomes(folder) if outcome.response.error is None]
    rankings = {
        outcome.case.id: ranking_of(outcome.response)
        for outcome in outcomes
        if outcome.response.retrieved is not None or outcome.response.passages
    }
    if not rankings:
        raise InputError(
            f"{folder}: no response of this run holds passages or a ranking; "
            "there is nothing to diagnose"
        )
    # Many questions retrieve the same passage; as a chunk it is counted once.
    passages = {
        (passage.id, passage.page, passage.text): passage.text
        for outcome in outcomes
        for passage in outcome.response.passages
    }
    # Without the questions: the words of the whole index are not known, so a mismatch between
    # questions and documents cannot be detected.
    labels = collect_labels([outcome.case for outcome in outcomes])
    return RetrievalEvidence(labels, rankings, texts=list(passages.values()) or None)


def evidence_of_files(qrels: Path, run: Path | None, index_ids: Path | None) -> RetrievalEvidence:
    """Recorded rankings, and a list of the ids in the index: JSON, or one per line."""
    labels = read_relevance_labels(qrels)
    if index_ids is None:
        ids = None
    else:
        ids = read_ids(index_ids)
    # Labels under the names of the index, so that `manual#34` finds `manual.pdf#34`.
    if ids is not None:
        labels = check_labels(labels, ids).labels
    if run is None:
        return RetrievalEvidence(labels, {}, ids)
    configurations = read_configurations(run)
    if len(configurations) == 1:
        return RetrievalEvidence(labels, next(iter(configurations.values())), ids)
    rankings = {
        f"{name}/{query}": row
        for name, rankings in configurations.items()
        for query, row in rankings.items()
    }
    # Every configuration ranks the same queries, so each has the labels under its own names.
    named = {f"{name}/{query}": row for name in configurations for query, row in labels.items()}
    return RetrievalEvidence(named, rankings, ids, configurations=len(configurations))


def read_ids(path: Path) -> list[str]:
    """The ids of an index from a file: a JSON list, or one per line."""
    text = read_text(path)
    try:
        if text.lstrip().startswith("["):
            return [clean_id(item) for item in json.loads(text)]
    except ValueError as error:
        raise InputError(f"{path}: expected a JSON list of ids ({error})") from None
    ids = [clean_id(line) for line in text.splitlines() if line.strip()]
    if not ids:
        raise InputError(f"{path} has no ids; expected a JSON list, or one id per line")
    return ids
