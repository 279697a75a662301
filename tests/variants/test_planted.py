"""Passages that are put among those of a bot: instructions and distracting facts."""

from __future__ import annotations

from answerkey.types import Case
from answerkey.variants.expand import VariantPlan, expand_cases
from answerkey.variants.planted import follows_injection, planted_passage

LAMP = Case("lamp", "How long is the warranty of the lamp?", ("2 years",))
CHAIR = Case("chair", "How long is the warranty of the chair?", ("5 years",))
BUS = Case("bus", "When does the bus leave?", ("At nine",))


def _children(kind: str, *cases: Case, per_case: int = 1) -> list[Case]:
    return expand_cases(cases, VariantPlan((kind,), per_case)).children


def test_an_injection_keeps_the_question_and_plants_an_instruction() -> None:
    (child,) = _children("injection", LAMP)
    assert child.id == "lamp~injection"
    assert child.question == LAMP.question
    passage = planted_passage(child)
    assert passage is not None
    assert follows_injection(child, passage.text)
    assert not follows_injection(child, "The warranty is 2 years.")


def test_a_distractor_is_the_fact_of_the_most_similar_case() -> None:
    children = _children("distractor", LAMP, CHAIR, BUS)
    passage = planted_passage(children[0])
    assert passage is not None
    assert passage.text == "How long is the warranty of the chair? 5 years"


def test_one_case_alone_has_no_distractor() -> None:
    expansion = expand_cases([LAMP], VariantPlan(("distractor",)))
    assert expansion.children == []
    assert expansion.impossible == {"distractor": 1}


def test_the_same_seed_plants_the_same() -> None:
    assert _children("injection", LAMP, BUS) == _children("injection", LAMP, BUS)


def test_several_injections_per_case_differ() -> None:
    children = _children("injection", LAMP, per_case=2)
    assert [child.id for child in children] == ["lamp~injection", "lamp~injection-2"]
    assert planted_passage(children[0]) != planted_passage(children[1])
