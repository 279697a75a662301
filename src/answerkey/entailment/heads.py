"""How the numbers of a model become supported, neutral and contradicted: one head per family of models.

The family and the order of the classes come from the model's own `config.json`; nothing is assumed about a model whose
classes have no names, because a wrong order would turn every verdict around.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from answerkey.entailment.pair_model import Logits
from answerkey.errors import SettingsError

# Log-odds of a class that a model does not have: e to the power of -30 is no probability.
ABSENT = 30.0
_CLASSIFIER = "ForSequenceClassification"
_LEAST = 1e-6  # probabilities nearer to 0 or 1 have log-odds that no calibration can use


class Family(Enum):
    """The kinds of models that score a pair of texts."""

    THREE_CLASSES = "three classes"
    TWO_CLASSES = "two classes"
    ONE_NUMBER = "one number"
    TOKENS = "token classifier"
    RERANKER = "reranker"


class ClassMeaning(Enum):
    """The meaning of a class of a pair model."""

    SUPPORTED = "supported"
    NEUTRAL = "neutral"
    CONTRADICTED = "contradicted"
    NOT_SUPPORTED = "not_supported"


class Head(Protocol):
    """Turns the outputs of a model, a row per text, into rows of supported, neutral, contradicted."""

    def rows(self, outputs: NDArray[np.float32]) -> Logits: ...


@dataclass(frozen=True, slots=True)
class ClassHead:
    """Two or three classes; `meanings` are in the order of the model's outputs."""

    meanings: tuple[ClassMeaning, ...]

    def rows(self, outputs: NDArray[np.float32]) -> Logits:
        absent = outputs.max(axis=1) - ABSENT
        columns = {
            ClassMeaning.SUPPORTED: absent,
            ClassMeaning.NEUTRAL: absent,
            ClassMeaning.CONTRADICTED: absent,
        }
        for n, meaning in enumerate(self.meanings):
            # Without classes of their own, both are counted as neutral: nothing is called a contradiction.
            if meaning is ClassMeaning.NOT_SUPPORTED:
                slot = ClassMeaning.NEUTRAL
            else:
                slot = meaning
            columns[slot] = outputs[:, n]
        return np.stack(list(columns.values()), axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class NumberHead:
    """One number: log-odds of "supported", or with `is_probability` the probability itself."""

    is_probability: bool = False

    def rows(self, outputs: NDArray[np.float32]) -> Logits:
        odds = outputs.reshape(len(outputs), -1)[:, 0].astype(np.float64)
        if self.is_probability:
            odds = log_odds_of(odds)
        return rows_of_odds(odds)


def rows_of_odds(odds: NDArray[np.float64]) -> Logits:
    """Rows of a model that only says "supported" or not."""
    zero = np.zeros_like(odds)
    return np.stack([odds, zero, zero - ABSENT], axis=1).astype(np.float32)


def log_odds_of(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(shares, _LEAST, 1 - _LEAST)
    return np.log(inside) - np.log1p(-inside)


def choose_family(config: Mapping[str, Any], name: str) -> Family:
    """The family of a model by its architecture and its number of classes."""
    architectures = [str(each) for each in config.get("architectures") or ()]
    if any(each.endswith("ForTokenClassification") for each in architectures):
        return Family.TOKENS
    generative = [each for each in architectures if not each.endswith(_CLASSIFIER)]
    if generative:
        # Such a model has no classes: without this check, the default of two would be made up.
        raise SettingsError(
            f'model "{name}" is a {generative[0]}: it writes text or vectors and does not classify pairs; '
            "choose one that ends in ForSequenceClassification or ForTokenClassification"
        )
    count = count_classes(config)
    if count == 1:
        words = name.lower()
        if "rerank" in words or "ms-marco" in words or "msmarco" in words:
            return Family.RERANKER
        return Family.ONE_NUMBER
    if count == 2:
        return Family.TWO_CLASSES
    if count == 3:
        return Family.THREE_CLASSES
    raise SettingsError(f'model "{name}" has {count} classes; a pair model has one, two or three')


def count_classes(config: Mapping[str, Any]) -> int:
    labels = config.get("id2label")
    if isinstance(labels, dict) and labels:
        return len(labels)  # pyright: ignore[reportUnknownArgumentType]
    return int(config.get("num_labels") or 2)  # the default of transformers


def make_head(
    config: Mapping[str, Any], family: Family, name: str, labels: Sequence[str] = ()
) -> Head:
    """The head of a model; `labels` are given where the model's own have no meaning."""
    if family is Family.RERANKER:
        raise SettingsError(
            f'"{name}" is a reranker: it orders passages and does not say whether one supports a statement; '
            "choose an entailment model"
        )
    if family is Family.ONE_NUMBER:
        return NumberHead(_is_probability(config))
    return ClassHead(read_meanings(config, name, labels))


def _is_probability(config: Mapping[str, Any]) -> bool:
    """Whether the number is a probability already: sentence-transformers states no activation then."""
    table = config.get("sentence_transformers")
    if not isinstance(table, dict):
        return config.get("problem_type") == "regression"
    activation = str(table.get("activation_fn", ""))  # pyright: ignore
    return activation.endswith("Identity")


def read_meanings(
    config: Mapping[str, Any], name: str, labels: Sequence[str] = ()
) -> tuple[ClassMeaning, ...]:
    """The meaning of each class, in the order of the outputs, from `labels` or the model's `id2label`."""
    names = list(labels) or _label_names(config)
    meanings = [_meaning_of(label) for label in names]
    unclear = [label for label, meaning in zip(names, meanings, strict=True) if meaning is None]
    clear = tuple(meaning for meaning in meanings if meaning is not None)
    example = '["contradicted", "neutral", "supported"]'
    if len(names) == 2:
        example = '["not supported", "supported"]'
    if unclear or len(clear) != count_classes(config):
        raise SettingsError(
            f'model "{name}" names its classes {", ".join(names)}: which of them is "supported"? '
            f"Set labels in [entailment], in the model's order, as in labels = {example}"
        )
    if len(set(clear)) < len(clear) or ClassMeaning.SUPPORTED not in clear:
        raise SettingsError(
            f'model "{name}": its classes {", ".join(names)} do not contain "supported" once; '
            f"set labels in [entailment], as in labels = {example}"
        )
    return clear


def _label_names(config: Mapping[str, Any]) -> list[str]:
    table: dict[Any, Any] = config.get("id2label") or {}
    if not table:
        return [f"LABEL_{n}" for n in range(count_classes(config))]
    return [str(label) for _, label in sorted(table.items(), key=lambda item: int(item[0]))]


def _meaning_of(label: str) -> ClassMeaning | None:
    plain = " ".join(label.casefold().replace("_", " ").replace("-", " ").split())
    return _meanings().get(plain)


@cache
def _meanings() -> Mapping[str, ClassMeaning]:
    text = (files("answerkey.entailment") / "labels.toml").read_text(encoding="utf-8")
    return {
        label: ClassMeaning(meaning)
        for meaning, labels in tomllib.loads(text).items()
        for label in labels
    }
