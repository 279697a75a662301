"""Files to download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def test_work_after_a_page_adds_nothing_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Any) -> None:
        raise ValueError("a damaged journal")

    make_run(tmp_path / "bot_1", map(plain, range(3)), "bot", reports=None)
    monkeypatch.setattr("answerkey.viewer.run_page.write_search_text", fail)
    reply = ask(make_app(tmp_path, Rules()), "/run/bot_1?format=json")
    assert reply.status == 200
    assert len(reply.json()["cases"]) == 3
