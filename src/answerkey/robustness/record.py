"""variants.json: the figures of variants as every report reads them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from answerkey.coerce.values import is_list, table_of
from answerkey.runs.summary import GateResult

VARIANTS_FILE = "variants.json"
_LARGEST = 5_000_000  # bytes; a larger file was not written by us

Ends = tuple[float, float] | None


class PairMean(msgspec.Struct, frozen=True):
    """A mean over the pairs that have the value."""

    n: int = 0
    mean: float | None = None
    ci95: Ends = None


class KindRecord(msgspec.Struct, frozen=True):
    """One kind of variant beside the original questions. Everything has a default, so that the
    record of another version can be read."""

    pairs: int = 0
    unscored: int = 0
    scored_pairs: int = 0
    pass_rate_original: float | None = None
    pass_rate_variant: float | None = None
    drop: float | None = None
    drop_ci95: Ends = None
    p: float | None = None
    test: str = ""
    newly_failing: tuple[str, ...] = ()
    newly_passing: tuple[str, ...] = ()
    consistency: PairMean = PairMean()
    retrieval_overlap: PairMean = PairMean()
    routed_pairs: int = 0
    rerouted: tuple[str, ...] = ()


class VariantsRecord(msgspec.Struct, frozen=True):
    """All kinds, the gates on them, and the cases that have no variant of a kind."""

    run: str = ""
    partial: str = ""
    kinds: dict[str, KindRecord] = {}
    without_variant: dict[str, int] = {}
    conversation_turns_left_out: int = 0
    gates: tuple[GateResult, ...] = ()

    def to_json(self) -> dict[str, object]:
        return msgspec.to_builtins(self)


def read_variants(folder: Path) -> VariantsRecord | None:
    """The record of a run's variants; None where it has none, or the file cannot be read."""
    path = folder / VARIANTS_FILE
    try:
        if path.stat().st_size > _LARGEST:
            return None
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return read_variants_record(value)


def read_variants_record(value: object) -> VariantsRecord | None:
    """The record in a JSON value; a kind that cannot be read has no figures."""
    # Read part by part: the viewer shows runs of other versions, and damaged ones.
    table = table_of(value)
    kinds = {
        str(kind): _read_kind(figures) for kind, figures in table_of(table.get("kinds")).items()
    }
    if not kinds:
        return None
    counts = table_of(table.get("without_variant"))
    gates = table.get("gates")
    turns = table.get("conversation_turns_left_out")
    return VariantsRecord(
        run=str(table.get("run") or ""),
        partial=str(table.get("partial") or ""),
        kinds=kinds,
        without_variant={str(kind): n for kind, n in counts.items() if isinstance(n, int)},
        conversation_turns_left_out=turns if isinstance(turns, int) else 0,
        gates=_read_gates(gates) if is_list(gates) else (),
    )


def _read_kind(figures: object) -> KindRecord:
    try:
        return msgspec.convert(figures, KindRecord, strict=False)
    except msgspec.ValidationError:
        return KindRecord()


def _read_gates(gates: object) -> tuple[GateResult, ...]:
    try:
        return msgspec.convert(gates, tuple[GateResult, ...])
    except msgspec.ValidationError:
        return ()
