"""The entailment model: reference outputs, a checked hash, caching, and life without its file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import answerkey as ak
from answerkey.cache import DiskCache
from answerkey.entailment import packaged
from answerkey.entailment.packaged import CARD, GRAPH, PACKAGED, EntailmentModel, load_model
from answerkey.errors import SettingsError, StorageError
from answerkey.metrics.entailment import entailed
from answerkey.types import Case, Passage, Response

needs_model = pytest.mark.skipif(
    load_model() is None, reason="the package has no entailment model yet"
)
REFERENCE = Path(__file__).parent / "reference_outputs.json"
PAIR = ("The museum opened in 1932 and is closed on Mondays.", "The museum opened in 1951.")


@needs_model
def test_outputs_are_those_stored_with_the_tests() -> None:
    """tools/train_entailment writes the file when a model is exported; int8 sums differ a little between processors."""
    stored = json.loads(REFERENCE.read_text(encoding="utf-8"))
    found = EntailmentModel(PACKAGED).logits([tuple(row["pair"]) for row in stored["rows"]])
    assert (
        json.loads((PACKAGED / CARD).read_text(encoding="utf-8"))["sha256"][GRAPH]
        == stored["sha256"]
    )
    np.testing.assert_allclose(found, [row["logits"] for row in stored["rows"]], atol=0.15)


@needs_model
def test_probabilities_and_order() -> None:
    wrong, right = ak.entail([PAIR, (PAIR[0], "The museum opened in 1932.")])
    assert right.supported > 0.5 > wrong.supported
    assert wrong.contradicted > right.contradicted
    assert right.supported + right.neutral + right.contradicted == pytest.approx(1, abs=1e-5)
    assert ak.entail([]) == []


@needs_model
def test_the_package_data_are_small_and_name_their_sources() -> None:
    assert (PACKAGED / GRAPH).stat().st_size < 25_000_000
    assert "FEVER" in (PACKAGED / "NOTICE.txt").read_text(encoding="utf-8")


@needs_model
def test_a_pair_is_computed_once_and_alone_as_in_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DiskCache(tmp_path / "pairs.sqlite")
    first = EntailmentModel(PACKAGED, store)
    pairs = [(PAIR[0], f"It was opened in {year}.") for year in range(1900, 1940)]
    together = first.logits(pairs)
    np.testing.assert_allclose(EntailmentModel(PACKAGED).logits(pairs[:1]), together[:1], atol=1e-4)
    again = EntailmentModel(PACKAGED, store)
    monkeypatch.setattr(again, "_compute", None)  # nothing is computed: all are known
    np.testing.assert_array_equal(again.logits(pairs), together)


@needs_model
def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    shutil.copy(PACKAGED / CARD, tmp_path / CARD)
    (tmp_path / GRAPH).write_bytes(b"not the model")
    with pytest.raises(StorageError, match="damaged"):
        EntailmentModel(tmp_path)


@needs_model
@pytest.mark.parametrize("text", ["", "\ud800", "x" * 200_000, "这座桥建于1902年。"])
def test_odd_texts(text: str) -> None:
    assert np.isfinite(EntailmentModel(PACKAGED).logits([(text, PAIR[1]), (PAIR[0], text)])).all()


@needs_model
def test_the_metric_takes_the_worst_sentence() -> None:
    rows = {"question": "When?", "contexts": [PAIR[0]]}
    good = ak.score("entailment", answer="The museum is closed on Mondays.", **rows)
    bad = ak.score(
        "entailment", answer="The museum is closed on Mondays. It opened in 1951.", **rows
    )
    assert (good.value or 0) > (bad.value or 0)
    assert "1951" in bad.reason
    assert (
        ak.score("entailment", answer="Das Museum ist am Montag nicht geöffnet.", **rows).value
        is None
    )


def test_without_the_file_it_is_not_applicable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packaged, "PACKAGED", tmp_path)
    load_model.cache_clear()
    try:
        pair = (Case("1", "When?"), Response("It opened in 1951.", (Passage(PAIR[0]),)))
        assert "no entailment model" in entailed.entailment([pair])[0].reason
        with pytest.raises(SettingsError, match="no entailment model"):
            ak.entail([PAIR])
    finally:
        load_model.cache_clear()
