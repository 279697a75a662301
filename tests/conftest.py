"""Every test runs with sockets blocked, but for those marked `network`, which may use loopback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = request.node.get_closest_marker("network") is not None
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        if self.family == socket.AF_UNIX:
            return real_connect(self, address)  # type: ignore[arg-type]
        host = address[0] if isinstance(address, tuple) else address
        if allowed and host in {"127.0.0.1", "::1", "localhost"}:
            return real_connect(self, address)  # type: ignore[arg-type]
        raise AssertionError(f"a test tried to reach {address}; mark it `network` if it starts a server of its own")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches of a test go to its own folder, never to the user's."""
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def shared_data() -> Path:
    """Public data with human labels, beside a development checkout; absent elsewhere."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the labelled development data is not on this machine")
    return SHARED_DATA
