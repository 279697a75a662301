"""The embedder that a name means: known names, similar names, missing packages."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_models import make_embedding

from answerkey.embed import load_embedder, unit_rows
from answerkey.errors import EndpointError, MissingPackage, SettingsError


def test_the_default_is_the_packaged_model_loaded_once() -> None:
    embedder = load_embedder()
    assert (embedder.name, embedder.precision, embedder.dimension) == (
        "all-MiniLM-L6-v2",
        "fp32",
        384,
    )
    assert embedder is load_embedder("all-MiniLM-L6-v2")
    assert load_embedder("sentence-transformers/all-MiniLM-L6-v2").digest == embedder.digest
    question, near, far = embedder.embed(
        ["How do I get a refund?", "Getting money back", "The moon is far away"]
    )
    assert question @ near > question @ far


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("all-MiniLM-L6-v3", {}, 'did you mean "all-MiniLM-L6-v2"'),
        ("word2vec", {}, "give base_url for an endpoint"),
        ("all-MiniLM-L6-v2", {"thread": 2}, 'did you mean "threads"'),
        (
            "all-MiniLM-L6-v2",
            {"backend": "faiss"},
            "expected minilm, onnx, sentence-transformers or http",
        ),
        ("other", {"backend": "minilm"}, '"other" is not packaged'),
        ("other", {"backend": "http"}, "needs base_url"),
        ("other", {"base_url": "127.0.0.1"}, "expected an address"),
    ],
)
def test_what_cannot_be_loaded_is_one_clear_line(
    name: str, options: dict[str, object], line: str
) -> None:
    with pytest.raises(SettingsError, match=line):
        load_embedder(name, **options)


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="it is installed here")
def test_a_model_that_was_not_fetched_names_the_command(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(SettingsError, match="models fetch BAAI/bge-small"):
        load_embedder("bge-small-en-v1.5")


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="it is installed here")
def test_a_model_without_onnx_says_what_to_install(tmp_path: Path) -> None:
    folder = make_embedding(tmp_path / "m")
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(MissingPackage, match=r"pip install 'answerkey\[sentence-transformers\]'"):
        load_embedder(str(folder))


def test_loading_the_room_loads_no_heavy_package() -> None:
    program = (
        "import sys, answerkey, answerkey.embed, answerkey.metrics.semantic;"
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_vectors_are_checked_before_they_are_used() -> None:
    np.testing.assert_allclose(unit_rows([[3, 4]], 1, 2, "it"), [[0.6, 0.8]], rtol=1e-6)
    for given, line in (
        ([[0.0, 0.0]], "zero vector"),
        ([[np.nan, 1.0]], "NaN"),
        ([[np.inf, 1.0]], "infinite"),
        ([[1e300, 1.0]], "infinite"),
        ([[1.0]], "dimension 1, expected 2"),
        ([1.0, 2.0], "shape"),
        ([[1.0, 2.0], [1.0]], "one length"),
    ):
        with pytest.raises(EndpointError, match=line):
            unit_rows(given, 1, 2, "it")
