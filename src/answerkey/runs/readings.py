"""What a mean says in words where it is past its mark: `context_relevance 0.41` is off-topic retrieval."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.metrics.semantic import READINGS
from answerkey.types import Criterion, Json, Profile

_PLAIN = {
    name: Criterion(name, floor=mark, reading=text, better="lower" if "hallucination" in name else "higher")
    for name, (mark, text) in READINGS.items()
}


def with_readings(averages: Mapping[str, Json], profile: Profile | None) -> Json:
    """The averages, each with its reading or none; the profile's marks and words go before the metric's own."""
    criteria = profile.rules.criteria if profile else ()
    known = _PLAIN | {c.metric: c for c in criteria if c.reading and c.floor is not None}
    return {
        name: {**entry, "reading": _reading(entry["mean"], known.get(name))}
        for name, entry in averages.items()
    }


def _reading(mean: float | None, criterion: Criterion | None) -> str:
    if mean is None or criterion is None or criterion.floor is None:
        return ""
    poor = mean > criterion.floor if criterion.better == "lower" else mean < criterion.floor
    return criterion.reading if poor else ""
