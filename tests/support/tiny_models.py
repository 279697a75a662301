"""Builds tiny models of each family in the layout of a model hub: random weights, with words that decide the class.

In a statement, "yes" stands for supported, "maybe" for neutral and "no" for contradicted. So a model whose classes are
read in the wrong order gives the wrong verdict, however its weights are ordered.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SIGNAL = {"supported": "yes", "neutral": "maybe", "contradicted": "no"}
WORDS = [
    "yes",
    "maybe",
    "no",
    "the",
    "a",
    "museum",
    "opened",
    "in",
    "1932",
    "and",
    "is",
    "closed",
    "on",
    "mondays",
    "tour",
    "takes",
    "an",
    "hour",
]
STRENGTH = 6.0


def make_tokenizer(kind: str) -> Tokenizer:
    """A small tokenizer with a pair template: WordPiece, BPE or Unigram."""
    corpus = [" ".join(WORDS)] * 50 + WORDS * 20
    if kind == "wordpiece":
        vocabulary = {word: n for n, word in enumerate([*SPECIAL, *WORDS, *letters()])}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    elif kind == "bpe":
        tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(
            corpus,
            trainers.BpeTrainer(
                vocab_size=600,
                special_tokens=SPECIAL,
                initial_alphabet=alphabet,
                show_progress=False,
            ),
        )
    else:
        pieces = [(word, 0.0) for word in SPECIAL]
        pieces += [(f"▁{word}", -2.0) for word in WORDS] + [(word, -4.0) for word in letters()]
        pieces += [("▁", -5.0)]
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return tokenizer


def letters() -> list[str]:
    plain = [chr(n) for n in range(ord("a"), ord("z") + 1)] + list("0123456789.,?!")
    return plain + [f"##{one}" for one in plain]


def signal_ids(tokenizer: Tokenizer, word: str) -> list[int]:
    """The ids of a word that decides: one of them carries the signal."""
    return tokenizer.encode(f" {word}", add_special_tokens=False).ids


def make_weights(tokenizer: Tokenizer, order: Sequence[str], seed: int) -> np.ndarray:
    """A row per token, a column per class in this order; the deciding words point to their class."""
    noise = np.random.default_rng(seed).normal(0, 0.01, (tokenizer.get_vocab_size(), len(order)))
    for column, meaning in enumerate(order):
        words = (
            [SIGNAL[meaning]] if meaning in SIGNAL else [SIGNAL["neutral"], SIGNAL["contradicted"]]
        )
        for word in words:
            noise[signal_ids(tokenizer, word)[-1], column] += STRENGTH
    return noise.astype(np.float32)


def write_graph(
    path: Path, weights: np.ndarray, *, per_token: bool = False, types: bool = True
) -> None:
    """input_ids → rows of `weights`, summed over the tokens that the mask keeps."""
    names = ["input_ids", "attention_mask"] + (["token_type_ids"] if types else [])
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in names]
    output = "last_hidden_state" if weights.shape[1] > 3 else "logits"
    shape = ["b", "t", weights.shape[1]] if per_token else ["b", weights.shape[1]]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], axis=0),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kept", "last"], ["kept3"]),
        helper.make_node("Mul", ["rows", "kept3"], ["masked"]),
    ]
    if per_token:
        nodes.append(helper.make_node("Identity", ["masked"], [output]))
    else:
        nodes.append(helper.make_node("ReduceSum", ["masked", "axis"], [output], keepdims=0))
    constants = [
        numpy_helper.from_array(weights, "table"),
        numpy_helper.from_array(np.array([-1], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def write_repository(
    folder: Path,
    tokenizer: Tokenizer,
    config: dict[str, object],
    longest: int = 32,
    files: dict[str, object] | None = None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": longest}))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlicense: mit\n---\nA tiny model for tests.\n")
    for name, value in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))


LABELS = {
    "supported": "entailment",
    "neutral": "neutral",
    "contradicted": "contradiction",
    "not_supported": "not_entailment",
}


def make_classes(
    folder: Path, order: Sequence[str], kind: str = "wordpiece", labels: Sequence[str] = ()
) -> Path:
    """A model with two or three classes in this order; `labels` replaces their names."""
    tokenizer = make_tokenizer(kind)
    names = labels or [LABELS[meaning] for meaning in order]
    config = {
        "architectures": ["TinyForSequenceClassification"],
        "model_type": "tiny",
        "id2label": {str(n): name for n, name in enumerate(names)},
    }
    write_repository(folder, tokenizer, config)
    weights = make_weights(tokenizer, order, seed=len(order))
    write_graph(folder / "onnx" / "model.onnx", weights, types=kind == "wordpiece")
    return folder


def make_number(folder: Path, kind: str = "unigram") -> Path:
    """A model with one number: the log-odds of "supported"."""
    tokenizer = make_tokenizer(kind)
    config = {
        "architectures": ["TinyForSequenceClassification"],
        "model_type": "tiny",
        "id2label": {"0": "LABEL_0"},
    }
    write_repository(folder, tokenizer, config)
    both = make_weights(tokenizer, ("supported", "not_supported"), seed=1)
    write_graph(folder / "model.onnx", both[:, :1] - both[:, 1:], types=False)
    return folder


def make_tokens(folder: Path, kind: str = "bpe") -> Path:
    """A token classifier that marks "no" and "maybe" as hallucinated."""
    tokenizer = make_tokenizer(kind)
    config = {
        "architectures": ["TinyForTokenClassification"],
        "model_type": "tiny",
        "id2label": {"0": "supported", "1": "hallucinated"},
    }
    write_repository(folder, tokenizer, config)
    weights = make_weights(tokenizer, ("supported", "not_supported"), seed=2)
    weights[:, 0] += 1.0
    write_graph(folder / "onnx" / "model.onnx", weights, per_token=True, types=False)
    return folder


def make_embedding(
    folder: Path, pooling: str = "mean", prompts: dict[str, str] | None = None
) -> Path:
    """A sentence-embedding model of 8 numbers with this pooling and these prompts."""
    tokenizer = make_tokenizer("wordpiece")
    config = {"architectures": ["TinyModel"], "model_type": "tiny"}
    modes = {f"pooling_mode_{name}": False for name in ("cls_token", "mean_tokens", "max_tokens")}
    name = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}[pooling]
    modes[f"pooling_mode_{name}"] = True
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
        {
            "idx": 2,
            "name": "2",
            "path": "2_Normalize",
            "type": "sentence_transformers.models.Normalize",
        },
    ]
    files: dict[str, object] = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": 8, **modes},
        "config_sentence_transformers.json": {"prompts": prompts or {}},
    }
    write_repository(folder, tokenizer, config, files=files)
    weights = np.random.default_rng(5).normal(0, 1, (tokenizer.get_vocab_size(), 8))
    write_graph(folder / "onnx" / "model.onnx", weights.astype(np.float32), per_token=True)
    return folder


def export_packaged(folder: Path) -> Path:
    """The packaged entailment model in the layout of a hub, with its tokenizer for the `tokenizers` package."""
    from answerkey.entailment.packaged import GRAPH, PACKAGED
    from answerkey.local_models.model_files import MINILM_FOLDER

    tokenizer = Tokenizer.from_file(str(MINILM_FOLDER / "tokenizer.json"))
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"},
    }
    write_repository(folder, tokenizer, config, longest=256)
    (folder / "onnx").mkdir(exist_ok=True)
    shutil.copyfile(PACKAGED / GRAPH, folder / "onnx" / "model.onnx")
    return folder
