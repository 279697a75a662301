"""All reports of a run at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.viewer_world import make_run, plain


def test_a_run_killed_before_its_first_part_has_a_report(cli: Any, tmp_path: Path) -> None:
    """A run on a cluster is made of parts; one that was killed early has none."""
    run = make_run(tmp_path / "run", map(plain, range(3)), "run", reports=None)
    (run / "run.sqlite").unlink()
    (run / "parts").mkdir()
    written = cli("report", run)
    assert written.code == 3
    assert written.err == "INCOMPLETE: damaged: 0 of 3 cases are stored\n"
    assert "run: 0 cases" in (run / "report.txt").read_text(encoding="utf-8")
