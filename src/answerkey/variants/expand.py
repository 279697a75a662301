"""Child cases: each variant of a case, with the parent's expectation and in the parent's cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from answerkey.errors import SettingsError, did_you_mean
from answerkey.llm.chat import Chat
from answerkey.types import Case
from answerkey.user_code import load_object
from answerkey.variants.phrasing import to_keywords, to_lower_case, to_speech, with_greeting
from answerkey.variants.planted import PLANTED_KINDS, PlantedPassage, make_planted, plant
from answerkey.variants.reworded import PARAPHRASE, TRANSLATE, is_reworded, reword
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
    """The variants to make of each case, and how many of each kind."""

    kinds: tuple[str, ...]
    per_case: int = 1
    seed: int = 0
    language: str = "en"
    folder: Path = field(default_factory=Path)  # where `module:function` is looked for
    chat: Chat | None = None  # the model that writes paraphrases and translations
    is_dry: bool = False  # count variants that a model would write, without asking it


@dataclass(slots=True)
class Expansion:
    """The child cases, and how many cases have no variant of a kind."""

    children: list[Case] = field(default_factory=list[Case])
    impossible: Counter[str] = field(default_factory=Counter[str])


def built_in_kinds() -> tuple[str, ...]:
    """The kinds that change the question without a language model."""
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
    if is_reworded(kind):
        if plan.is_dry:
            return lambda case, _random: f"{case.question} [{kind}]"
        return lambda case, _random: reword(case, kind, plan.chat)
    if ":" not in kind:
        names = (*built_in, *PLANTED_KINDS, PARAPHRASE, f"{TRANSLATE}de")
        hint = did_you_mean(kind, names) or f"; there are {', '.join(names)}"
        raise SettingsError(f'unknown variant "{kind}"{hint}, or module:function')
    rewrite = load_object(kind, plan.folder, "variants")
    return lambda case, _random: str(rewrite(case.question))


def expand_cases(cases: Iterable[Case], plan: VariantPlan) -> Expansion:
    """All variants of all cases, in the order of the cases; the same for the same seed.

    >>> case = Case("q1", "How long is the warranty of the blue kettle?", ("2 years",))
    >>> expand_cases([case], VariantPlan(("keywords",))).children[0].question
    'warranty blue kettle'
    """
    rewrites = {kind: find_rewrite(kind, plan) for kind in plan.kinds if kind not in PLANTED_KINDS}
    originals = list(cases)
    expansion = Expansion()
    for case in originals:
        for kind in plan.kinds:
            if kind in PLANTED_KINDS:
                children = _plant_children(case, kind, originals, plan)
            else:
                questions = _draw_questions(case, kind, rewrites[kind], plan)
                children = _make_children(case, kind, questions)
            if not children:
                expansion.impossible[kind] += 1
            expansion.children += children
    return expansion


def _plant_children(case: Case, kind: str, others: Sequence[Case], plan: VariantPlan) -> list[Case]:
    """The same question, with a passage that is put among those of the bot."""
    random = Random(f"{plan.seed}:{kind}:{case.id}")
    texts: dict[str, PlantedPassage] = {}
    for _ in range(_TRIES * plan.per_case):
        passage = make_planted(kind, case, others, random)
        if passage is None or len(texts) == plan.per_case:
            break
        texts[passage.text] = passage
    children = _make_children(case, kind, [case.question] * len(texts))
    return [plant(child, passage) for child, passage in zip(children, texts.values(), strict=True)]


def _draw_questions(case: Case, kind: str, rewrite: Rewrite, plan: VariantPlan) -> list[str]:
    """Up to `per_case` different questions, none of them the original."""
    # Seeded by case and kind: a case's variants do not depend on the other cases of the run.
    random = Random(f"{plan.seed}:{kind}:{case.id}")
    questions: dict[str, None] = {}
    for _ in range(_TRIES * plan.per_case):
        question = rewrite(case, random)
        if question is None or len(questions) == plan.per_case:
            break
        if is_reworded(kind) and question in questions:
            break  # the model writes the same again: asking more often costs and brings nothing
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
