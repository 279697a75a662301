"""The files that `generate` writes: cases, passages without their titles, and a suite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from answerkey.errors import SettingsError
from answerkey.files import json_line, write_file
from answerkey.testsets.generate.made_cases import MadeCase
from answerkey.testsets.generate.source_passages import SourcePassage

_SUITE = """# Made by `answerkey generate`: does retrieval find the passage that each question is about?
name = "generated"
cases = [{cases}]
profile = "retrieval"

[target]
kind = "rag"
documents = {documents}   # the passages without the titles that serve as questions
k = 5

[retrieval]
documents = {documents}
"""


def passages_file(out: Path) -> Path:
    """`cases.passages.jsonl` beside `cases.jsonl`."""
    return out.with_name(f"{out.stem}.passages.jsonl")


def check_case_file(out: Path) -> None:
    """Raise where the cases could not be written to this file, or would replace another one."""
    if out.suffix.lower() not in (".jsonl", ".ndjson"):
        raise SettingsError(
            f"{out}: cases are written as JSON lines; give a name that ends in .jsonl"
        )
    if not out.parent.is_dir():
        raise SettingsError(f"{out}: there is no folder {out.parent}; create it first")
    for file in (out, passages_file(out)):
        # It may be a test set that took days to write.
        if file.exists():
            raise SettingsError(f"{file} exists; give another name, or delete it first")


def write_made_cases(
    out: Path, cases: Sequence[MadeCase], passages: Sequence[SourcePassage]
) -> None:
    """Write the cases, and beside them the passages that they search."""
    rows = [json_line(case.as_row()) for case in cases]
    write_file(out, b"".join(row + b"\n" for row in rows))
    records = [json_line({"id": one.id, "text": one.text, "doc": one.document}) for one in passages]
    write_file(passages_file(out), b"".join(record + b"\n" for record in records))


def write_suite(path: Path, out: Path) -> None:
    """A suite that runs at once: the built-in retriever over the passages."""
    folder = path.resolve().parent
    names = [_relative(file, folder) for file in (out, passages_file(out))]
    # As JSON: a name may hold quotes, and JSON strings are valid TOML.
    write_file(path, _SUITE.format(cases=json.dumps(names[0]), documents=json.dumps(names[1])))


def _relative(file: Path, folder: Path) -> str:
    full = file.resolve()
    # Relative where possible, so that the folder can be moved.
    if full.is_relative_to(folder):
        return full.relative_to(folder).as_posix()
    return full.as_posix()
