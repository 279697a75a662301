"""One loader, chosen by the file's ending, a folder or a glob; everything becomes `Case`."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from answerkey.cases.beir import is_beir, read_beir
from answerkey.cases.check import check_cases
from answerkey.cases.join import is_ground_truth, join_ground_truth
from answerkey.cases.markdown import read_qa_markdown
from answerkey.cases.shapes import cases_of_rows, cases_of_value
from answerkey.cases.traces.reader import holds_spans, read_trace_cases
from answerkey.cases.trec import is_qrels, read_trec_cases
from answerkey.coerce.decode import check_regular, read_yaml
from answerkey.coerce.json_rows import read_json_file
from answerkey.coerce.responses import response_of_row
from answerkey.coerce.tables import ROW_READERS, read_table_rows
from answerkey.errors import InputError, did_you_mean
from answerkey.retrieval.rankings import read_trec_run
from answerkey.retrieval.recorded_figures import read_figures
from answerkey.types import Case, Response

_RUN_ENDINGS = (".run", ".trec", ".txt")
ENDINGS = (*ROW_READERS, ".md", ".markdown", ".yaml", ".yml", ".qrels", ".trec")
DOCUMENT_ENDINGS = (".txt", ".pdf", ".rst", ".html")
_SPREADSHEET_ENDINGS = (".xlsx", ".xls", ".ods")
AUDIT_FILE = "audit.jsonl"  # accepted findings, which `answerkey audit` keeps beside the cases
_NO_CASES = frozenset({AUDIT_FILE, "audit.json"})


def read_cases(patterns: Sequence[str | Path], folder: Path | None = None) -> Iterator[Case]:
    """Stream the cases of files, folders and globs, in order, and check them.

    >>> [case.id for case in read_cases(["qa.md"])]  # doctest: +SKIP
    ['qa#Q1', 'qa#Q2']
    """
    base = folder or Path()
    files = {relative_name(path, base): path for path in case_files(patterns, base)}
    truth: dict[str, Path] = {}
    if len(files) > 1:
        truth = {name: path for name, path in files.items() if is_ground_truth(path, name)}
    if len(truth) == len(files):  # no file has a question: the first of them says so
        truth = {}
    cases = (
        case for name, path in files.items() if name not in truth for case in read_file(path, name)
    )
    if truth:
        cases = join_ground_truth(cases, dict(sorted(truth.items())))
    where = " ".join(str(pattern) for pattern in patterns)
    return check_cases(cases, where, lambda name, number: _describe_place(files, name, number))


def read_responses(path: Path) -> Iterator[tuple[str, Response]]:
    """Recorded answers of a file of their own, each with the id of its case."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of recorded answers")
    if path.suffix.lower() in _RUN_ENDINGS:
        for query, ranking in read_trec_run(path).items():
            yield query, Response(retrieved=tuple(ranking))
        return
    for row, place in read_table_rows(path, path.name, (*ROW_READERS, *_RUN_ENDINGS)):
        case_id = str(row.get("id") or "").strip()
        if not case_id:
            fix = "recorded answers are joined to cases by id"
            raise place.error("id", row.get("id"), "the id of a case", fix)
        yield case_id, response_of_row(row, place)


def case_files(patterns: Iterable[str | Path], base: Path) -> list[Path]:
    """The files of patterns, each once, in the order given; within a glob or folder by name."""
    files: dict[Path, None] = {}
    for pattern in patterns:
        files.update(dict.fromkeys(_files_of_pattern(pattern, base)))
    return list(files)


