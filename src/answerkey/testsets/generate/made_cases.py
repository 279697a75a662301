"""The cases that `generate` makes, and the choice among candidates."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from answerkey.cache import digest
from answerkey.testsets.generate.source_passages import SourcePassage
from answerkey.testsets.generate.written_queries import WrittenQuery
from answerkey.text import words
from answerkey.types import Case

_QUOTED_WORDS = 40  # enough to find the passage again, short enough to read


@dataclass(frozen=True, slots=True)
class MadeCase:
    """A question, the passages that answer it, and verbatim quotes of them."""

    question: str
    kind: str
    passages: tuple[str, ...]
    quotes: tuple[str, ...] = ()
    answer: str = ""
    documents: tuple[str, ...] = field(default=())

    @property
    def id(self) -> str:
        # From the content, so that the same case has the same id in every generation.
        return f"made-{digest(self.question, list(self.passages))[:10]}"

    def as_row(self) -> dict[str, object]:
        """The case as a line of a case file."""
        row: dict[str, object] = {"id": self.id, "question": self.question, "type": self.kind}
        if self.answer:
            row["expected"] = self.answer
        row["relevant"] = list(self.passages)
        row["quotes"] = list(self.quotes)
        return row

    def as_case(self) -> Case:
        return Case(self.id, self.question, relevant=dict.fromkeys(self.passages, 1.0))


def cases_of_queries(
    queries: Iterable[WrittenQuery], passages: Mapping[str, SourcePassage]
) -> list[MadeCase]:
    """A retrieval case per query: the passage is its label, the beginning of it the quote."""
    cases: list[MadeCase] = []
    for query in queries:
        passage = passages[query.passage]
        cases.append(
            MadeCase(
                question=query.text,
                kind=query.kind.value,
                passages=(passage.id,),
                quotes=(first_words(cut_query(passage.text, query.cut)),),
                answer=query.answer,
                documents=(passage.document,),
            )
        )
    return cases


def cut_query(text: str, query: str) -> str:
    """The text without a caption, question or term that serves as a query."""
    if not query:
        return text
    # Otherwise the query would be found by its own words in the passage.
    return text.replace(query, " ").strip()


def first_words(text: str) -> str:
    """The beginning of a text, verbatim, cut after a word."""
    return " ".join(text.split(" ")[:_QUOTED_WORDS]).strip()


def choose_cases(cases: Sequence[MadeCase], count: int | None, seed: int) -> list[MadeCase]:
    """At most `count` cases, spread over the documents, in their order."""
    if count is None or count >= len(cases):
        return list(cases)
    rng = random.Random(seed)
    by_document: dict[tuple[str, ...], list[MadeCase]] = {}
    for case in cases:
        by_document.setdefault(case.documents, []).append(case)
    queues = list(by_document.values())
    for queue in queues:
        rng.shuffle(queue)
    rng.shuffle(queues)
    chosen: set[str] = set()
    while len(chosen) < count:
        queues = [queue for queue in queues if queue]
        for queue in queues[: count - len(chosen)]:
            chosen.add(queue.pop().id)
    # In the order of the documents, whatever the draw.
    return [case for case in cases if case.id in chosen]


def word_overlap(question: str, text: str) -> float:
    """The share of a question's words that are in a text."""
    question_words = set(words(question))
    if not question_words:
        return 0.0
    return len(question_words & set(words(text))) / len(question_words)
