"""Checks of the index and the rankings: chunks without a page, copies, sizes, vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from answerkey.experiments.evidence import DEEP, MEASURE, MEASURE_K, RetrievalEvidence
from answerkey.experiments.findings import RetrievalFinding, list_some, share_text
from answerkey.language.words import word_list
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.retrieval.search_words import detect_language, search_words
from answerkey.text import words

ENORMOUS_WORDS = 1_000  # about 1,300 tokens; usual embedding models read 256 to 512
_MISMATCH = 0.34  # share of a question's words that are in no document
_MANY = 0.1  # share of the queries or rankings from which on a fault is reported
_FEW_COPIES = 0.01  # a page that says "left blank" twice is no fault of the index
_WORTH_SAYING = 0.01
_ENOUGH_TO_COUNT = 20  # questions, to see which words are common


def places_without_id(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Retrieved places that name no page: they can never be a hit."""
    places = [name for ranking in evidence.rankings.values() for name in ranking]
    without_id = places.count("")
    if not without_id:
        return None
    return RetrievalFinding(
        "places_without_id",
        f"{share_text(without_id, len(places))} retrieved places have no page or id "
        "(N/A, empty or null)",
        "each is counted as a non-relevant result at its rank; none is merged with another",
        "store the page number of every chunk in the index, and return it with each result",
    )


