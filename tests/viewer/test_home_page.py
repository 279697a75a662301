"""The list of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.viewer_asking import ask

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules


def test_a_run_with_a_single_conversation_is_listed(cli: Any, tmp_path: Path) -> None:
    """One cluster gives a pass rate without an interval."""
    turns = [
        {"user": "Who?", "expected": "Jo", "answer": "Jo"},
        {"user": "When?", "expected": "1999", "answer": "1999"},
    ]
    (tmp_path / "c.json").write_text(json.dumps([{"id": "t", "conversation": turns}]))
    scored = cli("score", tmp_path / "c.json", "--profile", "rag", "--out", tmp_path / "runs")
    assert scored.code == 0, scored.err
    app = make_app(tmp_path / "runs", Rules())
    (run,) = ask(app, "/?format=json").json()["runs"]
    assert run["pass_rate"] is not None
    assert run["pass_rate_ci95"] is None
    page = ask(app, "/")
    assert page.status == 200
    assert "100 %" in page.text
    assert ask(app, f"/trend?suite={run['name']}").status == 200
