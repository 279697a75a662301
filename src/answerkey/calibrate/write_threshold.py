"""The fitted threshold, written into a profile as the floor of its metric; the rest of the file stays as it is."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

from answerkey.calibrate.calibration import Calibration
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import write_file
from answerkey.profiles.load import load_profile

_HEADER = re.compile(r"^\s*\[")
_CRITERIA = re.compile(r"^\s*\[\[\s*(on\.[\w-]+\.)?criteria\s*\]\]\s*(#.*)?$")
_METRIC = re.compile(r"""^\s*metric\s*=\s*["']([^"']+)["']""")
_FLOOR = re.compile(r"^(\s*floor\s*=\s*)[^#\n]*?(\s*(#.*)?)$")


def write_threshold(path: Path, calibration: Calibration) -> float:
    """Returns the floor written, to four significant digits."""
    c = calibration
    if c.threshold is None or c.auroc is None or c.auroc <= 0.5:
        raise InputError(
            f"{c.metric}: no threshold worth writing was found; {'; '.join(c.notes) or 'AUROC is not above 0.5'}"
        )
    if not path.is_file():
        raise SettingsError(
            f"{path}: no such profile; make one with `answerkey profiles show rag > {path.name}`"
        )
    profile = load_profile(str(path))
    if c.metric not in profile.metrics:
        raise SettingsError(
            f'{path}: the profile has no criterion "{c.metric}"{did_you_mean(c.metric, profile.metrics)}'
        )
    floor = float(f"{c.threshold:.4g}")
    edited = with_floor(path.read_text(encoding="utf-8-sig"), c.metric, floor)
    if edited is None:
        raise SettingsError(
            f'{path}: write the criterion "{c.metric}" as a [[criteria]] table of its own first'
        )
    tomllib.loads(edited)
    write_file(path, edited)
    return floor


def with_floor(text: str, metric: str, floor: float) -> str | None:
    """The TOML with the floor of that metric's criteria set; None where it has no [[criteria]] table."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)] + [len(lines)]
    found = False
    for start, end in reversed(list(pairwise(starts))):
        block = lines[start:end]
        names = [(n, match[1]) for n, line in enumerate(block) if (match := _METRIC.match(line))]
        if not _CRITERIA.match(lines[start]) or not names or names[0][1] != metric:
            continue
        found = True
        floors = [n for n, line in enumerate(block) if _FLOOR.match(line)]
        if floors:
            block[floors[0]] = _FLOOR.sub(rf"\g<1>{floor!r}\g<2>", block[floors[0]])
        else:
            block.insert(names[0][0] + 1, f"floor = {floor!r}")
        lines[start:end] = block
    return "\n".join(lines) + "\n" if found else None
