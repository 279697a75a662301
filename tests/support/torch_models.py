"""Tiny real transformers with random weights, saved as safetensors and, where wanted, exported to ONNX by torch.

They need the extra `sentence-transformers` (torch, transformers); import this module only inside tests that skip without it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tests.support.tiny_models import make_tokenizer
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
)

LONGEST = 64
POOLING = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}


def _config(tokenizer: PreTrainedTokenizerFast, **options: object) -> BertConfig:
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        **options,
    )


def _save_tokenizer(folder: Path, kind: str) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=make_tokenizer(kind),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    tokenizer.save_pretrained(str(folder))
    return tokenizer


class _HiddenStates(torch.nn.Module):
    """The model with one output, as an exported graph has it."""

    def __init__(self, model: BertModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def make_torch_embedding(
    folder: Path, pooling: str, prompts: dict[str, str], *, normalised: bool = True
) -> Path:
    """A sentence-embedding repository with safetensors and ONNX of the same weights."""
    torch.manual_seed(3)
    tokenizer = _save_tokenizer(folder, "wordpiece")
    model = BertModel(_config(tokenizer), add_pooling_layer=False).eval()
    model.save_pretrained(str(folder))
    layers = ["Transformer", "Pooling", *(["Normalize"] if normalised else [])]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": paths[n], "type": f"sentence_transformers.models.{name}"}
        for n, name in enumerate(layers)
    ]
    modes = {f"pooling_mode_{name}": name == POOLING[pooling] for name in POOLING.values()}
    files = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": 32, **modes},
        "sentence_bert_config.json": {"max_seq_length": LONGEST, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": prompts,
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    }
    for name, value in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    (folder / "2_Normalize").mkdir(exist_ok=True)
    (folder / "onnx").mkdir()
    one = torch.ones((2, 7), dtype=torch.int64)
    axes = {0: "batch", 1: "tokens"}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        _HiddenStates(model),
        (one, one, one * 0),
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys([*names, "last_hidden_state"], axes),
        dynamo=False,
    )
    return folder


def make_torch_classifier(folder: Path, labels: Sequence[str], kind: str = "wordpiece") -> Path:
    """A pair classifier with safetensors only; `labels` are the names of its classes in order."""
    torch.manual_seed(5)
    tokenizer = _save_tokenizer(folder, kind)
    config = _config(
        tokenizer,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={name: n for n, name in enumerate(labels)},
    )
    model = BertForSequenceClassification(config).eval()
    # Random weights of this size give nearly equal classes; larger ones make the order visible.
    with torch.no_grad():
        model.classifier.weight.mul_(60)
    model.save_pretrained(str(folder))
    return folder
