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
    print_result,
    say,
    show,
)
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, SettingsError
from answerkey.reports.plots import INSTALL
from answerkey.runs.store import is_run, new_folder
from answerkey.runs.suite import Suite, load_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from answerkey.experiments.choice import Conclusions
    from answerkey.experiments.evidence import Diagnosis
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
    **given: Any,
) -> None:
    """Compare dense, sparse and hybrid retrieval for every α and K.

    \b
    Example:
      answerkey sweep suite.toml --alphas 0,0.5,1 --ks 3,5,10
      answerkey sweep suite.toml --trace Q17

    Without α and K, the standard tests: five named methods and α from 0 to 1 at K = 5, then K from 3 to 20 at the best α.
    """
    from answerkey.experiments.choice import draw_conclusions
    from answerkey.experiments.sweep import prepare_sweep, run_sweep
    from answerkey.experiments.sweep_files import summary
    from answerkey.reports.sweep_report import sweep_text, write_sweep

    named = {
        "alphas": _numbers("alphas", given["alphas"], float),
        "ks": _numbers("ks", given["ks"], int),
        "named": given["named"] or None,
        "rrf": given["rrf"] or None,
        "select": given["select"],
        "topk_alpha": given["alpha"],
    }
    settings = {
        f"retrieval.sweep.{key}": value for key, value in named.items() if value is not None
    }
    loaded = load_suite(suite, settings, given["collection"])
    _say_notices(loaded)
    prepared = prepare_sweep(loaded, say)
    sweep = run_sweep(prepared, say, timed=query is None)
    for warning in sweep.check.warnings:
        say(f"warning: {warning}")
    if unlabelled := len(sweep.cases) - int(sweep.labelled.sum()):
        of = f"{unlabelled} of {len(sweep.cases)} queries"
        say(f"warning: {of} have no relevant pages and are left out of the means")
    if sweep.values.max() > 1.0 + 1e-9:
        say(
            'warning: some values are above 1, because several chunks of one page are counted; use unit = "page"'
        )
    found = draw_conclusions(sweep)
    if query is not None:
        return _trace(sweep, found, query, k, as_json=as_json)
    folder = new_folder(out or loaded.folder / loaded.run.out, f"{loaded.name}_sweep")
    if not write_sweep(sweep, found, folder, plots=not no_plots):
        say(f"no plots/*.png: {INSTALL}; `answerkey view {folder}` shows the charts without it")
    record = {"folder": str(folder), **summary(sweep, found)} if as_json else {}
    print_result(record, sweep_text(sweep, found), as_json)
    return None if as_json else done(f"wrote {folder}")


def _say_notices(suite: Suite) -> None:
    for notice in suite.notices:
        say(f"notice: {notice}")


def _numbers(name: str, text: str | None, read: type[float] | type[int]) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [read(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(
            f'"{text}": expected comma-separated numbers', param_hint=f"--{name}"
        ) from None


def _trace(sweep: Sweep, found: Conclusions, query: str, k: int | None, *, as_json: bool) -> None:
    """The best setting, or the α and K that were given."""
    from answerkey.experiments.trace import trace

    row, column = found.best.winner
    if sweep.plan.topk_alpha is not None:
        row = sweep.topk[found.setup]
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
    from answerkey.experiments.evidence import from_files, from_run, from_suite

    if collection is not None and (suite_or_run is None or is_run(suite_or_run)):
        raise click.UsageError("--collection needs a suite, whose vector store is searched")
    labels = qrels or run_file
    if suite_or_run is not None and labels is None:
        evidence = (
            from_run(suite_or_run)
            if is_run(suite_or_run)
            else from_suite(suite_or_run, say, collection)
        )
    elif suite_or_run is not None or labels is None:
        raise click.UsageError("give a suite, a run folder, or --qrels with --run or --index-ids")
    elif run_file is None and index_ids is None:
        raise click.UsageError("--qrels needs --run, --index-ids or both")
    else:
        evidence = from_files(labels, run_file, index_ids)
    diagnosis = diagnose(evidence)
    print_result(diagnosis.as_json(), "\n".join(_lines(diagnosis)), as_json)


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    from answerkey.experiments.evidence import MEASURE, gain, sentence

    yield sentence(diagnosis)
    for number, finding in enumerate(diagnosis.findings, start=1):
        more = gain(finding, diagnosis.score)
        yield f"\n{number}. {finding.title}\n   evidence: {finding.evidence}\n   action:   {finding.action}"
        if finding.score_if_fixed is not None and more > 0:
            yield f"   gain:     {MEASURE} {diagnosis.score or 0.0:.3f} → {finding.score_if_fixed:.3f} ({more:+.3f})"
    for note in diagnosis.notes:
        yield f"\nnote: {note.title}: {note.evidence}; {note.action}"
    yield f"\nchecked: {', '.join(diagnosis.checked)}; {diagnosis.labelled} of {diagnosis.queries} queries labelled"


_LISTED = 50


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

    The suite's [retrieval] table names the index or the chunks, and with originals the PDFs. Exit code 1 where a chunk is
    on another page or on none.
    """
    from answerkey.experiments.verify import verify_suite

    loaded = load_suite(suite, collection=collection)
    _say_notices(loaded)
    found = verify_suite(loaded, pdf, say)
    if as_json:
        print_result(found.as_json(), "", as_json)
    else:
        _list_chunks("on another page", found.wrong)
        _list_chunks("on no page", found.lost)
        _list_chunks("names no page of these PDFs", found.unreadable)
    raise click.exceptions.Exit(end(Ending(EXIT_OK if found.passed else EXIT_GATE, found.sentence)))


def _list_chunks(title: str, chunks: Sequence[WrongPage]) -> None:
    if not chunks:
        return
    show(f"{title}:")
    for chunk in chunks[:_LISTED]:
        where = f" → {chunk.found} ({chunk.share:.0%} of its text)" if chunk.found else ""
        show(f"  {chunk.chunk}: page {chunk.page}{where}  {' '.join(chunk.text.split())[:80]}")
    if len(chunks) > _LISTED:
        show(f"  and {len(chunks) - _LISTED} more")
