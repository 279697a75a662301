"""What a diagnosis looks at (labels, rankings, and as much of the index as is known), and what it finds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from answerkey.coerce.decode import read_text
from answerkey.coerce.passage_fields import clean_id
from answerkey.errors import InputError
from answerkey.experiments.grid import find_quotes
from answerkey.experiments.label_check import check_labels, collect_labels
from answerkey.experiments.sweep import Step, prepare_sweep
from answerkey.metrics.ranking.rank import ranking_of, score_rankings
from answerkey.retrieval.fuse import weighted_sum
from answerkey.retrieval.rankings import read_configurations, read_relevance_labels
from answerkey.runs.suite import load_suite
from answerkey.text import format_count

MEASURE_K = 5
MEASURE = f"ndcg@{MEASURE_K}"
DEEP = 100


@dataclass(frozen=True)
class RetrievalEvidence:
    """`rankings` keep repeats. `index_ids` holds a page id a chunk, None where the index is unknown; `texts` its text."""

    labels: Mapping[str, Mapping[str, float]]
    rankings: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    index_ids: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    questions: Mapping[str, str] = field(default_factory=dict[str, str])

    def relevant(self, query: str) -> list[str]:
        return [page for page, grade in self.labels[query].items() if grade > 0]

    @property
    def labelled(self) -> list[str]:
        return [query for query in self.labels if self.relevant(query)]

    def score(self) -> float | None:
        """Mean F1@5 over the labelled queries, pages counted once; None where nothing can be scored."""
        if not self.rankings or not self.labelled:
            return None
        return score_rankings(
            {q: self.rankings.get(q, ()) for q in self.labelled}, self.labels, [MEASURE]
        ).mean[MEASURE]

    def with_labels(self, labels: Mapping[str, Mapping[str, float]]) -> RetrievalEvidence:
        return replace(self, labels=labels)


@dataclass(frozen=True, slots=True)
class RetrievalFinding:
    """One fault, its evidence, what to do, and the score if it were fixed (None: not known)."""

    code: str
    title: str
    evidence: str
    action: str
    score_if_fixed: float | None = None
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`notes` are no faults. `score` is the mean F1@5 over the labelled queries, pages counted once."""

    queries: int
    labelled: int
    score: float | None
    findings: tuple[RetrievalFinding, ...]
    notes: tuple[RetrievalFinding, ...]
    checked: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Nothing found wrong, and not because nothing relevant was retrieved at all."""
        return not self.findings and self.labelled > 0 and self.score != 0

    def as_json(self) -> dict[str, object]:
        return {
            "healthy": self.healthy,
            "sentence": sentence(self),
            "queries": self.queries,
            "labelled": self.labelled,
            "measure": MEASURE,
            "score": self.score,
            "checked": list(self.checked),
            "findings": [asdict(finding) for finding in self.findings],
            "notes": [asdict(note) for note in self.notes],
        }


def gain(finding: RetrievalFinding, now: float | None) -> float:
    """How much fixing it would add to the score; 0 if that is not known."""
    return 0.0 if finding.score_if_fixed is None else finding.score_if_fixed - (now or 0.0)


def sentence(diagnosis: Diagnosis) -> str:
    """The verdict in one line."""
    score = (
        ""
        if diagnosis.score is None
        else f"; {MEASURE} is {diagnosis.score:.3f} over {diagnosis.labelled} queries"
    )
    if diagnosis.labelled == 0:
        return "no query has a relevant page: there is nothing to measure"
    if diagnosis.healthy:
        return f"healthy: nothing found in {', '.join(diagnosis.checked)}{score}"
    if not diagnosis.findings:
        return f"not one relevant page is found{score}, and no check says why: compare the ids of labels and rankings"
    first = diagnosis.findings[0]
    more = gain(first, diagnosis.score)
    best = f" (would add {more:+.3f} to {MEASURE})" if more > 0 else ""
    return f"{format_count(len(diagnosis.findings), 'finding')}{score}. First: {first.title}{best}"


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else f"{part} of 0"


def from_suite(
    path: Path, step: Step = lambda _: None, collection: str | None = None
) -> RetrievalEvidence:
    """Cases and index of the suite, searched once with its α; `collection` replaces that of its vector store."""
    suite = load_suite(path, collection=collection)
    for notice in suite.notices:
        step(f"notice: {notice}")
    prepared = prepare_sweep(suite, step)
    index, cases = prepared.setups[0], prepared.cases
    step(f"searching {len(index.chunks)} chunks for {len(cases)} questions")
    candidates = index.candidates([case.question for case in cases], prepared.settings.pool)
    alpha = prepared.settings.alpha if index.dense is not None else 0.0
    ranking: list[list[int]] = weighted_sum(candidates, [alpha])[0].tolist()
    found = [[index.chunks[chunk].page for chunk in row if chunk >= 0] for row in ranking]
    labels = dict(prepared.check.labels)
    if any(prepared.quotes):  # the pages whose chunks hold the quote
        held = find_quotes(prepared.quotes, index.chunks, prepared.settings.quote_share).share
        holding = [{index.chunks[n].page: 1.0 for n in found} for found in held]
        labels |= {case.id: row for case, row in zip(cases, holding, strict=True) if row}
    rankings = {case.id: row for case, row in zip(cases, found, strict=True)}
    pages, texts = [chunk.page for chunk in index.chunks], [chunk.text for chunk in index.chunks]
    return RetrievalEvidence(
        labels, rankings, pages, texts, {case.id: case.question for case in cases}
    )


def from_run(folder: Path) -> RetrievalEvidence:
    """What the run's target retrieved; of its index only the passages that were seen are known."""
    from answerkey.runs.store import read_outcomes

    outcomes = [outcome for outcome in read_outcomes(folder) if outcome.response.error is None]
    given = [o for o in outcomes if o.response.retrieved is not None or o.response.passages]
    ranked = {outcome.case.id: ranking_of(outcome.response) for outcome in given}
    if not ranked:
        raise InputError(
            f"{folder}: no response of this run holds passages or a ranking; there is nothing to diagnose"
        )
    passages = {(p.id, p.page, p.text): p for o in outcomes for p in o.response.passages}.values()
    # Without the questions: the words of the whole index are not known, so a mismatch can't be detected.
    texts = [passage.text for passage in passages] or None
    return RetrievalEvidence(
        collect_labels([outcome.case for outcome in outcomes]), ranked, texts=texts
    )


def from_files(qrels: Path, run: Path | None, index_ids: Path | None) -> RetrievalEvidence:
    """Recorded rankings, and a list of the ids in the index: JSON, or one per line. With several configurations in one
    file the queries are named `configuration/query`."""
    setups: Mapping[str, Mapping[str, Sequence[str]]] = (
        {"": {}} if run is None else read_configurations(run)
    )
    labels, ids = read_relevance_labels(qrels), None if index_ids is None else read_ids(index_ids)
    labels = labels if ids is None else check_labels(labels, ids).labels
    if len(setups) == 1:
        return RetrievalEvidence(labels, next(iter(setups.values())), ids)
    rankings = {
        f"{name}/{query}": row for name, found in setups.items() for query, row in found.items()
    }
    named = {f"{name}/{query}": row for name in setups for query, row in labels.items()}
    return RetrievalEvidence(named, rankings, ids)


def read_ids(path: Path) -> list[str]:
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
