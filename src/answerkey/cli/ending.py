"""How a run ends on the command line: reports, gates, the last line, and the exit code that says the same."""

from __future__ import annotations

from answerkey.cli.shared import apart, print_json, say, show
from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK
from answerkey.runs.control import Finished
from answerkey.text import counted
from answerkey.types import Json


def end_run(
    finished: Finished, *, as_json: bool, quiet: bool, resume_command: str, pictures: bool = True
) -> int:
    """Write the reports, print them, and return the exit code."""
    from answerkey.reports.text import text_report
    from answerkey.reports.write import write_reports

    summary = write_reports(finished.folder, pictures=pictures)
    if as_json:
        print_json(summary)
    elif not quiet:
        show(text_report(summary))
    say(f"run folder: {finished.folder}")
    code, line = verdict_line(finished, summary)
    if finished.partial:
        say(f"to go on: {resume_command}")
    if not (as_json or quiet) and apart():
        show(line)  # a report kept in a file ends as the screen does
    say(line)
    return code


def verdict_line(finished: Finished, summary: Json) -> tuple[int, str]:
    """The exit code and the sentence that says the same. What could not be completed never passes."""
    totals = summary["totals"]
    if finished.interrupted:
        return (
            EXIT_INTERRUPTED,
            f"interrupted: {totals['cases']} of {counted(summary['selected'], 'case')} done",
        )
    if finished.stopped is not None:
        also = f" ({finished.also_stopped} more at the same time)" if finished.also_stopped else ""
        return EXIT_GATE, f"failed: stopped at {finished.stopped.case.id}, which is under the threshold{also}"
    if finished.partial and finished.limited:
        if finished.failed:
            return EXIT_GATE, f"failed: {finished.failed} of {finished.asked} asked; {finished.partial}"
        return EXIT_OK, f"passed: {finished.asked} asked; {finished.partial}"
    if finished.partial or totals["errors"]:
        why = finished.partial or f"{counted(totals['errors'], 'case')} ended in an error"
        return EXIT_INCOMPLETE, f"incomplete: {why}"
    failed = [gate for gate in summary["gates"] if not gate["passed"]]
    if failed:
        return EXIT_GATE, f"failed: gate {'; '.join(gate['condition'] for gate in failed)}"
    gates = (
        f", {counted(len(summary['gates']), 'gate holds', 'gates hold')}"
        if summary["gates"]
        else ", no gates set"
    )
    return EXIT_OK, f"passed: {totals['cases']} of {counted(summary['selected'], 'case')} done{gates}"
