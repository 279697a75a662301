"""The progress display: right figures, few lines without a terminal, and a real pseudo-terminal for the bar."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from textwrap import dedent

from tests.support.terminal import at_a_terminal

from answerkey.runs.progress import Lines, ProgressFigures, Quiet, make_progress
from answerkey.types import Case, Outcome, Response, Verdict


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def outcome(
    number: int, *, passed: bool = True, status: str = "", seconds: float | None = 0.5
) -> Outcome:
    status = status or ("PASSED" if passed else "FAILED")
    score = None if status in {"ERROR", "SCORED"} else 0.9 if passed else 0.3
    verdict = Verdict(status, score=score, passed=passed and status == "PASSED")
    return Outcome(Case(f"qa#Q{number}", "Q"), Response(answer="A", seconds=seconds), {}, verdict)


def test_every_figure_with_its_denominator() -> None:
    clock = Clock()
    figures = ProgressFigures(clock)
    figures.start(20, 10)
    assert (figures.pace(), figures.quality()) == ("-/s", "")
    clock.now += 2
    for number, item in enumerate(
        [
            outcome(1),
            outcome(2, passed=False),
            outcome(3, status="ERROR", seconds=None),
            outcome(4, seconds=4.25),
        ]
    ):
        figures.add(item)
        assert figures.done == 11 + number
    assert figures.pace() == "2.0/s, 3 s left", (
        "what was done before a resume does not count towards the rate"
    )
    assert (
        figures.quality()
        == "67 % of 3 passed, mean 0.7 over 3, 1 failed, 1 error, slowest 4.2 s (qa#Q4)"
    )


def test_without_a_profile_nothing_has_failed() -> None:
    figures = ProgressFigures()
    figures.add(outcome(1, status="SCORED"))
    assert figures.quality() == "slowest 0.5 s (qa#Q1)"


def test_slow_paces_are_readable() -> None:
    clock = Clock()
    figures = ProgressFigures(clock)
    for total, left in ((3, "2 min"), (300, "5.0 h")):
        figures.start(total, 0)
        clock.now += 60
        figures.add(outcome(1))
        assert figures.pace() == f"1.0/min, {left} left"


def test_lines_are_few(capsys) -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(ProgressFigures(clock), stream, clock)
    lines.start(1000, 0)
    for number in range(1000):
        clock.now += 0.03
        lines.outcome(outcome(number))
    lines.note("the judge is slow \x1b[31m")
    lines.finish()
    lines.finish()
    told = stream.getvalue().splitlines()
    assert told[0] == "1000 cases"
    assert len(told) == 5, "one at the start, two in thirty seconds, a note, one at the end"
    assert told[-1].startswith("1000/1000 (100 %), 33.3/s, 100 % of 1000 passed")
    assert "\x1b" not in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_quiet_tells_only_notes() -> None:
    stream = io.StringIO()
    quiet = make_progress(quiet=True, stream=stream)
    assert isinstance(quiet, Quiet)
    quiet.start(3, 0)
    quiet.outcome(outcome(1))
    quiet.note("careful")
    quiet.finish()
    assert stream.getvalue() == "careful\n"


def test_not_a_terminal_gives_lines() -> None:
    assert isinstance(make_progress(stream=io.StringIO()), Lines)


def test_a_bar_at_a_real_terminal(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(dedent("""
        import time
        from answerkey.runs.progress import make_progress
        from answerkey.types import Case, Outcome, Response, Verdict
        bar = make_progress()
        bar.start(4, 1)
        for number in range(3):
            time.sleep(0.1)
            verdict = Verdict("FAILED" if number else "PASSED", score=0.5, passed=not number)
            print("the bot prints", number)
            bar.outcome(Outcome(Case(f"qa#Q{number}", "Q"), Response(answer="A", seconds=number), {}, verdict))
        bar.note("a note [bold]x[/bold]")
        bar.finish()
    """))  # fmt: skip
    code, shown = at_a_terminal([sys.executable, str(script)])
    assert code == 0
    assert "\r" in shown, "it draws in place"
    assert "█" in shown
    assert "4/4" in shown
    assert "33 % of 3 passed, mean 0.5 over 3, 2 failed, slowest 2 s (qa#Q2)" in shown
    assert "a note [bold]x[/bold]" in shown
    printed = [line.split("\r")[-1] for line in shown.replace("\r\n", "\n").split("\n")]
    assert "the bot prints 2" in printed, "above the bar, which is drawn again below it"
