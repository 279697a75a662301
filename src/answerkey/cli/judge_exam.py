"""The large exam of `answerkey doctor --judge`: sixty items, the result by kind, kept with the run and for the card."""

from __future__ import annotations

from pathlib import Path

from answerkey.cli.output import say, show
from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_OK, IncompleteError
from answerkey.files import json_text, write_file
from answerkey.metrics.judge.exam import Exam, take_exam
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.track_record import remember
from answerkey.types import Json

BESIDE_RUN = "judge_exam.json"


def give_large_exam(judge: Judge, run: Path | None, as_json: bool, chosen: bool) -> tuple[int, str, Json]:
    """The exit code, the last line and the JSON. An endpoint that does not respond is reported, not raised."""
    if judge.name != "local":
        say("asking the judge sixty questions …")
    try:
        exam = take_exam(judge, large=True)
    except IncompleteError as error:
        return EXIT_INCOMPLETE, f"the judge does not respond: {error}", _unreachable(judge.name, str(error))
    finally:
        judge.close()
    silent = [each.error for each in exam.answers if each.error]
    if len(silent) == len(exam.answers) and not judge.usage().get("calls", 1):
        return (EXIT_INCOMPLETE, f"the judge does not respond: {silent[0]}", _unreachable(judge.name, silent[0] or ""))
    remember(judge.fingerprint(), exam=exam.to_json(items=False))
    if run is not None:
        _keep(exam, run)
    if not as_json:
        show_large_exam(exam)
    record = {
        "name": judge.name,
        "reachable": True,
        "error": None,
        "resists_injection": exam.resists_injection,
        **exam.to_json(),
    }
    if exam.passed:
        return EXIT_OK, f"the judge passed its exam: {exam.right} of {exam.judged} right", record
    failed = f"failed in {', '.join(exam.failed_kinds)} ({exam.right} of {exam.judged} right)"
    return (EXIT_GATE if chosen else EXIT_OK), f"do not rely on this judge: it {failed}", record


def show_large_exam(exam: Exam) -> None:
    """The result by kind, then the items that were wrong."""
    show(f"\njudge {exam.judge}: {exam.right} of {exam.judged} right")
    for kind, result in exam.kinds.items():
        if not result.claimed:
            show(f"  – {kind:<13} can't judge this")
            continue
        left = f", {result.not_judged} it can't judge" if result.not_judged else ""
        show(f"  {'✗' if kind in exam.failed_kinds else '✓'} {kind:<13} {result.right} of {result.of}{left}")
    for each in exam.answers:
        if each.right is False:
            answer = " ".join(each.answer.split())[:60]
            show(f"    {each.kind}: {answer:<60} {each.error or each.given}; expected {each.wanted}")


def _keep(exam: Exam, run: Path) -> None:
    write_file(run / BESIDE_RUN, json_text(exam.to_json()))
    say(f"result: {run / BESIDE_RUN}")


def _unreachable(name: str, error: str) -> Json:
    return {"name": name, "reachable": False, "error": error, "passed": False, "right": None, "of": None, "kinds": {}}
