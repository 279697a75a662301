"""The real model, started once for all tests that want it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.llama_server import LlamaServer


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    with LlamaServer() as server:
        yield server
