"""A model repository on disk: its settings, tokenizer and weights, from the hub's cache or from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from answerkey.errors import MissingPackage, SettingsError
from answerkey.local_models.hub import choose_weights
from answerkey.local_models.hub_cache import HUB_NAME, Snapshot, find_snapshot
from answerkey.local_models.model_files import file_hash

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Positions of these models begin after the one for padding.
_POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl"})
_SHORTEST = 16  # tokens; a smaller limit is a mistake in the settings, as no pair fits
_DEFAULT_LENGTH = 512  # of BERT and most of its successors
_NO_LIMIT = 100_000  # tokenizers without a limit state 10^30


@dataclass(frozen=True)
class ModelRepository:
    """The files of one model. A missing file is an empty table."""

    snapshot: Snapshot

    @property
    def name(self) -> str:
        return self.snapshot.name

    @cached_property
    def config(self) -> Mapping[str, Any]:
        config = self.table("config.json")
        if not config:
            raise SettingsError(f"{self.snapshot.folder} has no config.json: is it a model?")
        return config

    def table(self, path: str) -> Mapping[str, Any]:
        value = self.read_json(path)
        if not isinstance(value, dict):
            return {}
        return cast("dict[str, Any]", value)

    def read_json(self, path: str) -> Any:
        """The content of a JSON file; None where there is no such file."""
        file = self.snapshot.folder / path
        try:
            return msgspec.json.decode(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise SettingsError(f"{file} cannot be read: {error}") from None

    @cached_property
    def weights(self) -> Path:
        """The graph, or the safetensors where there is no graph."""
        folder = self.snapshot.folder
        paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
        chosen = choose_weights(paths)
        if not chosen:
            raise SettingsError(
                f"{folder} has no complete ONNX or safetensors file; "
                f"fetch it again with: answerkey models fetch {self.name}"
            )
        return folder / chosen[-1]

    @property
    def has_graph(self) -> bool:
        return self.weights.suffix == ".onnx"

    @cached_property
    def digest(self) -> str:
        """One hash of graph, external weights, tokenizer and settings."""
        beside = sorted(self.weights.parent.glob(f"{self.weights.name}?*"))
        beside += sorted(self.weights.parent.glob("*.bin"))  # external weights of older exporters
        settings = [self.snapshot.folder / name for name in ("tokenizer.json", "config.json")]
        hashes = [file_hash(path) or "" for path in (self.weights, *beside, *settings)]
        return hashlib.sha256("\0".join(hashes).encode()).hexdigest()

    @cached_property
    def longest(self) -> int:
        """Tokens that the model reads: the least of the limits that its files state."""
        config = self.config
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and config.get("model_type") in _POSITIONS_AFTER_PADDING:
            positions -= 2
        if config.get("position_biased_input") is False:
            positions = None  # relative positions: the table's size is no limit
        limits = (
            positions,
            self.table("tokenizer_config.json").get("model_max_length"),
            self.table("sentence_bert_config.json").get("max_seq_length"),
        )
        stated = [
            int(limit)
            for limit in limits
            if isinstance(limit, int | float) and _SHORTEST <= limit < _NO_LIMIT
        ]
        return min(stated, default=_DEFAULT_LENGTH)

    def load_tokenizer(self) -> Tokenizer:
        """The tokenizer, with no padding and no truncation of its own."""
        try:
            import tokenizers
        except ImportError:
            raise MissingPackage("tokenizers", "models") from None
        path = self.snapshot.folder / "tokenizer.json"
        if not path.is_file():
            raise SettingsError(
                f'model "{self.name}" has no tokenizer.json; choose a repository that has one'
            )
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises plain exceptions
            raise SettingsError(f"{path} cannot be read: {error}") from None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def open_repository(name: str, revision: str = "main") -> ModelRepository:
    """The model of a folder or of a hub's name; where it is not on this machine, an error names the command."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return ModelRepository(Snapshot(name, folder.resolve()))
    if not HUB_NAME.fullmatch(name):
        raise SettingsError(f'"{name}" is neither a folder nor the name of a model ("org/name")')
    snapshot = find_snapshot(name, revision)
    if snapshot is None:
        if revision == "main":
            option = ""
        else:
            option = f" --revision {revision}"
        raise SettingsError(
            f'model "{name}" is not on this machine: answerkey models fetch {name}{option}'
        )
    return ModelRepository(snapshot)
