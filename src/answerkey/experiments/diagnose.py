"""Why are the retrieval numbers low? Findings with their evidence, those that would matter most first.

The checks look at the labels, and at the index and its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from answerkey.comparison.significance import difference
from answerkey.distributions import binomial_cdf
from answerkey.experiments.evidence import (
    DEEP,
    MEASURE,
    MEASURE_K,
    Diagnosis,
    RetrievalEvidence,
    RetrievalFinding,
    gain,
    share,
)
from answerkey.experiments.label_check import (
    SHIFTS,
    PageNames,
    check_labels,
    matching_shift,
    natural_order,
    shift_pages,
)
from answerkey.language.words import word_list
from answerkey.metrics.ranking.hits import Floats
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.retrieval.bm25 import detect_language, search_words
from answerkey.text import format_count, words

_LEAST_GAIN = 0.05
_ENOUGH = 1_000
_EQUAL = 1e-9
ENORMOUS_WORDS = 1_000
_MISMATCH = 0.34  # of a question's words, in no document
_MANY = 0.1
_WORTH_SAYING = 0.01
_ENOUGH_TO_COUNT = 20  # questions, to see which words are common


def missing_pages(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Expected pages that are nowhere in the index: no retriever could find them."""
    if evidence.index_ids is None:
        return None
    check = check_labels(
        {query: evidence.labels[query] for query in evidence.labelled}, evidence.index_ids
    )
    if not (missing := sorted(check.missing, key=natural_order)):
        return None
    known = sorted(set(evidence.index_ids), key=natural_order)
    kept = {
        q: {p: g for p, g in row.items() if p not in check.missing or g <= 0}
        for q, row in check.labels.items()
    }
    meant = [
        f'; for "{label}" write {near}' for label, near in list(check.missing.items())[:3] if near
    ]
    return RetrievalFinding(
        "missing_pages",
        f"{share(len(missing), check.total)} expected pages are not in the index",
        f"missing: {_some(missing)}; the index holds {len(known)} pages, such as {_some(known, 5)}{''.join(meant)}",
        "index these pages, or correct the labels: until then no setting can find them",
        evidence.with_labels(kept).score(),
        tuple(missing),
    )


