"""BEIR folders: `queries.jsonl` and `qrels/*.tsv`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from answerkey.coerce.decode import parse_json, read_lines, warn_once
from answerkey.coerce.values import table_of
from answerkey.errors import InputError
from answerkey.retrieval.rankings import read_qrels
from answerkey.types import Case

Labels = Mapping[str, tuple[dict[str, float], str]]  # the grades of a query, and its split


def is_beir(folder: Path) -> bool:
    return (folder / "queries.jsonl").is_file() and (folder / "qrels").is_dir()


def read_beir(folder: Path, name: str) -> Iterator[Case]:
    """A case for each query that has labels, tagged with its split; the others are counted."""
    labels = _read_labels_by_query(folder, name)
    unlabelled = 0
    total = 0
    for number, line in read_lines(folder / "queries.jsonl"):
        total += 1
        place = f"{name}/queries.jsonl, line {number}"
        row = table_of(parse_json(line, place, in_line=True))
        if "_id" not in row or "text" not in row:
            raise InputError(f'{place}: expected {{"_id": …, "text": …}}')
        query = str(row["_id"])
        if query not in labels:
            unlabelled += 1
            continue
        grades, split = labels[query]
        yield Case(
            id=query,
            question=str(row["text"]),
            relevant=grades,
            source_file=f"{name}/queries.jsonl",
            tags=(split,),
        )
    if unlabelled:
        count = f"{unlabelled} of {total} queries have no label in qrels and are left out"
        warn_once(f"{folder.name}/queries.jsonl: {count}", folder.resolve())


def _read_labels_by_query(folder: Path, name: str) -> Labels:
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        expected = "a BEIR folder holds qrels/test.tsv or the like"
        raise InputError(f"{name}/qrels: no .tsv file; {expected}")
    labels: dict[str, tuple[dict[str, float], str]] = {}
    for file in files:
        for query, grades in read_qrels(file).items():
            # A query may have labels in several splits; its first file names its split.
            labels.setdefault(query, ({}, file.stem))[0].update(grades)
    return labels
