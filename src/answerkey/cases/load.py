"""One loader, chosen by the file's ending, a folder or a glob; everything becomes `Case`."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from answerkey.cases.check import checked
from answerkey.cases.collections import is_beir, read_beir, read_trec_cases, read_trec_responses
from answerkey.cases.conversation import conversation_cases, is_conversation, read_yaml
from answerkey.cases.other_tools import is_promptfoo, promptfoo_rows
from answerkey.cases.qa_markdown import read_qa_markdown
from answerkey.cases.tables import (
    Row,
    cases_of_rows,
    csv_rows,
    json_rows,
    jsonl_rows,
    parquet_rows,
    parse_json,
    responses_of_rows,
    rows_of_list,
)
from answerkey.errors import InputError
from answerkey.types import Case, Response

_ROWS: dict[str, Callable[[Path, str], Iterator[Row]]] = {
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
}
_RUN_ENDINGS = (".run", ".trec", ".txt")
ENDINGS = (*_ROWS, ".json", ".md", ".markdown", ".yaml", ".yml", ".qrels", ".trec")


def load_cases(patterns: Sequence[str | Path], folder: Path | None = None) -> Iterator[Case]:
    """The cases of files, folders and globs, in order, checked as they stream: ids are unique, none is missing."""
    base = folder or Path()
    files = case_files(patterns, base)
    named = {shown_name(path, base): path for path in files}
    where = " ".join(str(pattern) for pattern in patterns)
    return checked(_read_all(files, base), where, lambda name, number: _place(named, name, number))


def read_responses(path: Path) -> Iterator[tuple[str, Response]]:
    """Recorded answers of a file of their own, each with the id of its case."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of recorded answers")
    if path.suffix.lower() in _RUN_ENDINGS:
        return read_trec_responses(path)
    reader = json_rows if path.suffix.lower() == ".json" else _ROWS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: recorded answers are read from .json, .jsonl, .csv, .parquet, or .run and .trec for rankings"
        )
    return responses_of_rows(reader(path, path.name))


def case_files(patterns: Iterable[str | Path], base: Path) -> list[Path]:
    """The files meant, each once, in the order given; within a glob or folder by name."""
    files: dict[Path, None] = {}
    for pattern in patterns:
        path = base / pattern
        if path.is_dir():
            found = (
                [path] if is_beir(path) else sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS)
            )
            if not found:
                raise InputError(f"{pattern}: the folder holds no case file; expected {', '.join(ENDINGS)}")
        elif path.is_file():
            found = [path]
        else:
            found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            if not found:
                raise InputError(f"{pattern}: no such file, folder or glob{_near_file(path)}")
        files.update(dict.fromkeys(found))
    return list(files)


def _read_all(files: Iterable[Path], base: Path) -> Iterator[Case]:
    for path in files:
        yield from read_file(path, shown_name(path, base))


def _place(files: Mapping[str, Path], name: str | None, number: int) -> str:
    """Where the nth case of a file stands, in the words of every other error: the rows are read once more for it."""
    path = files.get(name or "")
    reader = _ROWS.get(path.suffix.lower()) if path else None
    row = next(islice(reader(path, name or ""), number - 1, None), None) if path and reader else None
    if row is not None:
        return f"{name}, {row[1].unit} {row[1].line}"
    return f"{name}, {'item' if path and path.suffix.lower() == '.json' else 'case'} {number}"


def read_file(path: Path, name: str) -> Iterator[Case]:
    """The cases of one file, unchecked; `name` is what messages call it."""
    ending = path.suffix.lower()
    if path.is_dir():
        return read_beir(path, name)
    if path.stat().st_size == 0:
        raise InputError(f"{name}: the file is empty; expected at least one case")
    if ending in {".md", ".markdown"}:
        return read_qa_markdown(path, name)
    if ending in {".qrels", ".trec"} or (ending in {".txt", ".tsv"} and "qrels" in path.name):
        return read_trec_cases(path, name)
    if ending in {".yaml", ".yml", ".json"}:
        data = parse_json(path, name) if ending == ".json" else read_yaml(path)
        if is_conversation(data):
            return conversation_cases(data, path, name)
        if is_promptfoo(data):
            data = promptfoo_rows(data)
        return cases_of_rows(rows_of_list(data, name), path)
    if ending in _ROWS:
        return cases_of_rows(_ROWS[ending](path, name), path)
    raise InputError(f"{name}: unknown kind of case file; expected {', '.join(ENDINGS)} or a BEIR folder")


def shown_name(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        return str(path)


def _near_file(path: Path) -> str:
    from answerkey.errors import did_you_mean

    return did_you_mean(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else ""
