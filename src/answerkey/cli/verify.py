"""`answerkey verify`: is the text of each indexed chunk on the page of the PDF that it names?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import collection_option, end, json_option, print_json, say, show
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending
from answerkey.runs.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from answerkey.experiments.verify import WrongPage

_LISTED = 50


@click.command("verify")
@click.argument("suite", type=click.Path(path_type=Path))
@click.option(
    "--pdf", type=click.Path(path_type=Path, exists=True), help="PDF file or folder; default that of the suite."
)
@collection_option
@json_option
@click.pass_context
def command(context: click.Context, suite: Path, pdf: Path | None, collection: str | None, as_json: bool) -> None:
    """Check that each indexed chunk's text is on the page of the PDF that it names.

    \b
    Example:
      answerkey verify suite.toml --pdf manuals/

    The suite's [retrieval] table names the index or the chunks, and with originals the PDFs. Exit code 1 where a chunk is
    on another page or on none.
    """
    from answerkey.experiments.verify import verify_suite

    found = verify_suite(load_suite(suite, collection=collection), pdf, say)
    if as_json:
        print_json(found.as_json())
    else:
        _list("on another page", found.wrong)
        _list("on no page", found.lost)
        _list("names no page of these PDFs", found.unreadable)
    context.exit(end(Ending(EXIT_OK if found.passed else EXIT_GATE, found.sentence, gated=True)))


def _list(title: str, chunks: Sequence[WrongPage]) -> None:
    if not chunks:
        return
    show(f"{title}:")
    for chunk in chunks[:_LISTED]:
        where = f" → {chunk.found} ({chunk.share:.0%} of its text)" if chunk.found else ""
        show(f"  {chunk.chunk}: page {chunk.page}{where}  {' '.join(chunk.text.split())[:80]}")
    if len(chunks) > _LISTED:
        show(f"  and {len(chunks) - _LISTED} more")
