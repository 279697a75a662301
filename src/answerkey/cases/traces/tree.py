"""The spans of one trace as a tree, whatever is wrong with their parents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from answerkey.cases.traces.facts import SpanFacts, SpanKind

_OUTER_KINDS = (SpanKind.AGENT, SpanKind.CHAIN)
_MOST_GUESSED = 2_000  # roots whose parent is guessed by time; the search is quadratic


@dataclass(slots=True)
class SpanTree:
    """The spans in the order of their start, with the parent of each.

    `missing` counts parents that the file does not have, `cycles` spans that are their own
    ancestor; both are roots here.
    """

    spans: list[SpanFacts]
    parents: dict[str, str] = field(default_factory=dict[str, str])
    missing: int = 0
    cycles: int = 0

    def ancestors(self, span: str) -> Iterator[str]:
        """The spans above one, nearest first."""
        parent = self.parents.get(span, "")
        while parent:
            yield parent
            parent = self.parents.get(parent, "")


def build_tree(spans: Iterable[SpanFacts]) -> SpanTree:
    """Sort the spans, merge the records of one span, and find the parent of each."""
    merged: dict[str, SpanFacts] = {}
    for facts in spans:
        first = merged.get(facts.span)
        merged[facts.span] = facts if first is None else _merge(first, facts)
    # Spans without a time come last; exporters write children before their parents.
    ordered = sorted(merged.values(), key=lambda facts: (facts.start is None, facts.start or 0))
    tree = SpanTree(ordered)
    for facts in ordered:
        if facts.parent in merged:
            tree.parents[facts.span] = facts.parent
        elif facts.parent:
            tree.missing += 1
    _break_cycles(tree)
    _guess_parents(tree)
    return tree


def _merge(first: SpanFacts, second: SpanFacts) -> SpanFacts:
    """One span from two records of it, such as a span and a log record of its messages."""
    changes: dict[str, object] = {}
    for name in first.__struct_fields__:
        # The first record wins; the second one only fills gaps.
        if not getattr(first, name) and getattr(second, name):
            changes[name] = getattr(second, name)
    if first.kind in (SpanKind.CHAIN, SpanKind.OTHER) and second.kind is not SpanKind.OTHER:
        changes["kind"] = second.kind
    return msgspec.structs.replace(first, **changes)


def _break_cycles(tree: SpanTree) -> None:
    """Cut each cycle at the span that starts first, so that it becomes a root."""
    safe: set[str] = set()
    for facts in tree.spans:
        path: dict[str, None] = {}
        span = facts.span
        while span and span not in safe:
            if span in path:
                tree.parents.pop(_first_of_cycle(tree, path, span), None)
                tree.cycles += 1
                break
            path[span] = None
            span = tree.parents.get(span, "")
        safe.update(path)


def _first_of_cycle(tree: SpanTree, path: dict[str, None], start: str) -> str:
    names = list(path)
    members = set(names[names.index(start) :])
    return next(facts.span for facts in tree.spans if facts.span in members)


def _guess_parents(tree: SpanTree) -> None:
    """Give a root the agent or chain that encloses it in time.

    Exporters that write spans as single events leave the parents out.
    """
    roots = [facts for facts in tree.spans if facts.span not in tree.parents]
    if not 1 < len(roots) <= _MOST_GUESSED:
        return
    # A root without a question is no turn that could enclose others.
    outer = [facts for facts in roots if facts.kind in _OUTER_KINDS and facts.question]
    for facts in roots:
        around = [other for other in outer if _encloses(other, facts)]
        if around:
            nearest = min(around, key=lambda other: (other.end or 0) - (other.start or 0))
            tree.parents[facts.span] = nearest.span


def _encloses(outer: SpanFacts, inner: SpanFacts) -> bool:
    if outer.start is None or outer.end is None or inner.start is None or inner.end is None:
        return False
    # Two spans of the same time must not become each other's parents.
    is_longer = outer.end - outer.start > inner.end - inner.start
    return is_longer and outer.start <= inner.start and inner.end <= outer.end
