"""`answerkey models`: list, fetch, check and remove entailment and embedding models."""

from __future__ import annotations

import sys

import click

from answerkey.cli.output import end, json_option, print_json, quiet_option, say, show
from answerkey.errors import EXIT_OK, Ending, SettingsError
from answerkey.local_models.fetch import fetch_model
from answerkey.local_models.hub import RemoteModel, describe_model, hub_address
from answerkey.local_models.hub_cache import (
    COMMIT,
    Snapshot,
    check_names,
    remove_model,
)

revision_option = click.option(
    "--revision", default="main", help="Branch, tag or commit; default main."
)


@click.group("models")
def models_command() -> None:
    """List, fetch, check and remove models: entailment and embedding models by name.

    \b
    Example:
      answerkey models fetch MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli
      answerkey models list
    """


@models_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the models on this machine, with their size and their card.

    \b
    Example:
      answerkey models list
    """
    from answerkey.cli.model_listing import describe_snapshots

    rows = describe_snapshots()
    if as_json:
        print_json(rows)
        return EXIT_OK
    for row in rows:
        line = f"{row['name']}  {str(row['revision'])[:12]}  {format_bytes(int(str(row['bytes'])))}"
        show(f"{line}  {row['kind']}; {row['card']}")
    if not rows:
        say("no model was fetched; answerkey models fetch ORG/NAME does it")
    return end(Ending(EXIT_OK, f"{len(rows)} models on this machine", gated=False))


@models_command.command("fetch")
@click.argument("name")
@revision_option
@click.option("--yes", is_flag=True, help="Do not ask before a large download.")
@click.option(
    "--allow-code",
    is_flag=True,
    help="Fetch the code of the repository too; needs --revision to be a commit.",
)
@quiet_option
@json_option
def fetch_command(
    name: str, revision: str, yes: bool, allow_code: bool, quiet: bool, as_json: bool
) -> int:
    """Download a model from a hub: ONNX or safetensors files, never pickle.

    The size is shown first. An interrupted download is resumed by the same command. HF_HOME, HF_ENDPOINT, HF_TOKEN,
    HF_HUB_OFFLINE and proxy variables work as in the hub's own client.

    \b
    Example:
      answerkey models fetch MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli
    """
    check_names(name, revision)
    if allow_code and not COMMIT.fullmatch(revision):
        raise SettingsError("--allow-code needs --revision COMMIT: a branch can change")
    model = describe_model(name, revision, allow_code=allow_code)
    licence = model.licence or "not stated"
    if not quiet and not as_json:
        say(
            f"{name} {model.commit[:12]}: {len(model.files)} files, {format_bytes(model.size)}, "
            f"licence {licence}, from {hub_address()}"
        )
    if model.size > ASK_FROM and not yes and sys.stdin.isatty():
        click.confirm("Download?", default=True, abort=True, err=True)
    snapshot = _fetch(model, revision, quiet=quiet or as_json)
    if as_json:
        facts = {
            "name": name,
            "revision": model.commit,
            "bytes": model.size,
            "licence": model.licence,
            "folder": str(snapshot.folder),
        }
        print_json(facts)
        return EXIT_OK
    sentence = f'"{name}" is ready: model = "{name}" in [entailment] or [embedding]'
    return end(Ending(EXIT_OK, sentence, gated=False))


ASK_FROM = 2_000_000_000  # bytes; a larger download is confirmed on a terminal


def _fetch(model: RemoteModel, revision: str, *, quiet: bool) -> Snapshot:
    from tqdm import tqdm

    hidden = True if quiet else None  # None: hidden where standard error is no terminal
    with tqdm(
        total=model.size, unit="B", unit_scale=True, desc=model.name, disable=hidden
    ) as progress:
        return fetch_model(model, revision, progress.update)


@models_command.command("remove")
@click.argument("name")
@json_option
def remove_command(name: str, as_json: bool) -> int:
    """Delete a model from this machine, with all its revisions.

    \b
    Example:
      answerkey models remove MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli
    """
    freed = remove_model(name)
    if as_json:
        print_json({"name": name, "bytes": freed})
        return EXIT_OK
    return end(Ending(EXIT_OK, f'"{name}" removed, {format_bytes(freed)} freed', gated=False))


def format_bytes(count: int) -> str:
    """Bytes for people: 738 MB, 1.2 GB."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
