"""`answerkey models`: list, fetch, check and remove entailment and embedding models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from answerkey.cli.output import (
    FILE,
    PATH,
    end,
    json_option,
    print_json,
    quiet_option,
    say,
    show,
)
from answerkey.errors import EXIT_OK, Ending, InputError, SettingsError
from answerkey.local_models.fetch import fetch_model
from answerkey.local_models.hub import RemoteModel, describe_model, hub_address
from answerkey.local_models.hub_cache import (
    COMMIT,
    Snapshot,
    check_names,
    remove_model,
)

if TYPE_CHECKING:
    from answerkey.entailment.model_cards import ModelCard

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
    # Nobody can answer where standard input is no terminal.
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


@models_command.command("check")
@click.argument("name")
@click.option(
    "--data",
    type=FILE,
    required=True,
    help="JSON lines with contexts, answer, label (1: supported) and maybe group.",
)
@revision_option
@click.option(
    "--label-means",
    type=click.Choice(("supported", "unsupported")),
    default="supported",
    help="The meaning of label 1; default supported.",
)
@click.option("--card", type=PATH, help="Write the card to this file, to keep it with a suite.")
@json_option
def check_model_command(
    name: str, data: Path, revision: str, label_means: str, card: Path | None, as_json: bool
) -> int:
    """Measure a model on your labels, calibrate it, and write the card that metrics then use.

    \b
    Example:
      answerkey models check MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli --data labelled.jsonl
    """
    from answerkey.calibrate.pair_models import make_card, read_labelled_answers
    from answerkey.entailment.calibrated import CalibratedPairModel
    from answerkey.entailment.load import load_pair_model
    from answerkey.entailment.model_cards import write_card

    labelled = read_labelled_answers(data, one_means_unsupported=label_means == "unsupported")
    model = load_pair_model(name, revision=revision)
    if not isinstance(model, CalibratedPairModel):
        raise SettingsError("the packaged model is calibrated already; name another one")
    if labelled.too_few:
        raise InputError(f"{data}: {labelled.too_few}")
    made = make_card(model.inner, labelled)
    path = write_card(made, card)
    if as_json:
        print_json(msgspec.to_builtins(made))
        return EXIT_OK
    _show_card(made)
    sentence = f"{made.rows} labels in {made.groups} groups; metrics use the card {path}"
    return end(Ending(EXIT_OK, sentence, gated=False))


def _show_card(card: ModelCard) -> None:
    area = card.auroc
    combination = "fitted" if card.combination else "none: no better than the model alone"
    show(
        f"AUROC                 {area.value:.3f} (95 % interval {area.low:.3f} to {area.high:.3f})"
    )
    show(f"AUROC, packaged model {card.packaged_auroc:.3f}")
    show(f"calibration error     {card.calibration_error:.3f}, on groups left out of the fit")
    show(f"temperature           {card.temperature:.2f}, threshold {card.threshold:.2f}")
    show(f"combination           {combination}")
    show(f"speed                 {card.pairs_per_second:.1f} answers per second")


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
