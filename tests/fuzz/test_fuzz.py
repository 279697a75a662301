"""Inputs that failed once, replayed; and a short seeded run of the fuzzer. `make fuzz MINUTES=20` runs more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.campaign import SAVED

ROOT = Path(__file__).parents[2]
SECONDS = 60


def _fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run in a process of its own, as fuzzing cuts off the network and changes folder and cache."""
    command = [sys.executable, "-m", "tests.fuzz", "--no-save", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ},
    )


@pytest.mark.skipif(not list(SAVED.glob("*.json")), reason="no input has failed yet")
def test_no_saved_input_fails_again() -> None:
    ended = _fuzz("--replay")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_short_run_finds_nothing() -> None:
    ended = _fuzz("--minutes", str(SECONDS / 60), "--seed", "21", "--inputs", "3000")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    figures = json.loads(ended.stdout[ended.stdout.index("{") :])
    assert figures["inputs"] > 50
    assert set(figures["codes"]) <= {
        "0",
        "1",
        "2",
        "3",
        "130",
        "200",
        "303",
        "307",
        "403",
        "404",
        "405",
        "421",
        "422",
    }