def _files_of_pattern(pattern: str | Path, base: Path) -> list[Path]:
    path = base / pattern
    try:
        is_folder = path.is_dir()
        exists = path.exists()
    except OSError as error:  # a name that is too long for the file system
        raise InputError(f"{str(pattern)[:60]}…: {error.strerror or error}") from None
    if is_folder:
        return _files_of_folder(path, pattern)
    if exists:
        check_regular(path)
        return [path]
    names = sorted(glob.glob(str(path), recursive=True))
    matches = [Path(name) for name in names if Path(name).name not in _NO_CASES]
    if not matches:
        if path.parent.is_dir():
            neighbours = [near.name for near in path.parent.iterdir()]
        else:
            neighbours = []
        hint = did_you_mean(path.name, neighbours)
        raise InputError(f"{pattern}: no such file, folder or glob{hint}")
    return matches


def _files_of_folder(folder: Path, pattern: str | Path) -> list[Path]:
    # Its corpus would otherwise be read as a file of cases.
    if is_beir(folder):
        return [folder]
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in ENDINGS and path.name not in _NO_CASES
    )
    if not files:
        raise InputError(f"{pattern}: no case file in this folder; expected {', '.join(ENDINGS)}")
    return files


def read_file(path: Path, name: str) -> Iterator[Case]:
    """The cases of one file, unchecked; `name` is its name in messages."""
    ending = path.suffix.lower()
    if path.is_dir():
        return read_beir(path, name)
    check_regular(path)
    # Before the readers, which would name a column that is missing.
    if path.stat().st_size == 0:
        raise InputError(f"{name}: the file is empty; expected at least one case")
    if ending in {".md", ".markdown"}:
        return read_qa_markdown(path, name)
    if is_qrels(path):
        return read_trec_cases(path, name)
    # Before JSON and tables: spans are JSON as well, and rows of Phoenix are a table.
    if holds_spans(path, name):
        return read_trace_cases(path, name)
    if ending == ".json":
        return cases_of_value(read_json_file(path, name), path, name)
    if ending in {".yaml", ".yml"}:
        return cases_of_value(read_yaml(path), path, name)
    if ending == ".csv":
        _refuse_figures(path, name)
    if ending in ROW_READERS:
        return cases_of_rows(ROW_READERS[ending](path, name), path)
    raise InputError(f"{name}: {_describe_other_file(path, name)}")


def _refuse_figures(path: Path, name: str) -> None:
    """A table of figures of an earlier experiment has no question; `rank` shows it."""
    figures = read_figures(path, most=20)
    if figures:
        names = ", ".join(list(figures)[:3])
        raise InputError(
            f"{name}: figures of {len(figures)} configurations ({names}, …), not cases: it has no "
            f'question column; to show them: answerkey rank --run "{path}"'
        )


def _describe_other_file(path: Path, name: str) -> str:
    """The message about a file that holds no cases."""
    ending = path.suffix.lower()
    if ending in _SPREADSHEET_ENDINGS:
        source = repr(str(path))
        table = repr(str(path.with_suffix(".csv")))
        code = f"import pandas; pandas.read_excel({source}).to_csv({table}, index=False)"
        return f'a spreadsheet; save it as CSV, or run: python -c "{code}"'
    if ending in DOCUMENT_ENDINGS:
        command = f'answerkey run "{path}" --dataset cases.csv'
        suite = f'[target] with kind = "rag" and documents = "{name}"'
        question = "a document, not cases; to ask the built-in document bot"
        return f"{question}: {command}; in a suite: {suite}"
    return f"unknown kind of case file; expected {', '.join(ENDINGS)} or a BEIR folder"


def relative_name(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        return str(path)


def _describe_place(files: Mapping[str, Path], name: str | None, number: int) -> str:
    """The place of the nth case of a file, as other errors name it: its rows are read once more."""
    path = files.get(name or "")
    if path is None:
        return f"{name}, case {number}"
    ending = path.suffix.lower()
    if ending == ".json":
        return f"{name}, item {number}"
    reader = ROW_READERS.get(ending)
    if reader:
        row = next(islice(reader(path, name or ""), number - 1, None), None)
    else:
        row = None
    if row is None:
        return f"{name}, case {number}"
    return str(row[1])
