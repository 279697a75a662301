"""A function of the user's as a pair model: `python:module:function`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from answerkey.config.tables import PYTHON_PREFIX
from answerkey.entailment.heads import log_odds_of, rows_of_odds
from answerkey.entailment.pair_model import Logits, TextPair
from answerkey.errors import SettingsError
from answerkey.user_code import import_user_module


class FunctionPairModel:
    """Calls a function with a list of (premise, statement) pairs.

    It returns for each pair the probability that the premise supports the statement, or three probabilities: supported,
    neutral, contradicted. `digest` is the hash of its source file, so that a changed function makes another run.
    """

    revision = ""

    def __init__(self, name: str, function: Callable[[Sequence[TextPair]], Any]) -> None:
        self.name = name
        self._function = function
        source = inspect.getsourcefile(function) or ""
        if source and Path(source).is_file():
            content = Path(source).read_bytes()
        else:
            content = b""
        self.digest = hashlib.sha256(name.encode() + b"\0" + content).hexdigest()

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        if not pairs:
            return np.zeros((0, 3), np.float32)
        shares = self._call(pairs)
        if shares.ndim == 1:
            return rows_of_odds(log_odds_of(shares))
        # The logarithm of 0 is not finite; 1e-9 is as good as 0 for any threshold.
        return np.log(np.clip(shares, 1e-9, 1.0)).astype(np.float32)

    def _call(self, pairs: Sequence[TextPair]) -> Any:
        try:
            shares = np.asarray(self._function(list(pairs)), np.float64)
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{self.name}: {error}; expected a number per pair") from error
        shapes = ((len(pairs),), (len(pairs), 3))
        if shares.shape not in shapes:
            raise SettingsError(
                f"{self.name} returned an array of shape {shares.shape} for {len(pairs)} pairs; "
                "expected a probability per pair, or three"
            )
        if not np.isfinite(shares).all() or shares.min() < 0 or shares.max() > 1:
            raise SettingsError(f"{self.name} returned a number outside 0 to 1")
        return shares


def load_pair_function(name: str) -> FunctionPairModel:
    """The function behind `python:module:function`."""
    module, _, attribute = name.removeprefix(PYTHON_PREFIX).partition(":")
    if not module or not attribute:
        raise SettingsError(f'"{name}": expected "python:module:function"')
    function = getattr(import_user_module(module, f'[entailment] model "{name}"'), attribute, None)
    if not callable(function):
        raise SettingsError(f'[entailment] model "{name}": {module} has no function "{attribute}"')
    return FunctionPairModel(name, function)
