"""The documents of a test set: pages with their text, and every score of every case for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import is_list
from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder
from answerkey.entailment.pair_model import PairModel
from answerkey.errors import InputError
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.chunks import Chunking, cut_pages
from answerkey.retrieval.corpus import Page, read_corpus
from answerkey.retrieval.fuse import Floats, Vectors
from answerkey.retrieval.search_index import embed_chunks, open_search_index
from answerkey.retrieval.search_words import detect_language
from answerkey.runs.suite import load_suite
from answerkey.testsets.audit.question_words import SetLanguage

Step = Callable[[str], None]  # receives the progress
# Longer pages are cut: the packaged model reads about 190 words of a text, and BM25 prefers long
# texts. 320 words keep an abstract or a section whole.
_CUT = Chunking("fixed", 320, 40)
_SENTENCES = Chunking("sentence", 35, 0)  # one or two sentences
_PAGES_KEPT = 2_000  # pages whose sentences stay embedded: about 25 MB
_CASES_AT_ONCE = 64  # 64 cases and 20,000 chunks are 10 MB of scores


def find_documents(cases: Sequence[str | Path]) -> Path | None:
    """The documents that come with the cases: those of a BEIR folder."""
    folders = [Path(path) for path in cases]
    if len(folders) == 1 and (folders[0] / "corpus.jsonl").is_file():
        return folders[0]
    return None


def read_documents(source: object) -> list[Page]:
    """Pages of a file, a folder, a BEIR folder or a suite's [retrieval], or of a list of passages."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        if path.suffix == ".toml":
            return _pages_of_suite(path)
        return read_corpus(path)
    if not is_list(source):
        raise InputError(
            f"documents: found {type(source).__name__}, expected a path or a list of passages such "
            'as {"id": …, "text": …}'
        )
    pages: list[Page] = []
    for number, passage in enumerate(as_passages(source, "documents"), start=1):
        name = passage.id or passage.page or str(number)
        pages.append(Page(name, passage.text, passage.document or name, passage.page))
    return pages


def _pages_of_suite(path: Path) -> list[Page]:
    """The pages behind a suite's [retrieval]: documents, or the chunks of a vector store."""
    suite = load_suite(path)
    settings = read_table(RetrievalTable, suite.retrieval or {}, "[retrieval]", suite.folder)
    if settings.documents is not None:
        return read_corpus(settings.documents, settings.ids)
    texts: dict[str, list[str]] = {}
    documents: dict[str, str] = {}
    for chunk in open_search_index(settings, None).chunks:
        name = chunk.page or chunk.id
        texts.setdefault(name, []).append(chunk.text)
        documents[name] = chunk.document
    return [Page(name, "\n".join(parts), documents[name]) for name, parts in texts.items()]


@dataclass(frozen=True, slots=True)
class PageScores:
    """How well each page fits one text: BM25 (0 where no word is shared) and cosine, by page."""

    words: Floats
    meaning: Floats

    def fit(self, page: int) -> float:
        """One number for ordering pages."""
        return math.log(self.words[page] + _LEAST_SCORE) + MEANING_WEIGHT * self.meaning[page]


_LEAST_SCORE = 0.01  # so that a page without a shared word has a logarithm
# Of a difference of cosines, beside one of log BM25. Between 3 and 6 the results differ by less
# than 0.01 on three test sets (tools/measure_testsets.py).
MEANING_WEIGHT = 3.0


