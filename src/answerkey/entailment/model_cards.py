"""The card of a checked model: its calibration on labelled pairs, kept by the content of its weights."""

from __future__ import annotations

from pathlib import Path

import msgspec

from answerkey.cache import cache_folder
from answerkey.errors import SettingsError
from answerkey.files import write_file


class CardFigure(msgspec.Struct, frozen=True):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class Combination(msgspec.Struct, frozen=True):
    """A logistic model over the features of an answer, fitted on the user's labels."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    intercept: float

    def log_odds(self, values: dict[str, float]) -> float:
        """The log-odds that the answer is supported."""
        pairs = zip(self.features, self.weights, strict=True)
        return self.intercept + sum(values[name] * weight for name, weight in pairs)


class ModelCard(msgspec.Struct, frozen=True):
    """The figures that `answerkey models check` measured; metrics use `temperature`, `shift`, `threshold` and `combination`.

    `unsure` is the band of probabilities that calls for a second opinion; it is not fitted.
    """

    name: str
    revision: str
    digest: str
    rows: int
    groups: int
    auroc: CardFigure
    packaged_auroc: float | None
    calibration_error: float
    pairs_per_second: float
    temperature: float = 1.0
    shift: float = 0.0
    threshold: float = 0.5
    unsure: tuple[float, float] = (0.15, 0.85)
    combination: Combination | None = None


def card_path(digest: str) -> Path:
    return cache_folder() / "models" / f"card-{digest[:32]}.json"


def write_card(card: ModelCard, path: Path | None = None) -> Path:
    """Keep the card where metrics look for it, or in a file of one's own."""
    target = path or card_path(card.digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(card), indent=1)
    write_file(target, content + b"\n")
    return target


def find_card(digest: str, path: Path | None = None) -> ModelCard | None:
    """The card of those weights, from a file or from this machine; None without one."""
    source = path or card_path(digest)
    try:
        card = msgspec.json.decode(source.read_bytes(), type=ModelCard)
    except FileNotFoundError:
        if path is not None:
            raise SettingsError(
                f"there is no card {path}; write it with: answerkey models check"
            ) from None
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise SettingsError(f"the card {source} cannot be read: {error}") from None
    # The calibration of other weights would move every score without a word.
    if card.digest != digest:
        raise SettingsError(
            f'the card {source} is of "{card.name}" with other weights; check this model again'
        )
    return card
