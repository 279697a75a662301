"""Variants of questions: seeded, never equal to the parent, never touching what the answer needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from random import Random

import pytest

from answerkey.errors import SettingsError
from answerkey.text import fold
from answerkey.types import AnswerCriteria, Case
from answerkey.variants.expand import VariantPlan, built_in_kinds, expand_cases

SUBJECTS = [
    "warranty",
    "kettle",
    "invoice",
    "delivery",
    "password",
    "contract",
    "refund",
    "mountain",
    "railway",
    "antenna",
]
VERBS = ["cover", "include", "require", "change", "cancel", "replace", "deliver", "extend"]
NAMES = ["Acme", "Lisbon", "Frankfurt", "Müller", "O'Neill", "ThinkPad", "X1-Carbon", "B2B"]
FRAMES = (
    "How long does the {subject} of {name} {verb}?",
    "What does the {number} {subject} {verb} in {name}?",
    "Can I {verb} my {subject} before {number} days, and who at {name} decides?",
    "Why is the {subject} not {verb}ed by {name} since {number}?",
    "{name} {subject}?",
)


def made_cases(count: int, seed: int = 5) -> list[Case]:
    random = Random(seed)
    cases: list[Case] = []
    for number in range(count):
        name = random.choice(NAMES)
        question = random.choice(FRAMES).format(
            subject=random.choice(SUBJECTS),
            verb=random.choice(VERBS),
            name=name,
            number=random.randint(2, 2030),
        )
        expected = f"{name} does it within {random.randint(1, 90)} days."
        cases.append(Case(f"q{number}", question, (expected,)))
    return cases


def figures_of(text: str) -> list[str]:
    return re.findall(r"\S*\d\S*?(?=\W*(?:\s|$))", text)


def test_ten_thousand_questions_keep_figures_and_needed_names():
    cases = made_cases(10_000)
    parents = {case.id: case for case in cases}
    expansion = expand_cases(cases, VariantPlan(built_in_kinds()))
    assert len(expansion.children) > 40_000
    for child in expansion.children:
        parent = parents[str(child.extra["variant_of"])]
        assert child.question != parent.question
        assert {fold(figure) for figure in figures_of(parent.question)} <= {
            fold(figure) for figure in figures_of(child.question)
        }
        name = parent.expected[0].split()[0]
        assert fold(name) in fold(child.question), (parent.question, child.question)
        assert child.expected == parent.expected


def test_a_seed_gives_the_same_bytes_and_another_seed_others():
    cases = made_cases(300)
    first, again, other = (
        json.dumps([child.question for child in expand_cases(cases, plan).children])
        for plan in (
            VariantPlan(("typos", "spoken"), seed=1),
            VariantPlan(("typos", "spoken"), seed=1),
            VariantPlan(("typos", "spoken"), seed=2),
        )
    )
    assert first == again
    assert first != other


def test_every_process_makes_the_same_bytes():
    program = (
        "import json; from tests.variants.test_expand import made_cases;"
        "from answerkey.variants.expand import VariantPlan, built_in_kinds, expand_cases;"
        "plan = VariantPlan((*built_in_kinds(), 'injection', 'distractor'), seed=3);"
        "print(json.dumps([(c.id, c.question, c.extra) for c in expand_cases(made_cases(60), plan).children]))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0]) > 10_000


def test_a_case_has_the_same_variants_alone_and_among_others():
    cases = made_cases(20)
    plan = VariantPlan(("typos",))
    among = {child.id: child.question for child in expand_cases(cases, plan).children}
    alone = expand_cases([cases[7]], plan).children[0]
    assert among[alone.id] == alone.question


def test_children_name_their_parent_and_share_its_cluster():
    case = Case(
        "q17", "How long is the warranty of the kettle?", ("2 years",), extra={"topic": "w"}
    )
    child = expand_cases([case], VariantPlan(("typos",))).children[0]
    assert child.id == "q17~typos"
    assert child.extra == {
        "topic": "w",
        "variant_of": "q17",
        "variant": "typos",
        "cluster": "q17",
    }


def test_turns_of_a_conversation_stay_in_their_conversation():
    case = Case("t1", "How long is the warranty?", extra={"conversation": "c1"})
    child = expand_cases([case], VariantPlan(("lowercase",))).children[0]
    assert child.extra["conversation"] == "c1"
    assert "cluster" not in child.extra


def test_several_per_case_are_different_questions():
    case = Case("q1", "How long is the warranty of the electric kettle from the outlet?")
    children = expand_cases([case], VariantPlan(("typos",), per_case=4)).children
    assert [child.id for child in children] == [
        "q1~typos",
        "q1~typos-2",
        "q1~typos-3",
        "q1~typos-4",
    ]
    assert len({child.question for child in children}) == 4


@pytest.mark.parametrize(
    ("kind", "question", "expected"),
    [
        ("keywords", "What is the refund period for books?", "refund period books"),
        ("keywords", "Which contracts are not renewed?", "contracts not renewed"),
        ("lowercase", "Who runs ACME?", "who runs acme"),
    ],
)
def test_fixed_rewrites(kind: str, question: str, expected: str):
    children = expand_cases([Case("q", question)], VariantPlan((kind,))).children
    assert [child.question for child in children] == [expected]


def test_a_question_without_a_variant_is_counted():
    # Every word is a figure or needed by the answer, and nothing changes in lower case.
    case = Case("q", "kettle 2024", ("The kettle of 2024",))
    expansion = expand_cases([case], VariantPlan(("typos", "lowercase")))
    assert expansion.children == []
    assert dict(expansion.impossible) == {"typos": 1, "lowercase": 1}


def test_words_of_the_criteria_are_not_mistyped():
    case = Case("q", "warranty kettle", criteria=AnswerCriteria(must_contain=("warranty",)))
    children = expand_cases([case], VariantPlan(("typos",), per_case=3)).children
    assert children
    assert all("warranty" in child.question for child in children)


def test_greetings_speak_the_language_of_the_questions():
    case = Case("q", "Wie lange gilt die Garantie?")
    child = expand_cases([case], VariantPlan(("greeting",), language="de")).children[0]
    assert case.question in child.question
    assert any(word in child.question for word in ("Hallo", "Guten", "Frage"))


def test_an_unknown_kind_is_refused_with_the_nearest_name():
    with pytest.raises(SettingsError, match=r'unknown variant "typo"; did you mean "typos"'):
        expand_cases([Case("q", "Why?")], VariantPlan(("typo",)))


def test_a_function_of_the_user_makes_variants(tmp_path):
    (tmp_path / "shout.py").write_text("def shout(question):\n    return question.upper()\n")
    plan = VariantPlan(("shout:shout",), folder=tmp_path)
    assert expand_cases([Case("q", "Why?")], plan).children[0].question == "WHY?"
