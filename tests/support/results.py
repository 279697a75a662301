"""Finding the run folders that a test has made."""

from pathlib import Path


def latest_run(out: Path, name: str) -> Path | None:
    """The newest run folder of that name."""
    found = [path.parent for path in out.glob(f"{name}_*/run.json")]
    return max(found, key=lambda folder: (folder.name, folder.stat().st_mtime), default=None)
