"""Every test runs with sockets blocked, but for those marked `network`, which may use loopback."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from answerkey.coerce.decode import warn_once

# The tests draw the same examples every time: a suite that fails by chance tells nobody anything.
# `make search` draws new ones. No deadline: machines are shared, so no test asserts a time.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile(
    "search", deadline=None, derandomize=False, max_examples=2_000, print_blob=True
)
settings.load_profile(os.environ.get("ANSWERKEY_HYPOTHESIS", "fixed"))

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
        raise AssertionError(
            f"a test tried to reach {address}; mark it `network` if it starts a server of its own"
        )

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def _warnings_again() -> None:
    """A warning is given once per process; a test must not depend on the tests before it."""
    warn_once.cache_clear()


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled templates of reports and pages, shared by all tests: compiling them takes half a second per process."""
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(autouse=True)
def _own_cache(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    compiled_templates: Path,
) -> None:
    """Caches of a test go to its own folder, never to the user's."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "templates").symlink_to(compiled_templates, target_is_directory=True)
    monkeypatch.setenv("ANSWERKEY_CACHE", str(folder))


@pytest.fixture
def shared_data() -> Path:
    """Public data with human labels, beside a development checkout; absent elsewhere."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the labelled development data is not on this machine")
    return SHARED_DATA


@dataclass(frozen=True)
class Shown:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    @property
    def last_line(self) -> str:
        return self.err.strip().splitlines()[-1]


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Shown]:
    """`cli("score", "a.jsonl", …)`: the real command line, in this process."""
    from answerkey.cli.main import main

    monkeypatch.setattr(sys, "path", list(sys.path))  # to which a suite's folder is added

    def call(*arguments: object, stdin: str = "") -> Shown:
        monkeypatch.setattr(sys, "argv", ["answerkey", *map(str, arguments)])
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        )
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Shown(ended.value.code, shown.out, shown.err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], Path]:
    """`write("a.jsonl", rows)`: a file in the test's own folder; text and bytes as they are, lists as JSON lines."""

    def put(name: str, content: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")  # type: ignore[union-attr]
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return put
