"""The pair model that `[entailment]` names: packaged, by name, in a folder, or a function."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from answerkey.cache import DiskCache, cache_folder, digest
from answerkey.config.declare import read_table
from answerkey.config.tables import PACKAGED_NAME, PYTHON_PREFIX, EntailmentTable
from answerkey.entailment.calibrated import CalibratedPairModel, packaged_graph_hash
from answerkey.entailment.heads import Family, choose_family, make_head, read_meanings
from answerkey.entailment.model_cards import find_card
from answerkey.entailment.onnx_model import OnnxPairModel
from answerkey.entailment.packaged import EntailmentModel, load_model
from answerkey.entailment.pair_model import PairModel, RawPairModel
from answerkey.entailment.python_model import load_pair_function
from answerkey.entailment.token_model import TokenPairModel
from answerkey.errors import SettingsError
from answerkey.local_models.hub_cache import COMMIT
from answerkey.local_models.model_files import file_hash
from answerkey.local_models.repository import ModelRepository, open_repository


def load_pair_model(model: str = PACKAGED_NAME, **options: object) -> PairModel | None:
    """The model of that name, with the options of `[entailment]`; its weights are loaded once.

    None for the packaged model where the installation has none.
    """
    table = read_table(EntailmentTable, {"model": model, **options}, "[entailment]")
    if table.model == PACKAGED_NAME:
        return load_model()
    inner, is_fitted = _load(table, cache_folder())
    # The card is read on each call: `models check` may have written it since.
    return CalibratedPairModel(inner, find_card(inner.digest, table.card), is_fitted=is_fitted)


def fingerprint_of(model: PairModel | None) -> str:
    """The model in the fingerprint of a run: name, commit, content, and the card that calibrates it."""
    if model is None or isinstance(model, EntailmentModel):
        return ""
    parts = [model.name, model.revision[:12], model.digest[:16]]
    if isinstance(model, CalibratedPairModel) and model.card is not None:
        parts.append(f"card {digest(msgspec.to_builtins(model.card))[:12]}")
    return " ".join(filter(None, parts))


@lru_cache(maxsize=4)
def _load(table: EntailmentTable, folder: Path) -> tuple[RawPairModel, bool]:
    """The model without calibration, and whether it has the packaged weights."""
    if table.model.startswith(PYTHON_PREFIX):
        return load_pair_function(table.model), False
    if table.cache:
        store = DiskCache(folder / "entailment.sqlite")
    else:
        store = None
    repository = open_repository(table.model, table.revision)
    inner = open_pair_model(repository, table, store)
    # By content, not by name: a copy of the packaged model gets the combination that was fitted with it.
    is_fitted = repository.has_graph and file_hash(repository.weights) == packaged_graph_hash()
    return inner, is_fitted


def open_pair_model(
    repository: ModelRepository, table: EntailmentTable, store: DiskCache | None
) -> RawPairModel:
    """The adapter of the model's family, without calibration."""
    config = repository.config
    if config.get("auto_map") and not repository.has_graph:
        _check_code(table)
    family = choose_family(config, repository.name)
    if family is Family.TOKENS:
        if not repository.has_graph:
            raise SettingsError(
                f'"{repository.name}" is a token classifier without an ONNX file; choose one that has it'
            )
        return TokenPairModel(
            repository, read_meanings(config, repository.name, table.labels), store
        )
    head = make_head(config, family, repository.name, table.labels)
    if repository.has_graph:
        return OnnxPairModel(repository, head, store)
    from answerkey.entailment.cross_encoder import CrossEncoderModel

    return CrossEncoderModel(repository, head, store, allow_code=table.allow_code)


def _check_code(table: EntailmentTable) -> None:
    """A repository with code of its own: the user must allow it, for one commit."""
    if not table.allow_code:
        raise SettingsError(
            f'"{table.model}" runs code of its repository; read it, then set allow_code = true '
            "and revision to that commit in [entailment]"
        )
    if not COMMIT.fullmatch(table.revision) and not Path(table.model).is_dir():
        raise SettingsError(
            "[entailment] allow_code needs revision to be a commit of 40 digits: "
            f'"{table.revision}" can change'
        )
