"""Contradictions that rules are sure of: another figure or date, the opposite, a negation, another name in the same words."""

from __future__ import annotations

from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure
from answerkey.language.words import opposites, poles, stem_list
from answerkey.metrics.agreement.comparable import Text, read
from answerkey.metrics.agreement.replacements import name_exchange
from answerkey.metrics.agreement.stance import direction, negated_words, relation, sentences

_ANSWERS = frozenset({"yes", "ye", "no"})
_SAME_TOPIC = 0.5
_SAME_WORDS = 0.7  # shares of a statement's words that the evidence has

_ONE_CLAUSE = 4  # words by which two clauses about one thing may differ


def contradicts(statement: str, evidence: str) -> bool:
    """Whether the evidence is about the same and says something else, by rules that are sure.

    >>> contradicts("The tour lasts 60 minutes.", "The tour lasts 90 minutes.")
    True
    """
    said = read(statement)
    wanted = read(evidence)
    content = frozenset(said.content)
    if not content or not wanted.vocabulary:
        return False
    shared = len(content & wanted.vocabulary) / len(content)
    if shared < _SAME_TOPIC:
        return False
    if _other_figure(said, wanted, shared >= _SAME_WORDS) or other_date(said, wanted):
        return True
    # "Rose 5 %" against "fell 5 %": the figures agree, so the check above is silent.
    if direction(said) * direction(wanted) < 0:
        return True
    only_there = wanted.vocabulary - said.vocabulary
    turned = any(
        opposites().get(word, frozenset()) & only_there for word in content - wanted.vocabulary
    )
    if abs(len(wanted.words) - len(said.words)) <= _ONE_CLAUSE:
        denied = (said.negations > 0) != (wanted.negations > 0)
    else:  # a negation in another clause of a long sentence says nothing about the statement
        denied = bool(negated_words(said, wanted.vocabulary)) != bool(
            negated_words(wanted, said.vocabulary)
        )
    # Two turns cancel each other: "not open" and "closed" say the same.
    if shared >= _SAME_WORDS and turned != denied:
        return True
    return name_exchange(said, wanted) == 1.0


def surely_contradicts(statement: str, evidence: str) -> bool:
    """Whether a clause of the evidence has all the words of the statement and says the opposite of it.

    >>> surely_contradicts("Yes, flood damage is covered.", "Storms are covered; flood damage is not covered.")
    True
    """
    said = read(statement)
    content = frozenset(said.content) - _ANSWERS - stem_list("around_figures")
    for clause in sentences(read(evidence)):
        own = content - clause.vocabulary
        theirs = frozenset(clause.content) - said.vocabulary
        covered = (own < content and own <= poles().keys()) or (
            len(content - own) > 1 and theirs <= poles().keys()
        )
        # "Covered up to 500" does not contradict "covered": a limit adds a condition.
        limited = stem_list("limits") & (clause.vocabulary - said.vocabulary)
        if covered and not limited and relation(said, clause) < 0:
            return True
    return False


def _other_figure(said: Text, wanted: Text, counts: bool) -> bool:
    """A figure of the statement differs from all of its kind in the evidence; of `counts` only in nearly the same words."""
    for figure in said.figures:
        if (figure.count and not counts) or any(
            figures_agree(figure, other) for other in wanted.figures
        ):
            continue
        if any(_kind(figure) == _kind(other) for other in wanted.figures):
            return True
    return False


def other_date(said: Text, wanted: Text) -> bool:
    """A day or month of the statement differs from every date of the evidence, which has some."""
    # A bare year differs in many sentences that are both true.
    complete = [date for date in wanted.dates if date.month]
    return bool(complete) and any(
        date.month and all(date.agrees(other) == 0.0 for other in complete) for date in said.dates
    )


def _kind(figure: Figure) -> tuple[str, bool, bool, bool]:
    return figure.dimension, figure.percent, figure.year, figure.count
