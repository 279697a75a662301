"""A pair model with the calibration of its card."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
import numpy as np

from answerkey.entailment.model_cards import ModelCard
from answerkey.entailment.packaged import CARD, GRAPH, PACKAGED
from answerkey.entailment.pair_model import Logits, RawPairModel, TextPair
from answerkey.local_models.model_files import ModelFacts


class CalibratedPairModel:
    """Divides the log-odds by the card's temperature and shifts those of "supported".

    `is_fitted` is True for the weights of the packaged model under another name: words and model are combined as fitted.
    """

    def __init__(
        self, inner: RawPairModel, card: ModelCard | None, *, is_fitted: bool = False
    ) -> None:
        self.inner = inner
        self.name = inner.name
        self.revision = inner.revision
        self.digest = inner.digest
        self.card = card
        self.is_fitted = is_fitted
        self._temperature = 1.0
        self._shift = 0.0
        if card is not None:
            self._temperature = card.temperature
            self._shift = card.shift
        elif is_fitted:
            self._temperature = packaged_facts().temperature

    @property
    def title(self) -> str:
        if self.is_fitted:
            return "the entailment model"
        return f"the model {self.name}"

    @property
    def threshold(self) -> float:
        """The probability from which a statement counts as supported."""
        return self.card.threshold if self.card else 0.5

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair, calibrated: supported, neutral, contradicted."""
        rows = self.inner.logits(pairs) / np.float32(self._temperature)
        # Only "supported" is shifted: the card's labels say nothing about neutral against contradicted.
        if self._shift:
            rows[:, 0] += np.float32(self._shift)
        return rows


@cache
def packaged_facts() -> ModelFacts:
    return msgspec.json.decode((PACKAGED / CARD).read_bytes(), type=ModelFacts)


def packaged_graph_hash() -> str:
    """The hash of the packaged weights; empty where the package has no model file."""
    if not (PACKAGED / CARD).exists():
        return ""
    return packaged_facts().sha256[GRAPH]
