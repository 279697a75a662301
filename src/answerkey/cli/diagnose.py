"""`answerkey diagnose`: find out why retrieval scores are low."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import collection_option, json_option, print_json, say, show
from answerkey.runs.store import is_run

if TYPE_CHECKING:
    from answerkey.experiments.diagnose import Diagnosis
    from answerkey.experiments.evidence import RetrievalEvidence

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("diagnose")
@click.argument("suite_or_run", type=click.Path(path_type=Path), required=False)
@click.option("--qrels", type=_FILE, help="A file of labels, instead of a suite: TREC, CSV or JSON.")
@click.option(
    "--run", "run_file", type=_FILE, help="A file of rankings: TREC, CSV or JSON; it may hold the labels too."
)
@click.option(
    "--index-ids", type=_FILE, help="With --qrels: the page id of each chunk, as a JSON list or one per line."
)
@collection_option
@json_option
def command(
    suite_or_run: Path | None,
    qrels: Path | None,
    run_file: Path | None,
    index_ids: Path | None,
    collection: str | None,
    as_json: bool,
) -> None:
    """Find out why retrieval scores are low, and what to fix first.

    \b
    Example:
      answerkey diagnose suite.toml
      answerkey diagnose --qrels labels.json --run rankings.csv --index-ids ids.txt
    """
    from answerkey.experiments.diagnose import diagnose

    if collection is not None and (suite_or_run is None or is_run(suite_or_run)):
        raise click.UsageError("--collection needs a suite, whose vector store is searched")
    diagnosis = diagnose(_evidence(suite_or_run, qrels, run_file, index_ids, collection))
    if as_json:
        print_json(diagnosis.as_json())
    else:
        _show(diagnosis)


def _evidence(
    source: Path | None, qrels: Path | None, run_file: Path | None, index_ids: Path | None, collection: str | None
) -> RetrievalEvidence:
    from answerkey.experiments.evidence import from_files, from_run, from_suite

    qrels = qrels or run_file
    if (source is None) == (qrels is None):
        raise click.UsageError("give a suite, a run folder, or --qrels with --run or --index-ids")
    if source is not None:
        return from_run(source) if is_run(source) else from_suite(source, say, collection)
    assert qrels is not None
    if run_file is None and index_ids is None:
        raise click.UsageError("--qrels needs --run, --index-ids or both")
    return from_files(qrels, run_file, index_ids)


def _show(diagnosis: Diagnosis) -> None:
    from answerkey.experiments.diagnose import gain, sentence
    from answerkey.experiments.evidence import MEASURE

    show(sentence(diagnosis))
    for number, finding in enumerate(diagnosis.findings, start=1):
        more = gain(finding, diagnosis.score)
        show(f"\n{number}. {finding.title}")
        show(f"   evidence: {finding.evidence}")
        show(f"   action:   {finding.action}")
        if finding.score_if_fixed is not None and more > 0:
            show(f"   gain:     {MEASURE} {diagnosis.score or 0.0:.3f} → {finding.score_if_fixed:.3f} ({more:+.3f})")
    for note in diagnosis.notes:
        show(f"\nnote: {note.title}: {note.evidence}; {note.action}")
    show(f"\nchecked: {', '.join(diagnosis.checked)}; {diagnosis.labelled} of {diagnosis.queries} queries labelled")
