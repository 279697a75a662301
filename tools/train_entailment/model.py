"""The cross-encoder: a BERT encoder (MiniLM or gte-small) with three classes on the first token.

Written out rather than taken from transformers, so that its tensors have the names of `tools/export_minilm.py`, and
without dropout: within two passes over the data so small a model underfits rather than overfits, and drawing the
random numbers costs a fifth of the time on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 384
HEADS = 12
EPSILON = 1e-12
LONGEST = 384  # tokens of a pair; only the positions up to here are kept
LABELS = ("supported", "neutral", "contradicted")
FROZEN = "words.weight"


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.mid, self.end = nn.LayerNorm(WIDTH, EPSILON), nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x: Tensor, mask: Tensor | None, first: bool = False) -> Tensor:
        """The next hidden state; with `first`, of the first token alone, which is all that the head reads."""
        query, key, value = (self._heads(part) for part in self.qkv(x).chunk(3, -1))
        if first:
            query, x = query[:, :, :1], x[:, :1]
        seen = _attention(query, key, value, mask)
        x = self.mid(x + self.out(seen.transpose(1, 2).flatten(2)))
        # The int8 graph computes the tanh form as well.
        return self.end(x + self.down(functional.gelu(self.up(x), approximate="tanh")))

    @staticmethod
    def _heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Plain attention: for short rows in bfloat16 on a CPU it is three to eight times as fast as torch's own."""
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    return torch.softmax(scores, -1).to(value.dtype) @ value


class CrossEncoder(nn.Module):
    def __init__(self, layers: int, longest: int = LONGEST, vocabulary: int = 30522) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(longest, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.embed = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(WIDTH, len(LABELS))
        self.words.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """Three logits for each row."""
        places = torch.arange(ids.shape[1])
        x = self.embed(self.words(ids) + self.positions(places) + self.types(types))
        wide = None if bool(mask.all()) else mask[:, None, None, :].bool()
        for number, layer in enumerate(self.layers):
            x = layer(x, wide, first=number == len(self.layers) - 1)
        return self.head(x[:, 0]).float()

    def trained(self) -> dict[str, Tensor]:
        """Every tensor but the frozen matrix of words."""
        return {name: value for name, value in self.state_dict().items() if name != FROZEN}


def count_layers(names: Iterable[str]) -> int:
    """How many encoder layers a set of tensor names has."""
    numbers = [int(name.split(".")[2]) for name in names if name.startswith("encoder.layer.")]
    return max(numbers) + 1


def from_weights(weights: Path, seed: int) -> CrossEncoder:
    """The model before training: the named weights, and a head drawn from the seed."""
    from safetensors.torch import load_file

    given = load_file(weights / "model.safetensors")
    torch.manual_seed(seed)
    layers = count_layers(given)
    model = CrossEncoder(layers)
    table = {"words": "word", "positions": "position", "types": "token_type"}
    state = {
        f"{short}.weight": given[f"embeddings.{name}_embeddings.weight"]
        for short, name in table.items()
    }
    state["positions.weight"] = state["positions.weight"][:LONGEST]
    state |= {f"embed.{part}": given[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")}
    for layer in range(layers):
        state |= _layer_state(given, layer)
    head = nn.init.normal_(torch.empty(len(LABELS), WIDTH), std=0.02)
    model.load_state_dict({**state, "head.weight": head, "head.bias": torch.zeros(len(LABELS))})
    return model


def _layer_state(given: dict[str, Tensor], layer: int) -> dict[str, Tensor]:
    source, target = f"encoder.layer.{layer}.", f"layers.{layer}."
    single = {
        "out": "attention.output.dense",
        "up": "intermediate.dense",
        "down": "output.dense",
        "mid": "attention.output.LayerNorm",
        "end": "output.LayerNorm",
    }
    state = {}
    for part in ("weight", "bias"):
        three = [
            given[f"{source}attention.self.{name}.{part}"] for name in ("query", "key", "value")
        ]
        state[f"{target}qkv.{part}"] = torch.cat(three)
        for short, name in single.items():
            state[f"{target}{short}.{part}"] = given[f"{source}{name}.{part}"]
    return state


def from_export(path: Path, weights: Path) -> CrossEncoder:
    """An exported int8 graph as a model to train further; the frozen matrix of words is taken from the weights."""
    import onnx
    from onnx import numpy_helper

    given = {
        tensor.name: torch.tensor(numpy_helper.to_array(tensor))
        for tensor in onnx.load(path).graph.initializer
    }
    model = from_weights(weights, seed=0)
    state = {"positions.weight": given["positions"], "types.weight": given["types"]}
    state |= {"embed.weight": given["embed.gain"], "embed.bias": given["embed.shift"]}
    state |= {"head.weight": given["head.weight"].T, "head.bias": given["head.bias"]}
    for layer in range(len(model.layers)):
        for name in ("qkv", "out", "up", "down"):
            whole = (
                given[f"{layer}.{name}.weight.int8"].float() * given[f"{layer}.{name}.weight.scale"]
            )
            state[f"layers.{layer}.{name}.weight"] = whole.T
            state[f"layers.{layer}.{name}.bias"] = given[f"{layer}.{name}.bias"]
        for name in ("mid", "end"):
            state[f"layers.{layer}.{name}.weight"] = given[f"{layer}.{name}.gain"]
            state[f"layers.{layer}.{name}.bias"] = given[f"{layer}.{name}.shift"]
    model.load_state_dict({**model.state_dict(), **state})
    return model


def batch_tensors(
    encodings: Sequence[tuple[list[int], list[int]]],
) -> tuple[Tensor, Tensor, Tensor]:
    """ids, mask and token types of (ids, types) pairs, padded to the longest."""
    width = max(len(ids) for ids, _ in encodings)
    ids, mask, types = (torch.zeros(len(encodings), width, dtype=torch.long) for _ in range(3))
    for row, (given, kinds) in enumerate(encodings):
        ids[row, : len(given)] = torch.tensor(given)
        types[row, : len(given)] = torch.tensor(kinds)
        mask[row, : len(given)] = 1
    return ids, mask, types


def loss_of(logits: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy; class 3 means "neutral or contradicted", so its probability is the sum of the two."""
    logp = torch.log_softmax(logits, -1)
    known = logp.gather(1, wanted.clamp(max=2)[:, None])[:, 0]
    either = torch.logsumexp(logp[:, 1:], -1)
    return (
        -(1 - smoothing) * torch.where(wanted < 3, known, either).mean() - smoothing * logp.mean()
    )
