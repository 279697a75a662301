"""Whatever is killed, in every phase: nothing is lost, doubled or left behind, and no more is asked again than was in flight.

The environment variable ANSWERKEY_KILLS sets how many kills there are, ANSWERKEY_RAY_KILLS how many of them on Ray.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adversary.kills import PHASES

KILLS, ON_RAY = (
    int(os.environ.get(name, default))
    for name, default in (("ANSWERKEY_KILLS", "21"), ("ANSWERKEY_RAY_KILLS", "0"))
)
WRONG = (
    "lost",
    "doubled",
    "stray",
    "asked too often",
    "not continued",
    "no report",
    "other files changed",
)


@pytest.mark.slow
def test_kills_in_every_phase() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.adversary.kills",
        "--kills",
        str(KILLS),
        "--ray",
        str(ON_RAY),
    ]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    counts = json.loads(ended.stdout)
    assert {name: counts.get(name, 0) for name in WRONG} == dict.fromkeys(WRONG, 0), ended.stderr[
        -3000:
    ]
    assert all(counts[f"killed in {phase}"] for phase in PHASES), counts
