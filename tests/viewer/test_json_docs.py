"""Every page as JSON: the documentation names exactly the fields that it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, make_sweep, plain
from tests.viewer.test_watch_page import make_look

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules
from answerkey.watch.state import open_state

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "viewer.md"
PAGES = {
    "/": "/",
    "/run/RUN": "/run/a",
    "/run/RUN/case/N": "/run/a/case/1",
    "/run/RUN/live": "/run/a/live",
    "/compare?a=RUN&b=RUN": "/compare?a=a&b=b",
    "/many?run=RUN&run=RUN": "/many?run=a&run=b",
    "/trend?suite=NAME": "/trend?suite=bot",
    "/label/RUN": "/label/a",
    "/sweep/SWEEP": "/sweep/s",
    "/watch?state=FOLDER": "/watch?state=watch",
    "/audit/FOLDER": "/audit/audited",
}


def _documented_fields() -> dict[str, set[str]]:
    """The fields of each address; remarks in brackets are left out."""
    section = _DOCS.read_text(encoding="utf-8").partition("## Every page as JSON")[2]
    fields: dict[str, set[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `/"):
            addresses, names = line.strip("| ").split(" | ")
            without_remarks = re.sub(r"\([^)]*\)", "", names)
            address = re.findall("`([^`]+)`", addresses)[0]
            fields[address] = set(re.findall("`([^`]+)`", without_remarks))
    return fields


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("json")
    make_run(root / "a", map(plain, range(5)), "bot", reports=False)
    make_run(root / "b", (plain(n, 2) for n in range(5)), "bot", reports=False)
    make_sweep(root / "s")
    with open_state(root / "watch") as state:
        state.add_look(make_look(1, 0.9, 0.4))
    (root / "audited").mkdir()
    (root / "audited" / "audit.json").write_text('{"cases": 1, "files": [], "findings": []}')
    return make_app(root, Rules())


@pytest.mark.parametrize("address", PAGES)
def test_fields_are_documented(address: str, app: Any) -> None:
    page = PAGES[address]
    reply = ask(app, f"{page}{'&' if '?' in page else '?'}format=json")
    assert reply.status == 200, reply.text
    assert set(reply.json()) == _documented_fields()[address]


def test_every_documented_page_is_asked_for() -> None:
    assert _documented_fields().keys() == PAGES.keys()
