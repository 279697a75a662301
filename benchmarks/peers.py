"""Environments for the tools we are measured beside, made once under .venvs/; never dependencies of ours."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venvs"


def peer_python(name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment that holds the packages; made on the first call."""
    home = HOME / name
    python, ready = home / "bin" / "python", home / ".ready"
    wanted = "\n".join(packages)
    if not ready.is_file() or ready.read_text() != wanted:
        print(f"making {home} with {', '.join(packages)}", file=sys.stderr)
        uv = Path(sys.executable).with_name("uv")  # beside our Python, where `make` has put it
        subprocess.run(
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, home], check=True
        )
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
        ready.write_text(wanted)
    return python


def version_of(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def processor_seconds(command: Sequence[object], **more: object) -> tuple[float, str]:
    """Processor time of a command and its children, and what it printed: fair on a machine that others use too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout
