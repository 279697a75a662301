"""A checkpoint as one ONNX file in 8 bits, with a small JSON of facts and a notice beside it.

The graph is made as that of the embedding model (`tools/export_minilm.py`): weights in −64..64 with one scale for
each column, and ranges of the activations measured once, so that the result for a pair doesn't depend on the pairs
beside it. The matrix of words has one scale for each row.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src")]

from tools.export_minilm import HEADS, Arrays, Graph, Ranges  # noqa: E402
from tools.train_entailment.data import Example, read, split  # noqa: E402
from tools.train_entailment.evaluate import calibration_rows  # noqa: E402
from tools.train_entailment.score import LONGEST, Scorer, best_temperature  # noqa: E402

from answerkey.embed.int8 import quantise  # noqa: E402

LABELS = ("supported", "neutral", "contradicted")
LINEAR = ("qkv", "out", "up", "down")
MEASURED = 400


def read_checkpoint(path: Path, weights: Path, averaged: bool) -> tuple[Arrays, dict[str, Any]]:
    """The trained tensors under the names of the graph, and where training stood."""
    import torch
    from safetensors.numpy import load_file

    state = torch.load(path, weights_only=True)
    given = {
        name: value.float().numpy() for name, value in state["ema" if averaged else "model"].items()
    }
    words = load_file(weights / "model.safetensors")["embeddings.word_embeddings.weight"]
    arrays: Arrays = {
        "words": words.astype(np.float32),
        "positions": given["positions.weight"],
        "types": given["types.weight"],
        "embed.gain": given["embed.weight"],
        "embed.shift": given["embed.bias"],
        "head.weight": given["head.weight"].T,
        "head.bias": given["head.bias"],
    }
    for layer in range(layer_count(given)):
        for name in LINEAR:
            arrays[f"{layer}.{name}.weight"] = given[f"layers.{layer}.{name}.weight"].T
            arrays[f"{layer}.{name}.bias"] = given[f"layers.{layer}.{name}.bias"]
        for name in ("mid", "end"):
            arrays[f"{layer}.{name}.gain"] = given[f"layers.{layer}.{name}.weight"]
            arrays[f"{layer}.{name}.shift"] = given[f"layers.{layer}.{name}.bias"]
    return arrays, {"at": state["at"], "settings": state["settings"]}


def layer_count(names: Iterable[str]) -> int:
    """How many layers the names of a checkpoint's tensors have, such as `layers.11.qkv.weight`."""
    return 1 + max(int(name.split(".")[1]) for name in names if name.startswith("layers."))


def stored(arrays: Arrays, small: bool) -> Arrays:
    """The tensors as they lie in the file; `small` turns the linear weights into 8 bits as well."""
    scale = np.abs(arrays["words"]).max(axis=1, keepdims=True) / np.float32(127)
    scale = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
    out: Arrays = {
        "words.int8": np.rint(arrays["words"] / scale).astype(np.int8),
        "words.scale": scale,
    }
    for name, array in arrays.items():
        if name == "words":
            continue
        if small and name.endswith(".weight") and not name.startswith("head"):
            out[f"{name}.int8"], out[f"{name}.scale"] = quantise(array)
        else:
            out[name] = np.ascontiguousarray(array, np.float32)
    return out


def build(arrays: Arrays, ranges: Ranges | None) -> onnx.ModelProto:
    """Ids, mask and token types in, three logits out; with ranges, in 8 bits."""
    graph = Graph(ranges)
    x = _embeddings(graph)
    layers = 1 + max(int(name.split(".")[0]) for name in arrays if name[0].isdigit())
    for layer in range(layers):
        x = _encoder(graph, x, f"{layer}.", last=layer == layers - 1)
    first = graph.add("Squeeze", x, graph.constant([1], "int64"))
    graph.add("Add", graph.add("MatMul", first, "head.weight"), "head.bias", out="logits")
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "entailment",
            [
                helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])
                for name in inputs
            ],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(LABELS)])],
            [
                *graph.constants,
                *(numpy_helper.from_array(array, name) for name, array in arrays.items()),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
        producer_name="answerkey tools/train_entailment",
    )


def _embeddings(graph: Graph) -> str:
    rows = graph.add("Cast", graph.add("Gather", "words.int8", "input_ids"), to=TensorProto.FLOAT)
    words = graph.add("Mul", rows, graph.add("Gather", "words.scale", "input_ids"))
    zero, one = graph.constant([0], "int64"), graph.constant([1], "int64")
    length = graph.add("Slice", graph.add("Shape", "input_ids"), one, graph.constant([2], "int64"))
    places = graph.add("Slice", "positions", zero, length, zero)
    kinds = graph.add("Gather", "types", "token_type_ids")
    return graph.norm(graph.add("Add", graph.add("Add", words, places), kinds), "embed")


