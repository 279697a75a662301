"""One loader, chosen by the file's ending, a folder or a glob; everything becomes `Case`. With BEIR folders and TREC files."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path

from answerkey.cases.qa_markdown import read_qa_markdown
from answerkey.cases.shapes import CONVERSATIONS, cases_of_rows, cases_of_value
from answerkey.coerce.decode import parse_json, read_lines, read_yaml, warn_once
from answerkey.coerce.rows import case_of_row, response_of_row
from answerkey.coerce.tables import ROW_READERS, Row, read_json_file, read_table_rows
from answerkey.coerce.values import as_text, table_of
from answerkey.errors import InputError, did_you_mean
from answerkey.retrieval.rankings import read_figures, read_qrels, read_trec_run
from answerkey.types import Case, Response

_RUN_ENDINGS = (".run", ".trec", ".txt")
ENDINGS = (*ROW_READERS, ".md", ".markdown", ".yaml", ".yml", ".qrels", ".trec")
PlaceOf = Callable[[str | None, int], str]  # where the nth case of a file stands
DOCUMENT_ENDINGS = (".txt", ".pdf", ".rst", ".html")


def read_cases(patterns: Sequence[str | Path], folder: Path | None = None) -> Iterator[Case]:
    """The cases of files, folders and globs, in order, checked as they stream: ids are unique, none is missing.

    >>> [case.id for case in read_cases(["qa.md"])]  # doctest: +SKIP
    ['qa#Q1', 'qa#Q2']
    """
    base = folder or Path()
    files = case_files(patterns, base)
    named = {relative_name(path, base): path for path in files}
    where = " ".join(str(pattern) for pattern in patterns)
    truth = {
        name for name, path in named.items() if len(files) > 1 and _has_no_questions(path, name)
    }
    cases = (
        case for name, path in named.items() if name not in truth for case in read_file(path, name)
    )
    if truth and len(truth) < len(named):
        cases = _joined(cases, {name: named[name] for name in sorted(truth)})
    return check_cases(cases, where, lambda name, number: _place(named, name, number))


def _has_no_questions(path: Path, name: str) -> bool:
    """Whether a file holds only what is known about cases of another: rows with an id and no question."""
    if path.suffix.lower() not in ROW_READERS or not path.is_file():
        return False
    first = next(ROW_READERS[path.suffix.lower()](path, name), None)
    return (
        first is not None
        and "id" in first[0]
        and not any(first[0].get(key) for key in ("question", *CONVERSATIONS))
    )


def _joined(cases: Iterable[Case], truth: Mapping[str, Path]) -> Iterator[Case]:
    """The cases, each with what the other files say of it, by id; what a case says itself stays."""
    known: dict[str, Row] = {}
    for name, path in truth.items():
        for row, place in ROW_READERS[path.suffix.lower()](path, name):
            known[as_text(row.get("id"), "id", place)] = ({**row, "question": "-"}, place)
    for case in cases:
        if (found := known.pop(case.id, None)) is None:
            yield case
            continue
        other, empty, own = (
            case_of_row(*found, case.id),
            Case("", ""),
            ("id", "question", "source_file", "extra"),
        )
        lacking = [
            each.name
            for each in fields(Case)
            if getattr(case, each.name) == getattr(empty, each.name)
        ]
        added = {name: getattr(other, name) for name in lacking if name not in own}
        yield replace(case, **added, extra={**other.extra, **case.extra})
    if known:
        row, place = next(iter(known.values()))
        raise InputError(
            f'{place}, column "id": {len(known)} ids have no case with a question, such as "{row["id"]}"; '
            "correct the ids, or add a question column"
        )


def read_responses(path: Path) -> Iterator[tuple[str, Response]]:
    """Recorded answers of a file of their own, each with the id of its case."""
    if not path.is_file():
        raise InputError(f"{path}: no such file of recorded answers")
    if path.suffix.lower() in _RUN_ENDINGS:
        for query, ranking in read_trec_run(path).items():
            yield query, Response(retrieved=tuple(ranking))
        return
    for row, place in read_table_rows(path, path.name, (*ROW_READERS, *_RUN_ENDINGS)):
        key = str(row.get("id") or "").strip()
        if not key:
            raise place.error(
                "id",
                row.get("id"),
                "the id of a case",
                "recorded answers are joined to cases by id",
            )
        yield key, response_of_row(row, place)


def case_files(patterns: Iterable[str | Path], base: Path) -> list[Path]:
    """The files meant, each once, in the order given; within a glob or folder by name."""
    files: dict[Path, None] = {}
    for pattern in patterns:
        path = base / pattern
        if path.is_dir():
            found = (
                [path]
                if is_beir(path)
                else sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS)
            )
            if not found:
                raise InputError(
                    f"{pattern}: no case file in this folder; expected {', '.join(ENDINGS)}"
                )
        elif path.is_file():
            found = [path]
        else:
            found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            if not found:
                names = (
                    [near.name for near in path.parent.iterdir()] if path.parent.is_dir() else []
                )
                raise InputError(
                    f"{pattern}: no such file, folder or glob{did_you_mean(path.name, names)}"
                )
        files.update(dict.fromkeys(found))
    return list(files)


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
    if ending == ".json":
        return cases_of_value(read_json_file(path, name), path, name)
    if ending in {".yaml", ".yml"}:
        return cases_of_value(read_yaml(path), path, name)
    if ending == ".csv" and (figures := read_figures(path, most=20)):
        raise InputError(
            f"{name}: figures of {len(figures)} configurations ({', '.join(list(figures)[:3])}, …), not cases: it has no "
            f'question column; to show them: answerkey rank --run "{path}"'
        )
    if ending in ROW_READERS:
        return cases_of_rows(ROW_READERS[ending](path, name), path)
    if ending in {".xlsx", ".xls", ".ods"}:
        raise InputError(
            f"{name}: a spreadsheet; save it as CSV, or run: "
            f'python -c "import pandas; pandas.read_excel({str(path)!r}).to_csv({str(path.with_suffix(".csv"))!r}, index=False)"'
        )
    if ending in DOCUMENT_ENDINGS:
        raise InputError(
            f'{name}: a document, not cases; to ask the built-in document bot: answerkey run "{path}" --dataset '
            f'cases.csv; in a suite: [target] with kind = "rag" and documents = "{name}"'
        )
    raise InputError(
        f"{name}: unknown kind of case file; expected {', '.join(ENDINGS)} or a BEIR folder"
    )


def relative_name(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        return str(path)


def check_cases(
    cases: Iterable[Case], where: str, place_of: PlaceOf = "{}, case {}".format
) -> Iterator[Case]:
    """The same cases; a second use of an id stops with its place."""
    seen: set[int] = set()  # hashes of ids: a tenth of the memory of the texts
    asked: set[int] = set()
    repeated: list[str] = []
    file, number = None, 0
    for case in cases:
        file, number = case.source_file, number + 1 if case.source_file == file else 1
        key = hash(case.id)
        if key in seen:
            raise InputError(
                f'{place_of(file, number)}, column "id": the id "{case.id}" is used twice; give each case an id of its own '
                "(ids of Q&A files come from the file's name and the question's number)"
            )
        seen.add(key)
        question = hash((case.question, case.history, case.extra.get("config_name")))
        if question in asked:
            repeated.append(case.id)
        asked.add(question)
        yield case
    if not seen:
        raise InputError(f"{where}: no case found; expected at least one question")
    if repeated:
        ids = ", ".join(repeated[:5]) + (", …" if len(repeated) > 5 else "")
        fix = "remove them, or keep them to weigh it more"
        warn_once(
            f"{where}: {len(repeated)} cases repeat a question of an earlier case ({ids}); {fix}"
        )


def _place(files: Mapping[str, Path], name: str | None, number: int) -> str:
    """Where the nth case of a file stands, in the words of every other error: the rows are read once more for it."""
    path = files.get(name or "")
    ending = path.suffix.lower() if path else ""
    reader = ROW_READERS.get(ending) if ending != ".json" else None
    row = (
        next(islice(reader(path, name or ""), number - 1, None), None) if path and reader else None
    )
    return str(row[1]) if row else f"{name}, {'item' if ending == '.json' else 'case'} {number}"


def is_beir(folder: Path) -> bool:
    return (folder / "queries.jsonl").is_file() and (folder / "qrels").is_dir()


def read_beir(folder: Path, name: str) -> Iterator[Case]:
    """A case for each query that has labels, its type the split in the name of the qrels file; the others are counted."""
    labels: dict[str, tuple[dict[str, float], str]] = {}
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise InputError(
            f"{name}/qrels: no .tsv file; a BEIR folder holds qrels/test.tsv or the like"
        )
    for file in files:
        for query, grades in read_qrels(file).items():
            labels.setdefault(query, ({}, file.stem))[0].update(grades)
    left_out = number_of_queries = 0
    for number, line in read_lines(folder / "queries.jsonl"):
        number_of_queries += 1
        place = f"{name}/queries.jsonl, line {number}"
        row = table_of(parse_json(line, place, in_line=True))
        if "_id" not in row or "text" not in row:
            raise InputError(f'{place}: expected {{"_id": …, "text": …}}')
        key, text = str(row["_id"]), str(row["text"])
        if key not in labels:
            left_out += 1
            continue
        relevant, split = labels[key]
        yield Case(
            id=key,
            question=text,
            relevant=relevant,
            source_file=f"{name}/queries.jsonl",
            tags=(split,),
        )
    if left_out:
        found = f"{left_out} of {number_of_queries} queries have no label in qrels and are left out"
        warn_once(f"{folder.name}/queries.jsonl: {found}", folder.resolve())


def read_trec_cases(path: Path, name: str) -> Iterator[Case]:
    """A case for each query of a qrels file; its text from `queries.tsv` beside it, else its id."""
    texts: dict[str, str] = {}
    for beside in (path.with_name("queries.tsv"), path.with_name("topics.tsv")):
        if beside.is_file():
            for _, line in read_lines(beside):
                key, _, text = line.partition("\t")
                texts[key.strip()] = text.strip()
    for query, relevant in read_qrels(path).items():
        yield Case(
            id=query, question=texts.get(query) or query, relevant=relevant, source_file=name
        )
