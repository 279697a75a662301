"""The commit of the repository that a suite lies in, read without running git."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_COMMIT = re.compile("[0-9a-f]{40,64}")
_MOST_FOLDERS = 20  # upwards from the suite


def source_commit(folder: Path) -> str | None:
    """The commit that is checked out where the suite lies; None outside a repository.

    Changes that are not committed are not seen: git would have to read every file.
    """
    # A damaged or unreadable repository must not keep a run from starting.
    with suppress(OSError, ValueError):
        for parent in [folder.resolve(), *folder.resolve().parents][:_MOST_FOLDERS]:
            if (parent / ".git").exists():
                return _head_commit(parent / ".git")
    return None


def _head_commit(git: Path) -> str | None:
    if git.is_file():  # a worktree or submodule: the file names the folder
        git = git.parent / git.read_text().removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return _parse_commit(head)
    name = head.removeprefix("ref:").strip()
    common = git
    if (git / "commondir").is_file():  # a worktree keeps its branches in the main repository
        common = git / (git / "commondir").read_text().strip()
    if (common / name).is_file():
        return _parse_commit((common / name).read_text().strip())
    # git packs its references into one file after a while; a branch then has no file of its own.
    for line in (common / "packed-refs").read_text().splitlines():
        commit, _, packed_name = line.partition(" ")
        if packed_name == name:
            return _parse_commit(commit)
    return None


def _parse_commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None
