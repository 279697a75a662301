"""The expressions of `words/*.toml` for refusals, compiled so that most clauses cost one search.

A rule is a regular expression, or several joined by " & ": all of them must be in the clause, in
any order, and none of those that begin with "!".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from answerkey.language.words import LANGUAGES, read_words

# Clauses without a Latin letter skip the Latin rules, and the other way round.
_OTHER_SCRIPTS = frozenset({"zh", "hi"})
_LATIN = re.compile(r"[a-z]")
_NEVER = "(?!)"


@dataclass(frozen=True, slots=True)
class _AnyOrder:
    """The rules of several parts of one language, searched before `end`, the first "that"."""

    end: re.Pattern[str]
    rules: re.Pattern[str]

    def matches(self, clause: str) -> bool:
        end = self.end.search(clause)
        if end:
            clause = clause[: end.start()]
        return self.rules.match(clause) is not None


@dataclass(frozen=True, slots=True)
class _Rules:
    """All rules of one kind: plain ones, and those of several parts behind their first parts."""

    plain: re.Pattern[str]
    first_parts: re.Pattern[str]  # few clauses have one, so the rest is rarely tried
    any_order: tuple[_AnyOrder, ...]


def matches_rule(kind: str, clause: str) -> bool:
    """Whether a folded clause matches a rule of a kind: `refuses`, `weak` or `courtesy`."""
    has_latin = _LATIN.search(clause) is not None
    rules = _compile_rules(kind, has_latin, has_latin and clause.isascii())
    if rules.plain.search(clause):
        return True
    if not rules.first_parts.search(clause):
        return False
    return any(one.matches(clause) for one in rules.any_order)


@cache
def _compile_rules(kind: str, has_latin: bool, only_latin: bool) -> _Rules:
    plain: list[str] = []
    first_parts: list[str] = []
    any_order: list[_AnyOrder] = []
    for language in LANGUAGES:
        if language in _OTHER_SCRIPTS:
            is_skipped = only_latin
        else:
            is_skipped = not has_latin
        if is_skipped:
            continue
        table = read_words(language)["refusal"]
        rules = [_fill_names(rule, table) for rule in table[kind]]
        plain += [rule for rule in rules if " & " not in rule]
        joined = [rule.split(" & ") for rule in rules if " & " in rule]
        if joined:
            first_parts += [parts[0] for parts in joined]
            any_order.append(
                _AnyOrder(re.compile(table["that"]), re.compile(_join_any_order(joined)))
            )
    if first_parts:
        first = _join(list(dict.fromkeys(first_parts)))
    else:
        first = _NEVER
    return _Rules(re.compile(_join(plain)), re.compile(first), tuple(any_order))


def _fill_names(rule: str, table: dict[str, str | list[str]]) -> str:
    """Replace `{source}` by the language's expression of that name."""
    for name, value in table.items():
        if isinstance(value, str):
            rule = rule.replace(f"{{{name}}}", value)
    return rule


def _join_any_order(rules: Sequence[Sequence[str]]) -> str:
    """Rules of several parts as one expression, grouped by their first part."""
    by_first: dict[str, list[str]] = {}
    for first, *rest in rules:
        by_first.setdefault(first, []).append("".join(_look_ahead(part) for part in rest))
    return "|".join(f"(?=.*?{first})(?:{'|'.join(rests)})" for first, rests in by_first.items())


def _look_ahead(part: str) -> str:
    if part.startswith("!"):
        return f"(?!.*?{part[1:]})"
    return f"(?=.*?{part})"


def _join(rules: Sequence[str]) -> str:
    """Rules as one expression; those with the same beginning stand behind it once.

    At most places of a text none of them then needs to be tried.
    """
    by_beginning: dict[str, list[str]] = {}
    for rule in rules:
        by_beginning.setdefault(_beginning(rule), []).append(rule)
    parts = by_beginning.pop("", [])
    for beginning, members in by_beginning.items():
        if len(members) == 1:
            parts.append(members[0])
        else:
            rest = _join([rule.removeprefix(beginning) for rule in members])
            parts.append(f"{beginning}(?:{rest})")
    return "|".join(parts)


def _beginning(rule: str) -> str:
    """The anchor or the group that a rule begins with, if any: `(?:i|we)` of `(?:i|we) lack`."""
    anchor = re.match(r"\^|\\b", rule)
    if anchor:
        return anchor[0]
    if not rule.startswith("(?:"):
        return ""
    depth = 0
    for part in re.finditer(r"\\.|\[[^\]]*\]|[()]", rule):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth == 0:
            # A repeated group can't be taken out: `(?:a)?b` also matches a bare b.
            is_repeated = rule[part.end() :].startswith(("?", "*", "+", "{"))
            return "" if is_repeated else rule[: part.end()]
    return ""
