"""Query rewriters and rerankers: built-in ones by name, others as `module:function`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import MissingPackage, SettingsError, did_you_mean
from answerkey.retrieval.search_words import question_words, search_words
from answerkey.retrieval.user_functions import Reranker, Rewriter, load_function
from answerkey.text import words
from answerkey.types import Passage

if TYPE_CHECKING:
    from answerkey.llm.chat import Chat
    from answerkey.retrieval.search_index import SearchIndex

REWRITERS = ("spell", "expand", "llm")
RERANKERS = ("cross-encoder", "llm")
_SHORTEST_CORRECTED = 4  # shorter words have too many neighbours
_LEAST_SIMILARITY = 80.0  # of 100; one letter wrong in a word of five
_MOST_LETTERS_OFF = 2
_FEEDBACK_PASSAGES = 3
_ADDED_WORDS = 5
_PASSAGE_CHARACTERS = 1_500  # a relevance grade needs no more, and twenty passages fit a prompt
_GRADE = re.compile(r"\d+(?:\.\d+)?")
_REWRITE_PROMPT = (
    "Rewrite the question as a search query for a document index. Keep names, numbers and terms, "
    "add the words that a document would use for the same thing. Reply with the query only.\n\n"
    "Question: {question}"
)
_RERANK_PROMPT = (
    "How well does the passage answer the question? Reply with one number from 0 (not at all) "
    "to 10 (completely) and nothing else.\n\nQuestion: {question}\n\nPassage: {passage}"
)


def load_rewriter(settings: RetrievalTable, index: SearchIndex) -> Rewriter | None:
    """The rewriter that the settings name, None without one."""
    name = settings.rewriter
    if name is None:
        return None
    if name == "spell":
        return SpellingRewriter(index)
    if name == "expand":
        return ExpandingRewriter(index)
    if name == "llm":
        return ModelRewriter(_open_chat(settings, "rewriter"))
    _check_name(name, "rewriter", REWRITERS)
    return load_function(name)


def load_reranker(settings: RetrievalTable) -> Reranker | None:
    """The reranker that the settings name, None without one."""
    name = settings.reranker
    if name is None:
        return None
    if name == "cross-encoder":
        return CrossEncoderReranker(settings.reranker_model)
    if name == "llm":
        return ModelReranker(_open_chat(settings, "reranker"))
    _check_name(name, "reranker", RERANKERS)
    return load_function(name)


def check_stages(settings: RetrievalTable) -> None:
    """Raise for a name that cannot be loaded, before anything is embedded."""
    if settings.rewriter is not None and settings.rewriter not in REWRITERS:
        _check_name(settings.rewriter, "rewriter", REWRITERS)
        load_function(settings.rewriter)
    # Loading it shows a missing package or model before anything is embedded.
    load_reranker(settings)
    if settings.rewriter == "llm":
        _open_chat(settings, "rewriter")


def _check_name(name: str, setting: str, builtin: Sequence[str]) -> None:
    if ":" not in name:
        raise SettingsError(
            f'[retrieval] {setting} = "{name}": expected "module:function" or one of '
            f"{', '.join(builtin)}{did_you_mean(name, builtin)}"
        )


def _open_chat(settings: RetrievalTable, setting: str) -> Chat:
    if settings.llm is None:
        raise SettingsError(
            f'[retrieval] {setting} = "llm" needs llm: a preset, or a table such as '
            'llm = {base_url = "http://127.0.0.1:8080/v1"}'
        )
    from answerkey.llm import load_chat

    return load_chat(settings.llm)


class SpellingRewriter:
    """Replaces words that no chunk contains by the most similar word of the chunks."""

    def __init__(self, index: SearchIndex) -> None:
        self._counts = Counter(word for chunk in index.chunks for word in words(chunk.text))
        self._by_first_letter: dict[str, list[str]] = {}
        for word in self._counts:
            if len(word) >= _SHORTEST_CORRECTED and not word.isdigit():
                self._by_first_letter.setdefault(word[0], []).append(word)

    def __call__(self, question: str) -> str:
        return re.sub(r"\w+", lambda match: self._correct(match[0]), question)

    def _correct(self, written: str) -> str:
        folded = words(written)
        word = folded[0] if len(folded) == 1 else ""
        # Numbers and codes are never corrected: another number is another thing.
        if len(word) < _SHORTEST_CORRECTED or word in self._counts or not word.isalpha():
            return written
        from rapidfuzz import fuzz

        # People rarely mistype the first letter, and comparing with a part keeps this fast.
        neighbours = self._by_first_letter.get(word[0], [])
        similar = [
            (fuzz.ratio(word, neighbour), self._counts[neighbour], neighbour)
            for neighbour in neighbours
            if abs(len(word) - len(neighbour)) <= _MOST_LETTERS_OFF
        ]
        # Among equally similar words the more frequent one wins.
        best = max(similar, default=(0.0, 0, ""))
        if best[0] >= _LEAST_SIMILARITY:
            return best[2]
        return written


class ExpandingRewriter:
    """Adds the words that set the best passages of a first BM25 search apart from the rest."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._chunks_with: Counter[str] = Counter()
        language = index.stemmer_language
        for chunk in index.chunks:
            self._chunks_with.update(set(search_words(chunk.text, language)))

    def __call__(self, question: str) -> str:
        language = self._index.stemmer_language
        top = self._index.sparse([question], _FEEDBACK_PASSAGES)
        weights: Counter[str] = Counter()
        spelled: dict[str, str] = {}
        numbers: list[int] = top.chunk[0].tolist()
        for number in numbers:
            if number < 0:
                continue
            for word in words(self._index.chunks[number].text):
                for form in question_words(word, language):
                    # The search stems its words itself, so the word is added as it is written.
                    spelled.setdefault(form, word)
                    weights[form] += 1
        own = set(question_words(question, language))
        ranked = sorted(
            (form for form in weights if form not in own and len(form) > 2),
            # The form decides ties, so that the same index always adds the same words.
            key=lambda form: (-weights[form] / self._chunks_with.get(form, 1), form),
        )
        return " ".join([question, *(spelled[form] for form in ranked[:_ADDED_WORDS])])


