"""What can be wrong with the index and its words: repeated pages, equal, empty or enormous chunks, other words."""

from __future__ import annotations

from collections import Counter

from answerkey.experiments.evidence import DEEP, MEASURE, MEASURE_K, Evidence, Finding, share
from answerkey.metrics.ranking.rank import rank
from answerkey.text import words

ENORMOUS_WORDS = 1_000
_MISMATCH = 0.34  # of a question's words, in no document
_MANY = 0.1
_WORTH_SAYING = 0.01


def repeated_pages(evidence: Evidence) -> Finding | None:
    """Rankings that hold one page several times: places lost to other pages."""
    rankings = [list(ranking[:MEASURE_K]) for ranking in evidence.rankings.values() if ranking]
    repeated = [ranking for ranking in rankings if len(set(ranking)) < len(ranking)]
    if not rankings or len(repeated) < _MANY * len(rankings):
        return None
    lost = sum(len(ranking) - len(set(ranking)) for ranking in repeated)
    plain = rank(
        {q: evidence.rankings.get(q, ()) for q in evidence.labelled}, evidence.labels, [MEASURE], "chunk"
    ).mean[MEASURE]
    told = (
        "" if plain is None else f"; counted chunk by chunk, as plain scripts do, {MEASURE} reads {plain:.3f}"
    )
    return Finding(
        "repeated_pages",
        f"{share(len(repeated), len(rankings))} rankings hold the same page twice or more in the first {MEASURE_K}",
        f"{lost} of {sum(map(len, rankings))} places go to a page that is already there{told}",
        'retrieve more chunks and keep the best of each page (unit = "page" does); use larger chunks or less overlap',
        evidence.score(),
    )


def duplicate_chunks(evidence: Evidence) -> Finding | None:
    """Chunks with the same words: an index that was filled twice, or boilerplate."""
    texts = [" ".join(words(text)) for text in evidence.texts or ()]
    counts = Counter(text for text in texts if text)
    again = sum(count - 1 for count in counts.values())
    if again == 0 or again < 0.01 * len(texts):
        return None
    copied, most = counts.most_common(1)[0]
    return Finding(
        "duplicate_chunks",
        f"{share(again, len(texts))} chunks repeat the text of another",
        f'one text is there {most} times: "{copied[:60]}…"; the index has {_chunks_a_page(evidence)} chunks a page',
        "remove the copies: index each document once, and drop headers and footers",
    )


def empty_chunks(evidence: Evidence) -> Finding | None:
    empty = [n for n, text in enumerate(evidence.texts or ()) if not words(text)]
    if not empty or evidence.texts is None:
        return None
    pages = [evidence.index_ids[n] for n in empty] if evidence.index_ids else [str(n) for n in empty]
    return Finding(
        "empty_chunks",
        f"{share(len(empty), len(evidence.texts))} chunks hold no word",
        f"on the pages {', '.join(pages[:12])}{' …' if len(pages) > 12 else ''}",
        "read these pages again (scanned pages need OCR), or leave them out of the index",
        None,
        tuple(pages),
    )


def enormous_chunks(evidence: Evidence) -> Finding | None:
    sizes = [len(words(text)) for text in evidence.texts or ()]
    large = [n for n, size in enumerate(sizes) if size > ENORMOUS_WORDS]
    if not large:
        return None
    pages = [evidence.index_ids[n] for n in large] if evidence.index_ids else [str(n) for n in large]
    return Finding(
        "enormous_chunks",
        f"{share(len(large), len(sizes))} chunks are longer than {ENORMOUS_WORDS:,} words",
        f"the longest has {max(sizes):,} words, half have at most {sorted(sizes)[len(sizes) // 2]:,}; "
        f"pages {', '.join(pages[:8])}",
        'cut them (chunk_by = "words"): an embedding model reads only the beginning of a long chunk',
        None,
        tuple(pages),
    )


def vocabulary_mismatch(evidence: Evidence) -> Finding | None:
    """Questions in words that the documents do not use: BM25 cannot match them."""
    if not evidence.texts or not evidence.questions:
        return None
    known = {word for text in evidence.texts for word in words(text)}
    unknown = {q: _unknown(text, known) for q, text in evidence.questions.items() if words(text)}
    foreign = [query for query, part in unknown.items() if part > _MISMATCH]
    if not unknown or len(foreign) < _MANY * len(unknown):
        return None
    worst = Counter(w for q in foreign for w in set(words(evidence.questions[q])) if w not in known)
    rest = {q: evidence.labels[q] for q in evidence.labelled if q not in foreign}
    return Finding(
        "vocabulary_mismatch",
        f"{share(len(foreign), len(unknown))} questions use words that the documents do not",
        f"in the mean {sum(unknown.values()) / len(unknown):.0%} of a question's words are in no document; "
        f"most often: {', '.join(word for word, _ in worst.most_common(8))}",
        "give dense search more weight (a higher α), add a query rewriter, or check that documents and questions "
        "are in one language",
        evidence.with_labels(rest).score() if rest else None,
        tuple(foreign),
    )


def ranked_too_low(evidence: Evidence) -> Finding | None:
    """Not a fault of the data: pages that are found, but below the cut."""
    deep, near = f"recall@{DEEP}", f"recall@{MEASURE_K}"
    if not evidence.labelled or max((len(r) for r in evidence.rankings.values()), default=0) <= MEASURE_K:
        return None
    means = rank(
        {q: evidence.rankings.get(q, ()) for q in evidence.labelled}, evidence.labels, [near, deep]
    ).mean
    first, all_ = means[near] or 0.0, means[deep] or 0.0
    if all_ - first < _WORTH_SAYING:
        return None
    return Finding(
        "ranked_low",
        f"{near} is {first:.2f} and {deep} {all_:.2f}",
        f"{all_ - first:.0%} of the relevant pages are found, but below the first {MEASURE_K}",
        "a larger K or a reranker can bring at most this much; the rest needs better search",
    )


def _unknown(question: str, known: set[str]) -> float:
    asked = set(words(question))
    return sum(word not in known for word in asked) / len(asked)


def _chunks_a_page(evidence: Evidence) -> str:
    ids = evidence.index_ids or ()
    return f"{len(ids) / len(set(ids)):.1f}" if ids else "an unknown number of"
