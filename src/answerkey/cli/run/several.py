"""A suite with several targets or prompts at the terminal: a run per combination, then one table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from answerkey.cli.output import end, print_result, say
from answerkey.cli.run import loop
from answerkey.cli.run.options import RunOptions
from answerkey.comparison.many import compare_many
from answerkey.errors import (
    EXIT_GATE,
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    Ending,
    SettingsError,
)
from answerkey.reports.many import many_text
from answerkey.reports.write import write_reports
from answerkey.robustness.conclusion import conclude_variant_gates, conclude_with_variants
from answerkey.robustness.record import read_variants
from answerkey.runs.combinations import combine_targets
from answerkey.runs.conclusion import conclude
from answerkey.runs.control import Finished
from answerkey.runs.resume import run_to_resume
from answerkey.runs.store import read_manifest
from answerkey.runs.suite import Suite
from answerkey.text import format_count


def run_combinations(suite: Suite, options: RunOptions) -> int:
    """Run every combination of targets and prompts; with --resume only what is not finished."""
    refused = {"--investigate": options.investigate, "--stop-on-fail": options.stop_on_fail}
    for name, value in refused.items():
        if value:
            raise SettingsError(f"{name} needs a suite with one [target]; this one has several")
    suites = combine_targets(suite)
    if options.dry_run:
        names = ", ".join(each.name for each in suites)
        raise SettingsError(f"--dry-run needs a suite with one [target]; this one makes {names}")
    folders: list[Path] = []
    codes: Counter[int] = Counter()
    for place, each in enumerate(suites, start=1):
        say(f"{place} of {len(suites)}: {each.name}")
        folder, ending = _run_one(each, options)
        say(ending.line)
        folders.append(folder)
        codes[ending.code] += 1
        # Ctrl-C is meant for all combinations, not only for this one.
        if ending.code == EXIT_INTERRUPTED:
            return end(ending)
    table = compare_many(folders)
    print_result(table.to_json(), many_text(table), options.as_json)
    return end(_end_of_all(codes, table.sentence))


def _run_one(suite: Suite, options: RunOptions) -> tuple[Path, Ending]:
    folder = run_to_resume(suite) if options.resume else None
    if folder is not None and _is_finished(folder, suite):
        say(f"{folder} is finished already")
        return folder, _end_of_finished(folder, suite, options)
    finished, variants = loop.run_suite_and_variants(suite, folder, options)
    summary = write_reports(finished.folder, charts=options.scoring.charts)
    ending = conclude(finished, summary)
    if variants is not None:
        ending = conclude_with_variants(ending, variants)
    return finished.folder, ending


def _end_of_finished(folder: Path, suite: Suite, options: RunOptions) -> Ending:
    """The ending of a run that is complete: nothing is asked, but its gates still decide."""
    summary = write_reports(folder, charts=options.scoring.charts)
    ending = conclude(Finished(folder), summary)
    if not suite.variants.kinds:
        return ending
    record = read_variants(folder)
    # `_is_finished` has seen the record.
    assert record is not None
    return conclude_variant_gates(ending, record.gates)


def _is_finished(folder: Path, suite: Suite) -> bool:
    """Whether all cases were asked, and all their variants where the suite has some."""
    if read_manifest(folder).partial:
        return False
    if not suite.variants.kinds:
        return True
    record = read_variants(folder)
    return record is not None and not record.partial


def _end_of_all(codes: Counter[int], sentence: str) -> Ending:
    """The worst ending of all runs decides: incomplete, then a failed gate."""
    total = format_count(codes.total(), "run")
    if codes[EXIT_INCOMPLETE]:
        text = f"{codes[EXIT_INCOMPLETE]} of {total} could not be completed; add --resume"
        return Ending(EXIT_INCOMPLETE, text)
    if codes[EXIT_GATE]:
        return Ending(EXIT_GATE, f"{codes[EXIT_GATE]} of {total} failed a gate; {sentence}")
    return Ending(EXIT_OK, f"{total}; {sentence}", gated=False)
