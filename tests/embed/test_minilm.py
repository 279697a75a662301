"""The packaged model: equal to sentence-transformers with the official weights, whatever the text and the batch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.embed.minilm import MiniLM
from answerkey.errors import StorageError
from answerkey.local_models.model_files import MINILM_FOLDER as PACKAGED
from answerkey.local_models.model_files import open_model

HERE = Path(__file__).parent


@lru_cache
def one_model() -> MiniLM:
    return MiniLM(threads=1)


@pytest.fixture
def model() -> MiniLM:
    return one_model()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSWERKEY_CACHE", str(tmp_path_factory.mktemp("int8")))
        return MiniLM(int8=True, threads=1)


@pytest.fixture(scope="module")
def reference() -> tuple[list[str], np.ndarray]:
    texts = json.loads((HERE / "reference.json").read_text(encoding="utf-8"))
    vectors = np.load(HERE / "reference.npz")["vectors"].astype(np.float32)
    return texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.slow
def test_equals_sentence_transformers_on_300_texts(
    model: MiniLM, reference: tuple[list[str], np.ndarray]
) -> None:
    texts, expected = reference
    assert len(texts) == 300
    cosines = (model.embed(texts) * expected).sum(axis=1)
    assert cosines.min() >= 0.9999, texts[int(cosines.argmin())][:80]


def test_equals_sentence_transformers_on_the_odd_texts(
    model: MiniLM, reference: tuple[list[str], np.ndarray]
) -> None:
    texts, expected = reference
    short = [n for n, text in enumerate(texts) if len(text) < 60][:80]
    cosines = (model.embed([texts[n] for n in short]) * expected[short]).sum(axis=1)
    assert cosines.min() >= 0.9999, texts[short[int(cosines.argmin())]]


@pytest.mark.slow
def test_int8_stays_near_and_does_not_depend_on_its_neighbours(
    small: MiniLM, reference: tuple[list[str], np.ndarray]
) -> None:
    texts, expected = reference
    vectors = small.embed(texts)
    cosines = (vectors * expected).sum(axis=1)
    assert cosines.min() >= 0.95
    assert cosines.mean() >= 0.99
    alone = np.concatenate([small.embed([text]) for text in texts[::10]])
    assert (alone * vectors[::10]).sum(axis=1).min() > 0.99999


def test_a_vector_does_not_depend_on_the_batch_or_the_order(model: MiniLM) -> None:
    texts = ["short", "a longer text " * 20, "", "middle of the road", "short"]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-6)
    np.testing.assert_allclose(model.embed(texts[::-1])[::-1], together, atol=2e-6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=40), max_size=5))
def test_any_text_gives_finite_unit_rows(texts: list[str]) -> None:
    vectors = one_model().embed(texts)
    assert vectors.shape == (len(texts), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_half_surrogates_and_endless_texts_are_read(model: MiniLM) -> None:
    vectors = model.embed(["broken \ud800 text", "x " * 2_000_000, "x" * 5_000_000])
    assert np.isfinite(vectors).all()


def test_only_the_first_256_tokens_count(model: MiniLM) -> None:
    first = "word " * 254
    np.testing.assert_array_equal(*model.embed([first, first + "something else entirely"]))


def test_several_threads_get_the_same_vectors(model: MiniLM) -> None:
    texts = [f"text number {n}" for n in range(20)]
    expected, results = model.embed(texts), {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: model.embed(texts)}))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for vectors in results.values():
        np.testing.assert_allclose(vectors, expected, atol=2e-6)


def test_facts_name_the_official_weights_and_the_licence() -> None:
    facts = open_model().facts
    official = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert facts.made_from["model.safetensors"] == official
    assert "Apache License" in (PACKAGED / "LICENSE").read_text()
    assert official in (PACKAGED / "NOTICE").read_text()


@pytest.mark.parametrize("name", ["weights.bin", "model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
def test_a_damaged_model_is_one_clear_line(tmp_path: Path, name: str, damage: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(PACKAGED, folder)
    content = (folder / name).read_bytes()
    if damage == "missing":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content[:-100] if damage == "cut" else b"\0" + content[1:])
    with pytest.raises(
        StorageError, match=f"model is damaged: .*{name} .*install answerkey again"
    ) as caught:
        MiniLM(folder=folder)
    assert "\n" not in str(caught.value)


def test_a_missing_or_broken_description_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"model\.json is missing"):
        MiniLM(folder=tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(StorageError, match=r"model\.json is not JSON"):
        MiniLM(folder=tmp_path)


def test_int8_is_made_once_and_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))
    first = MiniLM(int8=True, threads=1)
    (weights,) = tmp_path.glob("models/*/weights-int8.bin")
    made, content = weights.stat().st_mtime_ns, weights.read_bytes()
    expected = first.embed(["a text"])
    MiniLM(int8=True, threads=1)
    assert weights.stat().st_mtime_ns == made
    del first
    weights.unlink()
    weights.write_bytes(content[:1000])
    again = MiniLM(int8=True, threads=1)
    assert weights.read_bytes() == content
    np.testing.assert_array_equal(again.embed(["a text"]), expected)
    assert (again.precision, MiniLM(threads=1).precision) == ("int8", "fp32")
    assert again.digest != MiniLM(threads=1).digest


def test_nothing_is_kept_in_the_home_folder_or_reported(tmp_path: Path) -> None:
    """onnxruntime would write a device id there, and then send it."""
    home = tmp_path / "home"
    home.mkdir()
    code = "from answerkey.embed import load_embedder; load_embedder().embed(['a text'])"
    plain = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=plain | {"HOME": str(home)}, check=True)
    assert not list(home.rglob("*"))