class ModelRewriter:
    """A language model writes the search query."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def __call__(self, question: str) -> str:
        reply = _ask(self._chat, _REWRITE_PROMPT.format(question=question))
        # An empty reply must not become an empty search.
        return reply.strip() or question


class ModelReranker:
    """A language model grades every passage from 0 to 10."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def __call__(self, question: str, passages: list[Passage]) -> list[float]:
        return [self._grade(question, passage) for passage in passages]

    def _grade(self, question: str, passage: Passage) -> float:
        text = passage.text[:_PASSAGE_CHARACTERS]
        reply = _ask(self._chat, _RERANK_PROMPT.format(question=question, passage=text))
        grade = _GRADE.search(reply)
        if grade is None:
            return 0.0
        # A reply such as 85, on another scale, must not outrank a full grade.
        return min(float(grade[0]), 10.0)


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers scores each pair of question and passage."""

    def __init__(self, model: str | None) -> None:
        if not model:
            raise SettingsError(
                '[retrieval] reranker = "cross-encoder" needs reranker_model: a folder or a name, '
                'such as "cross-encoder/ms-marco-MiniLM-L-6-v2"'
            )
        try:
            from sentence_transformers import CrossEncoder  # pyright: ignore
        except ImportError:
            raise MissingPackage("sentence-transformers", "sentence-transformers") from None
        self._model = cast("Any", CrossEncoder(model))

    def __call__(self, question: str, passages: list[Passage]) -> list[float]:
        scores = self._model.predict([(question, passage.text) for passage in passages])
        return [float(score) for score in scores]


def _ask(chat: Chat, prompt: str) -> str:
    return chat.complete([{"role": "user", "content": prompt}]).text
