"""Files to download."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules


@pytest.mark.parametrize("name", ["summary.json", "results.jsonl", "report.html", "junit.xml"])
def test_a_download_promises_nothing_of_its_content(name: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "bot_1", map(plain, range(3)), "bot")
    (run / name).write_bytes(b"{}{}")
    reply = ask(make_app(tmp_path, Rules()), f"/run/bot_1/file/{name}")
    assert reply.body == b"{}{}"
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith("attachment")
