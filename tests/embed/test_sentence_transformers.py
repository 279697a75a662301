"""Our vectors beside those of sentence-transformers, on a small transformer with random weights.

Needs the extra `sentence-transformers`, which `make test` does not install; run it in an environment that has it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs answerkey[sentence-transformers]")
pytest.importorskip("onnx", reason="the test exports a model to ONNX")

from sentence_transformers import SentenceTransformer
from tests.support.torch_models import make_torch_embedding

from answerkey.embed import embed_passages, embed_queries, load_embedder
from answerkey.embed.sentence_transformer import SentenceTransformerEmbedder
from answerkey.errors import SettingsError

# torch warns about its older exporter, which needs no further package; the graph is the same.
pytestmark = pytest.mark.filterwarnings("ignore")
PROMPTS = {"query": "query: ", "passage": "passage: "}
TEXTS = [
    "the museum opened in 1932",
    "a tour takes an hour",
    "closed",
    "the museum is closed on mondays and the tour takes an hour " * 12,
]


def reference(folder: Path, texts: list[str], **options: Any) -> np.ndarray:
    model = SentenceTransformer(str(folder), device="cpu")
    return model.encode(texts, normalize_embeddings=True, **options)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_vectors_are_equal_with_each_pooling_and_prefixes(tmp_path: Path, pooling: str) -> None:
    folder = make_torch_embedding(tmp_path / "m", pooling, PROMPTS)
    ours = load_embedder(str(folder), cache=False)
    queries = reference(folder, TEXTS, prompt_name="query")
    passages = reference(folder, TEXTS, prompt_name="passage")
    np.testing.assert_allclose(ours.embed(TEXTS), reference(folder, TEXTS), atol=1e-5)
    np.testing.assert_allclose(embed_queries(ours, TEXTS), queries, atol=1e-5)
    np.testing.assert_allclose(embed_passages(ours, TEXTS), passages, atol=1e-5)
    assert np.abs(queries - passages).max() > 1e-3  # the prefixes make a difference


def test_a_repository_without_onnx_gives_the_same_vectors(tmp_path: Path) -> None:
    folder = make_torch_embedding(tmp_path / "m", "cls", PROMPTS)
    # Another folder: an embedder is loaded once for the same name.
    plain = tmp_path / "without"
    shutil.copytree(folder, plain, ignore=shutil.ignore_patterns("onnx"))
    with_graph = load_embedder(str(folder), cache=False)
    without = load_embedder(str(plain), cache=False)
    assert isinstance(without.inner, SentenceTransformerEmbedder)
    np.testing.assert_allclose(without.embed(TEXTS), with_graph.embed(TEXTS), atol=1e-5)
    for embed in (embed_queries, embed_passages):
        np.testing.assert_allclose(embed(without, TEXTS), embed(with_graph, TEXTS), atol=1e-5)


def test_the_default_prompt_of_a_repository_is_added_once(tmp_path: Path) -> None:
    folder = make_torch_embedding(tmp_path / "m", "mean", PROMPTS)
    settings = folder / "config_sentence_transformers.json"
    table = json.loads(settings.read_text())
    settings.write_text(json.dumps(table | {"default_prompt_name": "passage"}))
    plain = tmp_path / "without"
    shutil.copytree(folder, plain, ignore=shutil.ignore_patterns("onnx"))
    expected = reference(folder, TEXTS)
    for source in (folder, plain):
        vectors = load_embedder(str(source), cache=False).embed(TEXTS)
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    folder = make_torch_embedding(tmp_path / "m", "mean", {})
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(SettingsError):
        load_embedder(str(folder), cache=False)


def test_a_model_that_was_not_fetched_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(SettingsError, match="cannot load"):
        load_embedder("nobody/nothing", cache=False)
