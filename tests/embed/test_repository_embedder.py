"""Sentence-embedding models by folder: pooling, prompts, and the packaged model in the layout of a hub."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_models import make_embedding
from tokenizers import Tokenizer

import answerkey as ak
from answerkey.embed import embed_passages, embed_queries, load_embedder
from answerkey.embed.embedder import CachedEmbedder
from answerkey.errors import SettingsError
from answerkey.local_models.model_files import MINILM_FOLDER

TEXTS = ["the museum opened in 1932", "a tour takes an hour", "", "closed on mondays " * 40, "é 中"]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_pooling_is_that_of_the_repository(tmp_path: Path, pooling: str) -> None:
    folder = make_embedding(tmp_path / "m", pooling)
    vectors = load_embedder(str(folder)).embed(TEXTS)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(32)
    table = _table(folder)
    for text, vector in zip(TEXTS, vectors, strict=True):
        tokens = table[tokenizer.encode(text).ids]
        expected = {"mean": tokens.mean(0), "cls": tokens[0], "max": tokens.max(0)}[pooling]
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


def _table(folder: Path) -> np.ndarray:
    import onnx

    graph = onnx.load(str(folder / "onnx" / "model.onnx")).graph
    (tensor,) = [each for each in graph.initializer if each.name == "table"]
    return onnx.numpy_helper.to_array(tensor)


def test_prompts_come_from_the_repository_or_the_settings(tmp_path: Path) -> None:
    folder = make_embedding(tmp_path / "m", prompts={"query": "no ", "passage": "yes "})
    model = load_embedder(str(folder))
    plain = load_embedder(str(folder), query_prefix="", passage_prefix="")
    assert model.digest != plain.digest
    text = ["the museum"]
    np.testing.assert_array_equal(model.embed(text), plain.embed(text))
    np.testing.assert_array_equal(embed_queries(model, text), plain.embed(["no the museum"]))
    np.testing.assert_array_equal(embed_passages(model, text), plain.embed(["yes the museum"]))
    own = load_embedder(str(folder), query_prefix="maybe ", prefix="a ")
    np.testing.assert_array_equal(embed_queries(own, text), plain.embed(["maybe the museum"]))
    np.testing.assert_array_equal(own.embed(text), plain.embed(["a the museum"]))


def test_a_layer_after_the_graph_is_refused(tmp_path: Path) -> None:
    folder = make_embedding(tmp_path / "m")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"path": "3_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(SettingsError, match='layer "Dense"'):
        load_embedder(str(folder))


def test_the_packaged_model_in_the_layout_of_a_hub_gives_equal_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    (folder / "onnx").mkdir(parents=True)
    for name in ("model.onnx", "weights.bin"):
        shutil.copyfile(MINILM_FOLDER / name, folder / "onnx" / name)
    shutil.copyfile(MINILM_FOLDER / "tokenizer.json", folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256}))
    texts = [*TEXTS, *(f"{text} {n}" for n in range(40) for text in TEXTS)]
    model = load_embedder(str(folder), cache=False)
    assert isinstance(model, CachedEmbedder)
    np.testing.assert_allclose(
        model.embed(texts), load_embedder(cache=False).embed(texts), atol=1e-5
    )


class Letters:
    """Counts letters: an embedder of a user."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]


def test_an_object_or_a_function_is_an_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"question": "q", "answer": "aaa", "expected": "aaa", "contexts": ["aaa"]}]
    for given in (Letters(), Letters().embed):
        run = ak.evaluate(rows, ["answer_correctness"], embedding=given, progress=False)
        assert run.summary.mean["answer_correctness"] == pytest.approx(1.0)
    (tmp_path / "my_vectors.py").write_text(
        "def embed(texts):\n    return [[1.0, len(t)] for t in texts]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_embedder("python:my_vectors:embed").dimension == 2
    with pytest.raises(SettingsError, match='has no "absent"'):
        load_embedder("python:my_vectors:absent")
