"""`answerkey generate`: test cases from documents."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import COUNT, PATH, done, json_option, print_json, quiet_option, say, show
from answerkey.errors import SettingsError


@click.command("generate")
@click.argument("documents")
@click.option("--out", type=PATH, required=True, help="The case file to write: a new .jsonl file.")
@click.option("--count", type=COUNT, help="Most cases to make; default all, with --judge 50.")
@click.option(
    "--judge",
    metavar="J",
    help="A language model that writes and checks questions with answers; default none, offline.",
)
@click.option(
    "--kinds",
    metavar="A,B,…",
    default="",
    help="Only these kinds. With a judge: fact,how,compare,multi,unanswerable; offline: "
    "heading,faq,caption,link,alt text,definition. Default all.",
)
@click.option(
    "--like", type=PATH, help="Real questions with labels: overlap and agreement are measured."
)
@click.option("--suite", type=PATH, help="Also write a suite that runs the cases.")
@click.option("--seed", type=int, default=0, help="Seed of the choice among candidates; default 0.")
@click.option("--model", metavar="NAME", help="Embedding model; default the packaged one.")
@click.option("--yes", is_flag=True, help="With --judge: start without asking about the cost.")
@quiet_option
@json_option
def generate_command(
    documents: str,
    out: Path,
    count: int | None,
    judge: str | None,
    kinds: str,
    like: Path | None,
    suite: Path | None,
    seed: int,
    model: str | None,
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make test cases from documents: a folder, a BEIR folder or a JSON file of chunks.

    Offline, the questions are headings, FAQ questions, captions, links and definitions: texts that
    people wrote about a passage. These are retrieval cases; only FAQ questions have an expected
    answer. With --judge a language model writes questions and answers with a verbatim quote, and
    every case must pass five checks.

    \b
    Example:
      answerkey generate docs --out cases.jsonl --suite suite.toml
      answerkey generate docs --out cases.jsonl --judge openai --count 50 --like real.csv
    """
    from answerkey.api.testsets import generate
    from answerkey.cli.scoring_options import split_names

    # Checked first: afterwards the judge would have been paid for nothing.
    if suite is not None and suite.exists():
        raise SettingsError(f"{suite} exists; give another name, or delete it first")
    report = generate(
        documents,
        out=out,
        count=count,
        judge=judge,
        kinds=split_names(kinds),
        like=like,
        seed=seed,
        embedding=model or "",
        step=_ignore if quiet else say,
        confirm=None if yes or judge is None else _confirm,
    )
    if suite is not None:
        from answerkey.testsets.generate.write_cases import write_suite

        write_suite(suite, out)
    if as_json:
        print_json(report.as_json())
    elif not quiet:
        show(report.text)
    next_command = f"answerkey run {suite}" if suite else f"answerkey audit {out}"
    done(f"{report.sentence}; written to {out}; next: {next_command}")


def _ignore(_: str) -> None:
    """Drop the progress."""


def _confirm(estimate: str) -> bool:
    """Show the expected cost, and ask where somebody can answer."""
    import sys

    say(estimate)
    # Nobody can answer in CI; the estimate is in its log.
    if not sys.stdin.isatty():
        return True
    return click.confirm("Start?", err=True)
