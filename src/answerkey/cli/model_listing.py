"""The models on this machine as rows: for `answerkey models list` and `answerkey doctor`."""

from __future__ import annotations

from answerkey.entailment.heads import Family, choose_family
from answerkey.entailment.model_cards import find_card
from answerkey.errors import AnswerkeyError
from answerkey.local_models.hub_cache import Snapshot, all_snapshots
from answerkey.local_models.repository import ModelRepository

EMBEDDING = "embedding model"


def describe_snapshots() -> list[dict[str, object]]:
    """A row per model: name, revision, bytes, kind, and the figures of its card."""
    return [_describe(snapshot) for snapshot in all_snapshots()]


def _describe(snapshot: Snapshot) -> dict[str, object]:
    repository = ModelRepository(snapshot)
    row: dict[str, object] = {
        "name": snapshot.name,
        "revision": snapshot.commit,
        "bytes": snapshot.size,
        "folder": str(snapshot.folder),
    }
    try:
        kind = _kind_of(repository)
        card = find_card(repository.digest)
    except AnswerkeyError as error:  # not one of ours, or incomplete: it is listed all the same
        return row | {"kind": "not usable", "card": str(error)}
    if kind in (EMBEDDING, Family.RERANKER.value):
        return row | {"kind": kind, "card": "needs no card"}
    if card is None:
        return row | {"kind": kind, "card": "not checked"}
    figures = (
        f"AUROC {card.auroc.value:.2f} on {card.rows} rows, temperature {card.temperature:.2f}"
    )
    return row | {"kind": kind, "card": f"{figures}, threshold {card.threshold:.2f}"}


def _kind_of(repository: ModelRepository) -> str:
    """The family of a pair model, or "embedding model"."""
    is_graph = repository.has_graph
    if repository.read_json("modules.json") is not None:
        return EMBEDDING
    kind = choose_family(repository.config, repository.name).value
    if is_graph:
        return kind
    return f"{kind}, without ONNX"
