"""The names that metrics have in ragas, deepeval and promptfoo, and their offline equivalents here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from answerkey.coerce.columns import plain_name
from answerkey.metrics.registry import is_metric


class Equivalent(NamedTuple):
    """A metric of another tool and the one that is computed instead."""

    name: str
    tool: str
    metric: str

    def __str__(self) -> str:
        return f'"{self.name}" is a metric of {self.tool}: {self.metric} is computed instead'


def equivalent_of(name: str) -> Equivalent | None:
    """The equivalent of another tool's metric; None for a name that is ours or that no tool has.

    >>> equivalent_of("faithfulness").metric
    'groundedness'
    """
    plain = plain_name(name)
    # A metric of that name here, also a user's own, wins over the equivalent.
    if plain not in _equivalents() or is_metric(name):
        return None
    tool, metric = _equivalents()[plain]
    return Equivalent(name, tool, metric)


def use_our_names(names: Iterable[str]) -> tuple[tuple[str, ...], list[Equivalent]]:
    """The names with those of other tools replaced, and what was replaced."""
    equivalents = [each for name in names if (each := equivalent_of(name)) is not None]
    ours = {each.name: each.metric for each in equivalents}
    # Two foreign names may mean one of ours.
    return tuple(dict.fromkeys(ours.get(name, name) for name in names)), equivalents


@cache
def _equivalents() -> dict[str, tuple[str, str]]:
    text = files("answerkey.metrics").joinpath("other_tools.toml").read_text("utf-8")
    return {
        name: (tool, metric)
        for tool, table in tomllib.loads(text).items()
        for name, metric in table.items()
    }
