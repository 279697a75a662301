"""Whom the viewer answers, and whose labels it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.viewer_asking import ask
from tests.support.viewer_world import HOSTILE, make_run

from answerkey.cli.view import view_command as command
from answerkey.errors import SettingsError
from answerkey.types import Case, Outcome, Response, Score, Verdict
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules
from answerkey.viewer.server import viewer_address

pytestmark = pytest.mark.xdist_group("browser")  # one worker makes the world once


@pytest.mark.parametrize(
    "host",
    ["evil.invalid", "evil.invalid:8765", "127.0.0.1.evil.invalid", "", "localhost.evil.invalid"],
)
def test_foreign_host_names_are_refused(host: str, app: Any) -> None:
    assert ask(app, "/", host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "localhost:8765", "[::1]:8765"])
def test_this_machine_is_known(host: str, app: Any) -> None:
    assert ask(app, "/", host=host).status == 200


def test_beyond_loopback_only_with_a_token() -> None:
    with pytest.raises(SettingsError, match="set a token"):
        Rules("0.0.0.0")
    with pytest.raises(SettingsError, match="at least 16"):
        Rules("0.0.0.0", "short")
    ran = CliRunner().invoke(command, ["--host", "0.0.0.0"])
    assert isinstance(ran.exception, SettingsError)
    rules = Rules("0.0.0.0", "a-token-of-some-length")
    assert viewer_address(rules, 80) == "http://127.0.0.1:80/?token=a-token-of-some-length"
    assert rules.knows("192.168.0.7:80")
    assert not rules.knows("evil.invalid")


def test_token_opens_and_leaves_the_address(viewed: Path) -> None:
    token = "a-token-of-some-length"
    app = make_app(viewed, Rules("127.0.0.1", token))
    for wrong in ("/", "/?token=x", "/run/bot_1?format=json", "/static/viewer.js", "/page.css"):
        assert ask(app, wrong).status == 401
    opened = ask(app, f"/run/bot_1?token={token}&sort=id")
    assert (opened.status, opened.headers["location"]) == (303, "/run/bot_1?sort=id")
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ask(app, "/", cookie=cookie.partition(";")[0]).status == 200


@pytest.mark.parametrize("origin", ["", "null", "http://evil.invalid", "http://127.0.0.1:1"])
def test_label_from_elsewhere_is_refused(origin: str, app: Any, viewed: Path) -> None:
    given = {"origin": origin} if origin else {}
    assert (
        ask(app, "/run/hostile_1/case/1/label", method="POST", body=b"label=right", **given).status
        == 403
    )
    assert not (viewed / "hostile_1" / "labels.jsonl").exists()


def test_label_of_hostile_ids(tmp_path: Path) -> None:
    """The id comes back whole, whatever it holds; a wrong label or a long note is not kept."""
    outcomes = [
        Outcome(Case(text, "q"), Response("a"), {"m": Score(1.0)}, Verdict("SCORED"))
        for text in HOSTILE
    ]
    folder = make_run(tmp_path / "results" / "odd", outcomes, "odd", reports=False)
    app = make_app(tmp_path / "results", Rules())

    def label(n: int, body: bytes) -> int:
        return ask(
            app,
            f"/run/odd/case/{n}/label",
            method="POST",
            body=body,
            origin="http://127.0.0.1:8765",
        ).status

    for n in range(len(HOSTILE)):
        assert label(n, b"label=wrong&note=%0Atwo%0Alines%E2%80%A8") == 303
    lines = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == list(HOSTILE)
    assert {line["label"] for line in lines} == {0}
    assert label(0, b"label=maybe") == 404
    assert label(0, b"label=right&note=" + b"x" * 6000) == 404
    assert label(0, b"label=right&note=" + b"x" * 200_000) == 404
    assert len((folder / "labels.jsonl").read_text().splitlines()) == len(HOSTILE)
