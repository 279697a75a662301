"""Models of a hub on this machine, in the folders of the hub's own client, so that other tools find them and we find theirs.

HF_HUB_CACHE/models--ORG--NAME/blobs/HASH, refs/main, snapshots/COMMIT/config.json
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from answerkey.errors import SettingsError

HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+|[\w.-]+")
COMMIT = re.compile(r"[0-9a-f]{40}")
# A branch or tag becomes the path of a file; "../x" must not.
_SAFE_REVISION = re.compile(r"(?!.*\.\.)[\w][\w./-]*")
_PREFIX = "models--"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One revision of a model on this machine; `commit` is empty for a plain folder."""

    name: str
    folder: Path
    commit: str = ""

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def hub_cache_folder() -> Path:
    """`$HF_HUB_CACHE`, `$HF_HOME/hub` or `~/.cache/huggingface/hub`; read anew on each call."""
    if own := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(own).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "huggingface" / "hub"


def repository_folder(name: str) -> Path:
    """The folder of a model: `org/name` in `models--org--name`."""
    return hub_cache_folder() / f"{_PREFIX}{name.replace('/', '--')}"


def check_names(name: str, revision: str) -> None:
    """Refuse a name or revision that would lead out of the cache folder."""
    if not HUB_NAME.fullmatch(name) or ".." in name:
        raise SettingsError(f'"{name}" is not the name of a model: expected "org/name"')
    if not _SAFE_REVISION.fullmatch(revision):
        raise SettingsError(f'"{revision}" is not a revision: expected a branch, tag or commit')


def find_snapshot(name: str, revision: str = "main") -> Snapshot | None:
    """The snapshot of a revision; None where it was not fetched."""
    check_names(name, revision)
    commit = revision
    if not COMMIT.fullmatch(revision):
        try:
            commit = (repository_folder(name) / "refs" / revision).read_text("utf-8").strip()
        except OSError:
            return None
        if not COMMIT.fullmatch(commit):
            return None
    folder = repository_folder(name) / "snapshots" / commit
    if folder.is_dir():
        return Snapshot(name, folder, commit)
    return None


def all_snapshots() -> Iterator[Snapshot]:
    """Every revision of every model in the cache folder, by name."""
    for repository in sorted(hub_cache_folder().glob(f"{_PREFIX}*")):
        name = repository.name.removeprefix(_PREFIX).replace("--", "/", 1)
        for folder in sorted((repository / "snapshots").glob("*")):
            if folder.is_dir() and COMMIT.fullmatch(folder.name):
                yield Snapshot(name, folder, folder.name)


def remove_model(name: str) -> int:
    """Delete every revision of a model; the bytes that this frees."""
    check_names(name, "main")
    folder = repository_folder(name)
    if not folder.is_dir():
        raise SettingsError(
            f'model "{name}" is not on this machine; `answerkey models list` shows which are'
        )
    freed = sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    shutil.rmtree(folder)
    return freed
