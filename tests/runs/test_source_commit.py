"""The commit of the repository around a suite."""

from __future__ import annotations

from pathlib import Path

from answerkey.runs.source_commit import source_commit

_COMMIT = "0123456789" * 4


def _repository(folder: Path, head: str) -> Path:
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    inner = folder / "bot" / "suites"
    inner.mkdir(parents=True)
    return inner


def test_branch_detached_and_packed(tmp_path: Path) -> None:
    inner = _repository(tmp_path / "a", "ref: refs/heads/main\n")
    assert source_commit(inner) is None  # no commit yet
    (tmp_path / "a" / ".git" / "packed-refs").write_text(f"# pack\n{_COMMIT} refs/heads/main\n")
    assert source_commit(inner) == _COMMIT
    (tmp_path / "a" / ".git" / "refs" / "heads" / "main").write_text("f" * 40 + "\n")
    assert source_commit(inner) == "f" * 40
    assert source_commit(_repository(tmp_path / "b", f"{_COMMIT}\n")) == _COMMIT


def test_a_worktree_names_its_repository(tmp_path: Path) -> None:
    _repository(tmp_path / "main", "ref: refs/heads/main\n")
    git = tmp_path / "main" / ".git"
    (git / "refs" / "heads" / "other").write_text(_COMMIT)
    (git / "worktrees" / "w").mkdir(parents=True)
    (git / "worktrees" / "w" / "HEAD").write_text("ref: refs/heads/other")
    (git / "worktrees" / "w" / "commondir").write_text("../..")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {git / 'worktrees' / 'w'}\n")
    assert source_commit(tmp_path / "w") == _COMMIT


def test_no_repository_and_a_damaged_one(tmp_path: Path) -> None:
    inner = _repository(tmp_path / "a", "ref: refs/heads/main")
    (tmp_path / "a" / ".git" / "refs" / "heads" / "main").write_bytes(b"\xff\xfe half")
    assert source_commit(inner) is None
