"""A world of runs, a server on loopback, and the system's Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.viewer_server import serve_folder
from tests.support.viewer_world import make_world

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the world. Its light columns are cached beside it, not in the user's home."""
    before = os.environ.get("ANSWERKEY_CACHE")
    os.environ["ANSWERKEY_CACHE"] = str(tmp_path_factory.mktemp("viewer-cache"))
    try:
        yield make_world(tmp_path_factory.mktemp("viewer") / "results")
    finally:
        os.environ.pop("ANSWERKEY_CACHE") if before is None else os.environ.update(
            ANSWERKEY_CACHE=before
        )


@pytest.fixture(scope="session")
def served(viewed: Path) -> Iterator[str]:
    """The viewer on a free port of loopback; gives its address without the last slash."""
    with serve_folder(viewed) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Ended with the module: while it lives, its event loop is in the way of others."""
    chromium = next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )
    if chromium is None:
        pytest.skip(
            "NO CHROMIUM: the viewer and the report page are NOT tested in a browser; install it with `apt-get install chromium`"
        )
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="NO PLAYWRIGHT: the pages are NOT tested in a browser"
    )
    playwright.expect.set_options(timeout=60_000)
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


class Watched:
    """A page that remembers everything a console, a dialog or a failed request said."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        page.on(
            "console",
            lambda message: (
                self.said.append(f"{message.type}: {message.text}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on(
            "dialog",
            lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        )
        page.on(
            "request",
            lambda request: (
                self.said.append(f"left the machine: {request.url}")
                if _outside(request.url)
                else None
            ),
        )

    def quiet(self) -> bool:
        assert self.said == []
        return True


def _outside(address: str) -> bool:
    return not address.startswith(("http://127.0.0.1:", "data:", "file:", "blob:", "about:"))


@pytest.fixture
def watch(browser: Any) -> Iterator[Any]:
    """`watch(address, …)` opens a page and gives it, watched; `scheme`, `width` and `height` as wished."""
    contexts: list[Any] = []

    def open_page(
        address: str, scheme: str = "light", width: int = 1280, height: int = 900
    ) -> Watched:
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}
        )
        contexts.append(context)
        context.set_default_timeout(
            60_000
        )  # for a busy machine; every wait ends as soon as its state is there
        watched = Watched(context.new_page())
        watched.page.goto(address)
        if address.startswith("http"):
            watched.page.locator("html[data-ready]").wait_for(state="attached")
        return watched

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def app(viewed: Path) -> Any:
    from answerkey.viewer.app import make_app
    from answerkey.viewer.guard import Rules

    return make_app(viewed, Rules())
