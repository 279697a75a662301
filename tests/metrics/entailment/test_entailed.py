"""Supported or contradicted, by words and rules."""

import pytest

from answerkey.metrics.entailment.entailed import Asked, LocalDecider, contradicts


@pytest.mark.parametrize(
    ("statement", "evidence", "found"),
    [
        ("The tour lasts 60 minutes.", "The tour lasts 90 minutes.", True),
        ("The tour lasts 1.5 hours.", "The tour lasts 90 minutes.", False),
        ("Alcohol is allowed in the stadium.", "Alcohol is not allowed in the stadium.", True),
        ("Sales rose in May.", "Sales fell in May.", True),
        ("The team is led by Tom Brandt.", "The team is led by Maria Lind.", True),
        ("The train stops in four cities.", "The train stops in eleven cities.", True),
        ("The cafe sells cakes.", "The museum opens at 9 am.", False),
        ("", "", False),
    ],
)
def test_contradictions_are_found_by_rules(statement, evidence, found):
    assert contradicts(statement, evidence) is found


def test_every_statement_is_decided_with_its_evidence():
    text = "The museum opens at 9 am. A ticket costs 12 euros."
    asked = Asked("", (text,), ("The museum opens at 9 am", "Dogs love the garden"))
    right, unknown = LocalDecider().decide([asked])[0].decisions
    assert right.holds
    assert "9 am" in right.quote
    assert not unknown.holds


def test_without_statements_or_texts_nothing_is_decided():
    nothing = LocalDecider().decide([Asked("", (), ()), Asked("", ("a b c",), ())])
    assert [one.decisions for one in nothing] == [(), ()]
    [one] = LocalDecider().decide([Asked("", (), ("It is red.",))])
    assert not one.decisions[0].holds
