"""A note and tags of a run, written in the viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules
from answerkey.viewer.run_notes import NOTE_FILE, RunNote, read_note

_ORIGIN = "http://127.0.0.1:8765"


@pytest.fixture
def app(tmp_path: Path) -> Any:
    make_run(
        tmp_path / "run",
        map(plain, range(3)),
        "run",
        reports=None,
        commit="a" * 40,
        started_by="ana",
    )
    return make_app(tmp_path, Rules())


def _post(app: Any, note: str, tags: str, origin: str = _ORIGIN) -> int:
    body = urlencode({"note": note, "tags": tags}).encode()
    return ask(app, "/run/run/note", method="POST", body=body, origin=origin).status


def test_note_and_tags_are_on_both_pages(app: Any, tmp_path: Path) -> None:
    assert _post(app, "before the <b>new</b> prompt", "release, release, staging") == 303
    expected = RunNote("before the <b>new</b> prompt", ("release", "staging"))
    assert read_note(tmp_path / "run") == expected
    for address in ("/", "/run/run"):
        page = ask(app, address).text
        assert "before the &lt;b&gt;new" in page
        assert '<span class="tag">staging</span>' in page
    (run,) = ask(app, "/?format=json").json()["runs"]
    assert (run["note"], run["tags"]) == (expected.note, ["release", "staging"])


def test_commit_and_person_are_shown(app: Any) -> None:
    page = ask(app, "/").text
    assert "commit aaaaaaaa" in page
    assert ", by ana<" in page
    assert ask(app, "/run/run?tab=about&format=json").json()["setup"]["started by"] == "ana"
    assert ask(app, "/run/run?tab=about&format=json").json()["setup"]["commit"] == "a" * 12


def test_an_empty_note_removes_the_file(app: Any, tmp_path: Path) -> None:
    _post(app, "x", "")
    assert _post(app, " ", ",") == 303
    assert not (tmp_path / "run" / NOTE_FILE).exists()


def test_foreign_forms_and_too_many_tags_are_refused(app: Any, tmp_path: Path) -> None:
    assert _post(app, "x", "", origin="http://evil.invalid") == 403
    assert _post(app, "x", ",".join(map(str, range(11)))) == 404
    assert _post(app, "x" * 2001, "") == 404
    assert not (tmp_path / "run" / NOTE_FILE).exists()
    (tmp_path / "run" / NOTE_FILE).write_text("[1")
    assert read_note(tmp_path / "run") == RunNote()