def chunks_without_id(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Indexed chunks that name no page: they can never be a hit."""
    ids = evidence.index_ids or ()
    rows = [str(number) for number, page in enumerate(ids) if not page]
    if not rows:
        return None
    return RetrievalFinding(
        "chunks_without_id",
        f"{share_text(len(rows), len(ids))} chunks of the index have no page or id "
        "(N/A, empty or null)",
        f"rows {list_some(rows)} of the index",
        "store the page number of every chunk when the index is made",
    )


def repeated_pages(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Rankings that hold one page several times: places lost to other pages."""
    rankings = [
        # Places without an id are never the same page.
        [name for name in ranking[:MEASURE_K] if name]
        for ranking in evidence.rankings.values()
        if ranking
    ]
    repeated = [ranking for ranking in rankings if len(set(ranking)) < len(ranking)]
    if not rankings or len(repeated) < _MANY * len(rankings):
        return None
    lost = sum(len(ranking) - len(set(ranking)) for ranking in repeated)
    return RetrievalFinding(
        "repeated_pages",
        f"{share_text(len(repeated), len(rankings))} rankings hold the same page twice or more "
        f"in the first {MEASURE_K}",
        f"{lost} of {sum(map(len, rankings))} places go to a page that is already there"
        f"{_score_by_chunk(evidence)}",
        'retrieve more chunks and keep the best of each page (unit = "page" does); '
        "use larger chunks or less overlap",
        evidence.score(),
    )


def _score_by_chunk(evidence: RetrievalEvidence) -> str:
    run = {query: evidence.rankings.get(query, ()) for query in evidence.labelled_queries}
    score = score_rankings(run, evidence.labels, [MEASURE], "chunk").mean[MEASURE]
    if score is None:
        return ""
    return f"; counted chunk by chunk, as plain scripts do, {MEASURE} reads {score:.3f}"


def duplicate_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Chunks with the same words: an index that was filled twice, or boilerplate."""
    texts = [" ".join(words(text)) for text in evidence.texts or ()]
    counts = Counter(text for text in texts if text)
    copies = sum(count - 1 for count in counts.values())
    if copies == 0 or copies < _FEW_COPIES * len(texts):
        return None
    copied, most = counts.most_common(1)[0]
    ids = evidence.index_ids or ()
    if ids:
        per_page = f"{len(ids) / len(set(ids)):.1f}"
    else:
        per_page = "an unknown number of"
    return RetrievalFinding(
        "duplicate_chunks",
        f"{share_text(copies, len(texts))} chunks repeat the text of another",
        f'one text is there {most} times: "{copied[:60]}…"; '
        f"the index has {per_page} chunks per page",
        "remove the copies: index each document once, and drop headers and footers",
    )


def empty_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    texts = evidence.texts or ()
    pages = _pages(evidence, [number for number, text in enumerate(texts) if not words(text)])
    if not pages:
        return None
    return RetrievalFinding(
        "empty_chunks",
        f"{share_text(len(pages), len(texts))} chunks hold no word",
        f"on the pages {list_some(pages)}",
        "read these pages again (scanned pages need OCR), or leave them out of the index",
        items=tuple(pages),
    )


def enormous_chunks(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    sizes = [len(words(text)) for text in evidence.texts or ()]
    pages = _pages(evidence, [n for n, size in enumerate(sizes) if size > ENORMOUS_WORDS])
    if not pages:
        return None
    # The median beside the maximum shows whether all chunks are long, or a few were not cut.
    middle = sorted(sizes)[len(sizes) // 2]
    return RetrievalFinding(
        "enormous_chunks",
        f"{share_text(len(pages), len(sizes))} chunks are longer than {ENORMOUS_WORDS:,} words",
        f"the longest has {max(sizes):,} words, half have at most {middle:,}; "
        f"pages {', '.join(pages[:8])}",
        'cut them (chunk_by = "words"): an embedding model reads only the beginning of a long '
        "chunk",
        items=tuple(pages),
    )


def vocabulary_mismatch(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Questions in words that the documents do not use: BM25 cannot match them."""
    if not evidence.texts or not evidence.questions:
        return None
    documents = _Vocabulary(evidence.texts)
    content = _content_words(evidence.questions)
    unknown = {
        query: sum(map(documents.is_new, one)) / len(one) for query, one in content.items() if one
    }
    foreign = [query for query, part in unknown.items() if part > _MISMATCH]
    if not unknown or len(foreign) < _MANY * len(unknown):
        return None
    worst = Counter(word for query in foreign for word in content[query] if documents.is_new(word))
    # Fixed, these questions would do as well as those whose words the documents use.
    rest = {q: evidence.labels[q] for q in evidence.labelled_queries if q not in foreign}
    return RetrievalFinding(
        "vocabulary_mismatch",
        f"{share_text(len(foreign), len(unknown))} questions use words that the documents do not",
        f"on average {sum(unknown.values()) / len(unknown):.0%} of a question's words are in no "
        f"document; most often: {', '.join(word for word, _ in worst.most_common(8))}",
        "give dense search more weight (a higher α), add a query rewriter, or check that documents "
        "and questions are in one language",
        evidence.with_labels(rest).score() if rest else None,
        tuple(foreign),
    )


class _Vocabulary:
    """The words of the documents."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._language = detect_language(texts)
        self._forms = {form for text in texts for form in search_words(text, self._language)}
        self._characters = {character for form in self._forms for character in form}

    def is_new(self, word: str) -> bool:
        """Whether the word is in no document. A pair of characters is no word, so both must be missing."""
        if len(word) == 2 and not word.isascii():
            return self._characters.isdisjoint(word)
        return self._forms.isdisjoint(search_words(word, self._language))


def _content_words(questions: Mapping[str, str]) -> dict[str, set[str]]:
    """The words of each question without stop words: of the list, and of every third question."""
    every = {query: set(words(text)) for query, text in questions.items()}
    common: set[str] = set(word_list("stop_words"))
    if len(every) >= _ENOUGH_TO_COUNT:
        counts = Counter(word for one in every.values() for word in one)
        # Words such as the product's name are in every question and tell nothing.
        common |= {word for word, count in counts.items() if count > len(every) / 3}
    return {query: one - common for query, one in every.items()}


def ranked_too_low(evidence: RetrievalEvidence) -> RetrievalFinding | None:
    """Pages that are found, but below the cut: not a fault of the data."""
    deepest = max((len(ranking) for ranking in evidence.rankings.values()), default=0)
    # Rankings that end at the cut show nothing below it.
    if not evidence.labelled_queries or deepest <= MEASURE_K:
        return None
    near = f"recall@{MEASURE_K}"
    deep = f"recall@{DEEP}"
    run = {query: evidence.rankings.get(query, ()) for query in evidence.labelled_queries}
    means = score_rankings(run, evidence.labels, [near, deep]).mean
    near_recall = means[near] or 0.0
    deep_recall = means[deep] or 0.0
    # Nothing waits further down: a larger K would not help.
    if deep_recall - near_recall < _WORTH_SAYING:
        return None
    return RetrievalFinding(
        "ranked_low",
        f"{near} is {near_recall:.2f} and {deep} {deep_recall:.2f}",
        f"{deep_recall - near_recall:.0%} of the relevant pages are found, but below the first "
        f"{MEASURE_K}",
        "a larger K or a reranker can bring at most this much; the rest needs better search",
    )


def _pages(evidence: RetrievalEvidence, chunks: list[int]) -> list[str]:
    """The pages of these chunks; their numbers where pages are not known."""
    if evidence.index_ids:
        return [evidence.index_ids[number] for number in chunks]
    return [str(number) for number in chunks]
