"""Lists a model repository on a hub, and chooses the files that a local model needs.

Weights are ONNX or safetensors, never pickle: loading a pickle runs the code of whoever wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from answerkey.errors import EndpointError, MissingPackage, SettingsError

DEFAULT_ENDPOINT = "https://huggingface.co"
# The usual places of a graph in full precision. 8-bit graphs differ by processor, so none is taken unasked.
GRAPHS = ("onnx/model.onnx", "model.onnx")
DATA_SUFFIXES = ("_data", ".data")  # weights of a graph above 2 GB
SAFETENSORS = "model.safetensors"
_SETTINGS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "README.md",
)
# Vocabularies that sentence-transformers reads where there is no tokenizer.json.
_VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "spm.model", "sentencepiece.bpe.model")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its size, and its sha256 (large files) or the hash of git (small ones)."""

    path: str
    size: int
    sha256: str = ""
    git_hash: str = ""


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A revision of a repository, with the files that a local model needs."""

    name: str
    commit: str
    files: tuple[RemoteFile, ...]
    licence: str = ""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def hub_address() -> str:
    """`$HF_ENDPOINT`, or the public hub."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def is_offline() -> bool:
    """Whether the hub must not be asked, by the variables of its own client."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(value.upper() in {"1", "ON", "YES", "TRUE"} for value in switches)


def import_hub() -> Any:
    """The hub's client, without its telemetry."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        hub = import_module("huggingface_hub")
        import_module("huggingface_hub.errors")
        import_module("huggingface_hub.utils")
    except ImportError:
        raise MissingPackage("huggingface-hub", "models") from None
    return hub


def describe_model(name: str, revision: str, *, allow_code: bool = False) -> RemoteModel:
    """Ask the hub for the files of a revision; an error that says what to do where it has none for us."""
    hub = import_hub()
    if is_offline():
        raise SettingsError(
            f'cannot fetch "{name}": HF_HUB_OFFLINE is set; unset it, or copy the model to a folder and give its path'
        )
    errors = hub.errors
    try:
        info = hub.HfApi(endpoint=hub_address()).model_info(
            name, revision=revision, files_metadata=True
        )
    except errors.GatedRepoError:
        raise SettingsError(
            f'"{name}" wants its terms accepted on its page first; then set HF_TOKEN to your token'
        ) from None
    except errors.RevisionNotFoundError:
        raise SettingsError(f'model "{name}" has no revision "{revision}"') from None
    except errors.RepositoryNotFoundError:
        raise SettingsError(
            f'no model "{name}" on {hub_address()}; check the spelling, or set HF_TOKEN if it is private'
        ) from None
    except Exception as error:  # the client's errors of the network have no common class
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EndpointError(f"{hub_address()} cannot be asked for the model: {reason}") from error
    files = [_read_sibling(sibling) for sibling in info.siblings or ()]
    chosen = choose_files(name, files, allow_code=allow_code)
    card = info.card_data
    licence = str(getattr(card, "license", "") or "")
    return RemoteModel(name, info.sha, chosen, licence)


def _read_sibling(sibling: Any) -> RemoteFile:
    sha256 = ""
    if sibling.lfs is not None:
        sha256 = sibling.lfs.sha256
    return RemoteFile(sibling.rfilename, sibling.size or 0, sha256, sibling.blob_id or "")


def choose_files(
    name: str, files: Sequence[RemoteFile], *, allow_code: bool
) -> tuple[RemoteFile, ...]:
    """Settings, tokenizer and one set of weights; the weights come last, so that they are there only with the rest."""
    by_path = {file.path: file for file in files}
    paths = [path for path in by_path if path in _SETTINGS or path.endswith("_Pooling/config.json")]
    weights = choose_weights(by_path)
    if not weights:
        pickles = sorted(path for path in by_path if path.endswith(_PICKLES))
        if pickles:
            raise SettingsError(
                f'"{name}" has its weights only as {pickles[0]}, which can run code when it is loaded; '
                "choose a repository with ONNX or safetensors files"
            )
        raise SettingsError(f'"{name}" has no ONNX and no safetensors file')
    if weights[-1].endswith(".safetensors"):
        paths += [path for path in _VOCABULARIES if path in by_path]
        if allow_code:
            paths += [path for path in by_path if path.endswith(".py")]
    return tuple(by_path[path] for path in dict.fromkeys([*paths, *weights]))


def choose_weights(paths: Sequence[str] | dict[str, RemoteFile]) -> list[str]:
    """A graph with its data, otherwise the safetensors; nothing where there is neither."""
    for graph in GRAPHS:
        if graph in paths:
            data = [f"{graph}{suffix}" for suffix in DATA_SUFFIXES if f"{graph}{suffix}" in paths]
            return [*data, graph]
    parts = sorted(path for path in paths if path.startswith("model-") and "safetensors" in path)
    if parts and f"{SAFETENSORS}.index.json" in paths:
        return [f"{SAFETENSORS}.index.json", *parts]
    if SAFETENSORS in paths:
        return [SAFETENSORS]
    return []
