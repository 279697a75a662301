"""Images and other files that belong to a question: found in a case, sent in each target's form."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping
from pathlib import Path

from answerkey.coerce.values import Place, is_list, is_mapping, parse_literal
from answerkey.targets.respond import FailedExchange, infrastructure_error

# Columns of a case with one file, or a list of them.
FILE_COLUMNS = ("image", "images", "image_path", "image_url", "file", "files", "attachments")
_ADDRESSES = ("http://", "https://", "data:")
_PARTS = ("url", "path", "image_url", "file")  # keys of a file that is an object
_LARGEST = 20_000_000  # bytes; endpoints refuse larger images
_UNKNOWN_TYPE = "application/octet-stream"


def read_files(columns: Mapping[str, object]) -> tuple[str, ...]:
    """The paths and addresses in the file columns of a case, in their order, none twice."""
    files: dict[str, None] = {}
    for column in FILE_COLUMNS:
        for file in _files_in(columns.get(column), column):
            files[file] = None
    return tuple(files)


def _files_in(value: object, column: str) -> list[str]:
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        value = parse_literal(value, column, Place("a case", live=True))
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    if is_mapping(value):
        part = next((value[name] for name in _PARTS if name in value), None)
        return _files_in(part, column)
    if is_list(value):
        return [file for item in value for file in _files_in(item, column)]
    return []


def resolve_file(file: str, folder: Path) -> str:
    """A path beside the suite as an absolute path; addresses and other paths stay."""
    if file.startswith(_ADDRESSES):
        return file
    path = folder / file
    if path.is_file():
        return str(path.resolve())
    return file


def data_url(file: str) -> str:
    """A file with its content, as `data:image/png;base64,…`; an address stays an address."""
    if file.startswith(_ADDRESSES):
        return file
    try:
        if Path(file).stat().st_size > _LARGEST:
            detail = f"{file}: larger than {_LARGEST // 1_000_000} MB"
            raise FailedExchange(infrastructure_error("the file is too large", detail))
        content = Path(file).read_bytes()
    except OSError as error:
        detail = f"{file}: {error.strerror or error}"
        raise FailedExchange(infrastructure_error("the file cannot be read", detail)) from None
    return f"data:{_media_type(file)};base64,{base64.b64encode(content).decode()}"


def chat_part(file: str) -> dict[str, object]:
    """A file as a part of a chat message of OpenAI's interface."""
    address = data_url(file)
    is_image = _media_type(file).startswith("image/") or address.startswith("data:image/")
    if is_image or file.startswith(_ADDRESSES):
        return {"type": "image_url", "image_url": {"url": address}}
    return {"type": "file", "file": {"filename": Path(file).name, "file_data": address}}


def gradio_file(file: str) -> dict[str, object]:
    """A file as Gradio's components take it."""
    return {"url": data_url(file), "meta": {"_type": "gradio.FileData"}}


def _media_type(file: str) -> str:
    return mimetypes.guess_type(file.partition("?")[0])[0] or _UNKNOWN_TYPE
