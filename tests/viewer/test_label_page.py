"""The label desk: who labels, and forms that never arrive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_ORIGIN = "http://127.0.0.1:8765"


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    make_run(tmp_path / "bot_1", map(plain, range(3)), "bot", reports=None)
    return make_app(tmp_path, Rules())


def test_an_address_does_not_set_the_name(desk: Any) -> None:
    reply = ask(desk, "/label/bot_1?as=mallory")
    assert reply.status == 200
    assert "set-cookie" not in reply.headers
    by_address = ask(desk, "/label/bot_1/name?name=mallory")
    assert by_address.status == 404
    assert "set-cookie" not in by_address.headers


def test_the_form_of_the_page_sets_the_name(desk: Any) -> None:
    foreign = ask(desk, "/label/bot_1/name", method="POST", body=b"name=x", origin="http://evil")
    assert foreign.status == 403
    reply = ask(desk, "/label/bot_1/name", method="POST", body=b"name=ana+b", origin=_ORIGIN)
    assert (reply.status, reply.headers["location"]) == (303, "/label/bot_1")
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("answerkey_name=ana%20b;")
    page = ask(desk, "/label/bot_1?format=json", cookie=cookie.partition(";")[0])
    assert page.json()["by"] == "ana b"


def test_a_form_that_breaks_off_is_dropped(desk: Any, tmp_path: Path) -> None:
    """The browser goes away in the middle of its form: no traceback, and no label."""
    messages = iter(
        [
            {"type": "http.request", "body": b"label=wr", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    path = "/run/bot_1/case/1/label"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8765"), (b"origin", _ORIGIN.encode())],
    }

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        pass

    async def post() -> None:
        await desk(scope, receive, send)

    anyio.run(post)  # an error would be raised here, and printed by the server
    assert not (tmp_path / "bot_1" / "labels.jsonl").exists()


def test_the_corrected_rate_follows_each_label(desk: Any) -> None:
    assert ask(desk, "/label/bot_1?format=json").json()["corrected"] is None
    for n in range(3):
        address = f"/run/bot_1/case/{n}/label"
        assert ask(desk, address, method="POST", body=b"label=right", origin=_ORIGIN).status == 303
    data = ask(desk, "/label/bot_1?format=json").json()
    assert data["corrected"]["rate"] == 1.0
    assert "Corrected pass rate 100 %, 95 % interval" in ask(desk, "/label/bot_1").text


def test_a_label_column_of_the_data_is_used_and_shown(tmp_path: Path) -> None:
    outcomes = [plain(n) for n in range(6)]
    labelled = [
        replace(each, case=replace(each.case, extra={"label": n % 2}))
        for n, each in enumerate(outcomes)
    ]
    make_run(tmp_path / "bot_1", labelled, "bot", reports=None)
    app = make_app(tmp_path, Rules())
    data = ask(app, "/label/bot_1?format=json").json()
    assert (data["from_column"], data["corrected"]["rate"]) == (6, 0.5)
    assert "6 labels are from the column" in ask(app, "/label/bot_1").text
    assert "label in the data: right" in ask(app, "/run/bot_1/case/1").text
