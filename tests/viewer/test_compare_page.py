"""The page of two runs: the rates first, metrics above the cases, groups, and swapping."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.viewer_asking import ask
from tests.support.viewer_world import make_run, plain

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

_PAGE = "/compare?a=old&b=new"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("compared")
    make_run(root / "old", map(plain, range(30)), "bot", reports=None)
    make_run(root / "new", (plain(n, 2) for n in range(30)), "bot", reports=None)
    return make_app(root, Rules())


def test_the_page_opens_with_both_pass_rates(app: Any) -> None:
    data = ask(app, f"{_PAGE}&format=json").json()
    before, after = data["rates"].split(" → ")
    assert before.endswith(" %")
    assert after.endswith(" %")
    assert data["rates"] in data["comparison"]["sentence"]
    page = ask(app, _PAGE).text
    places = [
        page.index(text) for text in (f"<strong>{data['rates']}", "<h2>Metrics", "Cases</h2>")
    ]
    assert places == sorted(places)
    assert places[-1] < page.index("<h2>Statistics")


def test_swapping_exchanges_the_sides(app: Any) -> None:
    assert 'href="?a=new&amp;b=old"' in ask(app, _PAGE).text
    rates = ask(app, f"{_PAGE}&format=json").json()["rates"].split(" → ")
    swapped = ask(app, "/compare?a=new&b=old&format=json").json()["rates"].split(" → ")
    assert swapped == rates[::-1]


def test_before_and_after_per_group(app: Any) -> None:
    data = ask(app, f"{_PAGE}&by=type&format=json").json()
    assert data["columns"] == ["type", "route"]
    assert {row["name"]: row["n"] for row in data["by"]["rows"]} == {
        "kind 0": 9,
        "kind 1": 9,
        "kind 2": 9,
    }  # three of the 30 cases ended in an error and have no score
    page = ask(app, f"{_PAGE}&by=type").text
    assert "By type" in page
    assert "&amp;by=type&amp;show=all" in page  # the choice stays when the list changes
    assert ask(app, f"{_PAGE}&by=nothing").status == 404
