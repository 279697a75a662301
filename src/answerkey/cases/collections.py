"""Retrieval collections: a BEIR folder, and TREC qrels with their queries."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from answerkey.coerce.decode import parse_json, read_lines
from answerkey.errors import InputError
from answerkey.retrieval.rankings import read_qrels, read_trec_run
from answerkey.types import Case, Response

log = logging.getLogger("answerkey.cases")


def is_beir(folder: Path) -> bool:
    return (folder / "queries.jsonl").is_file() and (folder / "qrels").is_dir()


def read_beir(folder: Path, name: str) -> Iterator[Case]:
    """A case for each query that has labels, its type the split in the name of the qrels file; the others are counted."""
    labels: dict[str, tuple[dict[str, float], str]] = {}
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise InputError(f"{name}/qrels: no .tsv file; a BEIR folder holds qrels/test.tsv or the like")
    for file in files:
        for query, grades in read_qrels(file).items():
            labels.setdefault(query, ({}, file.stem))[0].update(grades)
    left_out = number_of_queries = 0
    for number, line in read_lines(folder / "queries.jsonl"):
        number_of_queries += 1
        try:
            row = parse_json(line, f"{name}/queries.jsonl, line {number}", in_line=True)
            key, text = str(row["_id"]), str(row["text"])
        except (KeyError, TypeError):
            raise InputError(f'{name}/queries.jsonl, line {number}: expected {{"_id": …, "text": …}}') from None
        if key not in labels:
            left_out += 1
            continue
        relevant, split = labels[key]
        yield Case(id=key, question=text, relevant=relevant, source_file=f"{name}/queries.jsonl", tags=(split,))
    if left_out:
        _tell_left_out(folder.resolve(), left_out, number_of_queries)


@cache  # a run reads its cases more than once
def _tell_left_out(folder: Path, left_out: int, queries: int) -> None:
    log.warning(
        "%s/queries.jsonl: %d of %d queries have no label in qrels and are left out", folder.name, left_out, queries
    )


def read_trec_cases(path: Path, name: str) -> Iterator[Case]:
    """A case for each query of a qrels file; its text from `queries.tsv` beside it, else its id."""
    texts: dict[str, str] = {}
    for beside in (path.with_name("queries.tsv"), path.with_name("topics.tsv")):
        if beside.is_file():
            for _, line in read_lines(beside):
                key, _, text = line.partition("\t")
                texts[key.strip()] = text.strip()
    for query, relevant in read_qrels(path).items():
        yield Case(id=query, question=texts.get(query) or query, relevant=relevant, source_file=name)


def read_trec_responses(path: Path) -> Iterator[tuple[str, Response]]:
    """The rankings of a TREC run file as recorded responses."""
    for query, ranking in read_trec_run(path).items():
        yield query, Response(retrieved=tuple(ranking))
