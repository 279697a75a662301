"""Child cases: each variant of a case, with the parent's expectation and in the parent's cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import Case
from answerkey.user_code import load_object
from answerkey.variants.phrasing import to_keywords, to_lower_case, to_speech, with_greeting
from answerkey.variants.typos import add_typos, keyboard_of

# Columns of a child case that name its parent and its kind; reports group by them.
PARENT = "variant_of"
KIND = "variant"
CLUSTER = "cluster"
CONVERSATION = "conversation"

# Draws are repeated until a variant is new; a short question may have only one.
_TRIES = 20

Rewrite = Callable[[Case, Random], str | None]


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """Which variants to make of each case, and how many of each kind."""

    kinds: tuple[str, ...]
    per_case: int = 1
    seed: int = 0
    language: str = "en"
    folder: Path = field(default_factory=Path)  # where `module:function` is looked for


@dataclass(slots=True)
class Expansion:
    """The child cases, and how many cases have no variant of a kind."""

    children: list[Case] = field(default_factory=list[Case])
    impossible: Counter[str] = field(default_factory=Counter[str])


def built_in_kinds() -> tuple[str, ...]:
    return ("typos", "keywords", "spoken", "lowercase", "greeting")


def find_rewrite(kind: str, plan: VariantPlan) -> Rewrite:
    """The function behind a kind: a built-in one, or `module:function` of the user."""
    language = plan.language
    built_in: dict[str, Rewrite] = {
        "typos": lambda case, random: add_typos(case, random, keyboard_of(language)),
        "keywords": lambda case, _random: to_keywords(case, language),
        "spoken": lambda case, random: to_speech(case, random, language),
        "lowercase": lambda case, _random: to_lower_case(case),
        "greeting": lambda case, random: with_greeting(case, random, language),
    }
    if kind in built_in:
        return built_in[kind]
    if ":" not in kind:
        hint = did_you_mean(kind, built_in) or f"; there are {', '.join(built_in)}"
        raise SettingsError(f'unknown variant "{kind}"{hint}, or module:function')
    rewrite = load_object(kind, plan.folder, "variants")
    return lambda case, _random: str(rewrite(case.question))


def expand_cases(cases: Iterable[Case], plan: VariantPlan) -> Expansion:
    """All variants of all cases, in the order of the cases; the same for the same seed.

    >>> case = Case("q1", "How long is the warranty of the blue kettle?", ("2 years",))
    >>> expand_cases([case], VariantPlan(("keywords",))).children[0].question
    'warranty blue kettle'
    """
    rewrites = {kind: find_rewrite(kind, plan) for kind in plan.kinds}
    expansion = Expansion()
    for case in cases:
        for kind, rewrite in rewrites.items():
            questions = _draw_questions(case, kind, rewrite, plan)
            if not questions:
                expansion.impossible[kind] += 1
            expansion.children += _make_children(case, kind, questions)
    return expansion


def _draw_questions(case: Case, kind: str, rewrite: Rewrite, plan: VariantPlan) -> list[str]:
    """Up to `per_case` different questions, none of them the original."""
    # Seeded by case and kind: a case's variants do not depend on the other cases of the run.
    random = Random(f"{plan.seed}:{kind}:{case.id}")
    questions: dict[str, None] = {}
    for _ in range(_TRIES * plan.per_case):
        question = rewrite(case, random)
        if question is None or len(questions) == plan.per_case:
            break
        if question.strip() != case.question.strip():
            questions[question] = None
    return list(questions)


def _make_children(case: Case, kind: str, questions: Sequence[str]) -> list[Case]:
    children: list[Case] = []
    for number, question in enumerate(questions, 1):
        suffix = kind if number == 1 else f"{kind}-{number}"
        columns = {**case.extra, PARENT: case.id, KIND: kind}
        if CONVERSATION not in columns:  # turns of one conversation are a cluster already
            columns.setdefault(CLUSTER, case.id)
        # A recorded answer belongs to the original question only.
        child = replace(
            case, id=f"{case.id}~{suffix}", question=question, recorded=None, extra=columns
        )
        children.append(child)
    return children
