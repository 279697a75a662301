"""`answerkey view`: runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import say


@click.command("view")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on; 8765 or else a free one unless given."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; beyond this machine a token is needed.",
)
@click.option(
    "--token",
    envvar="ANSWERKEY_VIEW_TOKEN",
    default="",
    help="What a reader must know; better given in ANSWERKEY_VIEW_TOKEN.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def command(folder: Path | None, port: int | None, host: str, token: str, open_browser: bool) -> None:
    """Look at runs, cases, comparisons and sweeps in the browser, on this machine only.

    FOLDER holds runs; `results`, or else the present folder, unless given. Every page is there as JSON too, with
    ?format=json behind its address.

    \b
    Example:
      answerkey view results
      answerkey view results/support-bot_20260102_030405 --port 9000 --open
    """
    from answerkey.viewer.guard import Rules
    from answerkey.viewer.serve import serve

    def ready(address: str) -> None:
        click.echo(address)
        say("press Ctrl-C to end")
        if open_browser:
            click.launch(address)

    if folder is None:
        folder = Path("results") if Path("results").is_dir() else Path()
    serve(folder, Rules(host, token), port, ready)
