"""The place in the user's code where a bot, a metric or a judge raised: shown once per distinct error."""

from __future__ import annotations

import logging
import threading
import traceback
from pathlib import Path
from traceback import FrameSummary

from answerkey.text import printable
from answerkey.user_code import environment_secrets, error_text

log = logging.getLogger("answerkey.user_code")

_OURS = str(Path(__file__).parent)
_MOST_FRAMES = 3  # the last ones: where it happened, and who called it
_MOST_SHOWN = 10  # distinct errors of a run; more would bury the progress


class _Shown:
    """The errors that were shown in this run, by place."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.whole = False
        self.places: set[tuple[str, str, int | None]] = set()


_shown = _Shown()


def begin_run(*, whole: bool = False) -> None:
    """Forget the errors of earlier runs. With `whole`, tracebacks are not cut (`--debug`)."""
    with _shown.lock:
        _shown.whole = whole or _shown.whole
        _shown.places.clear()


def show_traceback(error: BaseException, what: str) -> None:
    """Log the end of the traceback, if this error was not shown yet; `what` is "the bot" or so."""
    frames = _user_frames(error)
    if not frames:
        return
    last = frames[-1]
    place = (type(error).__name__, last.filename, last.lineno)
    with _shown.lock:
        if place in _shown.places or len(_shown.places) >= _MOST_SHOWN:
            return
        _shown.places.add(place)
        whole = _shown.whole
    lines = [f"{what} raised {error_text(error)}"]
    for frame in frames if whole else frames[-_MOST_FRAMES:]:
        lines.append(f"  {frame.filename}, line {frame.lineno}, in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line.strip()}")
    text = environment_secrets().hide("\n".join(lines))
    log.warning("%s", printable(text))


def _user_frames(error: BaseException) -> list[FrameSummary]:
    """The frames of the user's code, without ours and those of the threads before it."""
    frames = traceback.extract_tb(error.__traceback__)
    is_ours = [frame.filename.startswith(_OURS) for frame in frames]
    if True not in is_ours:
        return list(frames)
    last_of_ours = max(place for place, ours in enumerate(is_ours) if ours)
    return frames[last_of_ours + 1 :]