def _encoder(graph: Graph, x: str, at: str, last: bool) -> str:
    """One layer; the last computes the first token alone, which is all that the head reads."""
    parts = [f"{at}{part}" for part in "qkv"]
    qkv = graph.linear(x, at + "qkv")
    graph.nodes.append(
        helper.make_node("Split", [qkv], parts, axis=-1, num_outputs=3, name=at + "split")
    )
    if last:
        ends = [graph.constant([number], "int64") for number in (0, 1)]
        parts[0], x = (graph.add("Slice", tensor, *ends, ends[1]) for tensor in (parts[0], x))
    seen = graph.add(
        "MultiHeadAttention", *parts, "", "attention_mask", domain="com.microsoft", num_heads=HEADS
    )
    x = graph.norm(graph.add("Add", graph.linear(seen, at + "out"), x), at + "mid")
    wide = graph.add("Gelu", graph.linear(x, at + "up"), approximate="tanh")
    return graph.norm(graph.add("Add", graph.linear(wide, at + "down"), x), at + "end")


def measure(arrays: Arrays, tokenizer: Path, pairs: Sequence[tuple[str, str]]) -> Ranges:
    """The range of the numbers that go into each linear layer; 0 is always inside.

    The whole range: clipping 0.01 % at either end doubled the error of the logits, 0.1 % made it eightfold.
    """
    graph = build(stored(arrays, small=False), None)
    inputs = {
        node.output[0].removesuffix(".product"): node.input[0]
        for node in graph.graph.node
        if node.op_type == "MatMul" and node.output[0].endswith(".product")
    }
    for name in inputs.values():
        graph.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    scorer = Scorer(graph.SerializeToString(), tokenizer)
    seen: dict[str, list[tuple[float, float]]] = {name: [(0.0, 0.0)] for name in inputs}
    for encoding in scorer.encode(pairs):
        for name, values in zip(inputs, scorer.run([encoding], list(inputs.values())), strict=True):
            seen[name].append((float(values.min()), float(values.max())))
    return {
        name: (min(v[0] for v in found), max(v[1] for v in found)) for name, found in seen.items()
    }


def write(checkpoint: Path, weights: Path, data: Path, out: Path, averaged: bool) -> None:
    """Export, calibrate and describe; `out` gets entailment.onnx, entailment.json, tokenizer.json and NOTICE.txt."""
    arrays, training = read_checkpoint(checkpoint, weights, averaged)
    rows = split(read(data))
    held = calibration_rows(rows.held)
    pairs = [(example.premise, example.hypothesis) for example in held]
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = out / "tokenizer.json"
    shutil.copyfile(weights / "tokenizer.json", tokenizer)
    ranges = measure(arrays, tokenizer, pairs[:MEASURED])
    graph = build(stored(arrays, small=True), ranges).SerializeToString(deterministic=True)
    (out / "entailment.onnx").write_bytes(graph)
    float_logits = Scorer(
        build(stored(arrays, small=False), None).SerializeToString(), tokenizer
    ).logits(pairs)
    logits = Scorer(graph, tokenizer).logits(pairs)
    facts = {
        "name": "entailment",
        "labels": LABELS,
        "longest": LONGEST,
        "temperature": best_temperature(logits, _supported(held)),
        "calibrated_on": len(held),
        "int8_changes": {
            "mean_logit_difference": round(float(np.abs(logits - float_logits).mean()), 4),
            "same_class": round(float((logits.argmax(1) == float_logits.argmax(1)).mean()), 4),
        },
        "made_from": {"model.safetensors": _hash(weights / "model.safetensors")},
        "sha256": {name: _hash(out / name) for name in ("entailment.onnx", "tokenizer.json")},
        "training": {
            "weights": "moving average" if averaged else "last",
            **{name: round(value, 1) for name, value in training["at"].items()},
            "settings": training["settings"],
            "rows": {name: len(part) for name, part in rows.train.items()},
            "held_out_rows": {name: len(part) for name, part in rows.held.items()},
        },
    }
    (out / "entailment.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(Path(__file__).parent / "NOTICE.txt", out / "NOTICE.txt")
    print(
        json.dumps(
            {
                "bytes": len(graph),
                **{k: facts[k] for k in ("temperature", "int8_changes", "sha256")},
            }
        )
    )


def _supported(examples: Sequence[Example]) -> np.ndarray:
    return np.array([example.label == 0 for example in examples])


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
