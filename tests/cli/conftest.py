"""Output without colours, so that tests can compare it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
