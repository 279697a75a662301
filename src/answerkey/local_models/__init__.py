"""Models that run on this machine: their files, tokenizers and ONNX sessions, for embeddings and entailment alike."""
