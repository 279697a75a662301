"""Fetches a model from a hub into the hub's cache folder: resumes, and checks every file against its hash.

The hub's client downloads to a file of a new name each time, so that it starts again after an interruption; models are
large, therefore the download is done here, with the client's addresses, headers and folders.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from answerkey.errors import EndpointError, StorageError
from answerkey.local_models.hub import RemoteFile, RemoteModel, hub_address, import_hub
from answerkey.local_models.hub_cache import COMMIT, Snapshot, repository_folder

_CHUNK = 1 << 20  # bytes read at once for the hash
_TIMEOUT = 30.0  # seconds without a byte, not for the whole download
Progress = Callable[[int], object]  # is told how many more bytes are there


def fetch_model(model: RemoteModel, revision: str, progress: Progress) -> Snapshot:
    """Download the files that are missing and add the snapshot; an interrupted download is resumed."""
    root = repository_folder(model.name)
    folder = root / "snapshots" / model.commit
    try:
        for file in model.files:
            blob = root / "blobs" / (file.sha256 or file.git_hash or _name_hash(file.path))
            _fetch_file(model, file, blob, progress)
            _link(folder / file.path, blob)
        if not COMMIT.fullmatch(revision):
            reference = root / "refs" / revision
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(model.commit, "utf-8")
    except OSError as error:
        raise StorageError(
            f"cannot keep the model in {root}: {error}; set HF_HOME to another folder"
        ) from error
    return Snapshot(model.name, folder, model.commit)


def _name_hash(path: str) -> str:
    return hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()


def _fetch_file(model: RemoteModel, file: RemoteFile, blob: Path, progress: Progress) -> None:
    if blob.is_file() and blob.stat().st_size == file.size:
        progress(file.size)
        return
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{blob.name}.incomplete")
    start = part.stat().st_size if part.is_file() else 0
    # A part of another revision that was longer: its bytes are of no use.
    if start > file.size:
        part.unlink()
        start = 0
    progress(start)
    if start < file.size or not file.size:
        _download(model, file, part, start, progress)
    _check_hash(file, part)
    # Only a file that was checked gets the name that other tools look for.
    os.replace(part, blob)


def _download(
    model: RemoteModel, file: RemoteFile, part: Path, start: int, progress: Progress
) -> None:
    import httpx2

    hub = import_hub()
    address = hub.hf_hub_url(model.name, file.path, revision=model.commit, endpoint=hub_address())
    headers = dict(hub.utils.build_hf_headers())
    headers["accept-encoding"] = "identity"  # the sizes are those of the plain files
    if start:
        headers["range"] = f"bytes={start}-"
    try:
        # A redirect to another host loses the token: httpx drops the header.
        with httpx2.stream(
            "GET", address, headers=headers, timeout=_TIMEOUT, follow_redirects=True
        ) as reply:
            if reply.status_code >= 400:
                raise EndpointError(
                    f"{hub_address()} answered {reply.status_code} for {file.path}; try again later"
                )
            resumed = reply.status_code == 206
            if start and not resumed:
                progress(-start)  # the server sends the whole file again
            with part.open("ab" if resumed else "wb") as target:
                # As the bytes arrive: chunks of one size would be lost when the connection breaks.
                for chunk in reply.iter_raw():
                    target.write(chunk)
                    progress(len(chunk))
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise EndpointError(
            f"the download of {file.path} was interrupted ({reason}); run the same command again to resume"
        ) from error


def _check_hash(file: RemoteFile, part: Path) -> None:
    """Compare the content with the hash that the hub lists; a wrong file is deleted."""
    actual = part.stat().st_size
    if actual < file.size:
        raise EndpointError(
            f"the download of {file.path} ended at {actual:,} of {file.size:,} bytes; "
            "run the same command again to resume"
        )
    if file.sha256:
        content = hashlib.sha256()
    elif file.git_hash:
        content = hashlib.sha1(f"blob {actual}\0".encode(), usedforsecurity=False)
    else:
        return
    with part.open("rb") as source:
        while chunk := source.read(_CHUNK):
            content.update(chunk)
    if content.hexdigest() != (file.sha256 or file.git_hash):
        part.unlink()
        # Deleted, because a resumed download would only append to the wrong bytes.
        raise EndpointError(
            f"{file.path} does not have the hash that the hub lists; it was deleted, fetch it again"
        )


def _link(path: Path, blob: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    try:
        path.symlink_to(os.path.relpath(blob, path.parent))
    except OSError:  # Windows allows symbolic links only to some users
        os.link(blob, path)
