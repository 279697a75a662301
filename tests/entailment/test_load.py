"""Pair models of each family by folder: the class order, two classes, one number, tokens, windows, functions."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.support.tiny_models import make_classes, make_number, make_tokens

from answerkey.entailment.load import load_pair_model
from answerkey.entailment.pair_model import PairModel, probabilities, supported_odds
from answerkey.entailment.token_model import TokenPairModel
from answerkey.errors import MissingPackage, SettingsError

PREMISE = "the museum opened in 1932"
YES = (PREMISE, "yes the museum opened")
MAYBE = (PREMISE, "maybe the museum opened")
NO = (PREMISE, "no the museum opened")


def load(folder: Path, **options: object) -> PairModel:
    model = load_pair_model(str(folder), **options)
    assert model is not None
    return model


def verdicts(model: PairModel) -> list[int]:
    """The most probable of supported, neutral, contradicted for three statements."""
    return probabilities(model.logits([YES, MAYBE, NO])).argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
@pytest.mark.parametrize(
    "order", list(itertools.permutations(["supported", "neutral", "contradicted"]))
)
def test_the_order_of_the_classes_comes_from_the_model(
    tmp_path: Path, order: tuple[str, ...], kind: str
) -> None:
    assert verdicts(load(make_classes(tmp_path / "m", order, kind))) == [0, 1, 2]


def test_a_swapped_label_order_turns_the_verdict_round(tmp_path: Path) -> None:
    order = ("supported", "neutral", "contradicted")
    folder = make_classes(tmp_path / "m", order, labels=("contradiction", "neutral", "entailment"))
    assert verdicts(load(folder)) == [2, 1, 0]


def test_classes_without_names_must_be_named(tmp_path: Path) -> None:
    order = ("contradicted", "supported", "neutral")
    folder = make_classes(tmp_path / "m", order, labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(SettingsError, match="Set labels"):
        load(folder)
    assert verdicts(load(folder, labels=("contradicted", "supported", "neutral"))) == [0, 1, 2]
    with pytest.raises(SettingsError, match='do not contain "supported" once'):
        load(folder, labels=("neutral", "neutral", "contradicted"))


def test_two_classes_call_nothing_a_contradiction(tmp_path: Path) -> None:
    folder = make_classes(tmp_path / "m", ("not_supported", "supported"), "bpe")
    assert verdicts(load(folder)) == [0, 1, 1]


def test_one_number_is_the_log_odds_of_supported(tmp_path: Path) -> None:
    model = load(make_number(tmp_path / "m"))
    odds = supported_odds(model.logits([YES, NO]))
    assert odds[0] > 3
    assert odds[1] < -3


def test_one_number_can_be_a_probability(tmp_path: Path) -> None:
    folder = make_number(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (folder / "config.json").write_text(json.dumps(config))
    shares = probabilities(load(folder).logits([YES, NO]))
    assert shares[0, 0] == pytest.approx(1, abs=1e-5)
    assert shares[1, 0] == pytest.approx(0, abs=1e-5)


def test_a_token_classifier_gives_spans(tmp_path: Path) -> None:
    model = load(make_tokens(tmp_path / "m"))
    odds = supported_odds(model.logits([YES, NO]))
    assert odds[0] > 0 > odds[1]
    inner = model.inner  # type: ignore[attr-defined]
    assert isinstance(inner, TokenPairModel)
    (span,) = inner.spans((PREMISE, "the tour takes no hour"))
    assert "the tour takes no hour"[span.start : span.end].strip() == "no"
    assert inner.spans(YES) == []


def test_a_reranker_is_refused(tmp_path: Path) -> None:
    folder = make_number(tmp_path / "ms-marco-tiny")
    with pytest.raises(SettingsError, match="is a reranker"):
        load(folder)


def test_a_model_that_writes_text_is_refused(tmp_path: Path) -> None:
    folder = make_number(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["T5ForConditionalGeneration"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(SettingsError, match="is a T5ForConditionalGeneration"):
        load(folder)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_word_at_the_end_of_a_long_premise_is_read(tmp_path: Path, kind: str) -> None:
    """The tiny models read 32 tokens; in them the deciding word may stand in the premise too."""
    model = load(make_classes(tmp_path / "m", ("supported", "neutral", "contradicted"), kind))
    long = "the museum is closed on mondays " * 60
    for premise in (f"{long} yes", f"yes {long}", f"{long} yes {long}"):
        assert supported_odds(model.logits([(premise, "the museum opened")]))[0] > 2


def test_each_part_of_a_long_statement_must_be_supported(tmp_path: Path) -> None:
    model = load(make_classes(tmp_path / "m", ("supported", "not_supported")))
    filler = "the tour takes an hour " * 20
    odds = supported_odds(
        model.logits([(PREMISE, f"yes {filler}"), ("yes", filler), ("yes", f"{filler} no no")])
    )
    assert odds[1] > 0  # each part beside the premise that supports it
    assert odds[0] < 1  # the second part has no support
    assert odds[2] < odds[1]


def test_pairs_are_computed_once_and_alone_as_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_classes(tmp_path / "m", ("supported", "neutral", "contradicted"))
    pairs = [(PREMISE, f"yes {'the ' * n}") for n in range(40)]
    model: Any = load(folder)
    together = model.logits(pairs)
    alone = np.concatenate([load(folder, cache=False).logits([pair]) for pair in pairs])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    monkeypatch.setattr(model.inner, "_compute", None)
    np.testing.assert_array_equal(model.logits(pairs), together)


@pytest.mark.parametrize("text", ["", "\ud800", "x" * 2_000, "这座桥建于1902年。"])
def test_odd_texts_have_finite_results(tmp_path: Path, text: str) -> None:
    for make in (make_number, make_tokens):
        model = load(make(tmp_path / make.__name__))
        assert np.isfinite(model.logits([(text, YES[1]), (PREMISE, text)])).all()
    assert model.logits([]).shape == (0, 3)


def test_a_function_is_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_pairs.py").write_text(
        "def one(pairs):\n    return [0.9 if 'yes' in s else 0.1 for _, s in pairs]\n"
        "def three(pairs):\n    return [[0.1, 0.2, 0.7] for _ in pairs]\n"
        "def wrong(pairs):\n    return [7 for _ in pairs]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    one = load_pair_model("python:own_pairs:one")
    three = load_pair_model("python:own_pairs:three")
    wrong = load_pair_model("python:own_pairs:wrong")
    assert one
    assert three
    assert wrong
    assert probabilities(one.logits([YES, NO]))[:, 0] == pytest.approx([0.9, 0.1])
    assert probabilities(three.logits([YES]))[0] == pytest.approx([0.1, 0.2, 0.7])
    with pytest.raises(SettingsError, match="outside 0 to 1"):
        wrong.logits([YES])
    with pytest.raises(SettingsError, match="no function"):
        load_pair_model("python:own_pairs:absent")


def test_without_the_extra_the_message_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_number(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackage, match=r"pip install 'answerkey\[models\]'"):
        load(folder)


def test_a_repository_without_onnx_uses_the_cross_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_classes(tmp_path / "m", ("contradicted", "supported", "neutral"))
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"\0" * 16)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPackage, match=r"answerkey\[sentence-transformers\]"):
        load(folder)

    class CrossEncoder:
        """Answers by the words, as the tiny graph does; long pairs must come in windows."""

        def __init__(self, path: str, **options: Any) -> None:
            assert not options["trust_remote_code"]
            assert options["model_kwargs"] == {"use_safetensors": True}

        def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
            assert max(len(" ".join(pair).split()) for pair in pairs) <= 32
            words = ("no", "yes", "maybe")
            rows = [[float(word in " ".join(pair).split()) for word in words] for pair in pairs]
            return options["activation_fn"](np.array(rows) * 6)

    module = ModuleType("sentence_transformers")
    module.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    model = load(folder)
    assert verdicts(model) == [0, 1, 2]
    long = "the museum is closed on mondays " * 30
    assert supported_odds(model.logits([(f"{long} yes", "the museum")]))[0] > 2


def test_code_of_a_repository_runs_only_when_allowed_for_a_commit(tmp_path: Path) -> None:
    folder = make_classes(tmp_path / "m", ("supported", "not_supported"))
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"\0" * 16)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "x.Y"}}))
    with pytest.raises(SettingsError, match="allow_code = true"):
        load(folder)