def constant_shift(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Labels that would match after adding the same number to every page, as 0-based pages or front matter cause."""
    if not evidence.rankings:
        return _shift_by_index(evidence)
    now = _scores(evidence, evidence.labels)
    if not len(now):
        return None
    means = {
        shift: float(_scores(evidence, shift_pages(evidence.labels, shift)).mean())
        for shift in SHIFTS
    }
    highest = max(means.values())
    # Rankings of neighbours have one F1 for many shifts: ties are decided by the place of the first relevant page.
    tied = [shift for shift in SHIFTS if means[shift] >= highest - _EQUAL]
    places = {
        s: float(_scores(evidence, shift_pages(evidence.labels, s), "mrr").mean()) for s in tied
    }
    best = max(places, key=lambda shift: places[shift])
    second = max(means[shift] for shift in SHIFTS if shift != best)
    nearest = max((place for shift, place in places.items() if shift != best), default=0.0)
    after = _scores(evidence, shift_pages(evidence.labels, best))
    test = difference(now, after)
    # So many shifts were tried that one looks good by chance; a lone, high peak is no chance.
    certain = (test.p or 1.0) * len(SHIFTS) <= 0.05
    peak = means[best] >= 1.2 * second or (len(places) > 1 and places[best] >= 1.2 * nearest)
    lone = means[best] >= 3 * now.mean() and peak
    if means[best] - now.mean() < _LEAST_GAIN:
        return None
    if not (test.sure and (certain or lone)) and not (lone and _beyond_chance(evidence, best)):
        by_index = _shift_by_index(
            evidence
        )  # labels outside the index that the same shift brings in are evidence too
        return by_index if by_index and f"add {best:+d} to" in by_index.action else None
    shown = f"{MEASURE} goes from {now.mean():.3f} to {means[best]:.3f} ({format_count(len(now), 'query', 'queries')})"
    return _shift_finding(best, shown, means[best])


def _beyond_chance(evidence: RetrievalEvidence, shift: int) -> bool:
    """For few queries: how likely so many shifted labels would stand first in their rankings by chance. An off-by-one
    is a common mistake, so only the two of them count as tried; of other shifts all do."""
    queries = [query for query in evidence.labelled if evidence.rankings.get(query)]
    moved = shift_pages({query: evidence.labels[query] for query in queries}, shift)
    first = sum(moved[query].get(evidence.rankings[query][0], 0.0) > 0 for query in queries)
    pages = len(
        {
            *(evidence.index_ids or ()),
            *(page for query in queries for page in evidence.rankings[query]),
        }
    )
    relevant = max((len(evidence.relevant(query)) for query in queries), default=1)
    tried = 2 if abs(shift) == 1 else len(SHIFTS)
    return (
        first > 0
        and tried * (1 - binomial_cdf(first - 1, len(queries), min(1.0, relevant / max(pages, 1))))
        <= 0.05
    )


def _shift_by_index(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Without rankings: the smallest shift that brings labels into the index which are outside now."""
    if evidence.index_ids is None:
        return None
    labels = {query: dict.fromkeys(evidence.relevant(query), 1.0) for query in evidence.labelled}
    names = PageNames(evidence.index_ids)
    if (best := matching_shift(labels, names)) is None:
        return None
    total = sum(map(len, labels.values()))
    now, after = (
        sum(names.find(page) is not None for row in rows.values() for page in row)
        for rows in (labels, shift_pages(labels, best))
    )
    return _shift_finding(
        best, f"{share(now, total)} labels are in the index now, {after} after the shift", None
    )


def _shift_finding(shift: int, shown: str, score: float | None) -> RetrievalFinding:
    moved = f"{'+' if shift > 0 else '−'} {abs(shift)}"
    return RetrievalFinding(
        "page_shift",
        f"page numbers are off by a constant: page n of the labels is page n {moved} of the index",
        shown,
        f"add {shift:+d} to every page label, or number the indexed pages as the labels do "
        "(0- or 1-based, covers and front matter)",
        score,
    )


def unlabelled(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Queries without one relevant page: they are left out of every mean."""
    without = [query for query in evidence.labels if not evidence.relevant(query)]
    without += [query for query in evidence.rankings if query not in evidence.labels]
    if not without:
        return None
    return RetrievalFinding(
        "unlabelled",
        f"{share(len(without), len(without) + len(evidence.labelled))} queries have no relevant page",
        f"unlabelled: {_some(without)}",
        "label them, or take them out of the suite: they are left out of every mean",
        items=tuple(without),
    )


def not_run(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Labelled queries that the rankings lack: each counts as 0."""
    without = [query for query in evidence.labelled if query not in evidence.rankings]
    if not evidence.rankings or not without:
        return None
    kept = {
        query: evidence.labels[query] for query in evidence.labelled if query in evidence.rankings
    }
    return RetrievalFinding(
        "missing_queries",
        f"{share(len(without), len(evidence.labelled))} labelled queries have no ranking and count as 0",
        f"missing: {_some(without)}",
        "run them, or compare the query ids of labels and rankings",
        evidence.with_labels(kept).score(),
        tuple(without),
    )


def _scores(
    evidence: RetrievalEvidence, labels: Mapping[str, Mapping[str, float]], measure: str = MEASURE
) -> Floats:
    """The measure of each labelled query that has a ranking; of very many the first are enough."""
    queries = [query for query in evidence.labelled if query in evidence.rankings][:_ENOUGH]
    run = {query: evidence.rankings[query][:DEEP] for query in queries}
    return score_rankings(run, {query: labels[query] for query in queries}, [measure]).columns[
        measure
    ]


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def places_without_id(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Retrieved places that name no page: they can never be a hit."""
    places = [name for ranking in evidence.rankings.values() for name in ranking]
    if not (without := places.count("")):
        return None
    return RetrievalFinding(
        "places_without_id",
        f"{share(without, len(places))} retrieved places have no page or id (N/A, empty or null)",
        "each is counted as a non-relevant result at its rank; none is merged with another",
        "store the page number of every chunk in the index, and return it with each result",
    )


def chunks_without_id(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Indexed chunks that name no page: whatever they answer, they can never be a hit."""
    ids = evidence.index_ids or ()
    without = [str(n) for n, page in enumerate(ids) if not page]
    if not without:
        return None
    return RetrievalFinding(
        "chunks_without_id",
        f"{share(len(without), len(ids))} chunks of the index have no page or id (N/A, empty or null)",
        f"rows {_some(without)} of the index",
        "store the page number of every chunk when the index is made",
    )


def repeated_pages(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Rankings that hold one page several times: places lost to other pages."""
    rankings = [
        [name for name in ranking[:MEASURE_K] if name]
        for ranking in evidence.rankings.values()
        if ranking
    ]
    repeated = [ranking for ranking in rankings if len(set(ranking)) < len(ranking)]
    if not rankings or len(repeated) < _MANY * len(rankings):
        return None
    lost = sum(len(ranking) - len(set(ranking)) for ranking in repeated)
    run = {q: evidence.rankings.get(q, ()) for q in evidence.labelled}
    plain = score_rankings(run, evidence.labels, [MEASURE], "chunk").mean[MEASURE]
    note = (
        ""
        if plain is None
        else f"; counted chunk by chunk, as plain scripts do, {MEASURE} reads {plain:.3f}"
    )
    return RetrievalFinding(
        "repeated_pages",
        f"{share(len(repeated), len(rankings))} rankings hold the same page twice or more in the first {MEASURE_K}",
        f"{lost} of {sum(map(len, rankings))} places go to a page that is already there{note}",
        'retrieve more chunks and keep the best of each page (unit = "page" does); use larger chunks or less overlap',
        evidence.score(),
    )


def duplicate_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Chunks with the same words: an index that was filled twice, or boilerplate."""
    texts = [" ".join(words(text)) for text in evidence.texts or ()]
    counts = Counter(text for text in texts if text)
    again = sum(count - 1 for count in counts.values())
    if again == 0 or again < 0.01 * len(texts):
        return None
    (copied, most), ids = counts.most_common(1)[0], evidence.index_ids or ()
    per_page = f"{len(ids) / len(set(ids)):.1f}" if ids else "an unknown number of"
    return RetrievalFinding(
        "duplicate_chunks",
        f"{share(again, len(texts))} chunks repeat the text of another",
        f'one text is there {most} times: "{copied[:60]}…"; the index has {per_page} chunks per page',
        "remove the copies: index each document once, and drop headers and footers",
    )


def empty_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    texts = evidence.texts or ()
    pages = _pages(evidence, [n for n, text in enumerate(texts) if not words(text)])
    if not pages:
        return None
    return RetrievalFinding(
        "empty_chunks",
        f"{share(len(pages), len(texts))} chunks hold no word",
        f"on the pages {_some(pages)}",
        "read these pages again (scanned pages need OCR), or leave them out of the index",
        items=tuple(pages),
    )


def enormous_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    sizes = [len(words(text)) for text in evidence.texts or ()]
    pages = _pages(evidence, [n for n, size in enumerate(sizes) if size > ENORMOUS_WORDS])
    if not pages:
        return None
    return RetrievalFinding(
        "enormous_chunks",
        f"{share(len(pages), len(sizes))} chunks are longer than {ENORMOUS_WORDS:,} words",
        f"the longest has {max(sizes):,} words, half have at most {sorted(sizes)[len(sizes) // 2]:,}; "
        f"pages {', '.join(pages[:8])}",
        'cut them (chunk_by = "words"): an embedding model reads only the beginning of a long chunk',
        items=tuple(pages),
    )


def vocabulary_mismatch(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Questions in words that the documents do not use: BM25 cannot match them. Stop words are left out."""
    if not evidence.texts or not evidence.questions:
        return None
    language = detect_language(evidence.texts)
    known = {form for text in evidence.texts for form in search_words(text, language)}
    characters = {character for form in known for character in form}

    def is_new(word: str) -> bool:
        """In no document; of a pair of characters, which is no word, both are in none."""
        pair = len(word) == 2 and not word.isascii()
        return (
            characters.isdisjoint(word) if pair else known.isdisjoint(search_words(word, language))
        )

    # Without stop words: those of the list, and what every third of many questions has.
    found = {query: set(words(text)) for query, text in evidence.questions.items()}
    counts = Counter(word for one in found.values() for word in one)
    often = {
        word
        for word, count in counts.items()
        if len(found) >= _ENOUGH_TO_COUNT and count > len(found) / 3
    }
    asked = {query: one - often - set(word_list("stop_words")) for query, one in found.items()}
    unknown = {q: sum(map(is_new, found)) / len(found) for q, found in asked.items() if found}
    foreign = [query for query, part in unknown.items() if part > _MISMATCH]
    if not unknown or len(foreign) < _MANY * len(unknown):
        return None
    worst = Counter(word for query in foreign for word in asked[query] if is_new(word))
    rest = {q: evidence.labels[q] for q in evidence.labelled if q not in foreign}
    return RetrievalFinding(
        "vocabulary_mismatch",
        f"{share(len(foreign), len(unknown))} questions use words that the documents do not",
        f"on average {sum(unknown.values()) / len(unknown):.0%} of a question's words are in no document; "
        f"most often: {', '.join(word for word, _ in worst.most_common(8))}",
        "give dense search more weight (a higher α), add a query rewriter, or check that documents and questions "
        "are in one language",
        evidence.with_labels(rest).score() if rest else None,
        tuple(foreign),
    )


def ranked_too_low(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Not a fault of the data: pages that are found, but below the cut."""
    deep, near = f"recall@{DEEP}", f"recall@{MEASURE_K}"
    if (
        not evidence.labelled
        or max((len(r) for r in evidence.rankings.values()), default=0) <= MEASURE_K
    ):
        return None
    means = score_rankings(
        {q: evidence.rankings.get(q, ()) for q in evidence.labelled}, evidence.labels, [near, deep]
    ).mean
    first, all_ = means[near] or 0.0, means[deep] or 0.0
    if all_ - first < _WORTH_SAYING:
        return None
    return RetrievalFinding(
        "ranked_low",
        f"{near} is {first:.2f} and {deep} {all_:.2f}",
        f"{all_ - first:.0%} of the relevant pages are found, but below the first {MEASURE_K}",
        "a larger K or a reranker can bring at most this much; the rest needs better search",
    )


def _pages(evidence: RetrievalEvidence, chunks: list[int]) -> list[str]:
    """The pages of these chunks; their numbers where pages are not known."""
    return (
        [evidence.index_ids[n] for n in chunks] if evidence.index_ids else [str(n) for n in chunks]
    )


CHECKS = (
    constant_shift,
    missing_pages,
    not_run,
    unlabelled,
    places_without_id,
    chunks_without_id,
    repeated_pages,
    duplicate_chunks,
    empty_chunks,
    enormous_chunks,
    vocabulary_mismatch,
)


def diagnose(evidence: RetrievalEvidence) -> Diagnosis:
    """Every check that the evidence allows; the largest gain first."""
    now, note = evidence.score(), ranked_too_low(evidence)
    found = [finding for check in CHECKS if (finding := check(evidence)) is not None]
    found.sort(key=lambda finding: -gain(finding, now))
    queries = len({*evidence.labels, *evidence.rankings})
    # A check that could not be made is not a check that passed.
    looked = {
        "labels": True,
        "rankings": evidence.rankings,
        "index ids": evidence.index_ids is not None,
        "chunk texts": evidence.texts,
        "question words": evidence.questions and evidence.texts,
    }
    checked = tuple(name for name, there in looked.items() if there)
    return Diagnosis(
        queries, len(evidence.labelled), now, tuple(found), (note,) if note else (), checked
    )
