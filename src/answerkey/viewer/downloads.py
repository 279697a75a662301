"""Files to download: the reports of a run or sweep, and the filtered cases as CSV or JSON lines."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from answerkey.errors import InputError
from answerkey.files import json_line
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.result_columns import ResultColumns
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.records import result_line
from answerkey.runs.store import open_reader
from answerkey.types import Outcome
from answerkey.viewer.case_query import read_query, select_positions
from answerkey.viewer.corrections import apply_correction, read_corrections
from answerkey.viewer.library import RunLibrary, requested_run

RUN_FILES = (
    "results.jsonl",
    "results.csv",
    "summary.json",
    "report.txt",
    "report.md",
    "report.html",
    "failures.txt",
    "junit.xml",
)
_MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "corrected": "application/x-ndjson",
}
_FILE_NAMES = {"csv": "cases.csv", "jsonl": "cases.jsonl", "corrected": "corrected.jsonl"}
_BLOCK = 1 << 16


def export_cases(request: Request) -> Response:
    """The cases of the present filter, in its order, as in results.csv or results.jsonl.

    `corrected` is results.jsonl with the expected answers that readers corrected: a file for
    `answerkey score`, or for `cases` of a suite.
    """
    _, folder = requested_run(request)
    kind = request.path_params["kind"]
    if kind not in _MEDIA_TYPES:
        raise InputError(f'no export "{kind}": csv, jsonl and corrected are available')
    query = read_query(request.query_params)
    outcomes = open_reader(folder).at(select_positions(folder, query))
    if kind == "corrected":
        corrections = read_corrections(folder)
        outcomes = (apply_correction(outcome, corrections) for outcome in outcomes)
    with ExitStack() as opened:
        # All of it is written before the reply begins: a damaged case is an error page, not half
        # a file.
        file = opened.enter_context(TemporaryFile())
        if kind == "csv":
            columns = ResultColumns.of_manifest(stored_manifest(folder))
            _write_csv(file, outcomes, columns)
        else:
            file.writelines(json_line(result_line(outcome)) + b"\n" for outcome in outcomes)
        opened.pop_all()  # it is closed when it is sent
    headers = {"Content-Disposition": f'attachment; filename="{_FILE_NAMES[kind]}"'}
    return StreamingResponse(_read_blocks(file), media_type=_MEDIA_TYPES[kind], headers=headers)


def _write_csv(file: IO[bytes], outcomes: Iterable[Outcome], columns: ResultColumns) -> None:
    text = io.TextIOWrapper(file, "utf-8", "replace", newline="")
    table = ResultsCsv(text, columns)
    for outcome in outcomes:
        table.add(outcome)
    text.detach()  # flushes, and leaves the file open


def _read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while block := file.read(_BLOCK):
            yield block


def run_file(request: Request) -> Response:
    """A report of the run as a download, or a chart. No other file of the folder is served."""
    _, folder = requested_run(request)
    return _send_file(folder, request.path_params["name"])


def sweep_file(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    return _send_file(library.sweep(request.path_params["sweep"]), request.path_params["name"])


def _send_file(folder: Path, name: str) -> Response:
    path = None
    # Only the last part of the name is used, so that no address leaves the folder.
    if name in RUN_FILES or name.endswith(".csv"):
        path = folder / Path(name).name
    elif name.startswith("plots/") and name.endswith(".png"):
        path = folder / "plots" / Path(name).name
    if path is None or not path.is_file():
        raise InputError(f'no file "{name}" here')
    if path.suffix == ".png":
        return FileResponse(path)
    # The file may be damaged, so the reply does not promise that it is JSON, XML or a page.
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")
