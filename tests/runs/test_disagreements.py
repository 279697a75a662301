"""Contradictions between metrics."""

from answerkey.runs.disagreements import list_disagreements
from answerkey.runs.table import table_of_run
from answerkey.types import Case, Outcome, Response, Score, Verdict


def cases(*scores):
    return table_of_run(
        Outcome(
            Case(f"c{n}", "q"),
            Response("a"),
            {name: Score(value) for name, value in each.items()},
            Verdict("SCORED"),
        )
        for n, each in enumerate(scores)
    )


def test_only_a_plain_contradiction_is_listed_with_its_values():
    table = cases(
        {"answer_correctness": 0.9, "number_close": 0.0},
        {"answer_correctness": 0.9, "number_close": 1.0},
        {"answer_correctness": 0.9, "number_close": None},
        {"answer_correctness": 0.6, "number_close": 0.0},
    )
    (found,) = list_disagreements(table)
    assert (found.id, found.what) == ("c0", "the meaning is near but a number is wrong")
    assert found.values == {"answer_correctness": 0.9, "number_close": 0.0}


def test_words_against_the_judge_that_contradicts_most():
    table = cases(
        {"exact_match": 0.0, "judge.a": 0.9, "rubric.accuracy": 4.0, "judge.b": 5.0},
        {"exact_match": 1.0, "judge.a": 0.3, "rubric.accuracy": 5.0, "judge.b": None},
        {"exact_match": None, "judge.a": 1.0, "rubric.accuracy": None, "judge.b": None},
    )
    first, second = list_disagreements(table)
    assert first.what == "the words differ but the judge is satisfied"
    assert first.values == {"exact_match": 0.0, "rubric.accuracy": 4.0}
    assert second.what == "the words match but the judge is not satisfied"
    assert second.values == {"exact_match": 1.0, "judge.a": 0.3}


def test_a_faithful_answer_that_is_not_relevant_is_no_contradiction():
    wrong = {"exact_match": 0.0, "judge.faithfulness": 1.0, "judge.relevance": 0.0}
    real = {"exact_match": 0.0, "judge.faithfulness": 0.0, "judge.relevance": 0.8}
    assert [each.id for each in list_disagreements(cases(wrong, wrong, real))] == ["c2"]


def test_one_of_five_is_not_satisfied():
    low = {"exact_match": 0.0, "judge.relevance": 1.0}
    high = {"exact_match": 0.0, "judge.relevance": 5.0}
    assert [each.id for each in list_disagreements(cases(low, high))] == ["c1"]


def test_they_come_in_case_order_and_end_at_the_limit():
    wrong = {"keyword_recall": 1.0, "answer_agreement": 0.0, "judge.x": 0.1}
    table = cases(*[wrong] * 15)
    found = list_disagreements(table)
    assert len(found) == 20
    assert [each.id for each in found[:4]] == ["c0", "c0", "c1", "c1"]


def test_a_run_without_such_metrics_has_none():
    assert list_disagreements(cases({"token_f1": 1.0})) == []
    assert list_disagreements(cases()) == []
