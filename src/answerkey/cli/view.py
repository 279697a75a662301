"""`answerkey view`: runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import PATH, WholeNumber, done, say
from answerkey.viewer.guard import Rules


@click.command("view")
@click.argument("folder", required=False, type=PATH)
@click.option(
    "--port", type=WholeNumber(0, 65535), help="Port; default 8765, otherwise any free port."
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on; default 127.0.0.1. Any address beyond this machine needs a token.",
)
@click.option(
    "--token",
    envvar="ANSWERKEY_VIEW_TOKEN",
    default="",
    help="Access token; safer in the environment variable ANSWERKEY_VIEW_TOKEN.",
)
@click.option(
    "--label",
    "labelling",
    is_flag=True,
    help="Open the label desk of the newest run: cases without scores.",
)
@click.option(
    "--as", "labeller", default="", metavar="NAME", help="Your name for the labels you give."
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def view_command(
    folder: Path | None,
    port: int | None,
    host: str,
    token: str,
    labelling: bool,
    labeller: str,
    open_browser: bool,
) -> None:
    """Browse runs, cases, comparisons and sweeps on a local page.

    FOLDER contains runs; default `results`, otherwise the current folder. Every page is also available as JSON:
    append ?format=json to its address.

    \b
    Example:
      answerkey view results
      answerkey view results --label --as ana
      answerkey view results/support-bot_20260102_030405 --port 9000 --open
    """
    from answerkey.viewer.server import serve_viewer

    def ready(address: str) -> None:
        if labelling:
            address = _label_address(address)
        click.echo(address)
        say("press Ctrl-C to stop")
        if open_browser:
            click.launch(address)

    if folder is None:
        folder = Path("results") if Path("results").is_dir() else Path()
    serve_viewer(folder, Rules(host, token), port, ready, labeller)
    done("the viewer has stopped")


def _label_address(address: str) -> str:
    """The label desk at the viewer's address, which may end with the token."""
    page, mark, token = address.partition("?token")
    return f"{page}label{mark}{token}"