class DocumentSet:
    """Pages, searched by words and, with a model, by meaning."""

    def __init__(
        self,
        pages: Sequence[Page],
        embed: Embedder | None,
        step: Step,
        pair_model: PairModel | None = None,
    ) -> None:
        self.pages = tuple(pages)
        self.pair_model = pair_model
        self._embed = embed
        self.language = SetLanguage(detect_language([page.text for page in pages]) or "en")
        self.numbers: Mapping[str, int] = {
            # Reversed, so that the first of several pages with one id keeps its number.
            page.id: number
            for number, page in reversed(list(enumerate(pages)))
            if page.id
        }
        chunks = cut_pages([Page(str(n), p.text, p.document) for n, p in enumerate(pages)], _CUT)
        texts = [chunk.text for chunk in chunks]
        # Chunks stand in the order of their pages, so a page is a run of neighbours.
        self._page_of_chunk = np.array([int(chunk.page) for chunk in chunks], np.int64)
        self._starts = np.flatnonzero(np.diff(self._page_of_chunk, prepend=-1))
        self._bm25 = build_bm25(texts, Formula(language=self.language.code))
        self._vectors: Vectors | None = None
        self._sentences: dict[int, Vectors] = {}
        if embed is not None and texts:
            self._vectors = embed_chunks(texts, embed, step)

    def scores(self, queries: Sequence[str]) -> Iterator[PageScores]:
        """The scores of every page for each query, a few queries at a time."""
        for start in range(0, len(queries), _CASES_AT_ONCE):
            part = queries[start : start + _CASES_AT_ONCE]
            by_words = self._highest_per_page(np.maximum(self._bm25.score_chunks(part), 0.0))
            by_meaning = np.zeros_like(by_words)
            if self._vectors is not None and self._embed is not None:
                queries_as_vectors = np.asarray(self._embed.embed(part), np.float32)
                by_meaning = self._highest_per_page(
                    (queries_as_vectors @ self._vectors.T).astype(np.float64)
                )
            for row in range(len(part)):
                yield PageScores(by_words[row], by_meaning[row])

    def nearest_sentences(
        self, pairs: Sequence[tuple[str, Sequence[int]]]
    ) -> list[dict[int, float]]:
        """For each query the highest cosine of a few sentences of each of its pages.

        Two passages about one subject have nearly the same vector as a whole; the sentence that
        has the answer stands in one of them. Empty without a model.
        """
        if self._embed is None or self._vectors is None:
            return [{} for _ in pairs]
        nearest: list[dict[int, float]] = []
        for start in range(0, len(pairs), _CASES_AT_ONCE):
            part = pairs[start : start + _CASES_AT_ONCE]
            vectors = self._sentence_vectors({page for _, pages in part for page in pages})
            queries = np.asarray(self._embed.embed([query for query, _ in part]), np.float32)
            for query, (_, pages) in zip(queries, part, strict=True):
                nearest.append(
                    {page: float((vectors[page] @ query).max(initial=0.0)) for page in pages}
                )
        return nearest

    def _sentence_vectors(self, pages: Iterable[int]) -> dict[int, Vectors]:
        """The vectors of the sentences of these pages; those of the last pages are kept."""
        assert self._embed is not None
        assert self._vectors is not None
        numbers = sorted(pages)
        missing = [page for page in numbers if page not in self._sentences]
        windows = [cut_pages([Page("", self.pages[page].text, "")], _SENTENCES) for page in missing]
        texts = [window.text for row in windows for window in row]
        embedded = np.empty((0, self._vectors.shape[1]), np.float32)
        if texts:
            embedded = np.asarray(self._embed.embed(texts), np.float32)
        ends = np.cumsum([len(row) for row in windows])
        for page, vectors in zip(missing, np.split(embedded, ends[:-1]), strict=False):
            self._sentences[page] = np.asarray(vectors, np.float32)
        chosen = {page: self._sentences[page] for page in numbers}
        while len(self._sentences) > _PAGES_KEPT:
            del self._sentences[next(iter(self._sentences))]
        return chosen

    def _highest_per_page(self, scores: Floats) -> Floats:
        highest = np.zeros((len(scores), len(self.pages)))
        if len(self._starts):
            owners = self._page_of_chunk[self._starts]
            # The best chunk stands for its page: an average would punish long pages.
            highest[:, owners] = np.maximum.reduceat(scores, self._starts, axis=1)
        return highest

    @cached_property
    def _contents(self) -> list[frozenset[str]]:
        return [self.language.content(page.text) for page in self.pages]

    @cached_property
    def _page_counts(self) -> Counter[str]:
        return Counter(word for content in self._contents for word in content)

    def rarity(self, word: str) -> float:
        """The weight of a word: rare words say more about what a text is about."""
        count = self._page_counts[word]
        return math.log(1 + (len(self.pages) - count + 0.5) / (count + 0.5))

    def coverage(self, content: Iterable[str], pages: Iterable[int]) -> float:
        """The weighted share of the words that are in these pages together."""
        weights = {word: self.rarity(word) for word in content}
        total = sum(weights.values())
        present = frozenset[str]().union(*(self._contents[page] for page in pages))
        if total:
            return sum(weights[word] for word in weights if word in present) / total
        return 0.0
