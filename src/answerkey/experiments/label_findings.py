"""Checks of the labels: do they name what the index has, and does every query have one?"""

from __future__ import annotations

from answerkey.comparison.significance import difference
from answerkey.distributions import binomial_cdf
from answerkey.experiments.evidence import DEEP, MEASURE, Grades, RetrievalEvidence
from answerkey.experiments.findings import RetrievalFinding, list_some, share_text
from answerkey.experiments.label_check import SHIFTS, matching_shift, shift_pages
from answerkey.experiments.page_names import PageNames, natural_order
from answerkey.metrics.ranking.hits import Floats
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.text import format_count

_LEAST_GAIN = 0.05  # of nDCG: a shift that gains less is not reported
_MOST_QUERIES = 1_000  # of very many queries the first are enough
_EQUAL = 1e-9
_SURE = 0.05


def id_style(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Labels that match under another setting of `ids`: bare pages over several documents."""
    check = evidence.check()
    # Before the missing pages: these labels are not missing, only written differently.
    if check.ids is None:
        return None
    examples = ", ".join(f'"{one}"' for one in check.examples)
    return RetrievalFinding(
        "id_style",
        f"{share_text(len(check.missing), check.total)} expected ids are written in another way "
        "than the ids of the index",
        f"labels such as {list_some(list(check.missing), 5)}; ids of the index such as {examples}",
        f'set ids = "{check.ids}" in [retrieval], or write the labels as the index does',
        evidence.with_ids(check.ids).score(),
        tuple(check.missing),
    )


def missing_pages(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Expected pages that are nowhere in the index: no retriever could find them."""
    if evidence.index_ids is None:
        return None
    check = evidence.check()
    if not check.missing or check.ids is not None:
        return None
    missing = sorted(check.missing, key=natural_order)
    pages = sorted({page for page in evidence.index_ids if page}, key=natural_order)
    kept = {
        query: {
            page: grade for page, grade in row.items() if page not in check.missing or grade <= 0
        }
        for query, row in check.labels.items()
    }
    advice = [
        f'; for "{label}" write {near}' for label, near in list(check.missing.items())[:3] if near
    ]
    return RetrievalFinding(
        "missing_pages",
        f"{share_text(len(missing), check.total)} expected pages are not in the index",
        f"missing: {list_some(missing)}; the index holds {len(pages)} pages, such as "
        f"{list_some(pages, 5)}{''.join(advice)}",
        "index these pages, or correct the labels: until then no setting can find them",
        evidence.with_labels(kept).score(),
        tuple(missing),
    )


def never_retrieved(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Expected pages that no recorded ranking contains, in any configuration.

    Without the index it is not known whether these pages are in it: the finding says so.
    """
    if evidence.index_ids is not None or not evidence.rankings:
        return None
    check = evidence.check()
    if not check.missing or check.ids is not None:
        return None
    missing = sorted(check.missing, key=natural_order)
    retrieved = {page for row in evidence.rankings.values() for page in row if page}
    where = "no ranking"
    if evidence.configurations > 1:
        where = f"no ranking of the {evidence.configurations} configurations"
    return RetrievalFinding(
        "never_retrieved",
        f"{share_text(len(missing), check.total)} expected pages are in {where}",
        f"never retrieved: {list_some(missing)}; {len(retrieved)} different pages were retrieved",
        "check that these pages are in the index (give its ids with --index-ids), and that labels "
        "and rankings number pages in the same way",
        None,
        tuple(missing),
    )


def constant_shift(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Labels that would match after adding one number to every page: 0-based, front matter."""
    if not evidence.rankings:
        return _shift_by_index(evidence)
    now = _scores(evidence, evidence.labels)
    if not len(now):
        return None
    trial = _ShiftTrial(evidence, float(now.mean()))
    if trial.mean - trial.now < _LEAST_GAIN:
        return None
    test = difference(now, _scores(evidence, shift_pages(evidence.labels, trial.best)))
    # So many shifts were tried that one looks good by chance; a lone, high peak is no chance.
    is_certain = (test.p or 1.0) * len(SHIFTS) <= _SURE
    is_proven = test.sure and (is_certain or trial.is_lone_peak)
    is_unlikely_chance = trial.is_lone_peak and _is_beyond_chance(evidence, trial.best)
    if not is_proven and not is_unlikely_chance:
        # Labels outside the index that the same shift brings in are evidence too.
        by_index = _shift_by_index(evidence)
        if by_index is not None and by_index.shift == trial.best:
            return by_index
        return None
    queries = format_count(len(now), "query", "queries")
    shown = f"{MEASURE} goes from {trial.now:.3f} to {trial.mean:.3f} ({queries})"
    return _shift_finding(trial.best, shown, trial.mean)


class _ShiftTrial:
    """The mean of every shift, and the best one."""

    def __init__(self, evidence: RetrievalEvidence, now: float) -> None:
        self.now = now
        means = {
            shift: float(_scores(evidence, shift_pages(evidence.labels, shift)).mean())
            for shift in SHIFTS
        }
        highest = max(means.values())
        # Rankings of neighbours have one value for many shifts: the rank of the first relevant
        # page decides.
        tied = [shift for shift in SHIFTS if means[shift] >= highest - _EQUAL]
        ranks = {
            shift: float(_scores(evidence, shift_pages(evidence.labels, shift), "mrr").mean())
            for shift in tied
        }
        self.best = max(ranks, key=lambda shift: ranks[shift])
        self.mean = means[self.best]
        second = max(means[shift] for shift in SHIFTS if shift != self.best)
        second_rank = max((rank for shift, rank in ranks.items() if shift != self.best), default=0)
        is_peak = self.mean >= 1.2 * second
        is_peak_by_rank = len(ranks) > 1 and ranks[self.best] >= 1.2 * second_rank
        self.is_lone_peak = self.mean >= 3 * now and (is_peak or is_peak_by_rank)


def _is_beyond_chance(evidence: RetrievalEvidence, shift: int) -> bool:
    """For few queries: whether so many shifted labels stand first in their rankings by chance."""
    queries = [query for query in evidence.labelled_queries if evidence.rankings.get(query)]
    shifted = shift_pages({query: evidence.labels[query] for query in queries}, shift)
    first = sum(shifted[query].get(evidence.rankings[query][0], 0.0) > 0 for query in queries)
    if first == 0:
        return False
    retrieved = {page for query in queries for page in evidence.rankings[query]}
    pages = len(retrieved.union(evidence.index_ids or ()))
    relevant = max(len(evidence.relevant(query)) for query in queries)
    # An off-by-one is a common mistake: only those two shifts count as tried.
    tried = 2 if abs(shift) == 1 else len(SHIFTS)
    by_chance = min(1.0, relevant / max(pages, 1))
    return tried * (1 - binomial_cdf(first - 1, len(queries), by_chance)) <= _SURE


def _shift_by_index(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Without rankings: the smallest shift that brings labels into the index."""
    if evidence.index_ids is None:
        return None
    labels = {
        query: dict.fromkeys(evidence.relevant(query), 1.0) for query in evidence.labelled_queries
    }
    names = PageNames(evidence.index_ids, evidence.documents)
    shift = matching_shift(labels, names)
    if shift is None:
        return None
    total = sum(map(len, labels.values()))
    now = _count_in_index(labels, names)
    after = _count_in_index(shift_pages(labels, shift), names)
    shown = f"{share_text(now, total)} labels are in the index now, {after} after the shift"
    return _shift_finding(shift, shown, None)


def _count_in_index(labels: Grades, names: PageNames) -> int:
    return sum(names.find(page) is not None for row in labels.values() for page in row)


def _shift_finding(shift: int, shown: str, score: float | None) -> RetrievalFinding:
    sign = "+" if shift > 0 else "−"
    return RetrievalFinding(
        "page_shift",
        "page numbers are off by a constant: page n of the labels is page "
        f"n {sign} {abs(shift)} of the index",
        shown,
        f"add {shift:+d} to every page label, or number the indexed pages as the labels do "
        "(0- or 1-based, covers and front matter)",
        score,
        shift=shift,
    )


def unlabelled_queries(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Queries without one relevant page: they are left out of every mean."""
    queries = [query for query in evidence.labels if not evidence.relevant(query)]
    queries += [query for query in evidence.rankings if query not in evidence.labels]
    if not queries:
        return None
    total = len(queries) + len(evidence.labelled_queries)
    return RetrievalFinding(
        "unlabelled",
        f"{share_text(len(queries), total)} queries have no relevant page",
        f"unlabelled: {list_some(queries)}",
        "label them, or take them out of the suite: they are left out of every mean",
        items=tuple(queries),
    )


def missing_queries(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Labelled queries that the rankings lack: each counts as 0."""
    queries = [query for query in evidence.labelled_queries if query not in evidence.rankings]
    if not evidence.rankings or not queries:
        return None
    kept = {
        query: evidence.labels[query]
        for query in evidence.labelled_queries
        if query in evidence.rankings
    }
    share = share_text(len(queries), len(evidence.labelled_queries))
    return RetrievalFinding(
        "missing_queries",
        f"{share} labelled queries have no ranking and count as 0",
        f"missing: {list_some(queries)}",
        "run them, or compare the query ids of labels and rankings",
        evidence.with_labels(kept).score(),
        tuple(queries),
    )


def _scores(evidence: RetrievalEvidence, labels: Grades, measure: str = MEASURE) -> Floats:
    """The measure of each labelled query that has a ranking."""
    queries = [query for query in evidence.labelled_queries if query in evidence.rankings][
        :_MOST_QUERIES
    ]
    run = {query: evidence.rankings[query][:DEEP] for query in queries}
    kept = {query: labels[query] for query in queries}
    return score_rankings(run, kept, [measure]).columns[measure]
