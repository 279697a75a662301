"""Cases from TREC qrels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answerkey.coerce.decode import read_lines
from answerkey.retrieval.rankings import read_qrels
from answerkey.types import Case


def is_qrels(path: Path) -> bool:
    ending = path.suffix.lower()
    # `.txt` and `.tsv` may be anything, so their names decide.
    return ending in {".qrels", ".trec"} or (ending in {".txt", ".tsv"} and "qrels" in path.name)


def read_trec_cases(path: Path, name: str) -> Iterator[Case]:
    """A case for each query of a qrels file; its text from `queries.tsv` beside it, else its id."""
    texts: dict[str, str] = {}
    for beside in (path.with_name("queries.tsv"), path.with_name("topics.tsv")):
        if beside.is_file():
            for _, line in read_lines(beside):
                query, _, text = line.partition("\t")
                texts[query.strip()] = text.strip()
    for query, relevant in read_qrels(path).items():
        # Without the texts the rankings can still be measured.
        question = texts.get(query) or query
        yield Case(id=query, question=question, relevant=relevant, source_file=name)
