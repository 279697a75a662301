"""`answerkey sweep`, `diagnose` and `verify`: which retrieval settings are best, and why scores are low."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.output import (
    FILE,
    PATH,
    collection_option,
    done,
    end,
    json_option,
    print_json,
    print_result,
    say,
    show,
)
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, SettingsError
from answerkey.reports.plots import INSTALL
from answerkey.runs.store import is_run, new_folder
from answerkey.runs.suite import Suite, load_suite

_LISTED = 50

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from answerkey.experiments.choice import Conclusions
    from answerkey.experiments.findings import Diagnosis
    from answerkey.experiments.sweep import Sweep
    from answerkey.experiments.verify import WrongPage


@click.command("sweep")
@click.argument("suite", type=PATH)
@click.option(
    "--alphas",
    metavar="A,B,…",
    help="Exactly these α, comma-separated; default those of the suite.",
)
@click.option(
    "--ks", metavar="A,B,…", help="Exactly these K, comma-separated; default those of the suite."
)
@click.option(
    "--named", is_flag=True, help="With --alphas or --ks: also the five named settings at K = 5."
)
@click.option("--rrf", is_flag=True, help="With --alphas or --ks: also reciprocal rank fusion.")
@click.option(
    "--select",
    metavar="METRIC",
    help="Metric that chooses, as ndcg@5 or f1; default nDCG at the largest K.",
)
@click.option(
    "--alpha", type=float, help="α of the top-K analysis and of --trace; default the best one."
)
@click.option("--k", type=int, help="K of --trace; default that of the best setting.")
@click.option(
    "--trace",
    "query",
    metavar="QUERY",
    help="Print one query (an id or part of the question) step by step; writes nothing.",
)
@collection_option
@click.option("--out", type=PATH, help="Folder for the results; default that of the suite.")
@click.option("--no-charts", "--no-plots", "no_plots", is_flag=True, help="Skip the charts.")
@json_option
def sweep_command(
    suite: Path,
    query: str | None,
    k: int | None,
    out: Path | None,
    no_plots: bool,
    as_json: bool,
    collection: str | None,
    **options: Any,
) -> None:
    """Compare dense, sparse and hybrid retrieval for every α and K.

    \b
    Example:
      answerkey sweep suite.toml --alphas 0,0.5,1 --ks 3,5,10
      answerkey sweep suite.toml --trace Q17

    Without α and K, the standard tests: five named methods and α from 0 to 1 at K = 5, then K from
    3 to 20 at the best α.
    """
    from answerkey.experiments.choice import draw_conclusions
    from answerkey.experiments.sweep import prepare_sweep, run_sweep
    from answerkey.experiments.sweep_files import summarise_sweep
    from answerkey.reports.sweep_report import sweep_text, write_sweep

    loaded = load_suite(suite, _sweep_settings(options), collection)
    _say_notices(loaded)
    # A trace times its one query itself.
    sweep = run_sweep(prepare_sweep(loaded, say), say, timed=query is None)
    _say_warnings(sweep)
    conclusions = draw_conclusions(sweep)
    if query is not None:
        _print_trace(sweep, conclusions, query, k, as_json=as_json)
        return
    folder = new_folder(out or loaded.folder / loaded.run.out, f"{loaded.name}_sweep")
    if not write_sweep(sweep, conclusions, folder, plots=not no_plots):
        say(f"no plots/*.png: {INSTALL}; `answerkey view {folder}` shows the charts without it")
    if as_json:
        print_json({"folder": str(folder), **summarise_sweep(sweep, conclusions)})
        return
    show(sweep_text(sweep, conclusions))
    done(f"wrote {folder}")


def _sweep_settings(options: dict[str, Any]) -> dict[str, object]:
    """The options of the command as settings of [retrieval.sweep]."""
    named = {
        "alphas": _numbers("alphas", options["alphas"], float),
        "ks": _numbers("ks", options["ks"], int),
        # A flag that was not typed must not override the suite.
        "named": options["named"] or None,
        "rrf": options["rrf"] or None,
        "select": options["select"],
        "topk_alpha": options["alpha"],
    }
    return {f"retrieval.sweep.{key}": value for key, value in named.items() if value is not None}


def _say_notices(suite: Suite) -> None:
    for notice in suite.notices:
        say(f"notice: {notice}")


def _say_warnings(sweep: Sweep) -> None:
    for warning in sweep.check.warnings:
        say(f"warning: {warning}")
    unlabelled = len(sweep.cases) - int(sweep.labelled.sum())
    if unlabelled:
        share = f"{unlabelled} of {len(sweep.cases)} queries"
        say(f"warning: {share} have no relevant pages and are left out of the means")
    # Rounding may leave a value of 1 just above it.
    if sweep.values.max() > 1.0 + 1e-9:
        say(
            "warning: some values are above 1, because several chunks of one page are counted; "
            'use unit = "page"'
        )


def _numbers(name: str, text: str | None, read: type[float] | type[int]) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [read(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(
            f'"{text}": expected comma-separated numbers', param_hint=f"--{name}"
        ) from None


def _print_trace(
    sweep: Sweep, conclusions: Conclusions, query: str, k: int | None, *, as_json: bool
) -> None:
    """Trace the best setting, or that of the options --alpha and --k."""
    from answerkey.experiments.trace import trace

    row, column = conclusions.best.winner
    if sweep.plan.topk_alpha is not None:
        row = sweep.topk[conclusions.setup]
    if k is not None:
        if k not in sweep.ks:
            raise SettingsError(
                f"--k {k}: expected one of {', '.join(map(str, sweep.ks))}; add others with --ks"
            )
        column = sweep.ks.index(k)
    traced = trace(sweep, query, (row, column))
    print_result(traced.as_json(), "\n".join(traced.lines()), as_json)


@click.command("diagnose")
@click.argument("suite_or_run", type=PATH, required=False)
@click.option("--qrels", type=FILE, help="A file of labels, instead of a suite: TREC, CSV or JSON.")
@click.option(
    "--run",
    "run_file",
    type=FILE,
    help="A file of rankings: TREC, CSV or JSON; it may hold the labels too.",
)
@click.option(
    "--index-ids",
    type=FILE,
    help="With --qrels: the page id of each chunk, as a JSON list or one per line.",
)
@collection_option
@json_option
def diagnose_command(
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
    from answerkey.experiments.evidence import (
        evidence_of_files,
        evidence_of_run,
        evidence_of_suite,
    )

    if collection is not None and (suite_or_run is None or is_run(suite_or_run)):
        raise click.UsageError("--collection needs a suite, whose vector store is searched")
    labels = qrels or run_file
    if suite_or_run is None and labels is not None:
        if run_file is None and index_ids is None:
            raise click.UsageError("--qrels needs --run, --index-ids or both")
        evidence = evidence_of_files(labels, run_file, index_ids)
    elif suite_or_run is None or labels is not None:
        raise click.UsageError("give a suite, a run folder, or --qrels with --run or --index-ids")
    elif is_run(suite_or_run):
        evidence = evidence_of_run(suite_or_run)
    else:
        evidence = evidence_of_suite(suite_or_run, say, collection)
    diagnosis = diagnose(evidence)
    print_result(diagnosis.as_json(), "\n".join(_diagnosis_lines(diagnosis)), as_json)


def _diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    from answerkey.experiments.evidence import MEASURE

    now = diagnosis.score or 0.0
    yield diagnosis.sentence
    for number, finding in enumerate(diagnosis.findings, start=1):
        yield ""
        yield f"{number}. {finding.title}"
        yield f"   evidence: {finding.evidence}"
        yield f"   action:   {finding.action}"
        gain = finding.gain(diagnosis.score)
        if finding.score_if_fixed is not None and gain > 0:
            yield f"   gain:     {MEASURE} {now:.3f} → {finding.score_if_fixed:.3f} ({gain:+.3f})"
    for note in diagnosis.notes:
        yield f"\nnote: {note.title}: {note.evidence}; {note.action}"
    checked = ", ".join(diagnosis.checked)
    labelled = f"{diagnosis.labelled} of {diagnosis.queries} queries labelled"
    yield f"\nchecked: {checked}; {labelled}"


@click.command("verify")
@click.argument("suite", type=PATH)
@click.option(
    "--pdf",
    type=click.Path(path_type=Path, exists=True),
    help="PDF file or folder; default that of the suite.",
)
@collection_option
@json_option
def verify_command(suite: Path, pdf: Path | None, collection: str | None, as_json: bool) -> None:
    """Check that each indexed chunk's text is on the page of the PDF that it names.

    \b
    Example:
      answerkey verify suite.toml --pdf manuals/

    The suite's [retrieval] table names the index or the chunks, and with originals the PDFs. Exit
    code 1 where a chunk is on another page or on none.
    """
    from answerkey.experiments.verify import verify_suite

    loaded = load_suite(suite, collection=collection)
    _say_notices(loaded)
    verification = verify_suite(loaded, pdf, say)
    if as_json:
        print_result(verification.as_json(), "", as_json)
    else:
        _list_chunks("on another page", verification.wrong)
        _list_chunks("on no page", verification.lost)
        _list_chunks("names no page of these PDFs", verification.unreadable)
    code = EXIT_OK if verification.is_right else EXIT_GATE
    raise click.exceptions.Exit(end(Ending(code, verification.sentence)))


def _list_chunks(title: str, chunks: Sequence[WrongPage]) -> None:
    if not chunks:
        return
    show(f"{title}:")
    for chunk in chunks[:_LISTED]:
        where = f" → {chunk.found} ({chunk.share:.0%} of its text)" if chunk.found else ""
        show(f"  {chunk.chunk}: page {chunk.page}{where}  {' '.join(chunk.text.split())[:80]}")
    if len(chunks) > _LISTED:
        show(f"  and {len(chunks) - _LISTED} more")
